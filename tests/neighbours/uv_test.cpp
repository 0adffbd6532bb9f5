// libuv drives a run by hand: PlanRun decides, a uv_timer waits, and many runs share one loop.
#include <uv.h>

#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::Cause;
using planb::ProviderError;
using planb::RunPhase;

// A request whose provider answers later, from the loop.
class Request {
 public:
  Request(uv_loop_t& loop, const planb::ExecutionPlan<int>& plan, planb::RunOptions options)
      : run_(plan, std::move(options)) {
    uv_timer_init(&loop, &timer_);
    timer_.data = this;
    go_on();
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  std::optional<std::string> answer;

  [[nodiscard]] planb::RunReport report() const { return run_.report(); }

 private:
  void go_on() {
    switch (run_.next()) {
      case RunPhase::attempt: {
        planb::ContextSlot<int> status;
        if (!run_.provide(status)) return go_on();
        status_ = *status;
        return later(1ms, [](Request& self) {
          if (self.status_ == 200) {
            self.answer = "step " + std::to_string(self.run_.attempt().step_index);
            self.run_.succeed();
          } else {
            self.run_.fail(Cause::of(ProviderError(self.status_)));
          }
          self.go_on();
        });
      }
      case RunPhase::wait: {
        const auto left = run_.due() - planb::SteadyClock::instance().now();
        return later(std::chrono::ceil<std::chrono::milliseconds>((std::max)(left, planb::Duration::zero())),
                     [](Request& self) { self.go_on(); });
      }
      case RunPhase::over: uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr); return;
    }
  }

  void later(std::chrono::milliseconds wait, void (*then)(Request&)) {
    then_ = then;
    uv_timer_start(
        &timer_,
        [](uv_timer_t* timer) {
          Request& self = *static_cast<Request*>(timer->data);
          self.then_(self);
        },
        static_cast<std::uint64_t>(wait.count()), 0);
  }

  planb::PlanRun<int> run_;
  uv_timer_t timer_{};
  int status_ = 0;
  void (*then_)(Request&) = nullptr;
};

}  // namespace

TEST_CASE("a hundred runs wait and fall back on one libuv loop") {
  uv_loop_t loop;
  REQUIRE(uv_loop_init(&loop) == 0);
  const planb::ExecutionPlan<int> plan{{.name = "busy", .provide = 503, .attempts = 2, .schedule = planb::spaced(3ms)},
                                       {.name = "works", .provide = 200}};
  std::vector<std::unique_ptr<Request>> requests;
  for (int i = 0; i != 100; ++i) requests.push_back(std::make_unique<Request>(loop, plan, planb::RunOptions{}));
  uv_run(&loop, UV_RUN_DEFAULT);
  for (const auto& request : requests) {
    CHECK(request->answer == "step 1");
    CHECK(request->report().attempts == 3);
    CHECK(request->report().answered_by() == "works");
  }
  CHECK(uv_loop_close(&loop) == 0);
}
