// with_classifier: one classifier for the steps of a plan that have none.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include "catch.hpp"
#include "rules.hpp"

#include <chrono>
#include <memory>
#include <optional>

namespace {

using namespace std::chrono_literals;
using planb::Action;
using planb::Cause;
using planb::Duration;
using planb::ExecutionPlan;
using planb::spaced;
using planb::testing::FakeProvider;
using rules::FixedGate;
using rules::Names;
using rules::Plan;
using rules::Run;
using rules::Step;
using rules::always;
using rules::fails;

}  // namespace

TEST_CASE("with_classifier gives a new plan, in which the steps without a classifier have it") {
  const Plan plan{{.name = "alpha", .provide = fails(), .attempts = 2},
                  {.name = "beta", .provide = fails(), .attempts = 2, .classify = always(Action::retry)},
                  {.name = "gamma", .provide = fails(), .attempts = 2}};
  const Plan classified = plan.with_classifier(always(Action::next_step));

  Run before;
  static_cast<void>(before.of(plan));
  CHECK(before.names() == Names{"alpha", "alpha", "beta", "beta", "gamma", "gamma"});
  Run after;
  static_cast<void>(after.of(classified));
  CHECK(after.names() == Names{"alpha", "beta", "beta", "gamma"});
  Run twice;  // no step is without one any more
  static_cast<void>(twice.of(classified.with_classifier(always(Action::abort))));
  CHECK(twice.names() == Names{"alpha", "beta", "beta", "gamma"});
}

TEST_CASE("with_classifier keeps everything else of a step") {
  const auto gate = std::make_shared<FixedGate>(std::nullopt);
  const Plan plan = Plan{
      {.name = "alpha",
       .provide = fails(),
       .attempts = 3,
       .schedule = spaced(1s),
       .retry_while = [](const Cause&) { return true; },
       .enter_when = [](const Cause&) { return true; },
       .max_wait = 2s,
       .timeout = 3s,
       .reserve = 4s,
       .gate = gate}}.with_classifier(always(Action::abort));
  const Step& step = plan.steps()[0];
  CHECK(step.name == "alpha");
  CHECK(step.attempts == 3);
  CHECK(static_cast<bool>(step.schedule));
  CHECK(static_cast<bool>(step.retry_while));
  CHECK(static_cast<bool>(step.classify));
  CHECK(static_cast<bool>(step.enter_when));
  CHECK(step.max_wait == Duration(2s));
  CHECK(step.timeout == Duration(3s));
  CHECK(step.reserve == Duration(4s));
  CHECK(step.gate == gate);
}

TEST_CASE("merging keeps each step's classifier, and gives it to no other") {
  const Plan first =
      Plan{{.name = "alpha", .provide = fails(), .attempts = 2}}.with_classifier(always(Action::next_step));
  const Plan second{{.name = "beta", .provide = fails(), .attempts = 2}};
  Run run;
  static_cast<void>(run.of(planb::merge(first, second)));
  CHECK(run.names() == Names{"alpha", "beta", "beta"});
  Run other;
  static_cast<void>(other.of(planb::merge(second, first)));
  CHECK(other.names() == Names{"beta", "beta", "alpha"});
}

TEST_CASE("a plan whose Env is captured keeps its classifiers") {
  struct Env {
    FakeProvider provider = fails();
  };
  const auto plan =
      ExecutionPlan<FakeProvider, Env>{
          {.name = "alpha", .provide = [](Env& env) { return env.provider; }, .attempts = 2},
          {.name = "beta", .provide = [](Env& env) { return env.provider; }, .attempts = 2}}
          .with_classifier(always(Action::next_step))
          .capture_requirements(Env{});
  Run run;
  static_cast<void>(run.of(plan));
  CHECK(run.names() == Names{"alpha", "beta"});
}
