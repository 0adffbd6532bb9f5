// What a failed attempt's verdict, wait hint and wait lead to: the rules of a plan, and the order in which they are
// asked.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include "catch.hpp"

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using planb::Action;
using planb::AttemptFailure;
using planb::Cause;
using planb::CauseKind;
using planb::Duration;
using planb::ExecutionPlan;
using planb::LeaveReason;
using planb::NextMove;
using planb::ProviderError;
using planb::RunEnd;
using planb::Schedule;
using planb::ScheduleInput;
using planb::SkipReason;
using planb::spaced;
using planb::StepSkipped;
using planb::Verdict;
using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;

using Names = std::vector<std::string>;
using Plan = ExecutionPlan<FakeProvider>;
using Step = planb::Step<FakeProvider>;
using Hint = std::optional<Duration>;
using Result = planb::PlanResult<std::string>;

// One run on a virtual clock, and everything that is to be seen of it.
struct Run {
  AttemptLog log;
  VirtualClock clock;

  Result of(const Plan& plan, planb::RunOptions options = {}) {
    options.on_event = log;
    options.clock = &clock;
    return try_run_with_plan(
        plan, [](FakeProvider& provider) { return provider(); }, options);
  }

  [[nodiscard]] Names names() const { return log.names(); }
  [[nodiscard]] std::vector<AttemptFailure> failures() const { return log.of<AttemptFailure>(); }
  [[nodiscard]] std::vector<Duration> delays() const {
    std::vector<Duration> delays;
    for (const AttemptFailure& failure : failures()) {
      if (failure.next.kind == NextMove::retry) delays.push_back(failure.next.delay);
    }
    return delays;
  }
  // The times at which attempts started.
  [[nodiscard]] std::vector<Duration> starts() const {
    std::vector<Duration> starts;
    for (const planb::AttemptStart& start : log.of<planb::AttemptStart>())
      starts.push_back(start.at.time_since_epoch());
    return starts;
  }
};

Behaviour failing(int status, Hint hint = {}) {
  const Behaviour behaviour = Behaviour::status(status);
  return hint ? behaviour.retry_after(*hint) : behaviour;
}

FakeProvider fails(std::vector<Behaviour> behaviours = {Behaviour::status(503)}) {
  return FakeProvider("fails", std::move(behaviours));
}

planb::Classifier always(Action action, bool alert = false) {
  return [verdict = Verdict{action, alert}](const Cause&) { return verdict; };
}

// Open or closed, and told nothing that it would remember.
class FixedGate final : public planb::Gate {
 public:
  explicit FixedGate(std::optional<planb::TimePoint> closed_until) : closed_until_(closed_until) {}
  planb::Admission admit(const planb::GateRequest& request) override {
    if (closed_until_ && request.now < *closed_until_) return planb::GateRefusal{*closed_until_};
    return planb::Permit(*this, 0);
  }
  [[nodiscard]] planb::TimePoint opens_at(const planb::GateRequest& request) const override {
    return closed_until_ ? (std::max)(request.now, *closed_until_) : request.now;
  }

 private:
  void on_outcome(std::uint64_t, const planb::GateOutcome&) override {}
  void on_dropped(std::uint64_t, bool) noexcept override {}

  std::optional<planb::TimePoint> closed_until_;
};

}  // namespace

// --- The wait
// ---------------------------------------------------------------------------------------------------------

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

TEST_CASE("the wait is the longer of the schedule's delay and the error's hint") {
  struct Case {
    std::optional<Duration> schedule;
    Hint hint;
    Duration wait;
  };
  for (const Case& c : std::vector<Case>{
           {100ms, std::nullopt, 100ms},
           {100ms, 50ms, 100ms},
           {100ms, 100ms, 100ms},
           {100ms, 101ms, 101ms},
           {100ms, 5s, 5s},
           {100ms, 0s, 100ms},
           {100ms, -5s, 100ms},  // a negative hint counts as zero
           {std::nullopt, 2s, 2s},
           {std::nullopt, -2s, 0s},
           {std::nullopt, std::nullopt, 0s},
       }) {
    INFO("schedule " << (c.schedule ? c.schedule->count() : -1) << ", hint " << (c.hint ? c.hint->count() : -1));
    Run run;
    const auto result =
        run.of(Plan{{.name = "alpha",
                     .provide = FakeProvider("alpha", {failing(429, c.hint), Behaviour::value("answer")}),
                     .attempts = 2,
                     .schedule = c.schedule ? spaced(*c.schedule) : Schedule()}});
    CHECK(result.has_value());
    CHECK(run.delays() == std::vector<Duration>{c.wait});
    CHECK(run.starts() == std::vector<Duration>{0s, c.wait});
    CHECK(run.clock.waits() == (c.wait > 0s ? 1U : 0U));  // a zero wait calls nothing
  }
}

TEST_CASE("the latest error's hint counts, not an earlier one's") {  // [field-7]
  Run run;
  static_cast<void>(run.of(Plan{{.name = "alpha",
                                 .provide = fails({failing(429, 5s), failing(429, 1s), failing(503), failing(429, 3s)}),
                                 .attempts = 5,
                                 .schedule = spaced(2s)}}));
  CHECK(run.delays() == std::vector<Duration>{5s, 2s, 2s, 3s});
  CHECK(run.starts() == std::vector<Duration>{0s, 5s, 7s, 9s, 12s});
}

TEST_CASE("a hint neither resets nor skips the schedule") {
  Run run;
  static_cast<void>(run.of(Plan{{.name = "alpha",
                                 .provide = fails({failing(503), failing(429, 1s), failing(503)}),
                                 .attempts = 4,
                                 .schedule = planb::exponential(10ms)}}));
  CHECK(run.delays() == std::vector<Duration>{10ms, 1s, 40ms});
}

TEST_CASE("a hint after a step's last attempt is not waited for, nor does it delay the next step") {
  Run run;
  const auto result = run.of(Plan{{.name = "alpha", .provide = fails({failing(429, 30s)})},
                                  {.name = "beta", .provide = FakeProvider("beta")}});
  CHECK(result.has_value());
  CHECK(run.names() == Names{"alpha", "beta"});
  CHECK(run.clock.waits() == 0);
}

TEST_CASE("a wait that is too long leaves the step at once, and event and report say why") {
  struct Case {
    std::optional<Duration> schedule;
    Hint hint;
    std::optional<Duration> max_wait;
    std::optional<Duration> wait;  // none: too long
  };
  for (const Case& c : std::vector<Case>{
           // Without max_wait a hint above a minute is too long.
           {std::nullopt, 60s, std::nullopt, 60s},
           {std::nullopt, 60s + 1ns, std::nullopt, std::nullopt},
           {1s, 61s, std::nullopt, std::nullopt},
           {std::nullopt, (Duration::max)(), std::nullopt, std::nullopt},
           // A schedule's own delay never is, not even where a long hint is shorter.
           {2h, std::nullopt, std::nullopt, 2h},
           {2h, 1s, std::nullopt, 2h},
           {2h, 90s, std::nullopt, 2h},
           // max_wait bounds both, and lets a longer hint through.
           {1s, std::nullopt, 1s, 1s},
           {1s + 1ns, std::nullopt, 1s, std::nullopt},
           {std::nullopt, 1s, 1s, 1s},
           {std::nullopt, 1s + 1ns, 1s, std::nullopt},
           {100ms, 5s, 1s, std::nullopt},
           {std::nullopt, 90s, 10min, 90s},
           {std::nullopt, 11min, 10min, std::nullopt},
           {2h, 90s, 10min, std::nullopt},
           {std::nullopt, std::nullopt, 0s, 0s},
           {std::nullopt, 1ns, 0s, std::nullopt},
       }) {
    INFO("schedule " << (c.schedule ? c.schedule->count() : -1) << ", hint " << (c.hint ? c.hint->count() : -1)
                     << ", max_wait " << (c.max_wait ? c.max_wait->count() : -1));
    Run run;
    const auto result = run.of(Plan{{.name = "alpha",
                                     .provide = fails({failing(429, c.hint)}),
                                     .attempts = 2,
                                     .schedule = c.schedule ? spaced(*c.schedule) : Schedule(),
                                     .max_wait = c.max_wait},
                                    {.name = "beta", .provide = FakeProvider("beta")}});
    REQUIRE(result.has_value());
    const planb::StepReport& alpha = result.report().steps[0];
    if (c.wait) {
      CHECK(run.names() == Names{"alpha", "alpha", "beta"});
      CHECK(run.clock.elapsed() == *c.wait);
      CHECK(alpha.left == LeaveReason::attempts_spent);
    } else {
      CHECK(run.names() == Names{"alpha", "beta"});
      CHECK(run.clock.waits() == 0);
      CHECK(run.failures()[0].next.kind == NextMove::next_step);
      CHECK(run.failures()[0].next.reason == LeaveReason::wait_too_long);
      CHECK(alpha.left == LeaveReason::wait_too_long);
      CHECK_THAT(to_string(run.failures()[0]), ContainsSubstring("wait too long"));
    }
  }
}

TEST_CASE("a wait that is too long in the last step exhausts the plan") {
  Run run;
  const auto result = run.of(Plan{{.name = "alpha", .provide = fails({failing(429, 2min)}), .attempts = 3}});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.report().end == RunEnd::exhausted);
  CHECK(result.report().steps[0].attempts == 1);
  CHECK_THAT(result.report().to_string(), ContainsSubstring("wait too long"));
}

TEST_CASE("a wait that is not shorter than the time left to the step goes to the next step") {  // [field-13]
  struct Case {
    Duration budget;
    Duration reserve;  // of beta
    bool waits;
  };
  for (const Case& c :
       std::vector<Case>{{10s, 0s, false}, {10s + 1ns, 0s, true}, {15s, 5s, false}, {15s + 1ns, 5s, true}}) {
    INFO("budget " << c.budget.count() << ", reserve " << c.reserve.count());
    Run run;
    const auto result = run.of(Plan{{.name = "alpha", .provide = fails({failing(429, 10s)}), .attempts = 2},
                                    {.name = "beta", .provide = FakeProvider("beta"), .reserve = c.reserve}},
                               {.budget = c.budget});
    REQUIRE(result.has_value());
    CHECK(run.names() == (c.waits ? Names{"alpha", "alpha", "beta"} : Names{"alpha", "beta"}));
    CHECK(run.clock.elapsed() == (c.waits ? 10s : 0s));
    const AttemptFailure first = run.failures()[0];
    CHECK(first.next.kind == (c.waits ? NextMove::retry : NextMove::next_step));
    CHECK(first.next.reason == (c.waits ? LeaveReason::none : LeaveReason::out_of_time));
    CHECK(result.report().steps[0].left == (c.waits ? LeaveReason::attempts_spent : LeaveReason::out_of_time));
  }
}

TEST_CASE("a wait that the budget has no time for, in the last step, ends as a deadline") {
  Run run;
  const auto result =
      run.of(Plan{{.name = "alpha", .provide = fails(), .attempts = 2, .schedule = spaced(10s)}}, {.budget = 10s});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.report().end == RunEnd::deadline);
  CHECK(run.clock.waits() == 0);
  CHECK(run.failures()[0].next.kind == NextMove::end);
  CHECK(run.failures()[0].next.run_end == RunEnd::deadline);
  CHECK(run.failures()[0].next.reason == LeaveReason::out_of_time);
  CHECK_THROWS_AS(result.value(), planb::DeadlineExceeded);
}

TEST_CASE("max_wait is looked at before the time that is left") {
  Run run;
  const auto result = run.of(
      Plan{{.name = "alpha", .provide = fails({failing(429, 10s)}), .attempts = 2, .max_wait = 5s}}, {.budget = 10s});
  CHECK(result.report().end == RunEnd::exhausted);
  CHECK(result.report().steps[0].left == LeaveReason::wait_too_long);
}

// --- The order of the questions
// ---------------------------------------------------------------------------------------

namespace {

// A step whose every rule notes that it was asked, and with which status.
struct Questions {
  std::shared_ptr<Names> asked = std::make_shared<Names>();

  void note(const char* who, const Cause& cause) const {
    asked->push_back(std::string(who) + (cause.status() ? " " + std::to_string(*cause.status()) : ""));
  }

  [[nodiscard]] Step step(std::vector<Behaviour> behaviours, Verdict verdict, bool retry, int attempts,
                          int delays) const {
    return {.name = "alpha",
            .provide = fails(std::move(behaviours)),
            .attempts = attempts,
            .schedule = Schedule::from("noting",
                                       [self = *this, delays](const ScheduleInput& input) -> std::optional<Duration> {
                                         self.note("schedule", input.cause);
                                         if (input.attempt > delays) return std::nullopt;
                                         return 1s;
                                       }),
            .retry_while =
                [self = *this, retry](const Cause& cause) {
                  self.note("retry_while", cause);
                  return retry;
                },
            .classify =
                [self = *this, verdict](const Cause& cause) {
                  self.note("classify", cause);
                  return verdict;
                }};
  }
};

}  // namespace

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

// --- Verdicts
// ---------------------------------------------------------------------------------------------------------

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

// --- with_classifier
// --------------------------------------------------------------------------------------------------

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

// --- Guards and next_guarded
// ------------------------------------------------------------------------------------------

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
