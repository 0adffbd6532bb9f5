// The rules of a plan: the order in which they are asked, and what their verdicts lead to.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include "catch.hpp"
#include "rules.hpp"

#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using planb::Action;
using planb::AttemptFailure;
using planb::Cause;
using planb::CauseKind;
using planb::Duration;
using planb::LeaveReason;
using planb::NextMove;
using planb::ProviderError;
using planb::RunEnd;
using planb::Verdict;
using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using rules::Names;
using rules::Plan;
using rules::Questions;
using rules::Run;
using rules::Step;
using rules::always;
using rules::failing;
using rules::fails;

}  // namespace

// Two members say all; what the failure was takes no part in a comparison.
static_assert(Verdict{Action::retry, true} == Verdict{Action::retry, true, planb::FailureClass::quota});
static_assert(Verdict{Action::retry}.failure_class == planb::FailureClass::unknown);
static_assert(Verdict{Action::retry, true} != Verdict{Action::retry, false, planb::FailureClass::quota});
static_assert(Verdict{Action::retry, true} != Verdict{Action::abort, true});

TEST_CASE("a verdict's class is told with the failure, and every class has a text") {
  Run run;
  const Plan plan{{.name = "alpha",
                   .provide = fails({failing(429)}),
                   .classify = planb::http_classifier(planb::ContentRefusal::abort)},
                  {.name = "beta",
                   .provide = fails(),
                   .classify =
                       [](const Cause&) {
                         return Verdict{Action::next_step, false, planb::FailureClass::conflict};
                       }},
                  {.name = "gamma", .provide = fails(), .classify = always(Action::next_step)}};
  static_cast<void>(run.of(plan));
  Names classes;
  for (const AttemptFailure& failure : run.failures()) classes.emplace_back(to_string(failure.verdict->failure_class));
  CHECK(classes == Names{"rate limited", "conflict", "unknown"});

  Names texts;
  for (int i = 0; i <= static_cast<int>(planb::FailureClass::unknown); ++i) {
    texts.emplace_back(to_string(static_cast<planb::FailureClass>(i)));
  }
  CHECK(texts == Names{"connection", "timeout", "rate limited", "overloaded", "server error", "conflict", "quota",
                       "auth", "not found", "context too long", "content refused", "invalid request", "rejected value",
                       "unknown"});
}

TEST_CASE("the rules are asked in order, and the first that answers is the last that is asked") {
  struct Case {
    const char* what;
    Verdict verdict;
    bool retry;
    int attempts;
    int delays;
    Names asked;
    LeaveReason left;
  };
  const Verdict on{Action::retry};
  for (const Case& c : std::vector<Case>{
           {"abort", {Action::abort}, true, 2, 5, {"classify 503"}, LeaveReason::none},
           {"next_step", {Action::next_step}, true, 2, 5, {"classify 503"}, LeaveReason::classified},
           {"retry_while", on, false, 2, 5, {"classify 503", "retry_while 503"}, LeaveReason::not_retryable},
           {"attempts", on, true, 1, 5, {"classify 503", "retry_while 503"}, LeaveReason::attempts_spent},
           {"schedule",
            on,
            true,
            2,
            0,
            {"classify 503", "retry_while 503", "schedule 503"},
            LeaveReason::schedule_ended},
           {"two attempts",
            on,
            true,
            2,
            5,
            {"classify 503", "retry_while 503", "schedule 503", "classify 429", "retry_while 429"},
            LeaveReason::attempts_spent},
       }) {
    INFO(c.what);
    Run run;
    const Questions questions;
    const auto result =
        run.of(Plan{questions.step({failing(503), failing(429)}, c.verdict, c.retry, c.attempts, c.delays)});
    CHECK(*questions.asked == c.asked);
    CHECK(result.report().steps[0].left == c.left);
    CHECK(result.report().end == (c.verdict.action == Action::abort ? RunEnd::aborted : RunEnd::exhausted));
  }
}

TEST_CASE("errors reach the rules in order, each the latest one") {  // [field-26]
  Run run;
  const Questions questions;
  static_cast<void>(
      run.of(Plan{questions.step({failing(500), failing(502), failing(504)}, {Action::retry}, true, 3, 5)}));
  CHECK(*questions.asked == Names{"classify 500", "retry_while 500", "schedule 500", "classify 502", "retry_while 502",
                                  "schedule 502", "classify 504", "retry_while 504"});
}

TEST_CASE("a verdict of retry overrules neither the predicate, nor the attempts, nor the schedule") {
  Run declined;
  CHECK(declined
            .of(Plan{{.name = "alpha",
                      .provide = fails({failing(400)}),
                      .attempts = 5,
                      .retry_while = [](const ProviderError& e) { return e.status == 503; },
                      .classify = always(Action::retry)}})
            .report()
            .steps[0]
            .left == LeaveReason::not_retryable);
  CHECK(declined.names() == Names{"alpha"});

  Run spent;
  CHECK(spent.of(Plan{{.name = "alpha", .provide = fails(), .attempts = 3, .classify = always(Action::retry)}})
            .report()
            .steps[0]
            .left == LeaveReason::attempts_spent);
  CHECK(spent.names() == Names{"alpha", "alpha", "alpha"});

  Run ended;
  CHECK(ended
            .of(Plan{{.name = "alpha",
                      .provide = fails(),
                      .schedule = planb::delays({1s, 2s}),
                      .classify = always(Action::retry)}})
            .report()
            .steps[0]
            .left == LeaveReason::schedule_ended);
  CHECK(ended.starts() == std::vector<Duration>{0s, 1s, 3s});
}

TEST_CASE("no rule is asked of a failure that a spent budget ends") {
  Run run;
  const Questions questions;
  planb::Step<FakeProvider> step = questions.step({failing(401).after(10s)}, {Action::next_step, true}, true, 2, 5);
  step.provide = FakeProvider("alpha", {failing(401).after(10s)}, &run.clock);
  const auto result =
      run.of(Plan{std::vector<Step>{step, {.name = "beta", .provide = FakeProvider("beta")}}}, {.budget = 10s});
  CHECK(result.report().end == RunEnd::deadline);
  CHECK(questions.asked->empty());
  CHECK(run.names() == Names{"alpha"});
  CHECK_FALSE(run.failures()[0].verdict.has_value());
  CHECK(run.failures()[0].next.run_end == RunEnd::deadline);
}

TEST_CASE("no rule is asked of a Defect") {
  Run run;
  const Questions questions;
  const Plan plan{questions.step({Behaviour::throws(planb::Defect("bug"))}, {Action::retry}, true, 2, 5)};
  CHECK_THROWS_AS(run.of(plan), planb::Defect);
  CHECK(questions.asked->empty());
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("no rule is asked of a failure that a stop ends") {  // [field-12]
  Run run;
  const Questions questions;
  std::stop_source source;
  const Plan plan{questions.step({failing(401)}, {Action::abort, true}, true, 2, 5)};
  planb::RunOptions options{.stop = source.get_token(), .clock = &run.clock};
  options.on_event = run.log;
  const auto result = try_run_with_plan(
      plan,
      [&](FakeProvider& provider) {
        source.request_stop();
        return provider();
      },
      options);
  CHECK(result.report().end == RunEnd::interrupted);
  CHECK(questions.asked->empty());
  CHECK_FALSE(result.report().steps[0].alert);
  CHECK(run.failures()[0].cause.kind() == CauseKind::interrupted);
}

#endif

TEST_CASE("a failure at its timeout is asked about with the error that it left") {  // [field-18]
  Run run;
  std::vector<CauseKind> kinds;
  Names codes;
  const Plan plan{{.name = "alpha",
                   .provide = FakeProvider("alpha", {failing(401).code("invalid_api_key").after(2s)}, &run.clock),
                   .attempts = 2,
                   .classify =
                       [&](const Cause& cause) {
                         kinds.push_back(cause.kind());
                         codes.push_back(cause.code());
                         return Verdict{Action::next_step, true};
                       },
                   .timeout = 2s},
                  {.name = "beta", .provide = FakeProvider("beta")}};
  const auto result = run.of(plan, {.budget = 1min});
  CHECK(result.has_value());
  CHECK(kinds == std::vector<CauseKind>{CauseKind::timeout});
  CHECK(codes == Names{"invalid_api_key"});
  CHECK(result.report().steps[0].alert);
}

TEST_CASE("without a classifier nothing objects and nothing alerts") {
  Run run;
  static_cast<void>(run.of(Plan{{.name = "alpha", .provide = fails({failing(401)}), .attempts = 2}}));
  REQUIRE(run.failures().size() == 2);
  CHECK_FALSE(run.failures()[0].verdict.has_value());
  CHECK(run.failures()[0].next.kind == NextMove::retry);
}

TEST_CASE("a classifier over one error type has no objection to any other error") {
  Run run;
  const auto result = run.of(Plan{{.name = "alpha",
                                   .provide = fails({Behaviour::throws(std::runtime_error("odd")), failing(503)}),
                                   .attempts = 5,
                                   .classify = [](const ProviderError&) {
                                     return Verdict{Action::abort, true};
                                   }}});
  CHECK(result.report().end == RunEnd::aborted);
  REQUIRE(run.failures().size() == 2);
  CHECK(run.failures()[0].verdict == Verdict{Action::retry, false});
  CHECK(run.failures()[1].verdict == Verdict{Action::abort, true});
}

TEST_CASE("an alert stands in its attempt's event, and in the report of its step whatever follows") {
  Run run;
  const auto result =
      run.of(Plan{{.name = "alpha",
                   .provide = FakeProvider("alpha", {failing(401), failing(503), Behaviour::value("answer")}),
                   .attempts = 3,
                   .classify = [](const ProviderError& e) {
                     return Verdict{Action::retry, e.status == 401};
                   }}});
  REQUIRE(result.has_value());
  REQUIRE(run.failures().size() == 2);
  CHECK(run.failures()[0].verdict == Verdict{Action::retry, true});
  CHECK(run.failures()[1].verdict == Verdict{Action::retry, false});
  CHECK_THAT(to_string(run.failures()[0]), ContainsSubstring("(alert)"));
  CHECK(result.report().steps[0].alert);
}

TEST_CASE("an alert is kept where the rule that is asked next throws") {
  Run run;
  const auto result = run.of(Plan{{.name = "alpha",
                                   .provide = fails({failing(401)}),
                                   .attempts = 2,
                                   .retry_while = [](const Cause&) -> bool { throw std::runtime_error("broken rule"); },
                                   .classify = always(Action::retry, true)}});
  CHECK(result.report().end == RunEnd::aborted);
  CHECK(run.failures()[0].verdict->alert);
  CHECK(result.report().steps[0].alert);
}

TEST_CASE("an abort throws PlanAborted with the attempt's own error nested, or just that in the original style") {
  const FakeProvider beta("beta");
  const Plan plan{{.name = "alpha", .provide = fails({failing(400)}), .attempts = 3, .classify = always(Action::abort)},
                  {.name = "beta", .provide = beta}};
  const auto call = [](FakeProvider& provider) { return provider(); };
  try {
    static_cast<void>(run_with_plan(plan, call));
    FAIL("it should have thrown");
  } catch (const planb::PlanAborted& aborted) {
    CHECK(aborted.end() == RunEnd::aborted);
    CHECK_THROWS_AS(std::rethrow_if_nested(aborted), ProviderError);
  }
  CHECK_THROWS_AS(run_with_plan(plan, call, {.failure = planb::FailureStyle::original}), ProviderError);
  CHECK(beta.calls() == 0);
}

TEST_CASE("an abort over a refused value nests it as RejectedValue") {
  const Plan plan{
      {.name = "alpha", .provide = FakeProvider("alpha", {Behaviour::value("")}), .classify = always(Action::abort)}};
  const auto accepting_some = planb::accepting([](FakeProvider& provider) { return provider(); },
                                               [](const std::string& text) { return !text.empty(); });
  try {
    static_cast<void>(run_with_plan(plan, accepting_some));
    FAIL("it should have thrown");
  } catch (const planb::PlanAborted& aborted) {
    CHECK_THROWS_AS(std::rethrow_if_nested(aborted), planb::RejectedValue);
  }
}

TEST_CASE("an acceptance check's verdict stands before the classifier, which is not asked") {
  struct Case {
    std::optional<Verdict> of_check;  // none: it says no, and leaves the rest to the classifier
    int asked;
    Names names;
    RunEnd end;
  };
  for (const Case& c : std::vector<Case>{
           {Verdict{Action::retry}, 0, {"alpha", "alpha", "beta"}, RunEnd::exhausted},
           {Verdict{Action::next_step, true}, 0, {"alpha", "beta"}, RunEnd::exhausted},
           {Verdict{Action::abort}, 0, {"alpha"}, RunEnd::aborted},
           {std::nullopt, 1, {"alpha"}, RunEnd::aborted},
       }) {
    INFO("case " << (c.of_check ? static_cast<int>(c.of_check->action) : -1));
    int asked = 0;
    const Plan plan{{.name = "alpha",
                     .provide = FakeProvider("alpha", {Behaviour::value("")}),
                     .attempts = 2,
                     .classify =
                         [&](const Cause& cause) {
                           ++asked;
                           CHECK(cause.kind() == CauseKind::rejected);
                           return Verdict{Action::abort};
                         }},
                    {.name = "beta", .provide = FakeProvider("beta", {Behaviour::value("")})}};
    const AttemptLog log;
    const auto call = [](FakeProvider& provider) { return provider(); };
    planb::RunEnd end{};
    bool alert = false;
    const auto look = [&](const auto& result) {
      end = result.report().end;
      alert = result.report().steps[0].alert;
    };
    if (c.of_check) {
      look(try_run_with_plan(
          plan, planb::accepting(call, [&](const std::string&) { return std::optional<Verdict>(c.of_check); }),
          {.on_event = log}));
    } else {
      look(
          try_run_with_plan(plan, planb::accepting(call, [](const std::string&) { return false; }), {.on_event = log}));
    }
    CHECK(asked == c.asked);
    CHECK(log.names() == c.names);
    CHECK(end == c.end);
    CHECK(alert == (c.of_check && c.of_check->alert));
  }
}

TEST_CASE("a verdict that is told with a failure stands before the classifier") {
  const Plan plan{{.name = "alpha", .provide = fails(), .attempts = 2, .classify = always(Action::abort)},
                  {.name = "beta", .provide = FakeProvider("beta")}};
  planb::PlanRun<FakeProvider> run(plan);
  REQUIRE(run.next() == planb::RunPhase::attempt);
  run.fail(Cause::of(503), Verdict{Action::retry});
  REQUIRE(run.next() == planb::RunPhase::attempt);
  CHECK(run.attempt().step_attempt == 2);
  run.fail(Cause::of(503), Verdict{Action::next_step});
  REQUIRE(run.next() == planb::RunPhase::attempt);
  CHECK(run.attempt().step_name == "beta");
  run.succeed();
  CHECK(run.end() == RunEnd::succeeded);
}

TEST_CASE("a classifier that throws ends the run as aborted, and the attempt's own error stays in the report") {
  Run run;
  const Plan plan{{.name = "alpha",
                   .provide = fails({failing(503)}),
                   .attempts = 2,
                   .classify = [](const Cause&) -> Verdict { throw std::logic_error("broken classifier"); }},
                  {.name = "beta", .provide = FakeProvider("beta")}};
  const auto result = run.of(plan);
  REQUIRE_FALSE(result.has_value());
  CHECK(run.names() == Names{"alpha"});
  CHECK(result.report().end == RunEnd::aborted);
  CHECK(result.report().steps[0].cause->status() == 503);
  CHECK(run.failures()[0].cause.status() == 503);
  try {
    static_cast<void>(result.value());
    FAIL("it should have thrown");
  } catch (const planb::PlanAborted& aborted) {
    CHECK_THROWS_AS(std::rethrow_if_nested(aborted), std::logic_error);
  }
}

TEST_CASE("a classifier that throws a Defect lets it leave unchanged") {
  Run run;
  const Plan plan{{.name = "alpha", .provide = fails(), .classify = [](const Cause&) -> Verdict {
                     throw planb::Defect("broken classifier");
                   }}};
  CHECK_THROWS_AS(run.of(plan), planb::Defect);
  CHECK(run.failures().size() == 1);
}

TEST_CASE("retry() asks its classifier too") {
  int calls = 0;
  const auto fn = [&]() -> int {
    ++calls;
    throw ProviderError(calls < 3 ? 503 : 400);
  };
  const planb::RetryPolicy policy{.attempts = 9, .classify = planb::http_classifier(planb::ContentRefusal::abort)};
  CHECK_THROWS_AS(planb::retry(policy, fn), ProviderError);
  CHECK(calls == 3);
  calls = 0;
  CHECK_THROWS_AS(planb::retry(policy, fn, {.failure = planb::FailureStyle::aggregate}), planb::PlanAborted);
  CHECK(calls == 3);
}
