// RunReport::to_string(), which is PlanError::what() too: one entry for each step, and the ends told apart.
#include <planb/report/report.hpp>

#include "catch.hpp"

#include <planb/gate/circuit_breaker.hpp>
#include <planb/report/plan_error.hpp>
#include <planb/run.hpp>
#include <planb/testing.hpp>

#include <algorithm>
#include <chrono>
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
using planb::ExecutionPlan;
using planb::RunEnd;
using planb::Step;
using planb::TimePoint;
using planb::Verdict;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;

std::string complete(FakeProvider& provider) { return provider.complete(); }

FakeProvider failing(int status, std::string message = {}) {
  return FakeProvider("", {Behaviour::status(status, std::move(message))});
}

std::shared_ptr<planb::Gate> closed_until(TimePoint until) {
  auto breaker = planb::circuit_breaker();
  breaker->force_open(until);
  return breaker;
}

Verdict leave_with_alert(const Cause&) { return {Action::next_step, true}; }
Verdict end_the_run(const Cause&) { return {Action::abort}; }
bool never(const Cause&) { return false; }
bool rule_that_throws(const Cause&) { throw std::runtime_error("no idea"); }

}  // namespace

TEST_CASE("a report's text has one entry for each step, and tells the ends apart", "[field-50][field-53]") {
  using Steps = std::vector<Step<FakeProvider>>;
  struct Case {
    const char* what;
    Steps steps;
    RunEnd end;
    std::string text;
  };
  const Case cases[] = {
      {"an open breaker, and an alert",
       Steps{{.name = "alpha", .provide = failing(503), .attempts = 2},
             {.name = "beta", .provide = failing(503), .gate = closed_until(TimePoint{4200ms})},
             {.name = "gamma", .provide = failing(401), .classify = leave_with_alert}},
       RunEnd::exhausted,
       "plan exhausted: alpha: 2 attempts, last 503 service unavailable; beta: skipped, circuit open for 4.2 s; "
       "gamma: 401 unauthorized (alert)"},
      {"exhausted",
       Steps{{.name = "alpha", .provide = failing(503)}, {.name = "beta", .provide = failing(429), .attempts = 3}},
       RunEnd::exhausted,
       "plan exhausted: alpha: 503 service unavailable; beta: 3 attempts, last 429 too many requests"},
      {"not worth retrying", Steps{{.name = "alpha", .provide = failing(503), .attempts = 3, .retry_while = never}},
       RunEnd::exhausted, "plan exhausted: alpha: 503 service unavailable, not worth retrying"},
      {"aborted",
       Steps{{.name = "alpha", .provide = failing(400), .attempts = 3, .classify = end_the_run},
             {.name = "beta", .provide = FakeProvider("beta")}},
       RunEnd::aborted, "plan aborted: alpha: 400 bad request"},
      {"declined",
       Steps{{.name = "alpha", .provide = failing(503)},
             {.name = "beta", .provide = FakeProvider("beta"), .enter_when = never}},
       RunEnd::exhausted, "plan exhausted: alpha: 503 service unavailable; beta: skipped, declined"},
      {"out of time for a wait",
       Steps{{.name = "alpha", .provide = failing(503), .attempts = 3, .schedule = planb::spaced(1min)}},
       RunEnd::deadline, "plan deadline exceeded: alpha: 503 service unavailable, out of time"},
      {"out of time at entry",
       Steps{{.name = "alpha", .provide = failing(503)}, {.name = "beta", .provide = failing(500), .reserve = 10s}},
       RunEnd::exhausted, "plan exhausted: alpha: skipped, out of time; beta: 500 internal server error"},
      {"a wait too long",
       Steps{{.name = "alpha", .provide = failing(503), .attempts = 3, .schedule = planb::spaced(5s), .max_wait = 1s}},
       RunEnd::exhausted, "plan exhausted: alpha: 503 service unavailable, wait too long"},
      {"a breaker that the step's own failures have opened",
       Steps{{.name = "alpha",
              .provide = failing(503),
              .attempts = 9,
              .gate = planb::circuit_breaker({.failure_threshold = 2, .open_for = 30s})}},
       RunEnd::exhausted, "plan exhausted: alpha: 2 attempts, last 503 service unavailable, circuit open for 30 s"},
      {"a breaker that only a reset closes",
       Steps{{.name = "alpha", .provide = failing(503), .gate = closed_until((TimePoint::max)())}}, RunEnd::exhausted,
       "plan exhausted: alpha: skipped, circuit open"},
      {"a rule that throws", Steps{{.name = "alpha", .provide = failing(503), .retry_while = rule_that_throws}},
       RunEnd::aborted, "plan aborted: alpha: 503 service unavailable; a rule of the plan threw: no idea"},
      {"steps without names", Steps{{.provide = failing(503)}, {.provide = failing(500)}}, RunEnd::exhausted,
       "plan exhausted: step 0: 503 service unavailable; step 1: 500 internal server error"},
      {"a success at once", Steps{{.name = "alpha", .provide = FakeProvider("alpha")}}, RunEnd::succeeded,
       "alpha: answered"},
      {"a success after failures",
       Steps{
           {.name = "alpha", .provide = failing(401), .classify = leave_with_alert},
           {.name = "beta", .provide = FakeProvider("", {Behaviour::status(503), Behaviour::value("")}), .attempts = 2},
           {.name = "gamma", .provide = failing(500)}},
       RunEnd::succeeded, "alpha: 401 unauthorized (alert); beta: answered, after 503 service unavailable"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    VirtualClock clock;
    const ExecutionPlan<FakeProvider> plan(c.steps);
    const auto result = try_run_with_plan(plan, complete, {.budget = 10s, .clock = &clock});
    CHECK(result.report().end == c.end);
    CHECK(result.report().to_string() == c.text);
    if (!result.has_value()) CHECK(std::string(result.error().what()) == c.text);
  }
}

TEST_CASE("a report's text is bounded, whatever the errors say and however many steps there are", "[field-50]") {
  const std::string long_text(100'000, 'x');
  std::vector<Step<FakeProvider>> steps;
  for (int i = 0; i != 300; ++i) steps.push_back({.name = long_text, .provide = failing(503, long_text)});
  const auto result = try_run_with_plan(ExecutionPlan<FakeProvider>(steps), complete);
  const std::string text = result.report().to_string();
  CHECK(text.size() < 3'000);
  CHECK(text.find("plan exhausted: ") == 0);
  CHECK_THAT(text, ContainsSubstring("..."));
  CHECK_THAT(text, ContainsSubstring(" more steps"));
  CHECK(std::string(result.error().what()) == text);
  REQUIRE(result.report().steps.size() == 300);  // the report itself is whole
  CHECK(result.report().steps[299].cause->message().size() == long_text.size());
}

TEST_CASE("a report that says less has a text, too") {
  planb::RunReport report;
  report.end = RunEnd::running;
  report.delivered = 2;
  CHECK(report.to_string() == "plan running");  // whether that output is partial is not known yet
  report.end = RunEnd::exhausted;
  CHECK(report.to_string() == "plan exhausted after partial output (2 elements)");
  report.delivered = 0;

  planb::StepReport& step = report.steps.emplace_back();
  step.skipped = planb::SkipReason::gate_closed;
  CHECK(report.to_string() == "plan exhausted: step 0: skipped, gate closed");
  step.opens_at = TimePoint{9s};
  CHECK(report.to_string() == "plan exhausted: step 0: skipped, gate closed");
  step.opens_in = 4s;
  CHECK(report.to_string() == "plan exhausted: step 0: skipped, gate closed for 4 s");
  step.opens_at.reset();
  CHECK(report.to_string() == "plan exhausted: step 0: skipped, gate closed");
}

TEST_CASE("one step that a report's text has no room for is one step") {
  planb::RunReport report;
  report.end = RunEnd::exhausted;
  const std::string name(64, 'n');
  int index = 0;
  while (report.to_string().size() <= 2'000) {
    planb::StepReport& step = report.steps.emplace_back();
    step.name = name;
    step.index = index++;
  }
  CHECK_THAT(report.to_string(), !ContainsSubstring(" more "));
  report.steps.emplace_back();
  CHECK_THAT(report.to_string(), Catch::Matchers::EndsWith("; and 1 more step"));
  report.steps.emplace_back();
  CHECK_THAT(report.to_string(), Catch::Matchers::EndsWith("; and 2 more steps"));
}

TEST_CASE("an error's text cannot forge lines of its own in a log") {
  const ExecutionPlan<FakeProvider> plan{
      {.name = "al\npha", .provide = failing(503, "busy\r\n2026-01-01 ERROR forged\x1b[2J\x7f")}};
  const std::string text = try_run_with_plan(plan, complete).report().to_string();
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  CHECK(std::none_of(text.begin(), text.end(), is_control));
}

TEST_CASE("the earliest opening is that of the gates that were found closed, whether the run succeeded or not",
          "[field-43]") {
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = failing(503), .gate = closed_until(TimePoint{9s})},
      {.name = "beta", .provide = failing(503), .gate = planb::circuit_breaker()},
      {.name = "gamma", .provide = failing(503), .gate = closed_until(TimePoint{6s})},
      {.name = "delta", .provide = FakeProvider("delta")},
  };
  VirtualClock clock;
  const auto result = try_run_with_plan(plan, complete, {.clock = &clock});
  CHECK(result.has_value());
  CHECK(result.report().opens_at() == TimePoint{6s});
  const ExecutionPlan<FakeProvider> ungated{{.name = "alpha", .provide = failing(503)}};
  CHECK_FALSE(try_run_with_plan(ungated, complete).report().opens_at());
}
