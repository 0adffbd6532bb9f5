// How a step after the first is entered: at once (the default), or as the reference does, whose schedule and predicate
// are first asked with the previous step's error.
#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::ExecutionPlan;
using planb::ProviderError;
using planb::StepEntry;
using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;
using Strings = std::vector<std::string>;
using Plan = ExecutionPlan<FakeProvider>;

// Each event in short: time, kind, step, and a failure's status or why a step was passed over.
Strings story(const AttemptLog& log) {
  Strings lines;
  const auto line = [&](const auto& event, const std::string& what) {
    const auto at = std::chrono::duration_cast<std::chrono::milliseconds>(event.at.time_since_epoch());
    lines.push_back(std::to_string(at.count()) + " " + what + " " + event.step_name);
  };
  for (const planb::Event& event : log.events()) {
    event.visit(planb::overloaded{[&](const planb::AttemptStart& e) { line(e, "start"); },
                                  [&](const planb::AttemptSuccess& e) { line(e, "success"); },
                                  [&](const planb::AttemptFailure& e) {
                                    line(e, "failure");
                                    lines.back() += " " + std::to_string(e.cause.status().value_or(0));
                                  },
                                  [&](const planb::StepSkipped& e) {
                                    line(e, "skipped");
                                    lines.back() += std::string(" ") + to_string(e.reason);
                                  },
                                  [](const auto&) {}});
  }
  return lines;
}

const auto ask = [](const FakeProvider& provider) { return provider.complete(); };

Strings run(const Plan& plan, StepEntry entry) {
  VirtualClock clock;
  const AttemptLog log;
  const auto result = planb::try_run_with_plan(plan, ask, {.on_event = log, .clock = &clock, .entry = entry});
  Strings told = story(log);
  told.push_back(result.has_value() ? "answer " + *result : to_string(result.report().end));
  return told;
}

planb::Step<FakeProvider> failing(std::string name, int status) {
  return {.name = name, .provide = FakeProvider(name, {Behaviour::status(status)})};
}

planb::Step<FakeProvider> well(std::string name) { return {.name = name, .provide = FakeProvider(name)}; }

bool server_fault(const ProviderError& error) { return error.status >= 500; }

}  // namespace

TEST_CASE("a step with neither attempts nor schedule nor predicate is tried once, at once, in either entry",
          "[entry]") {
  for (const StepEntry entry : {StepEntry::immediate, StepEntry::scheduled}) {
    CHECK(run(Plan{failing("a", 503), failing("b", 429), well("c")}, entry) ==
          Strings{"0 start a", "0 failure a 503", "0 start b", "0 failure b 429", "0 start c", "0 success c",
                  "answer c"});
  }
}

TEST_CASE("a step with attempts only is tried so often, without a wait, in either entry", "[entry]") {
  planb::Step<FakeProvider> b = failing("b", 429);
  b.attempts = 3;
  for (const StepEntry entry : {StepEntry::immediate, StepEntry::scheduled}) {
    CHECK(run(Plan{failing("a", 503), b}, entry) == Strings{"0 start a", "0 failure a 503", "0 start b",
                                                            "0 failure b 429", "0 start b", "0 failure b 429",
                                                            "0 start b", "0 failure b 429", "exhausted"});
  }
}

TEST_CASE("the first step is entered alike: its schedule and predicate see its own failures only", "[entry]") {
  std::vector<int> asked;
  planb::Step<FakeProvider> a = failing("a", 503);
  a.attempts = 3;
  a.schedule = planb::exponential(10ms);
  a.retry_while = [&](const ProviderError& e) { return asked.push_back(e.status), true; };
  for (const StepEntry entry : {StepEntry::immediate, StepEntry::scheduled}) {
    asked.clear();
    CHECK(run(Plan{a}, entry) == Strings{"0 start a", "0 failure a 503", "10 start a", "10 failure a 503", "30 start a",
                                         "30 failure a 503", "exhausted"});
    CHECK(asked == std::vector{503, 503, 503});
  }
}

TEST_CASE("scheduled: a step's schedule delays its entry, and goes on from there", "[entry]") {
  planb::Step<FakeProvider> b = failing("b", 429);
  b.attempts = 3;
  b.schedule = planb::exponential(10ms);
  const Plan plan{failing("a", 503), b};

  CHECK(run(plan, StepEntry::immediate) == Strings{"0 start a", "0 failure a 503", "0 start b", "0 failure b 429",
                                                   "10 start b", "10 failure b 429", "30 start b", "30 failure b 429",
                                                   "exhausted"});
  CHECK(run(plan, StepEntry::scheduled) == Strings{"0 start a", "0 failure a 503", "10 start b", "10 failure b 429",
                                                   "30 start b", "30 failure b 429", "70 start b", "70 failure b 429",
                                                   "exhausted"});
}

TEST_CASE("scheduled: a predicate that declines the previous step's error passes its step over", "[entry]") {
  planb::Step<FakeProvider> b = failing("b", 503);
  b.attempts = 2;
  b.retry_while = server_fault;

  SECTION("the error before it is not one to retry") {
    const Plan plan{failing("a", 400), b, well("c")};
    CHECK(run(plan, StepEntry::immediate) == Strings{"0 start a", "0 failure a 400", "0 start b", "0 failure b 503",
                                                     "0 start b", "0 failure b 503", "0 start c", "0 success c",
                                                     "answer c"});
    CHECK(run(plan, StepEntry::scheduled) ==
          Strings{"0 start a", "0 failure a 400", "0 skipped b declined", "0 start c", "0 success c", "answer c"});
  }
  SECTION("the error before it is one to retry") {
    const Plan plan{failing("a", 502), b, well("c")};
    CHECK(run(plan, StepEntry::scheduled) == run(plan, StepEntry::immediate));
  }
}

TEST_CASE("scheduled: a schedule that ends at the entry passes its step over", "[entry]") {
  planb::Step<FakeProvider> b = failing("b", 503);
  const auto plan_with = [&](planb::Schedule schedule) {
    b.schedule = std::move(schedule);
    return Plan{failing("a", 400), b, well("c")};
  };
  const Strings passed_over{"0 start a", "0 failure a 400", "0 skipped b declined",
                            "0 start c", "0 success c",     "answer c"};
  const Strings tried_once{"0 start a", "0 failure a 400", "0 start b", "0 failure b 503",
                           "0 start c", "0 success c",     "answer c"};
  const Strings tried_twice{"0 start a",       "0 failure a 400", "0 start b",   "0 failure b 503", "0 start b",
                            "0 failure b 503", "0 start c",       "0 success c", "answer c"};

  SECTION("one that never recurs") {
    CHECK(run(plan_with(planb::recurs(0)), StepEntry::immediate) == tried_once);
    CHECK(run(plan_with(planb::recurs(0)), StepEntry::scheduled) == passed_over);
  }
  SECTION("one that recurs once: the entry has used that up") {
    CHECK(run(plan_with(planb::recurs(1)), StepEntry::immediate) == tried_twice);
    CHECK(run(plan_with(planb::recurs(1)), StepEntry::scheduled) == tried_once);
  }
  SECTION("and attempts do not bring it back") {
    b.attempts = 5;
    CHECK(run(plan_with(planb::recurs(0)), StepEntry::scheduled) == passed_over);
    CHECK(run(plan_with(planb::recurs(1)), StepEntry::scheduled) == tried_once);
  }
}

TEST_CASE("scheduled: attempts count tries of the step, not its entry", "[entry]") {
  planb::Step<FakeProvider> b = failing("b", 503);
  b.attempts = 2;
  b.schedule = planb::spaced(10ms);
  CHECK(run(Plan{failing("a", 400), b}, StepEntry::scheduled) == Strings{"0 start a", "0 failure a 400", "10 start b",
                                                                         "10 failure b 503", "20 start b",
                                                                         "20 failure b 503", "exhausted"});
}

TEST_CASE("scheduled: a schedule's elapsed time counts from the entry", "[entry]") {
  planb::Step<FakeProvider> a = failing("a", 503);
  a.attempts = 2;
  a.schedule = planb::spaced(1s);
  planb::Step<FakeProvider> b = failing("b", 503);
  b.schedule = planb::up_to(planb::spaced(20ms), 30ms);  // asked 0, 20 and 40 ms after it was first asked
  CHECK(run(Plan{a, b}, StepEntry::scheduled) == Strings{"0 start a", "0 failure a 503", "1000 start a",
                                                         "1000 failure a 503", "1020 start b", "1020 failure b 503",
                                                         "1040 start b", "1040 failure b 503", "exhausted"});
}

TEST_CASE("what a step's predicate and schedule are asked: scheduled begins with the error before the step",
          "[entry]") {
  std::vector<int> predicate;
  std::vector<int> schedule;
  const FakeProvider fake("b", {Behaviour::status(501), Behaviour::status(502)});
  const Plan plan{failing("a", 500),
                  {.name = "b",
                   .provide = fake,
                   .attempts = 2,
                   .schedule = planb::tap(planb::forever(),
                                          [&](const planb::ScheduleInput& input) {
                                            schedule.push_back(input.cause.status().value_or(0));
                                          }),
                   .retry_while = [&](const ProviderError& e) { return predicate.push_back(e.status), true; }}};

  run(plan, StepEntry::immediate);
  CHECK(predicate == std::vector{501, 502});
  CHECK(schedule == std::vector{501});

  predicate.clear();
  schedule.clear();
  fake.reset();
  run(plan, StepEntry::scheduled);
  CHECK(predicate == std::vector{500, 501, 502});
  CHECK(schedule == std::vector{500, 501});
}

TEST_CASE("scheduled: steps behind one that was passed over are asked with the last error that there was", "[entry]") {
  std::vector<int> asked;
  planb::Step<FakeProvider> b = well("b");
  b.retry_while = [&](const ProviderError& e) { return asked.push_back(e.status), false; };
  planb::Step<FakeProvider> c = well("c");
  c.retry_while = [&](const ProviderError& e) { return asked.push_back(-e.status), false; };

  CHECK(run(Plan{failing("a", 400), b, c}, StepEntry::scheduled) ==
        Strings{"0 start a", "0 failure a 400", "0 skipped b declined", "0 skipped c declined", "exhausted"});
  CHECK(asked == std::vector{400, -400});
}

TEST_CASE("scheduled: where all other steps decline, the run failed with the last error that there was", "[entry]") {
  planb::Step<FakeProvider> b = well("b");
  b.retry_while = server_fault;
  const Plan plan{failing("a", 400), b};

  SECTION("original style") {
    try {
      planb::run_with_plan(plan, ask, {.entry = StepEntry::scheduled, .failure = planb::FailureStyle::original});
      FAIL("b must not be tried");
    } catch (const ProviderError& error) {
      CHECK(error.status == 400);
    }
  }
  SECTION("default style: the report says which steps were passed over, and why") {
    try {
      planb::run_with_plan(plan, ask, {.entry = StepEntry::scheduled});
      FAIL("b must not be tried");
    } catch (const planb::PlanExhausted& error) {
      REQUIRE(error.report().steps.size() == 2);
      CHECK(error.report().steps[0].attempts == 1);
      CHECK(error.report().steps[1].attempts == 0);
      CHECK(error.report().steps[1].skipped == planb::SkipReason::declined);
      CHECK_FALSE(error.report().steps[1].cause.has_value());
      CHECK(std::string(error.what()).find("b: skipped, declined") != std::string::npos);
    }
  }
}

TEST_CASE("scheduled: a factory, a returned error or a refused value before the step is asked of it alike", "[entry]") {
  planb::Step<int> b{.name = "b", .provide = 2, .schedule = planb::up_to(planb::spaced(10ms), 1)};
  const AttemptLog log;
  VirtualClock clock;
  const planb::RunOptions options{.on_event = log, .clock = &clock, .entry = StepEntry::scheduled};

  SECTION("a factory that throws") {
    const ExecutionPlan<int> plan{{.name = "a", .provide = []() -> int { throw ProviderError(503); }}, b};
    CHECK(planb::run_with_plan(
              plan, [](int context) { return context; }, options) == 2);
  }
  SECTION("a refused value") {
    const ExecutionPlan<int> plan{{.name = "a", .provide = 1}, b};
    const auto checked = planb::accepting([](int context) { return context; }, [](int value) { return value == 2; });
    CHECK(planb::run_with_plan(plan, checked, options) == 2);
  }
  CHECK(story(log).at(2) == "10 start b");
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("scheduled: a stop during the wait at a step's entry ends the run before its first attempt", "[entry]") {
  VirtualClock clock;
  const AttemptLog log;
  std::stop_source source;
  const planb::Timer stop_at = clock.call_at(planb::TimePoint{30ms}, [&] { source.request_stop(); });
  planb::Step<FakeProvider> b = well("b");
  b.attempts = 2;
  b.schedule = planb::spaced(50ms);
  CHECK_THROWS_AS(planb::run_with_plan(
                      Plan{failing("a", 503), b, well("c")}, ask,
                      {.on_event = log, .stop = source.get_token(), .clock = &clock, .entry = StepEntry::scheduled}),
                  planb::PlanInterrupted);
  CHECK(story(log) == Strings{"0 start a", "0 failure a 503"});
  CHECK(clock.elapsed() == 30ms);
}
#endif

TEST_CASE("scheduled: the wait at a step's entry must end within the budget, or the step is passed over", "[entry]") {
  VirtualClock clock;
  const AttemptLog log;
  planb::Step<FakeProvider> b = well("b");
  b.attempts = 1;
  b.schedule = planb::spaced(50ms);
  const Plan plan{failing("a", 503), b};
  const auto run_within = [&](planb::Duration budget) {
    return planb::try_run_with_plan(
        plan, ask, {.on_event = log, .budget = budget, .clock = &clock, .entry = StepEntry::scheduled});
  };

  SECTION("it does") {
    CHECK(run_within(51ms).has_value());
    CHECK(story(log).back() == "50 success b");
  }
  SECTION("it does not") {
    const auto result = run_within(50ms);
    CHECK_FALSE(result.has_value());
    CHECK(result.report().end == planb::RunEnd::deadline);
    CHECK(story(log) == Strings{"0 start a", "0 failure a 503", "0 skipped b out of time"});
    CHECK(clock.waits() == 0);
  }
}
