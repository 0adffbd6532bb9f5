// Guarded steps, and the verdict that asks for one.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include "catch.hpp"
#include "rules.hpp"

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using planb::Action;
using planb::Cause;
using planb::ProviderError;
using planb::RunEnd;
using planb::SkipReason;
using planb::StepSkipped;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using rules::FixedGate;
using rules::Names;
using rules::Plan;
using rules::Run;
using rules::Step;
using rules::always;
using rules::failing;
using rules::fails;

}  // namespace

namespace {

Step guarded(std::string name, bool accepts, std::shared_ptr<planb::Gate> gate = nullptr,
             std::vector<Behaviour> behaviours = {}) {
  return {.name = name,
          .provide = FakeProvider(name, std::move(behaviours)),
          .enter_when = [accepts](const Cause&) { return accepts; },
          .gate = std::move(gate)};
}

Step plain(std::string name, std::vector<Behaviour> behaviours = {}) {
  return {.name = name, .provide = FakeProvider(name, std::move(behaviours))};
}

Step overflowing(std::string name) {
  return {.name = std::move(name), .provide = fails({failing(413)}), .classify = always(Action::next_guarded)};
}

Names skipped(const Run& run) {
  Names names;
  for (const StepSkipped& skip : run.log.of<StepSkipped>()) {
    names.push_back(skip.step_name + ": " + to_string(skip.reason));
  }
  return names;
}

}  // namespace

TEST_CASE("a guard is asked once, with the failure before it, and declining it skips the step") {
  Run run;
  Names asked;
  const Plan plan{{.name = "alpha", .provide = fails({failing(503), failing(429)}), .attempts = 2},
                  {.name = "beta",
                   .provide = FakeProvider("beta"),
                   .enter_when =
                       [&](const Cause& cause) {
                         asked.push_back("beta " + std::to_string(cause.status().value_or(0)));
                         return false;
                       }},
                  {.name = "gamma", .provide = fails(), .attempts = 2, .enter_when = [&](const ProviderError& e) {
                     asked.push_back("gamma " + std::to_string(e.status));
                     return true;
                   }}};
  const auto result = run.of(plan);
  CHECK(asked == Names{"beta 429", "gamma 429"});
  CHECK(run.names() == Names{"alpha", "alpha", "gamma", "gamma"});
  CHECK(skipped(run) == Names{"beta: declined"});
  REQUIRE(result.report().steps.size() == 3);
  CHECK(result.report().steps[1].skipped == SkipReason::declined);
  CHECK(result.report().steps[1].attempts == 0);
  CHECK_THAT(result.report().to_string(), ContainsSubstring("beta: skipped, declined"));
}

TEST_CASE("a guard over an error type declines every other error, and every guard the start of a run") {
  Run run;
  const Plan plan{
      {.name = "first", .provide = FakeProvider("first"), .enter_when = [](const Cause&) { return true; }},
      {.name = "alpha", .provide = fails({Behaviour::throws(std::runtime_error("odd"))})},
      {.name = "beta", .provide = FakeProvider("beta"), .enter_when = [](const ProviderError&) { return true; }},
      {.name = "gamma", .provide = FakeProvider("gamma")}};
  const auto result = run.of(plan);
  CHECK(result.has_value());
  CHECK(run.names() == Names{"alpha", "gamma"});
  CHECK(skipped(run) == Names{"first: declined", "beta: declined"});
}

TEST_CASE("next_guarded enters only later steps whose guard accepts") {
  struct Case {
    const char* what;
    std::vector<Step> steps;
    Names names;
    Names skipped;
    RunEnd end;
  };
  const auto closed = std::make_shared<FixedGate>(planb::TimePoint(1h));
  for (const Case& c : std::vector<Case>{
           {"the first that accepts",
            {overflowing("alpha"), plain("beta"), guarded("no", false), guarded("large", true), plain("delta")},
            {"alpha", "large"},
            {"beta: declined", "no: declined"},
            RunEnd::succeeded},
           {"none accepts",
            {overflowing("alpha"), plain("beta"), guarded("no", false)},
            {"alpha"},
            {"beta: declined", "no: declined"},
            RunEnd::aborted},
           {"no later step has a guard",
            {overflowing("alpha"), plain("beta"), plain("gamma")},
            {"alpha"},
            {},
            RunEnd::aborted},
           {"no later step",
            {plain("zero", {failing(503)}), overflowing("alpha")},
            {"zero", "alpha"},
            {},
            RunEnd::aborted},
           {"an earlier step does not count",
            {plain("zero", {failing(503)}), guarded("large", true, nullptr, {failing(503)}), overflowing("alpha"),
             plain("beta")},
            {"zero", "large", "alpha"},
            {},
            RunEnd::aborted},
           {"what fails in the guarded step is read afresh",
            {overflowing("alpha"), plain("beta"), guarded("large", true, nullptr, {failing(503)}), plain("delta")},
            {"alpha", "large", "delta"},
            {"beta: declined"},
            RunEnd::succeeded},
           {"from guard to guard",
            {overflowing("alpha"),
             {.name = "large",
             .provide = fails({failing(413)}),
             .classify = always(Action::next_guarded),
             .enter_when = [](const Cause&) { return true; }},
             plain("beta"),
             guarded("larger", true)},
            {"alpha", "large", "larger"},
            {"beta: declined"},
            RunEnd::succeeded},
           {"one that accepts and is closed does not make an abort of it",
            {overflowing("alpha"), guarded("large", true, closed), plain("beta")},
            {"alpha"},
            {"large: gate closed", "beta: declined"},
            RunEnd::exhausted},
           {"behind a closed one the next that accepts",
            {overflowing("alpha"), guarded("large", true, closed), plain("beta"), guarded("larger", true)},
            {"alpha", "larger"},
            {"large: gate closed", "beta: declined"},
            RunEnd::succeeded},
       }) {
    INFO(c.what);
    Run run;
    const auto result = run.of(Plan{c.steps});
    CHECK(run.names() == c.names);
    CHECK(skipped(run) == c.skipped);
    CHECK(result.report().end == c.end);
    CHECK(result.has_value() == (c.end == RunEnd::succeeded));
  }
}

TEST_CASE("next_guarded that no step takes throws PlanAborted with its error nested") {
  for (const bool has_guard : {false, true}) {
    INFO(has_guard);
    const Plan plan{std::vector<Step>{overflowing("alpha"), has_guard ? guarded("no", false) : plain("beta")}};
    try {
      static_cast<void>(run_with_plan(plan, [](FakeProvider& provider) { return provider(); }));
      FAIL("it should have thrown");
    } catch (const planb::PlanAborted& aborted) {
      CHECK_THROWS_AS(std::rethrow_if_nested(aborted), ProviderError);
    }
  }
}

TEST_CASE("a guard that throws ends the run, whatever the verdict") {
  Run run;
  const auto result = run.of(Plan{{.name = "alpha", .provide = fails()},
                                  {.name = "beta",
                                   .provide = FakeProvider("beta"),
                                   .enter_when = [](const Cause&) -> bool { throw std::logic_error("broken guard"); }},
                                  {.name = "gamma", .provide = FakeProvider("gamma")}});
  CHECK(run.names() == Names{"alpha"});
  CHECK(result.report().end == RunEnd::aborted);
  REQUIRE(result.report().rule_error.has_value());
  CHECK(result.report().rule_error->message() == "broken guard");
  CHECK(result.report().steps[0].cause->status() == 503);
}
