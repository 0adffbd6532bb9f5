// RunReport: who answered, and what became of every step.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "two_steps.hpp"
#include "results.hpp"

using two::Client;
using namespace std::chrono_literals;
using planb::Cause;
using planb::CauseKind;
using planb::ExecutionPlan;
using planb::LeaveReason;
using planb::RunEnd;
using planb::RunReport;
using planb::SkipReason;
using planb::StepReport;
using planb::try_run_with_plan;
using results::Fault;

namespace {

// Answers where its number is `answers`; otherwise throws a 503 that says which attempt it was.
auto answers_at(int answers) {
  return [answers](Client& client, const planb::Attempt& a) {
    if (client.id != answers) throw planb::ProviderError(503, "attempt " + std::to_string(a.attempt));
    return client.id;
  };
}

planb::Step<Client> step(int id, int attempts = 1) {
  return {.name = "step" + std::to_string(id), .provide = Client{id}, .attempts = attempts};
}

}  // namespace

TEST_CASE("a success says who answered, and lists the failures before it", "[report][field-49]") {
  const ExecutionPlan<Client> plan{step(1, 2), step(2), step(3), step(4)};
  const auto result = try_run_with_plan(plan, answers_at(3));
  const RunReport& report = result.report();
  CHECK(result.value() == 3);
  CHECK(report.end == RunEnd::succeeded);
  CHECK(report.answered_step == 2);
  CHECK(report.answered_by() == "step3");
  CHECK(report.attempts == 4);
  REQUIRE(report.steps.size() == 3);
  CHECK(report.steps[0].name == "step1");
  CHECK(report.steps[0].index == 0);
  CHECK(report.steps[0].attempts == 2);
  CHECK(report.steps[0].cause->message() == "attempt 2");
  CHECK(report.steps[0].left == LeaveReason::attempts_spent);
  CHECK(report.steps[1].attempts == 1);
  CHECK(report.steps[1].cause->message() == "attempt 3");
  CHECK(report.steps[2].name == "step3");
  CHECK(report.steps[2].attempts == 1);
  CHECK_FALSE(report.steps[2].cause.has_value());
  CHECK(report.steps[2].left == LeaveReason::none);
  CHECK(report.last_cause()->message() == "attempt 3");
  CHECK(report.to_string() == "step1: 2 attempts, last 503 attempt 2; step2: 503 attempt 3; step3: answered");
}

TEST_CASE("a success at once has nothing else to tell", "[report]") {
  const auto result = try_run_with_plan(ExecutionPlan<Client>{step(1), step(2)}, answers_at(1));
  const RunReport& report = result.report();
  CHECK(report.answered_step == 0);
  CHECK(report.attempts == 1);
  REQUIRE(report.steps.size() == 1);
  CHECK(report.last_cause() == nullptr);
  CHECK_FALSE(report.last_failed.has_value());
  CHECK_FALSE(report.rule_error.has_value());
  CHECK_FALSE(report.opens_at().has_value());
  CHECK(report.to_string() == "step1: answered");
}

TEST_CASE("a step that answers after failures of its own lists the last of them", "[report]") {
  int calls = 0;
  const auto result = try_run_with_plan(ExecutionPlan<Client>{step(1, 5)}, [&](Client&) {
    if (++calls < 4) throw Fault{calls};
    return calls;
  });
  const RunReport& report = result.report();
  CHECK(report.attempts == 4);
  REQUIRE(report.steps.size() == 1);
  CHECK(report.steps[0].attempts == 4);
  CHECK(report.steps[0].cause->get_if<Fault>()->id == 3);
  CHECK(report.answered_by() == "step1");
  CHECK(report.to_string().find("step1: answered, after 3 attempts, last ") == 0);
}

TEST_CASE("a failure lists every step's error, in order", "[report][field-50]") {
  const auto result = try_run_with_plan(ExecutionPlan<Client>{step(1), step(2, 3), step(3)}, answers_at(0));
  const RunReport& report = result.report();
  CHECK(report.end == RunEnd::exhausted);
  CHECK_FALSE(report.answered_step.has_value());
  CHECK(report.answered_by().empty());
  CHECK(report.attempts == 5);
  std::vector<std::string> messages;
  for (const StepReport& s : report.steps) messages.push_back(s.cause->message());
  CHECK(messages == std::vector<std::string>{"attempt 1", "attempt 4", "attempt 5"});
  CHECK(report.last_cause() == &*report.steps[2].cause);
  CHECK(report.to_string() ==
        "plan exhausted: step1: 503 attempt 1; step2: 3 attempts, last 503 attempt 4; step3: 503 attempt 5");
}

TEST_CASE("skipped steps are listed, and say why", "[report]") {
  planb::Step<Client> guarded = step(2);
  guarded.enter_when = [](const Cause&) { return false; };
  const auto result = try_run_with_plan(ExecutionPlan<Client>{step(1), guarded, step(3)}, answers_at(3));
  const RunReport& report = result.report();
  REQUIRE(report.steps.size() == 3);
  CHECK(report.steps[1].skipped == SkipReason::declined);
  CHECK(report.steps[1].attempts == 0);
  CHECK_FALSE(report.steps[1].cause.has_value());
  CHECK_FALSE(report.steps[0].skipped.has_value());
  CHECK(report.answered_step == 2);
  CHECK(report.to_string() == "step1: 503 attempt 1; step2: skipped, declined; step3: answered");
}

TEST_CASE("the last cause is the last failure, also where steps were skipped after it", "[report]") {
  planb::Step<Client> guarded = step(2);
  guarded.enter_when = [](const Cause&) { return false; };
  const auto result = try_run_with_plan(ExecutionPlan<Client>{step(1), guarded}, answers_at(0));
  CHECK(result.report().end == RunEnd::exhausted);
  CHECK(result.report().last_failed == 0);
  CHECK(result.report().last_cause()->message() == "attempt 1");
}

TEST_CASE("a report whose steps are missing names nobody, and has no last cause", "[report]") {
  planb::RunReport report;
  report.answered_step = 1;
  CHECK(report.answered_by().empty());
  CHECK(report.fell_back());
  report.steps.emplace_back();
  report.last_failed = 0;
  CHECK(report.last_cause() == nullptr);
  CHECK_FALSE(planb::RunReport(report).last_cause());
}

TEST_CASE("a step without a name goes by its index", "[report]") {
  const ExecutionPlan<Client> plan{{.provide = Client{1}}, {.provide = Client{2}}};
  const auto answered = try_run_with_plan(plan, answers_at(2));
  CHECK(answered.report().answered_by() == "step 1");
  CHECK(answered.report().to_string() == "step 0: 503 attempt 1; step 1: answered");
}

TEST_CASE("the report says why each step was left", "[report][field-53]") {
  struct Row {
    const char* what;
    planb::Step<Client> first;
    LeaveReason left;
    RunEnd end;
    const char* line;
  };
  const auto with = [](auto arm) {
    planb::Step<Client> s = step(1, 3);
    arm(s);
    return s;
  };
  const std::vector<Row> rows{
      {"attempts", with([](auto&) {}), LeaveReason::attempts_spent, RunEnd::exhausted,
       "step1: 3 attempts, last 503 attempt 3"},
      {"predicate", with([](auto& s) { s.retry_while = [](const Cause&) { return false; }; }),
       LeaveReason::not_retryable, RunEnd::exhausted, "step1: 503 attempt 1, not worth retrying"},
      {"classifier", with([](auto& s) {
         s.classify = [](const Cause&) { return planb::Verdict{planb::Action::next_step, true}; };
       }),
       LeaveReason::classified, RunEnd::exhausted, "step1: 503 attempt 1 (alert)"},
      {"schedule", with([](auto& s) { s.schedule = planb::recurs(1); }), LeaveReason::schedule_ended, RunEnd::exhausted,
       "step1: 2 attempts, last 503 attempt 2"},
      {"wait", with([](auto& s) { s.schedule = planb::spaced(1h), s.max_wait = 1s; }), LeaveReason::wait_too_long,
       RunEnd::exhausted, "step1: 503 attempt 1, wait too long"},
      {"abort", with([](auto& s) { s.classify = [](const Cause&) { return planb::Verdict{planb::Action::abort}; }; }),
       LeaveReason::none, RunEnd::aborted, "step1: 503 attempt 1"}};
  for (const Row& row : rows) {
    INFO(row.what);
    planb::testing::VirtualClock clock;
    const auto result = try_run_with_plan(ExecutionPlan<Client>{row.first}, answers_at(0), {.clock = &clock});
    const RunReport& report = result.report();
    CHECK(report.end == row.end);
    CHECK(report.steps[0].left == row.left);
    CHECK(report.to_string() == std::string("plan ") + planb::to_string(row.end) + ": " + row.line);
  }
}

TEST_CASE("an alert stays in the report, also of a step that answers later", "[report][field-24]") {
  planb::Step<Client> first = step(1, 3);
  first.classify = [](const Cause& cause) {
    return planb::Verdict{planb::Action::retry, cause.message() == "attempt 1"};
  };
  const auto alerted = [](const RunReport& report) {
    std::vector<bool> alerts;
    for (const StepReport& s : report.steps) alerts.push_back(s.alert);
    return alerts;
  };
  CHECK(alerted(try_run_with_plan(ExecutionPlan<Client>{first, step(2)}, answers_at(2)).report()) ==
        std::vector<bool>{true, false});
  int calls = 0;
  const auto recovers = [&](Client&) {
    if (++calls < 3) throw planb::ProviderError(503, "attempt " + std::to_string(calls));
    return calls;
  };
  CHECK(alerted(try_run_with_plan(ExecutionPlan<Client>{first}, recovers).report()) == std::vector<bool>{true});
}

TEST_CASE("the report is bounded by the steps, not by the attempts", "[report]") {
  int calls = 0;
  const auto result =
      try_run_with_plan(ExecutionPlan<Client>{step(1, 100'000)}, [&](Client&) -> int { throw Fault{++calls}; });
  CHECK(result.report().attempts == 100'000);
  CHECK(result.report().steps.size() == 1);
  CHECK(result.report().steps[0].cause->get_if<Fault>()->id == 100'000);
}

TEST_CASE("long plans keep every step in order", "[report]") {
  std::vector<planb::Step<Client>> steps;
  for (int i = 1; i <= 50; ++i) steps.push_back(step(i));
  const auto result = try_run_with_plan(ExecutionPlan<Client>(std::move(steps)), answers_at(50));
  const RunReport& report = result.report();
  REQUIRE(report.steps.size() == 50);
  for (int i = 0; i != 49; ++i) {
    const StepReport& s = report.steps[static_cast<std::size_t>(i)];
    REQUIRE(s.index == i);
    REQUIRE(s.cause->message() == "attempt " + std::to_string(i + 1));
  }
  CHECK(report.answered_by() == "step50");
}

TEST_CASE("a report is a value: it outlives its plan and its run, and copies are equal", "[report]") {
  std::optional<RunReport> kept;
  {
    const ExecutionPlan<Client> plan{step(1), step(2)};
    kept = try_run_with_plan(plan, answers_at(0)).report();
  }
  const RunReport copy = *kept;
  kept.reset();
  CHECK(copy.to_string() == "plan exhausted: step1: 503 attempt 1; step2: 503 attempt 2");
  CHECK(copy.last_cause() == &*copy.steps[1].cause);
  RunReport moved = RunReport(copy);
  RunReport assigned;
  assigned = std::move(moved);
  CHECK(assigned.to_string() == copy.to_string());
  CHECK_THROWS_AS(assigned.last_cause()->rethrow(), planb::ProviderError);
}

TEST_CASE("a rule's error stands beside the attempt's own", "[report]") {
  planb::Step<Client> first = step(1, 3);
  first.retry_while = [](const Cause&) -> bool { throw std::logic_error("own"); };
  const auto result = try_run_with_plan(ExecutionPlan<Client>{first}, answers_at(0));
  CHECK(result.report().rule_error->message() == "own");
  CHECK(result.report().last_cause()->message() == "attempt 1");
  CHECK(result.report().to_string() == "plan aborted: step1: 503 attempt 1; a rule of the plan threw: own");
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("an interruption keeps the error that the attempt left", "[report]") {
  std::stop_source stop;
  const auto result = try_run_with_plan(ExecutionPlan<Client>{step(1, 3)},
                                        [&](Client&) -> int {
                                          stop.request_stop();
                                          throw Fault{7};
                                        },
                                        {.stop = stop.get_token()});
  CHECK(result.report().end == RunEnd::interrupted);
  CHECK(result.report().last_cause()->kind() == CauseKind::interrupted);
  CHECK(result.report().last_cause()->get_if<Fault>()->id == 7);
}
#endif

TEST_CASE("a report that a handler of a failure asks for has each step's own cause", "[report]") {
  const planb::ExecutionPlan<int> plan{{.name = "one", .provide = 1}, {.name = "two", .provide = 2}};
  planb::PlanRun<int>* asked = nullptr;
  std::vector<std::string> seen;
  const planb::RunOptions options{.on_event = [&](const planb::AttemptFailure&) {
    for (const planb::StepReport& step : asked->report().steps) seen.push_back(step.cause->message());
  }};
  planb::PlanRun<int> run(plan, options);
  asked = &run;
  for (const char* const what : {"first", "second"}) {
    REQUIRE(run.next() == planb::RunPhase::attempt);
    run.fail(planb::Cause::of(planb::ProviderError(503, what)));
  }
  CHECK(seen == std::vector<std::string>{"first", "first", "second"});
}
