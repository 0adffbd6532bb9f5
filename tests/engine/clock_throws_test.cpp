// A clock that throws: its exception leaves the run, whichever reading of the clock it is, and what began is told.
#include "catch.hpp"

#include <planb/coro.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <functional>
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

  mutable testing::VirtualClock inner;
  mutable int readings = 0;
  mutable bool thrown = false;

 private:
  Timer make_timer(TimePoint due, detail::Function<void()> fn) override { return inner.call_at(due, std::move(fn)); }

  mutable int good_;
  bool for_good_;
};

class CountingGate final : public Gate {
 public:
  int admitted = 0;
  int told = 0;

  [[nodiscard]] Admission admit(TimePoint now) override {
    ++admitted;
    return {Permit(*this, 1), now};
  }
  [[nodiscard]] TimePoint opens_at(TimePoint now) const override { return now; }

 private:
  void on_success(std::uint64_t, TimePoint) override { ++told; }
  void on_failure(std::uint64_t, const Cause&, TimePoint) override { ++told; }
  void on_dropped(std::uint64_t) noexcept override { ++told; }
};

struct Way {
  const char* name;
  std::function<void(const ExecutionPlan<int>&, const RunOptions&)> run;
};

StreamOptions as_stream(const RunOptions& options) {
  return {.on_event = options.on_event, .budget = options.budget, .clock = options.clock};
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
       stream_with_plan(
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
};

}  // namespace

TEST_CASE("what a clock throws leaves the run, whichever reading it is, and each attempt is told to its end") {
  for (const bool for_good : {false, true}) {
    for (const Way& way : ways) {
      for (const bool budget : {false, true}) {
        for (int good = 0;; ++good) {
          INFO(way.name << ", budget " << budget << ", " << good << " readings are good, then "
                        << (for_good ? "none" : "all but one"));
          BrokenClock clock(good, for_good);
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
