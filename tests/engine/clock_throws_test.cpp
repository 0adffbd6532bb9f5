// A clock that throws: its exception leaves the run, whichever reading of the clock it is, and what began is told.
#include "catch.hpp"

#include <planb/coro.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace planb;
using namespace std::chrono_literals;

namespace {

// Throws at its n-th reading, and at each after that if `for_good`.
class BrokenClock final : public Clock {
 public:
  BrokenClock(int good, bool for_good) : good_(good), for_good_(for_good) {}

  [[nodiscard]] TimePoint now() const override {
    if (resting) return inner.now();
    ++readings;
    if (good_ > 0) {
      --good_;
    } else if (for_good_ || !std::exchange(thrown, true)) {
      thrown = true;
      throw std::runtime_error("no clock");
    }
    return inner.now();
  }
  void sleep_until(TimePoint due, StopToken stop) override { inner.sleep_until(due, std::move(stop)); }
  void break_at(int good) {
    good_ = good;
    thrown = false;
  }

  mutable testing::VirtualClock inner;
  mutable int readings = 0;
  mutable bool thrown = false;
  bool resting = false;         // what is read is not counted
  bool timers_can_move = true;  // else they are set anew

 private:
  // Setting a timer, and moving it, is one more reading.
  struct Pending final : Timer::Pending {
    Pending(const BrokenClock& c, Timer t) : clock(c), timer(std::move(t)) {}
    bool move_to(TimePoint due) override {
      if (!clock.timers_can_move) return false;
      static_cast<void>(clock.now());
      return timer.move_to(due);
    }

    const BrokenClock& clock;
    Timer timer;
  };
  Timer make_timer(TimePoint due, detail::Function<void()> fn) override {
    static_cast<void>(now());
    return Timer(std::make_unique<Pending>(*this, inner.call_at(due, std::move(fn))));
  }

  mutable int good_;
  bool for_good_;
};

class CountingGate final : public Gate {
 public:
  int admitted = 0;
  int told = 0;

  [[nodiscard]] Admission admit(const planb::GateRequest&) override {
    ++admitted;
    return Permit(*this, 1);
  }
  [[nodiscard]] TimePoint opens_at(const planb::GateRequest& request) const override { return request.now; }

 private:
  void on_outcome(std::uint64_t, const planb::GateOutcome&) override { ++told; }
  void on_dropped(std::uint64_t, bool) noexcept override { ++told; }
};

struct Way {
  const char* name;
  std::function<void(const ExecutionPlan<int>&, const RunOptions&)> run;
};

StreamOptions as_stream(const RunOptions& options) {
  return {.on_event = options.on_event, .budget = options.budget, .clock = options.clock};
}

// Has the attempt's own timer set. Where that fails, it is the callable's failure, and not looked at here.
void arm(const Attempt& attempt, Clock* clock) {
  auto& broken = static_cast<BrokenClock&>(*clock);
  broken.resting = true;
  static_cast<void>(attempt.stop_token());
  broken.resting = false;
}

// Each fails in the first step and succeeds in the second.
const std::vector<Way> ways{
    {"run",
     [](const ExecutionPlan<int>& plan, const RunOptions& options) {
       run_with_plan(
           plan,
           [](int& step) {
             if (step == 1) throw ProviderError(503, "busy");
           },
           options);
     }},
    {"try",
     [](const ExecutionPlan<int>& plan, const RunOptions& options) {
       static_cast<void>(try_run_with_plan(
           plan,
           [](int& step) {
             if (step == 1) throw ProviderError(503, "busy");
           },
           options));
     }},
    {"push",
     [](const ExecutionPlan<int>& plan, const RunOptions& options) {
       push_with_plan(
           plan,
           [](int& step, auto& emit) {
             for (int i = 0; i != 3; ++i) {
               if (!emit(i)) return;
             }
             if (step == 1) throw ProviderError(503, "busy");
           },
           [](int) {}, as_stream(options));
     }},
    {"pull",
     [](const ExecutionPlan<int>& plan, const RunOptions& options) {
       for (const int i : stream_with_plan(
                plan,
                [](int& step) {
                  if (step == 1) throw ProviderError(503, "busy");
                  return std::vector<int>{1, 2};
                },
                as_stream(options))) {
         static_cast<void>(i);
       }
     }},
    {"by hand",
     [](const ExecutionPlan<int>& plan, const RunOptions& options) {
       PlanRun<int> run(plan, options);
       for (RunPhase phase = run.next(); phase != RunPhase::over; phase = run.next()) {
         if (phase == RunPhase::wait) {
           options.clock->sleep_until(run.due(), {});
         } else if (run.attempt().step_index == 0) {
           run.fail(Cause::of(7));
         } else {
           run.succeed();
         }
       }
     }},
    {"coroutine",
     [](const ExecutionPlan<int>& plan, const RunOptions& options) {
       const auto sleep = [&options](Duration time) -> Task<> {
         options.clock->sleep_until(options.clock->now() + time, {});
         co_return;
       };
       sync_wait(co_run_with_plan<Task<>>(
           plan,
           [](int& step) -> Task<> {
             if (step == 1) throw ProviderError(503, "busy");
             co_return;
           },
           sleep, options));
     }},
    {"run, armed",
     [](const ExecutionPlan<int>& plan, const RunOptions& options) {
       run_with_plan(
           plan,
           [&](int& step, const Attempt& attempt) {
             arm(attempt, options.clock);
             if (step == 1) throw ProviderError(503, "busy");
           },
           options);
     }},
    {"push, armed",
     [](const ExecutionPlan<int>& plan, const RunOptions& options) {
       push_with_plan(
           plan,
           [&](int& step, auto& emit, const Attempt& attempt) {
             arm(attempt, options.clock);
             for (int i = 0; i != 3; ++i) {
               if (!emit(i)) return;
             }
             if (step == 1) throw ProviderError(503, "busy");
           },
           [](int) {}, as_stream(options));
     }},
    {"pull, armed",
     [](const ExecutionPlan<int>& plan, const RunOptions& options) {
       for (const int i : stream_with_plan(
                plan,
                [&](int& step, const Attempt& attempt) {
                  arm(attempt, options.clock);
                  if (step == 1) throw ProviderError(503, "busy");
                  return std::vector<int>{1, 2};
                },
                as_stream(options))) {
         static_cast<void>(i);
       }
     }},
    {"by hand, armed",
     [](const ExecutionPlan<int>& plan, const RunOptions& options) {
       PlanRun<int> run(plan, options);
       for (RunPhase phase = run.next(); phase != RunPhase::over; phase = run.next()) {
         if (phase == RunPhase::wait) {
           options.clock->sleep_until(run.due(), {});
           continue;
         }
         arm(run.attempt(), options.clock);
         if (run.attempt().step_index == 0) {
           run.fail(Cause::of(7));
         } else {
           run.succeed();
         }
       }
     }},
    {"coroutine, armed",
     [](const ExecutionPlan<int>& plan, const RunOptions& options) {
       const auto sleep = [&options](Duration time) -> Task<> {
         options.clock->sleep_until(options.clock->now() + time, {});
         co_return;
       };
       sync_wait(co_run_with_plan<Task<>>(
           plan,
           [&options](int& step, const Attempt& attempt) -> Task<> {
             arm(attempt, options.clock);
             if (step == 1) throw ProviderError(503, "busy");
             co_return;
           },
           sleep, options));
     }},
};

}  // namespace

TEST_CASE("what a clock throws leaves the run, whichever reading it is, and each attempt is told to its end") {
  for (const int form : {0, 1, 2, 3}) {
    const bool for_good = (form & 1) != 0;
    const bool timers_can_move = (form & 2) != 0;
    for (const Way& way : ways) {
      for (const bool budget : {false, true}) {
        for (int good = 0;; ++good) {
          INFO(way.name << ", budget " << budget << ", timers can move " << timers_can_move << ", " << good
                        << " readings are good, then " << (for_good ? "none" : "all but one"));
          BrokenClock clock(good, for_good);
          clock.timers_can_move = timers_can_move;
          const auto gate = std::make_shared<CountingGate>();
          const testing::AttemptLog log;
          const ExecutionPlan<int> plan{
              {.name = "first", .provide = 1, .attempts = 2, .schedule = spaced(1s), .timeout = 1s, .gate = gate},
              {.name = "second", .provide = 2, .timeout = 1s, .gate = gate}};
          RunOptions options{.on_event = log, .clock = &clock};
          if (budget) options.budget = 10s;
          bool left = false;
          try {
            way.run(plan, options);
          } catch (const std::runtime_error& error) {
            left = error.what() == std::string("no clock");
          }
          CHECK(left == clock.thrown);
          CHECK(gate->told == gate->admitted);
          CHECK(log.of<AttemptStart>().size() == log.of<AttemptSuccess>().size() + log.of<AttemptFailure>().size());
          if (!clock.thrown) {
            CHECK(good > 2);
            break;
          }
        }
      }
    }
  }
}

#if PLANB_HAS_STOP_TOKEN  // without, nobody asks for a timer
TEST_CASE("a timer that cannot be moved is the clock's failure, and not the producer's") {
  BrokenClock clock(1000, false);
  const ExecutionPlan<int> plan{{.name = "first", .provide = 1, .timeout = 1h}, {.name = "second", .provide = 2}};
  for (const bool timers_can_move : {false, true}) {
    clock.timers_can_move = timers_can_move;
    int calls = 0;
    CHECK_THROWS_WITH(push_with_plan(
                          plan,
                          [&](int&, auto& emit, const Attempt& attempt) {
                            ++calls;
                            arm(attempt, &clock);
                            clock.break_at(2);
                            emit(1);
                          },
                          [](int) {}, {.clock = &clock}),
                      "no clock");
    CHECK(calls == 1);
  }
}

TEST_CASE("what stop_token() throws within the callable is the callable's failure") {
  BrokenClock clock(1000, false);
  const ExecutionPlan<int> plan{{.name = "first", .provide = 1, .timeout = 1h}, {.name = "second", .provide = 2}};
  const auto result = try_run_with_plan(
      plan,
      [&](int& step, const Attempt& attempt) {
        clock.break_at(step == 1 ? 0 : 1000);
        static_cast<void>(attempt.stop_token());
        return step;
      },
      {.clock = &clock});
  REQUIRE(result.has_value());
  CHECK(*result == 2);
  CHECK(result.report().last_cause()->message() == "no clock");
}
#endif

TEST_CASE("a success that the clock cannot date is told, and what the clock threw leaves") {
  BrokenClock clock(1, true);
  const testing::AttemptLog log;
  int calls = 0;
  const ExecutionPlan<int> plan{{.name = "only", .provide = 1, .attempts = 3}};
  CHECK_THROWS_AS(run_with_plan(plan, [&](int&) { return ++calls; }, {.on_event = log, .clock = &clock}),
                  std::runtime_error);
  CHECK(calls == 1);
  CHECK(log.lines() == std::vector<std::string>{"AttemptStart #1 step=0 only", "AttemptSuccess #1 step=0 only"});
}

TEST_CASE("a run by hand is over after its clock has thrown") {
  BrokenClock clock(0, true);
  const ExecutionPlan<int> plan{{.name = "only", .provide = 1, .timeout = 1s}};
  PlanRun<int> run(plan, {.clock = &clock});
  CHECK_THROWS_AS(run.next(), std::runtime_error);
  CHECK(run.next() == RunPhase::over);
  CHECK(run.end() == RunEnd::interrupted);
}

TEST_CASE("a clock that throws while it is decided what follows: the report names no reason that was not found") {
  BrokenClock clock(0, true);
  const ExecutionPlan<int> plan{{.name = "first", .provide = 1, .attempts = 3, .schedule = recurs(0)},
                                {.name = "second", .provide = 2}};
  PlanRun<int> run(plan, {.clock = &clock});
  REQUIRE(run.next() == RunPhase::attempt);
  CHECK_THROWS_WITH(run.fail(Cause::of(ProviderError(503))), "no clock");
  CHECK(run.end() == RunEnd::interrupted);
  REQUIRE(run.report().steps.size() == 1);
  CHECK(run.report().steps[0].left == LeaveReason::none);
}

TEST_CASE("a clock that throws before the first output ends the attempt there") {
  BrokenClock clock(1000, false);
  const ExecutionPlan<int> plan{{.provide = 1, .first_timeout = 1h}, {.provide = 2}};
  std::vector<bool> said;
  const auto producer = committing(
      [&](int&, auto& emit) {
        said.push_back(emit(-1));
        clock.break_at(0);
        said.push_back(emit(-2));
      },
      [](int item) { return item > 0; }, 5);
  CHECK_THROWS_WITH(push_with_plan(plan, producer, [](int) {}, {.clock = &clock}), "no clock");
  CHECK(said == std::vector<bool>{true, false});
}
