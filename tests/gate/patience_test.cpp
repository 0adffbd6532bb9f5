// How long a step waits for its gate.
#include <planb/gate/gate.hpp>

#include "catch.hpp"

#include <planb/engine/plan_run.hpp>
#include <planb/error/provider_error.hpp>
#include <planb/gates.hpp>
#include <planb/run.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#if PLANB_HAS_STOP_TOKEN
#include <stop_token>
#endif

namespace {

using namespace std::chrono_literals;
using planb::AttemptStart;
using planb::Duration;
using planb::ExecutionPlan;
using planb::GateReason;
using planb::TimePoint;
using planb::testing::AttemptLog;
using planb::testing::VirtualClock;

constexpr TimePoint at(Duration since_start) { return TimePoint{since_start}; }

}  // namespace

TEST_CASE("a step waits for its gate as long as its patience, and no longer") {
  struct Case {
    Duration patience;
    std::optional<Duration> max_wait;
    std::optional<Duration> budget;
    Duration reserve;  // of the step after it
    bool waits;        // for the 6 s until the rate limit opens
  };
  const Case cases[] = {
      {0s, {}, {}, 0s, false}, {5s, {}, {}, 0s, false}, {6s - 1ns, {}, {}, 0s, false}, {6s, {}, {}, 0s, true},
      {1h, {}, {}, 0s, true},  {1h, 6s, {}, 0s, true},  {1h, 5s, {}, 0s, false},       {6s, 1h, {}, 0s, true},
      {1h, {}, 7s, 0s, true},  {1h, {}, 6s, 0s, false}, {1h, {}, 10s, 4s, false},      {1h, {}, 10s, 4s - 1ns, true},
  };
  for (const Case& c : cases) {
    CAPTURE(c.patience.count(), c.max_wait.value_or(-1s).count(), c.budget.value_or(-1s).count(), c.reserve.count());
    VirtualClock clock;
    const auto limit = planb::rate_limit({.permits = 10, .period = 1min, .burst = 1, .patience = c.patience});
    planb::Step<int> first{.name = "alpha", .provide = 1, .gate = limit};
    if (c.max_wait) first.max_wait = *c.max_wait;
    planb::Step<int> second{.name = "beta", .provide = 2};
    if (c.reserve > 0s) second.reserve = c.reserve;
    const ExecutionPlan<int> plan{first, second};
    planb::RunOptions options{.clock = &clock};
    if (c.budget) options.budget = *c.budget;
    const auto which = [](int& step) { return step; };
    REQUIRE(run_with_plan(plan, which, options) == 1);
    const AttemptLog log;
    options.on_event = log;
    CHECK(run_with_plan(plan, which, options) == (c.waits ? 1 : 2));
    CHECK(clock.now() == at(c.waits ? 6s : 0s));
    REQUIRE(log.of<AttemptStart>().size() == 1);
    CHECK(log.of<AttemptStart>()[0].gate_wait == (c.waits ? 6s : 0s));
    CHECK(log.of<planb::StepSkipped>().size() == (c.waits ? 0U : 1U));  // nothing is told while it waits
  }
}

TEST_CASE("where nobody knows when it opens, a gate is asked every 10 ms, and once more at the end") {
  VirtualClock clock;
  const auto places = planb::concurrency_limit({.limit = 1, .patience = 25ms});
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .gate = places}};
  auto inside = places->admit(clock.now()).permit;
  planb::PlanRun<int> run(plan, {.clock = &clock});
  SECTION("it opens meanwhile") {
    CHECK(run.next() == planb::RunPhase::wait);
    CHECK(run.due() == at(10ms));
    clock.advance(5ms);
    CHECK(run.next() == planb::RunPhase::wait);  // asked too early: it goes on waiting
    clock.advance(5ms);
    CHECK(run.next() == planb::RunPhase::wait);
    CHECK(run.due() == at(20ms));
    inside.reset();
    clock.advance(10ms);
    CHECK(run.next() == planb::RunPhase::attempt);
    CHECK(places->running() == 1);
    run.succeed();
  }
  SECTION("it does not") {
    for (const Duration due : {10ms, 20ms, 25ms}) {
      REQUIRE(run.next() == planb::RunPhase::wait);
      CHECK(run.due() == at(due));
      clock.advance(run.due() - clock.now());
    }
    CHECK(run.next() == planb::RunPhase::over);
    const planb::RunReport report = run.report();
    CHECK(report.to_string() == "plan exhausted: alpha: skipped, concurrency limited");
    CHECK(report.steps[0].gate_reason == GateReason::concurrency_limited);
  }
}

TEST_CASE("before a retry's wait the step is left only if the gate opens after wait and patience") {
  for (const auto& [wait, patience, goes_on] : std::vector<std::tuple<Duration, Duration, bool>>{
           {1s, 0s, false}, {1s, 8s, false}, {1s, 9s, true}, {9s, 1s, true}, {10s, 0s, true}}) {
    CAPTURE(wait.count(), patience.count());
    VirtualClock clock;
    const auto breaker = planb::circuit_breaker({.failure_threshold = 1, .open_for = 10s, .patience = patience});
    const ExecutionPlan<int> plan{
        {.name = "alpha", .provide = 1, .attempts = 2, .schedule = planb::spaced(wait), .gate = breaker}};
    const AttemptLog log;
    const auto result = planb::try_run_with_plan(plan,
                                                 [&](int&) {
                                                   if (clock.now() < at(10s)) throw planb::ProviderError(503, "busy");
                                                 },
                                                 {.on_event = log, .clock = &clock});
    CHECK(result.has_value() == goes_on);
    CHECK(clock.now() == at(goes_on ? 10s : 0s));
    if (!goes_on) {
      CHECK(result.report().to_string() == "plan exhausted: alpha: 503 busy, circuit open for 10 s");
    } else {
      REQUIRE(log.of<AttemptStart>().size() == 2);
      CHECK(log.of<AttemptStart>()[0].gate_wait == 0s);
      CHECK(log.of<AttemptStart>()[1].gate_wait == 10s - wait);
    }
  }
}

TEST_CASE("a gate whose opening nobody knows does not end a step that has patience") {
  VirtualClock clock;
  const auto places = planb::concurrency_limit({.limit = 1, .patience = 50ms});
  const ExecutionPlan<int> plan{
      {.name = "alpha", .provide = 1, .attempts = 2, .schedule = planb::spaced(1s), .gate = places}};
  planb::PlanRun<int> run(plan, {.clock = &clock});
  REQUIRE(run.next() == planb::RunPhase::attempt);
  run.fail(planb::Cause::of(planb::ProviderError(503, "busy")));
  auto other = places->admit(clock.now()).permit;
  REQUIRE(run.next() == planb::RunPhase::wait);
  clock.advance(1s);
  REQUIRE(run.next() == planb::RunPhase::wait);
  CHECK(run.due() == at(1s + 10ms));
  SECTION("it opens") {
    other.reset();
    clock.advance(10ms);
    CHECK(run.next() == planb::RunPhase::attempt);
    run.succeed();
  }
  SECTION("its patience is spent: the step is left, with the gate's last reason") {
    while (run.next() == planb::RunPhase::wait) clock.advance(run.due() - clock.now());
    CHECK(clock.now() == at(1050ms));
    CHECK(run.report().steps[0].left == planb::LeaveReason::gate_closed);
    CHECK(run.report().to_string() == "plan exhausted: alpha: 503 busy, concurrency limited");
  }
}

TEST_CASE("patience is that of the gate that refuses, where several are asked as one") {
  VirtualClock clock;
  const auto limit = planb::rate_limit({.permits = 1, .period = 10s, .patience = 10s});
  const auto breaker = planb::circuit_breaker();
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .gate = planb::all_of(limit, breaker)}};
  run_with_plan(plan, [](int&) {}, {.clock = &clock});
  run_with_plan(plan, [](int&) {}, {.clock = &clock});
  CHECK(clock.now() == at(10s));
  clock.advance(10s);
  breaker->force_open(at(25s));  // sooner than the limit's patience would end
  CHECK_FALSE(planb::try_run_with_plan(plan, [](int&) {}, {.clock = &clock}).has_value());
  CHECK(clock.now() == at(20s));
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("a stop ends a wait for a gate at once") {
  VirtualClock clock;
  const auto limit = planb::rate_limit({.permits = 1, .period = 10s, .patience = 1h});
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .gate = limit}};
  std::stop_source stop;
  run_with_plan(plan, [](int&) {}, {.clock = &clock});
  planb::PlanRun<int> run(plan, {.stop = stop.get_token(), .clock = &clock});
  REQUIRE(run.next() == planb::RunPhase::wait);
  stop.request_stop();
  CHECK(run.next() == planb::RunPhase::over);
  CHECK(run.report().end == planb::RunEnd::interrupted);
}
#endif
