// A thread pool, Boost.Asio's: runs that block its threads, and runs by hand that go on from thread to thread.
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "catch.hpp"

#include <planb/gates.hpp>
#include <planb/planb.hpp>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using planb::Cause;
using planb::CurrentMetadata;
using planb::Metadata;
using planb::ProviderError;
using planb::RunPhase;

constexpr int runs = 60;

const planb::ExecutionPlan<int> plan{
    {.name = "busy", .provide = 503, .attempts = 2, .schedule = planb::spaced(1ms)},
    {.name = "works", .provide = 200, .gate = planb::concurrency_limit({.limit = runs})},
};

// A run whose every move is made by another thread than the last: one of this pool, then one of that.
class Request {
 public:
  Request(asio::thread_pool& here, asio::thread_pool& there) : here_(&here), there_(&there), timer_(here), run_(plan) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  // Counts `left` down when it is over.
  void start(std::latch& left) {
    left_ = &left;
    then(&Request::go_on);
  }

  std::optional<std::string> answer;
  std::set<std::thread::id> threads;
  int wrong_metadata = 0;

  [[nodiscard]] planb::RunReport report() const { return run_.report(); }

 private:
  void then(void (Request::*next)()) {
    std::swap(here_, there_);
    asio::post(*here_, [this, next] {
      threads.insert(std::this_thread::get_id());
      if (CurrentMetadata::get() != Metadata{}) ++wrong_metadata;  // what the last run here has left
      (this->*next)();
    });
  }

  void go_on() {
    switch (run_.next()) {
      case RunPhase::attempt: {
        planb::ContextSlot<int> status;
        if (!run_.provide(status)) return then(&Request::go_on);
        status_ = *status;
        return then(&Request::end_attempt);
      }
      case RunPhase::wait:
        timer_.expires_at(std::chrono::steady_clock::now() + (run_.due() - planb::SteadyClock::instance().now()));
        return timer_.async_wait([this](const boost::system::error_code&) { then(&Request::go_on); });
      case RunPhase::over: return left_->count_down();
    }
  }

  void end_attempt() {
    {
      const CurrentMetadata::Scope scope(run_.metadata());
      if (CurrentMetadata::get().attempt != run_.attempt().attempt) ++wrong_metadata;
    }
    if (status_ == 200) {
      answer = "step " + std::to_string(run_.attempt().step_index);
      run_.succeed();
    } else {
      run_.fail(Cause::of(ProviderError(status_)));
    }
    then(&Request::go_on);
  }

  asio::thread_pool* here_;
  asio::thread_pool* there_;
  asio::steady_timer timer_;
  planb::PlanRun<int> run_;
  int status_ = 0;
  std::latch* left_ = nullptr;
};

}  // namespace

TEST_CASE("runs that block the threads of a pool share a plan and its gates") {
  asio::thread_pool pool(4);
  std::atomic<int> answered = 0;
  std::atomic<int> wrong_metadata = 0;
  for (int i = 0; i != runs; ++i) {
    asio::post(pool, [&] {
      const int answer = planb::run_with_plan(plan, [&](int status, const planb::Attempt& attempt) {
        if (CurrentMetadata::get() != Metadata{attempt.attempt, attempt.step_index}) ++wrong_metadata;
        if (status != 200) throw ProviderError(status);
        return attempt.attempt;
      });
      if (answer == 3) ++answered;
      if (CurrentMetadata::get() != Metadata{}) ++wrong_metadata;
    });
  }
  pool.join();
  CHECK(answered == runs);
  CHECK(wrong_metadata == 0);
}

TEST_CASE("runs by hand go on from thread to thread of a pool, and block none") {
  asio::thread_pool here(2);
  asio::thread_pool there(2);
  std::vector<std::unique_ptr<Request>> requests;
  for (int i = 0; i != runs; ++i) requests.push_back(std::make_unique<Request>(here, there));
  std::latch left(runs);
  for (const auto& request : requests) request->start(left);
  left.wait();
  here.join();
  there.join();
  for (const auto& request : requests) {
    CHECK(request->answer == "step 1");
    CHECK(request->report().attempts == 3);
    CHECK(request->report().answered_by() == "works");
    CHECK(request->threads.size() > 1);
    CHECK(request->wrong_metadata == 0);
  }
}
