// enter_when: steps that are entered only after certain failures.
#include <planb/run.hpp>

#include "catch.hpp"

#include <planb/engine/plan_run.hpp>
#include <planb/gate/circuit_breaker.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::Action;
using planb::AttemptFailure;
using planb::Cause;
using planb::CauseKind;
using planb::ExecutionPlan;
using planb::PlanAborted;
using planb::PlanExhausted;
using planb::ProviderError;
using planb::RunEnd;
using planb::SkipReason;
using planb::StepSkipped;
using planb::Verdict;
using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;
using Names = std::vector<std::string>;

std::string complete(FakeProvider& provider) { return provider.complete(); }

FakeProvider failing(std::string name, int status, std::string code = {}) {
  return FakeProvider(std::move(name), {Behaviour::status(status).code(std::move(code))});
}

bool too_long(const Cause& cause) { return cause.code() == "context_length_exceeded"; }

struct Refused {
  std::string why;
  bool by_policy = true;
  [[nodiscard]] bool is_policy() const { return by_policy; }
};

struct RefusedLoudly : Refused {};

// Whether a step with this guard is entered after alpha has thrown `error`.
template <class Guard, class E>
bool enters(Guard guard, E error) {
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = FakeProvider("alpha", {Behaviour::throws(std::move(error))})},
      {.name = "beta", .provide = FakeProvider("beta"), .enter_when = std::move(guard)},
  };
  return try_run_with_plan(plan, complete).has_value();
}

}  // namespace

TEST_CASE("a larger model is entered only after a context overflow", "[field-25]") {
  const std::string code = GENERATE("context_length_exceeded", "overloaded", "");
  const FakeProvider large("large");
  const ExecutionPlan<FakeProvider> plan{
      {.name = "small", .provide = failing("small", 400, code)},
      {.name = "large", .provide = large, .enter_when = too_long},
      {.name = "other", .provide = FakeProvider("other")},
  };
  const AttemptLog log;
  const auto result = try_run_with_plan(plan, complete, {.on_event = log});
  REQUIRE(result.has_value());
  if (code == "context_length_exceeded") {
    CHECK(log.names() == Names{"small", "large"});
    CHECK(log.of<StepSkipped>().empty());
    CHECK(*result == "large");
  } else {
    CHECK(log.names() == Names{"small", "other"});
    CHECK(large.calls() == 0);
    const auto skipped = log.of<StepSkipped>();
    REQUIRE(skipped.size() == 1);
    CHECK(skipped[0].step_index == 1);
    CHECK(skipped[0].step_name == "large");
    CHECK(skipped[0].reason == SkipReason::declined);
    CHECK_FALSE(skipped[0].opens_at);
    REQUIRE(result.report().steps.size() == 3);
    CHECK(result.report().steps[1].skipped == SkipReason::declined);
    CHECK(result.report().steps[1].attempts == 0);
    CHECK_FALSE(result.report().steps[1].cause);
    CHECK(result.report().to_string() == "small: 400 bad request; large: skipped, declined; other: answered");
  }
}

TEST_CASE("a step that is skipped is told between the failure before it and the next step's start") {
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = failing("alpha", 503)},
      {.name = "large", .provide = FakeProvider("large"), .enter_when = too_long},
      {.name = "beta", .provide = FakeProvider("beta")},
  };
  const AttemptLog log;
  run_with_plan(plan, complete, {.on_event = log});
  CHECK(log.lines() ==
        Names{"AttemptStart #1 step=0 alpha", "AttemptFailure #1 step=0 alpha 503 service unavailable, next step",
              "StepSkipped step=1 large declined", "AttemptStart #2 step=2 beta", "AttemptSuccess #2 step=2 beta"});
}

TEST_CASE("a guard takes a cause, an error type, or one of its members") {
  const auto any_cause = [](const Cause&) { return true; };
  const auto by_status = [](const Cause& cause) { return cause.status() == 503; };
  const auto by_type = [](const ProviderError& error) { return error.status == 503; };
  const auto by_base = [](const std::exception&) { return true; };
  const auto by_own = [](const Refused& refused) { return refused.why == "violence"; };

  CHECK(enters(any_cause, 42));
  CHECK(enters(by_status, ProviderError(503, "busy")));
  CHECK_FALSE(enters(by_status, ProviderError(400, "bad")));
  CHECK(enters(by_type, ProviderError(503, "busy")));
  CHECK_FALSE(enters(by_type, ProviderError(400, "bad")));
  CHECK_FALSE(enters(by_type, std::runtime_error("503")));  // another error: it declines
  CHECK(enters(by_base, std::runtime_error("any")));
  CHECK_FALSE(enters(by_base, Refused{"violence"}));
  CHECK(enters(by_own, Refused{"violence"}));
  CHECK_FALSE(enters(by_own, Refused{"other"}));
  CHECK(enters(&Refused::is_policy, Refused{"violence"}));
  CHECK_FALSE(enters(&Refused::is_policy, Refused{"violence", false}));
  CHECK(enters(&Refused::by_policy, Refused{"violence"}));
  CHECK(enters(by_own, RefusedLoudly{{"violence"}}));  // as a handler would catch it
  CHECK(enters(too_long, ProviderError(400, "too long", "context_length_exceeded")));
}

TEST_CASE("a guard reads returned errors as it reads thrown ones", "[field-21]") {
  struct Answer {  // an expected-like
    std::string text;
    int failed = 0;
    [[nodiscard]] bool has_value() const { return failed == 0; }
    [[nodiscard]] const std::string& operator*() const { return text; }
    [[nodiscard]] int error() const { return failed; }
  };
  const auto guard = [](const int& error) { return error == 7; };
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 7},
                                {.name = "beta", .provide = 8, .enter_when = guard},
                                {.name = "gamma", .provide = 9, .enter_when = guard},
                                {.name = "delta", .provide = 0}};
  const AttemptLog log;
  const auto call = [](int& error) { return Answer{"answer", error}; };
  CHECK(run_with_plan(plan, call, {.on_event = log}).has_value());
  CHECK(log.names() == Names{"alpha", "beta", "delta"});
}

TEST_CASE("a guarded first step declines: there is no failure yet") {
  int asked = 0;
  const auto guard = [&asked](const Cause&) { return ++asked != 0; };
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = FakeProvider("alpha"), .enter_when = guard},
      {.name = "beta", .provide = FakeProvider("beta")},
  };
  const AttemptLog log;
  CHECK(run_with_plan(plan, complete) == "beta");
  CHECK(run_with_plan(plan, complete, {.on_event = log}) == "beta");
  CHECK(asked == 0);
  CHECK(log.lines() ==
        Names{"StepSkipped step=0 alpha declined", "AttemptStart #1 step=1 beta", "AttemptSuccess #1 step=1 beta"});
}

TEST_CASE("where every step is guarded, nothing is called: exhausted, each reported as declined", "[field-53]") {
  const auto guard = [](const Cause&) { return true; };
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = FakeProvider("alpha"), .enter_when = guard},
      {.name = "beta", .provide = FakeProvider("beta"), .enter_when = guard},
  };
  const auto result = try_run_with_plan(plan, complete);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().end() == RunEnd::exhausted);
  CHECK(result.report().to_string() == "plan exhausted: alpha: skipped, declined; beta: skipped, declined");
  CHECK_THROWS_AS(run_with_plan(plan, complete, {.failure = planb::FailureStyle::original}), PlanExhausted);
}

TEST_CASE("a guard is asked once, with the failure before its step, wherever that was", "[field-26]") {
  std::vector<std::string> asked;
  const auto noting = [&asked](std::string name, bool answer) {
    return [&asked, name = std::move(name), answer](const Cause& cause) {
      asked.push_back(name + " about " + std::to_string(cause.status().value_or(0)));
      return answer;
    };
  };
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha",
       .provide = FakeProvider("alpha", {Behaviour::status(503), Behaviour::status(500)}),
       .attempts = 2},
      {.name = "beta", .provide = failing("beta", 501), .enter_when = noting("beta", false)},
      {.name = "gamma", .provide = failing("gamma", 502), .attempts = 3, .enter_when = noting("gamma", true)},
      {.name = "delta", .provide = FakeProvider("delta"), .enter_when = noting("delta", true)},
  };
  const AttemptLog log;
  CHECK(run_with_plan(plan, complete, {.on_event = log}) == "delta");
  CHECK(log.names() == Names{"alpha", "alpha", "gamma", "gamma", "gamma", "delta"});
  CHECK(asked == Names{"beta about 500", "gamma about 500", "delta about 502"});
}

TEST_CASE("a guard is not asked where an earlier step has answered, or the run is over", "[field-26]") {
  int asked = 0;
  const auto guard = [&asked](const Cause&) { return ++asked != 0; };
  const auto abort = [](const Cause&) { return Verdict{Action::abort}; };
  const ExecutionPlan<FakeProvider> answered{{.name = "alpha", .provide = FakeProvider("alpha")},
                                             {.name = "beta", .provide = FakeProvider("beta"), .enter_when = guard}};
  CHECK(run_with_plan(answered, complete) == "alpha");
  const ExecutionPlan<FakeProvider> aborted{{.name = "alpha", .provide = failing("alpha", 400), .classify = abort},
                                            {.name = "beta", .provide = FakeProvider("beta"), .enter_when = guard}};
  CHECK_THROWS_AS(run_with_plan(aborted, complete), PlanAborted);
  CHECK(asked == 0);
}

TEST_CASE("a guard is asked about a timeout and a refused value as about an error") {
  const auto kind_is = [](CauseKind kind) { return [kind](const Cause& cause) { return cause.kind() == kind; }; };
  VirtualClock clock;
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .timeout = 10s},
                                {.name = "beta", .provide = 2, .enter_when = kind_is(CauseKind::timeout)},
                                {.name = "gamma", .provide = 3, .enter_when = kind_is(CauseKind::timeout)},
                                {.name = "delta", .provide = 4, .enter_when = kind_is(CauseKind::rejected)}};
  const auto call = [&](int& i) {
    if (i == 1) {
      clock.advance(10s);
      throw ProviderError("gave up");
    }
    return i;
  };
  const AttemptLog log;
  CHECK(run_with_plan(plan, planb::accepting(call, [](int i) { return i > 2; }), {.on_event = log, .clock = &clock}) ==
        4);
  CHECK(log.names() == Names{"alpha", "beta", "delta"});
}

TEST_CASE("a guard that throws ends the run as aborted") {
  const auto guard = [](const Cause&) -> bool { throw std::runtime_error("guard"); };
  const ExecutionPlan<FakeProvider> plan{{.name = "alpha", .provide = failing("alpha", 503)},
                                         {.name = "beta", .provide = FakeProvider("beta"), .enter_when = guard}};
  const AttemptLog log;
  try {
    run_with_plan(plan, complete, {.on_event = log});
    FAIL_CHECK("no exception");
  } catch (const PlanAborted& error) {
    try {
      std::rethrow_if_nested(error);
      FAIL_CHECK("nothing nested");
    } catch (const std::runtime_error& nested) {
      CHECK(std::string(nested.what()) == "guard");
    }
    REQUIRE(error.report().last_cause() != nullptr);
    CHECK(error.report().last_cause()->status() == 503);  // the attempt's own error stays
    CHECK(std::string(error.what()) == "plan aborted: alpha: 503 service unavailable; a rule of the plan threw: guard");
  }
  CHECK(log.names() == Names{"alpha"});
  CHECK_THROWS_AS(run_with_plan(plan, complete, {.failure = planb::FailureStyle::original}), std::runtime_error);
}

TEST_CASE("a guard's defect leaves unchanged") {
  const auto guard = [](const Cause&) -> bool { throw planb::Defect("a bug"); };
  const ExecutionPlan<FakeProvider> plan{{.name = "alpha", .provide = failing("alpha", 503)},
                                         {.name = "beta", .provide = FakeProvider("beta"), .enter_when = guard}};
  CHECK_THROWS_AS(run_with_plan(plan, complete), planb::Defect);
  CHECK_THROWS_AS(try_run_with_plan(plan, complete), planb::Defect);
}

// --- next_guarded
// -----------------------------------------------------------------------------------------------------

namespace {

const auto only_guarded = [](const Cause&) { return Verdict{Action::next_guarded}; };
const auto accept = [](const Cause&) { return true; };
const auto decline = [](const Cause&) { return false; };

}  // namespace

TEST_CASE("next_guarded enters only a later step whose guard accepts; the others are skipped as declined") {
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = failing("alpha", 413), .attempts = 3, .classify = only_guarded},
      {.name = "beta", .provide = FakeProvider("beta")},
      {.name = "gamma", .provide = FakeProvider("gamma"), .enter_when = decline},
      {.name = "delta", .provide = failing("delta", 503), .enter_when = accept},
      {.name = "epsilon", .provide = FakeProvider("epsilon")},
  };
  const AttemptLog log;
  CHECK(run_with_plan(plan, complete, {.on_event = log}) == "epsilon");  // delta's failure is an ordinary one
  CHECK(log.names() == Names{"alpha", "delta", "epsilon"});
  const auto skipped = log.of<StepSkipped>();
  REQUIRE(skipped.size() == 2);
  CHECK(skipped[0].step_name == "beta");
  CHECK(skipped[0].reason == SkipReason::declined);
  CHECK(skipped[1].step_name == "gamma");
}

TEST_CASE("next_guarded where no later guard accepts: aborted, with the error nested") {
  struct Case {
    const char* what;
    std::vector<planb::Step<FakeProvider>> later;
  };
  const Case cases[] = {
      {"no later step", {}},
      {"no later step is guarded", {{.name = "beta", .provide = FakeProvider("beta")}}},
      {"its guard declines",
       {{.name = "beta", .provide = FakeProvider("beta"), .enter_when = decline},
        {.name = "gamma", .provide = FakeProvider("gamma")}}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    std::vector<planb::Step<FakeProvider>> steps{
        {.name = "alpha", .provide = failing("alpha", 413), .classify = only_guarded}};
    steps.insert(steps.end(), c.later.begin(), c.later.end());
    const AttemptLog log;
    try {
      run_with_plan(ExecutionPlan<FakeProvider>(steps), complete, {.on_event = log});
      FAIL_CHECK("no exception");
    } catch (const PlanAborted& error) {
      CHECK_THROWS_AS(std::rethrow_if_nested(error), ProviderError);
    }
    CHECK(log.names() == Names{"alpha"});
  }
}

TEST_CASE("next_guarded where a guard accepts, but its step cannot be entered, is no abort") {
  SECTION("its gate is closed: exhausted") {
    const auto breaker = planb::circuit_breaker();
    breaker->force_open();
    const ExecutionPlan<FakeProvider> plan{
        {.name = "alpha", .provide = failing("alpha", 413), .classify = only_guarded},
        {.name = "beta", .provide = FakeProvider("beta"), .enter_when = accept, .gate = breaker}};
    CHECK_THROWS_AS(run_with_plan(plan, complete), PlanExhausted);
  }
  SECTION("there is no time left to it") {
    VirtualClock clock;
    const ExecutionPlan<FakeProvider> plan{
        {.name = "alpha", .provide = failing("alpha", 413), .classify = only_guarded},
        {.name = "beta", .provide = FakeProvider("beta"), .enter_when = accept},
        {.name = "gamma", .provide = FakeProvider("gamma"), .reserve = 2s}};
    const auto slow = [&](FakeProvider& provider) {
      clock.advance(8s);
      return provider.complete();
    };
    const auto result = try_run_with_plan(plan, slow, {.budget = 10s, .clock = &clock});
    REQUIRE(result.report().steps.size() == 3);
    CHECK(result.report().steps[1].skipped == SkipReason::out_of_time);
    CHECK(result.report().end != RunEnd::aborted);
  }
}
