// Stackful fibers, by hand: two runs on one thread that change over inside their attempts. The decisions, the Attempt
// and the events of each are its own. CurrentMetadata is the thread's, and so that of whichever run set it last.
#include <ucontext.h>

#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using planb::Attempt;
using planb::CurrentMetadata;
using planb::Metadata;
using planb::testing::AttemptLog;

class Fiber {
 public:
  explicit Fiber(std::function<void(Fiber&)> body) : body_(std::move(body)), stack_(256 * 1024) {
    getcontext(&own_);
    own_.uc_stack.ss_sp = stack_.data();
    own_.uc_stack.ss_size = stack_.size();
    own_.uc_link = &caller_;
    makecontext(&own_, &Fiber::enter, 0);
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void resume() {
    entering_ = this;
    swapcontext(&caller_, &own_);
  }
  void yield() { swapcontext(&own_, &caller_); }

 private:
  static void enter() {
    Fiber& self = *entering_;
    self.body_(self);
  }

  static inline Fiber* entering_ = nullptr;

  std::function<void(Fiber&)> body_;
  std::vector<char> stack_;
  ucontext_t own_{};
  ucontext_t caller_{};
};

struct Seen {
  AttemptLog log;
  std::vector<Metadata> by_attempt;
  std::vector<Metadata> by_thread;
  std::string answer;
};

// Fails its first attempts by throwing, and changes over in each of them.
Fiber run_in_fiber(const planb::ExecutionPlan<int>& plan, Seen& seen) {
  return Fiber([&plan, &seen](Fiber& self) {
    const auto call = [&](int& step, const Attempt& attempt) -> std::string {
      self.yield();
      seen.by_attempt.push_back({attempt.attempt, attempt.step_index});
      seen.by_thread.push_back(CurrentMetadata::get());
      if (step != 0) throw planb::ProviderError(503, "busy");
      return "attempt " + std::to_string(attempt.attempt);
    };
    seen.answer = planb::run_with_plan(plan, call, {.on_event = seen.log});
  });
}

}  // namespace

TEST_CASE("two runs in fibers of one thread keep their own attempts; the thread's metadata is that of the last") {
  const planb::ExecutionPlan<int> longer{{.name = "a", .provide = 1, .attempts = 2}, {.name = "b", .provide = 0}};
  const planb::ExecutionPlan<int> shorter{{.name = "c", .provide = 1}, {.name = "d", .provide = 0}};
  Seen first;
  Seen second;
  Fiber one = run_in_fiber(longer, first);
  Fiber two = run_in_fiber(shorter, second);
  for (int turn = 0; turn != 4; ++turn) {
    one.resume();
    if (turn != 3) two.resume();
  }
  CHECK(first.answer == "attempt 3");
  CHECK(second.answer == "attempt 2");
  CHECK(first.log.names() == std::vector<std::string>{"a", "a", "b"});
  CHECK(second.log.names() == std::vector<std::string>{"c", "d"});
  CHECK(first.by_attempt == std::vector<Metadata>{{1, 0}, {2, 0}, {3, 1}});
  CHECK(second.by_attempt == std::vector<Metadata>{{1, 0}, {2, 1}});
  CHECK(first.by_thread.at(1) != first.by_attempt.at(1));  // the other run's: take the Attempt in a fiber
}
