// Whose time is whose: the run's budget, a step's timeout, the reserves of later steps.
#include <planb/run.hpp>

#include "catch.hpp"

#include <planb/engine/plan_run.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#if PLANB_HAS_STOP_TOKEN
#include <stop_token>
#endif

namespace {

using namespace std::chrono_literals;
using planb::Attempt;
using planb::AttemptFailure;
using planb::AttemptStart;
using planb::Cause;
using planb::CauseKind;
using planb::DeadlineExceeded;
using planb::Duration;
using planb::ExecutionPlan;
using planb::LeaveReason;
using planb::NextMove;
using planb::PlanExhausted;
using planb::PlanRun;
using planb::ProviderError;
using planb::RunEnd;
using planb::RunOptions;
using planb::RunPhase;
using planb::RunReport;
using planb::SkipReason;
using planb::StepSkipped;
using planb::TimePoint;
using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;
using Names = std::vector<std::string>;
using Times = std::vector<std::optional<Duration>>;

constexpr TimePoint at(Duration since_start) { return TimePoint{since_start}; }

// A provider's client under test: how long a call takes, and what comes of it. It gives up when the time that it was
// handed is over, as HTTP clients do.
struct Client {
  static constexpr Duration forever = 24h;

  Duration takes{};
  int status = 0;  // 0: it answers

  std::string call(planb::Clock& clock, std::optional<Duration> timeout) const {
    const bool in_time = !timeout || takes < *timeout;
    clock.sleep_until(planb::detail::add(clock.now(), in_time ? takes : *timeout), {});
    if (!in_time) throw ProviderError("gave up");
    if (status != 0) throw ProviderError(status, "failed");
    return "answer";
  }
};

constexpr Client hanging{Client::forever};

// The callable of most tests: it hands the attempt's time to the client, and writes it down.
struct Calls {
  VirtualClock clock;
  AttemptLog log;
  Times given;
  Duration spent{};

  std::string operator()(const Client& client, const Attempt& attempt) {
    given.push_back(attempt.timeout());
    const TimePoint start = clock.now();
    struct Add {
      Calls& calls;
      TimePoint from;
      ~Add() { calls.spent += calls.clock.now() - from; }
    } const add{*this, start};
    return client.call(clock, given.back());
  }

  [[nodiscard]] RunOptions options(std::optional<Duration> budget = std::nullopt) {
    return {.on_event = log, .budget = budget, .clock = &clock};
  }
};

}  // namespace

// --- The whole chain
// --------------------------------------------------------------------------------------------------

TEST_CASE("three providers with 30 s each and a budget of 40 s: the third gets only what is left", "[field-16]") {
  Calls calls;
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = hanging, .timeout = 30s},
                                   {.name = "beta", .provide = Client{4s, 503}, .timeout = 30s},
                                   {.name = "gamma", .provide = hanging, .timeout = 30s}};
  CHECK_THROWS_AS(run_with_plan(plan, std::ref(calls), calls.options(40s)), DeadlineExceeded);
  CHECK(calls.log.names() == Names{"alpha", "beta", "gamma"});
  CHECK(calls.given == Times{30s, 10s, 6s});
  CHECK(calls.spent == 40s);
  CHECK(calls.clock.elapsed() == 40s);
}

TEST_CASE("without a reserve, two that hang leave nothing for the third", "[field-16]") {
  Calls calls;
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = hanging, .timeout = 30s},
                                   {.name = "beta", .provide = hanging, .timeout = 30s},
                                   {.name = "gamma", .provide = Client{}, .timeout = 30s}};
  CHECK_THROWS_AS(run_with_plan(plan, std::ref(calls), calls.options(40s)), DeadlineExceeded);
  CHECK(calls.given == Times{30s, 10s});
  CHECK(calls.clock.elapsed() == 40s);
}

TEST_CASE("later steps get their reserve though earlier ones hang, and the last one all that is left", "[field-16]") {
  Calls calls;
  const ExecutionPlan<Client> plan{
      {.name = "alpha", .provide = hanging, .timeout = 30s},
      {.name = "beta", .provide = hanging, .timeout = 30s, .reserve = 5s},
      {.name = "gamma", .provide = Client{7s}, .timeout = 30s, .reserve = 8s},
  };
  CHECK(run_with_plan(plan, std::ref(calls), calls.options(40s)) == "answer");
  CHECK(calls.given == Times{27s, 5s, 8s});  // 40 - 5 - 8, then 13 - 8, then 8
  CHECK(calls.clock.elapsed() == 39s);
}

TEST_CASE("what is left is the last step's, not a slice of the size of its reserve", "[field-16]") {
  Calls calls;
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1s, 503}},
                                   {.name = "beta", .provide = Client{20s}, .reserve = 5s}};
  CHECK(run_with_plan(plan, std::ref(calls), calls.options(40s)) == "answer");
  CHECK(calls.given == Times{35s, 39s});
}

TEST_CASE("a step's own reserve is not taken from itself, nor those of steps before it") {
  Calls calls;
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1s, 503}, .reserve = 20s},
                                   {.name = "beta", .provide = Client{1s, 503}, .reserve = 10s},
                                   {.name = "gamma", .provide = Client{1s}}};
  CHECK(run_with_plan(plan, std::ref(calls), calls.options(40s)) == "answer");
  CHECK(calls.given == Times{30s, 39s, 38s});
}

TEST_CASE("a reserve means nothing without a budget") {
  Calls calls;
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1s, 503}, .timeout = 5s},
                                   {.name = "beta", .provide = Client{1s}, .reserve = 10h}};
  CHECK(run_with_plan(plan, std::ref(calls), calls.options()) == "answer");
  CHECK(calls.given == Times{5s, std::nullopt});
}

TEST_CASE("a step to which the reserves leave no time is skipped, with that reason") {
  const Duration reserve = GENERATE(Duration(10s), Duration(11s), (Duration::max)());
  Calls calls;
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1s}},
                                   {.name = "beta", .provide = Client{1s}, .reserve = reserve}};
  const auto result = try_run_with_plan(plan, std::ref(calls), calls.options(10s));
  CHECK(result.has_value());
  CHECK(calls.log.names() == Names{"beta"});
  CHECK(calls.given == Times{10s});
  REQUIRE(calls.log.of<StepSkipped>().size() == 1);
  CHECK(calls.log.of<StepSkipped>()[0].reason == SkipReason::out_of_time);
  REQUIRE(result.report().steps.size() == 2);
  CHECK(result.report().steps[0].skipped == SkipReason::out_of_time);
}

TEST_CASE("a step to which the wait before it leaves no time is skipped, and not passed over in silence") {
  // A machine that was asleep: the wait before beta's first attempt, of two seconds, takes seven.
  struct Late final : planb::Clock {
    VirtualClock clock;
    TimePoint now() const override { return clock.now(); }
    void sleep_until(TimePoint due, planb::StopToken stop) override { clock.sleep_until(due + 5s, std::move(stop)); }
  } late;
  const AttemptLog log;
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{0s, 503}},
                                   {.name = "beta", .provide = Client{}, .attempts = 2, .schedule = planb::spaced(2s)},
                                   {.name = "gamma", .provide = Client{}, .reserve = 5s}};
  const auto call = [&](const Client& client) { return client.call(late.clock, std::nullopt); };
  const RunOptions options{.on_event = log, .budget = 10s, .clock = &late, .entry = planb::StepEntry::scheduled};
  const auto result = try_run_with_plan(plan, call, options);
  CHECK(result.has_value());
  CHECK(log.names() == Names{"alpha", "gamma"});
  REQUIRE(log.of<StepSkipped>().size() == 1);
  CHECK(log.of<StepSkipped>()[0].step_name == "beta");
  CHECK(log.of<StepSkipped>()[0].reason == SkipReason::out_of_time);
  CHECK(result.report().steps.size() == 3);
}

// --- What an attempt is told
// ------------------------------------------------------------------------------------------

TEST_CASE("an attempt's time is the smaller of the step's timeout and what is left to the step") {
  struct Case {
    std::optional<Duration> timeout;
    std::optional<Duration> budget;
    Duration reserve;
    std::optional<Duration> given;
  };
  const Case cases[] = {
      {std::nullopt, std::nullopt, 0s, std::nullopt},
      {5s, std::nullopt, 0s, 5s},
      {std::nullopt, 8s, 0s, 8s},
      {5s, 8s, 0s, 5s},
      {9s, 8s, 0s, 8s},
      {9s, 8s, 3s, 5s},
      {2s, 8s, 3s, 2s},
      {(Duration::max)(), 8s, 0s, 8s},
      {5s, (Duration::max)(), 0s, 5s},
      {std::nullopt, (Duration::max)(), 0s, std::nullopt},  // as good as none
  };
  for (const Case& c : cases) {
    VirtualClock clock;
    clock.advance(100s);
    const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .timeout = c.timeout},
                                  {.name = "beta", .provide = 2, .reserve = c.reserve}};
    const auto look = [&](int&, const Attempt& attempt) {
      CHECK(attempt.timeout() == c.given);
      if (c.given) {
        CHECK(attempt.deadline() == at(100s) + *c.given);
      } else {
        CHECK_FALSE(attempt.deadline());
      }
    };
    run_with_plan(plan, look, {.budget = c.budget, .clock = &clock});
  }
}

TEST_CASE("timeout() is what is left now, and never negative") {
  VirtualClock clock;
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .timeout = 10s}};
  const auto look = [&](int&, const Attempt& attempt) {
    CHECK(attempt.timeout() == Duration(10s));
    clock.advance(4s);
    CHECK(attempt.timeout() == Duration(6s));
    clock.advance(7s);
    CHECK(attempt.timeout() == Duration(0s));
    CHECK(attempt.deadline() == at(10s));
  };
  run_with_plan(plan, look, {.clock = &clock});
}

TEST_CASE("an attempt's time counts from its own start, and covers handler, factory and call", "[field-15]") {
  VirtualClock clock;
  Times in_factory;
  Times in_call;
  const auto build = [&](const Attempt& attempt) {
    in_factory.push_back(attempt.timeout());
    clock.advance(3s);
    return 1;
  };
  const ExecutionPlan<int> plan{
      {.name = "alpha", .provide = build, .attempts = 2, .schedule = planb::spaced(1min), .timeout = 10s}};
  const auto call = [&](int&, const Attempt& attempt) {
    in_call.push_back(attempt.timeout());
    throw ProviderError(503, "busy");
  };
  const auto slow_handler = [&](const AttemptStart&) { clock.advance(2s); };
  CHECK_THROWS_AS(run_with_plan(plan, call, {.on_event = slow_handler, .clock = &clock}), PlanExhausted);
  CHECK(in_factory == Times{8s, 8s});  // the second attempt has its full time again
  CHECK(in_call == Times{5s, 5s});
}

TEST_CASE("a factory that takes the attempt's time and fails has timed out", "[field-15]") {
  VirtualClock clock;
  const AttemptLog log;
  const auto build = [&]() -> int {
    clock.advance(10s);
    throw ProviderError("no connection");
  };
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = build, .timeout = 10s}, {.name = "beta", .provide = 2}};
  CHECK(run_with_plan(plan, [](int& i) { return i; }, {.on_event = log, .clock = &clock}) == 2);
  REQUIRE(log.of<AttemptFailure>().size() == 1);
  CHECK(log.of<AttemptFailure>()[0].cause.kind() == CauseKind::timeout);
}

TEST_CASE("outside a run an Attempt has no limits") {
  const Attempt attempt;
  CHECK_FALSE(attempt.timeout());
  CHECK_FALSE(attempt.deadline());
  CHECK_FALSE(attempt.stop_token().stop_possible());
}

TEST_CASE("retry() gives its attempts their time too") {
  Calls calls;
  const auto call = [&](const Attempt& attempt) { return calls(hanging, attempt); };
  CHECK_THROWS_AS(planb::retry({.attempts = 5, .timeout = 15s}, call, calls.options(40s)), DeadlineExceeded);
  CHECK(calls.given == Times{15s, 15s, 10s});
}

TEST_CASE("PlanRun tells its attempts' time, and waits no longer than there is") {
  VirtualClock clock;
  const ExecutionPlan<int> plan{
      {.name = "alpha", .provide = 1, .attempts = 2, .schedule = planb::spaced(2s), .timeout = 10s}};
  PlanRun<int> run(plan, {.budget = 12s, .clock = &clock});
  REQUIRE(run.next() == RunPhase::attempt);
  CHECK(run.attempt().timeout() == Duration(10s));
  clock.advance(4s);
  run.fail(Cause::of(ProviderError(503)));
  REQUIRE(run.next() == RunPhase::wait);
  CHECK(run.due() == at(6s));
  clock.advance(2s);
  REQUIRE(run.next() == RunPhase::attempt);
  CHECK(run.attempt().timeout() == Duration(6s));
  clock.advance(6s);
  run.fail(Cause::timed_out());
  CHECK(run.next() == RunPhase::over);
  CHECK(run.end() == RunEnd::deadline);
}

// --- The attempt's time against the run's
// -----------------------------------------------------------------------------

TEST_CASE("an attempt's own timeout moves on, the budget ends the run: two types, two events, two reports",
          "[field-17]") {
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = hanging, .timeout = 10s},
                                   {.name = "beta", .provide = hanging, .timeout = 10s}};

  SECTION("both time out within the budget") {
    Calls calls;
    try {
      run_with_plan(plan, std::ref(calls), calls.options(1min));
      FAIL_CHECK("no exception");
    } catch (const PlanExhausted& error) {
      CHECK(error.end() == RunEnd::exhausted);
      CHECK(std::string(error.what()) == "plan exhausted: alpha: timed out: gave up; beta: timed out: gave up");
    }
    const auto failures = calls.log.of<AttemptFailure>();
    REQUIRE(failures.size() == 2);
    CHECK(failures[0].cause.kind() == CauseKind::timeout);
    CHECK(failures[0].next.kind == NextMove::next_step);
    CHECK(failures[0].next.reason == LeaveReason::attempts_spent);
    CHECK(failures[1].cause.kind() == CauseKind::timeout);
    CHECK(failures[1].next.kind == NextMove::end);
    CHECK(failures[1].next.run_end == RunEnd::exhausted);
    CHECK(failures[1].duration == 10s);
  }
  SECTION("the budget is gone while beta is called") {
    Calls calls;
    try {
      run_with_plan(plan, std::ref(calls), calls.options(15s));
      FAIL_CHECK("no exception");
    } catch (const DeadlineExceeded& error) {
      CHECK(error.end() == RunEnd::deadline);
      CHECK(std::string(error.what()) == "plan deadline exceeded: alpha: timed out: gave up; beta: timed out: gave up");
      CHECK_THROWS_AS(std::rethrow_if_nested(error), ProviderError);
    }
    const auto failures = calls.log.of<AttemptFailure>();
    REQUIRE(failures.size() == 2);
    CHECK(failures[0].next.kind == NextMove::next_step);
    CHECK(failures[1].cause.kind() == CauseKind::timeout);
    CHECK(failures[1].next.kind == NextMove::end);
    CHECK(failures[1].next.run_end == RunEnd::deadline);
  }
}

TEST_CASE("a deadline keeps its own type in the original style", "[field-17]") {
  Calls calls;
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = hanging}};
  RunOptions options = calls.options(15s);
  options.failure = planb::FailureStyle::original;
  CHECK_THROWS_AS(run_with_plan(plan, std::ref(calls), options), DeadlineExceeded);
}

TEST_CASE("a timeout in a step with attempts left is retried like any other failure", "[field-17]") {
  Calls calls;
  const ExecutionPlan<Client> plan{
      {.name = "alpha",
       .provide = hanging,
       .attempts = 3,
       .schedule = planb::spaced(1s),
       .retry_while = [](const Cause& cause) { return cause.kind() == CauseKind::timeout; },
       .timeout = 5s},
      {.name = "beta", .provide = Client{1s}}};
  CHECK(run_with_plan(plan, std::ref(calls), calls.options()) == "answer");
  CHECK(calls.log.names() == Names{"alpha", "alpha", "alpha", "beta"});
  CHECK(calls.clock.elapsed() == 18s);
}

TEST_CASE("a timeout and a real failure race: the error is kept, and read first", "[field-18]") {
  VirtualClock clock;
  const AttemptLog log;
  std::vector<int> asked;
  const ExecutionPlan<int> plan{{.name = "alpha",
                                 .provide = 1,
                                 .attempts = 2,
                                 .retry_while =
                                     [&asked](const ProviderError& error) {
                                       asked.push_back(error.status);
                                       return false;
                                     },
                                 .timeout = 10s},
                                {.name = "beta", .provide = 2}};
  const auto call = [&](int& i) {
    if (i == 2) return i;
    clock.advance(10s);
    throw ProviderError(503, "busy", "overloaded", 3s);
  };
  const auto result = try_run_with_plan(plan, call, {.on_event = log, .clock = &clock});
  CHECK(result.has_value());
  CHECK(asked == std::vector{503});
  REQUIRE(log.of<AttemptFailure>().size() == 1);
  const Cause cause = log.of<AttemptFailure>()[0].cause;
  CHECK(cause.kind() == CauseKind::timeout);
  CHECK(cause.status() == 503);
  CHECK(cause.code() == "overloaded");
  CHECK(cause.retry_after() == Duration(3s));
  REQUIRE(cause.get_if<ProviderError>() != nullptr);
  CHECK(result.report().to_string() == "alpha: timed out: 503 busy, not worth retrying; beta: answered");
}

TEST_CASE("a failure is a timeout from the attempt's deadline on, and not a moment earlier", "[field-18]") {
  struct Case {
    Duration after;
    CauseKind kind;
  };
  const Case cases[] = {{10s - 1ns, CauseKind::error}, {10s, CauseKind::timeout}, {10s + 1ns, CauseKind::timeout}};
  const bool by_budget = GENERATE(false, true);
  for (const Case& c : cases) {
    CAPTURE(c.after.count(), by_budget);
    VirtualClock clock;
    const AttemptLog log;
    planb::Step<int> step{.name = "alpha", .provide = 1};
    if (!by_budget) step.timeout = 10s;
    const ExecutionPlan<int> plan(std::vector{step, planb::Step<int>{.name = "beta", .provide = 2, .reserve = 10s}});
    const auto call = [&](int& i) {
      if (i == 2) return;
      clock.advance(c.after);
      throw ProviderError(503, "busy");
    };
    run_with_plan(plan, call, {.on_event = log, .budget = 20s, .clock = &clock});
    REQUIRE(log.of<AttemptFailure>().size() == 1);
    CHECK(log.of<AttemptFailure>()[0].cause.kind() == c.kind);
  }
}

TEST_CASE("a value that comes after the deadline, or after the budget, is a success all the same", "[field-19]") {
  VirtualClock clock;
  const AttemptLog log;
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .timeout = 10s}, {.name = "beta", .provide = 2}};
  const auto call = [&](int& i) {
    clock.advance(1h);
    return i;
  };
  CHECK(run_with_plan(plan, call, {.on_event = log, .budget = 20s, .clock = &clock}) == 1);
  CHECK(log.events().size() == 2);
}

TEST_CASE("a success after a timeout elsewhere in the chain is a success", "[field-19]") {
  Calls calls;
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = hanging, .timeout = 10s},
                                   {.name = "beta", .provide = Client{5s}, .timeout = 10s}};
  const auto result = try_run_with_plan(plan, std::ref(calls), calls.options(15s + 1ns));
  CHECK(result.has_value());
  CHECK(result.report().end == RunEnd::succeeded);
  CHECK(result.report().answered_by() == "beta");
  REQUIRE(result.report().steps[0].cause);
  CHECK(result.report().steps[0].cause->kind() == CauseKind::timeout);
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("a stop wins over a timeout, and over the end of the budget") {
  VirtualClock clock;
  const AttemptLog log;
  std::stop_source stop;
  int asked = 0;
  const ExecutionPlan<int> plan{{.name = "alpha",
                                 .provide = 1,
                                 .attempts = 2,
                                 .retry_while = [&asked](const Cause&) { return ++asked != 0; },
                                 .timeout = 10s}};
  const auto call = [&](int&) {
    clock.advance(20s);
    stop.request_stop();
    throw ProviderError(503, "busy");
  };
  const RunOptions options{.on_event = log, .budget = 15s, .stop = stop.get_token(), .clock = &clock};
  CHECK_THROWS_AS(run_with_plan(plan, call, options), planb::PlanInterrupted);
  CHECK(asked == 0);
  REQUIRE(log.of<AttemptFailure>().size() == 1);
  CHECK(log.of<AttemptFailure>()[0].cause.kind() == CauseKind::interrupted);
  CHECK(log.of<AttemptFailure>()[0].next.run_end == RunEnd::interrupted);
}
#endif

// --- The budget
// -------------------------------------------------------------------------------------------------------

TEST_CASE("a budget that is spent on entry: no call, and a deadline", "[field-14]") {
  const Duration budget = GENERATE(Duration(0s), Duration(-1s), (Duration::min)());
  VirtualClock clock;
  clock.advance(5s);
  const AttemptLog log;
  const FakeProvider alpha("alpha");
  bool built = false;
  const auto build = [&built, &alpha] {
    built = true;
    return alpha;
  };
  const ExecutionPlan<FakeProvider> plan{{.name = "alpha", .provide = build}, {.name = "beta", .provide = alpha}};
  const RunOptions options{.on_event = log, .budget = budget, .clock = &clock};
  const auto complete = [](FakeProvider& provider) { return provider.complete(); };
  try {
    run_with_plan(plan, complete, options);
    FAIL_CHECK("no exception");
  } catch (const DeadlineExceeded& error) {
    CHECK(dynamic_cast<const std::nested_exception*>(&error) == nullptr);
    CHECK(error.report().attempts == 0);
    CHECK(error.report().steps.empty());
  }
  CHECK(try_run_with_plan(plan, complete, options).error().end() == RunEnd::deadline);
  CHECK_THROWS_AS(planb::retry(
                      {.attempts = 2}, [&] { return alpha.complete(); }, options),
                  DeadlineExceeded);
  CHECK(alpha.calls() == 0);
  CHECK_FALSE(built);
  CHECK(log.events().empty());
}

TEST_CASE("a wait that would not end before the deadline is not begun", "[field-13]") {
  struct Case {
    Duration delay;
    bool waits;
  };
  const Case cases[] = {{6s - 1ns, true}, {6s, false}, {6s + 1ns, false}, {(Duration::max)(), false}};
  const bool from_hint = GENERATE(false, true);
  for (const Case& c : cases) {
    CAPTURE(c.delay.count(), from_hint);
    VirtualClock clock;
    const AttemptLog log;
    planb::Step<int> step{.name = "alpha", .provide = 1, .attempts = 2, .max_wait = (Duration::max)()};
    if (!from_hint) step.schedule = planb::spaced(c.delay);
    const ExecutionPlan<int> plan(std::vector{step});
    const auto call = [&](int&, const Attempt& attempt) {
      if (attempt.attempt == 2) return;
      clock.advance(4s);
      throw ProviderError(429, "busy", "", from_hint ? std::optional<Duration>(c.delay) : std::nullopt);
    };
    const auto result = try_run_with_plan(plan, call, {.on_event = log, .budget = 10s, .clock = &clock});
    CHECK(result.has_value() == c.waits);
    CHECK(clock.elapsed() == (c.waits ? 4s + c.delay : Duration(4s)));
    const NextMove next = log.of<AttemptFailure>().at(0).next;
    if (c.waits) {
      CHECK(next.kind == NextMove::retry);
      CHECK(next.delay == c.delay);
    } else {
      CHECK(next.kind == NextMove::end);
      CHECK(next.run_end == RunEnd::deadline);
      CHECK(next.reason == LeaveReason::out_of_time);
      CHECK(result.report().end == RunEnd::deadline);
      CHECK(result.report().steps[0].left == LeaveReason::out_of_time);
    }
  }
}

TEST_CASE("a wait that would eat into a later step's reserve goes to that step at once", "[field-13]") {
  Calls calls;
  const ExecutionPlan<Client> plan{
      {.name = "alpha", .provide = Client{1s, 503}, .attempts = 3, .schedule = planb::spaced(5s)},
      {.name = "beta", .provide = Client{1s}, .reserve = 4s}};
  const auto result = try_run_with_plan(plan, std::ref(calls), calls.options(10s));
  CHECK(result.has_value());
  CHECK(calls.log.names() == Names{"alpha", "beta"});
  CHECK(calls.clock.elapsed() == 2s);
  const NextMove next = calls.log.of<AttemptFailure>().at(0).next;
  CHECK(next.kind == NextMove::next_step);
  CHECK(next.reason == LeaveReason::out_of_time);
  CHECK(result.report().to_string() == "alpha: 503 failed, out of time; beta: answered");
}

TEST_CASE("the run is over for lack of time where that decided its end, and exhausted otherwise", "[field-53]") {
  struct Case {
    const char* what;
    std::vector<planb::Step<Client>> steps;
    RunEnd end;
    Names names;
  };
  const auto decline = [](const Cause&) { return false; };
  const auto abort = [](const Cause&) { return planb::Verdict{planb::Action::abort}; };
  const auto attempts_spent = [](std::string name, Duration takes) {
    return planb::Step<Client>{.name = std::move(name), .provide = Client{takes, 503}};
  };
  const auto would_wait = [](std::string name, Duration delay) {
    return planb::Step<Client>{
        .name = std::move(name), .provide = Client{1s, 503}, .attempts = 2, .schedule = planb::spaced(delay)};
  };
  planb::Step<Client> guarded{.name = "guarded", .provide = Client{}, .enter_when = decline};
  planb::Step<Client> aborting{.name = "aborting", .provide = Client{10s, 400}, .classify = abort};
  planb::Step<Client> late{.name = "late", .provide = Client{10s, 503}, .attempts = 9};
  const Case cases[] = {
      {"all attempts used up in time",
       {attempts_spent("a", 1s), attempts_spent("b", 1s)},
       RunEnd::exhausted,
       {"a", "b"}},
      {"the last wait would take too long",
       {attempts_spent("a", 1s), would_wait("b", 20s)},
       RunEnd::deadline,
       {"a", "b"}},
      {"an earlier one would have", {would_wait("a", 20s), attempts_spent("b", 1s)}, RunEnd::exhausted, {"a", "b"}},
      {"a guard declined after that", {would_wait("a", 20s), guarded}, RunEnd::exhausted, {"a"}},
      {"the budget is gone after the last attempt",
       {attempts_spent("a", 1s), attempts_spent("b", 9s)},
       RunEnd::deadline,
       {"a", "b"}},
      {"and where there are attempts left", {late, attempts_spent("b", 1s)}, RunEnd::deadline, {"late"}},
      {"the budget comes before the classifier", {aborting}, RunEnd::deadline, {"aborting"}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    Calls calls;
    // The clients do not heed the attempt's time here: they fail when they fail.
    const auto call = [&](const Client& client) { return client.call(calls.clock, std::nullopt); };
    const auto result = try_run_with_plan(ExecutionPlan<Client>(c.steps), call, calls.options(10s));
    CHECK(result.report().end == c.end);
    CHECK(calls.log.names() == c.names);
  }
}

TEST_CASE("a budget that is gone is noticed before the next step is entered", "[field-14]") {
  Calls calls;
  int asked = 0;
  const ExecutionPlan<Client> plan{
      {.name = "alpha", .provide = Client{1s, 503}},
      {.name = "beta", .provide = Client{}, .enter_when = [&asked](const Cause&) { return ++asked != 0; }}};
  RunOptions options = calls.options(10s);
  options.on_event = [&](const AttemptFailure&) { calls.clock.advance(9s); };
  CHECK_THROWS_AS(run_with_plan(plan, std::ref(calls), options), DeadlineExceeded);
  CHECK(asked == 0);
}

TEST_CASE("a wait of zero calls nothing") {
  Calls calls;
  const ExecutionPlan<Client> plan{
      {.name = "alpha", .provide = Client{0s, 503}, .attempts = 3, .schedule = planb::spaced(0s)}};
  CHECK_THROWS_AS(run_with_plan(plan, std::ref(calls), calls.options(10s)), PlanExhausted);
  CHECK(calls.given == Times{10s, 10s, 10s});
  CHECK(calls.clock.elapsed() == 0s);
}

TEST_CASE("without a budget a schedule may wait as long as there is time at all") {
  VirtualClock clock;
  const AttemptLog log;
  const planb::StepEntry entry = GENERATE(planb::StepEntry::immediate, planb::StepEntry::scheduled);
  const ExecutionPlan<int> plan{
      {.name = "alpha", .provide = 1},
      {.name = "beta", .provide = 2, .attempts = 2, .schedule = planb::spaced((Duration::max)())}};
  const auto call = [](int& i, const Attempt& attempt) {
    if (attempt.attempt != 3) throw ProviderError(503, "busy");
    return i;
  };
  const auto result = try_run_with_plan(plan, call, {.on_event = log, .clock = &clock, .entry = entry});
  CHECK(result.has_value());
  CHECK(log.of<StepSkipped>().empty());
}

TEST_CASE("times that make no sense are refused, by step and name") {
  const auto refused = [](planb::Step<int> step) -> std::string {
    try {
      const ExecutionPlan<int> plan(std::vector{std::move(step)});
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  const auto says = [&](planb::Step<int> step, const char* member) {
    const std::string text = refused(std::move(step));
    return text.find("alpha") != std::string::npos && text.find(member) != std::string::npos;
  };
  CHECK(says({.name = "alpha", .provide = 1, .timeout = 0s}, "`timeout`"));
  CHECK(says({.name = "alpha", .provide = 1, .timeout = -1s}, "`timeout`"));
  CHECK(says({.name = "alpha", .provide = 1, .reserve = -1s}, "`reserve`"));
  CHECK(says({.name = "alpha", .provide = 1, .max_wait = -1s}, "`max_wait`"));
  CHECK(refused({.name = "alpha", .provide = 1, .max_wait = 0s, .timeout = 1ns, .reserve = 0s}) == "accepted");
  CHECK_THROWS_AS(planb::retry({.timeout = 0s}, [] {}), std::invalid_argument);
}

// --- The stop token
// ---------------------------------------------------------------------------------------------------

#if PLANB_HAS_STOP_TOKEN

TEST_CASE("an attempt's stop token fires when its time is up, and the next step is tried", "[field-17]") {
  VirtualClock clock;
  const AttemptLog log;
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha",
       .provide = FakeProvider("alpha", {Behaviour::value("too late").after(1h)}, &clock),
       .timeout = 10s},
      {.name = "beta",
       .provide = FakeProvider("beta", {Behaviour::value("in time").after(4s)}, &clock),
       .timeout = 5s}};
  const auto complete = [](FakeProvider& provider, const Attempt& attempt) {
    return provider.complete("prompt", attempt.stop_token());
  };
  CHECK(run_with_plan(plan, complete, {.on_event = log, .clock = &clock}) == "in time");
  CHECK(clock.elapsed() == 14s);
  CHECK(log.lines() == Names{"AttemptStart #1 step=0 alpha",
                             "AttemptFailure #1 step=0 alpha timed out: stopped, next step",
                             "AttemptStart #2 step=1 beta", "AttemptSuccess #2 step=1 beta"});
}

TEST_CASE("an attempt's stop token fires at what the budget leaves to the step") {
  VirtualClock clock;
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .timeout = 30s},
                                {.name = "beta", .provide = 2, .reserve = 4s}};
  const auto call = [&](int& i, const Attempt& attempt) {
    const std::stop_token token = attempt.stop_token();
    clock.sleep_until(at(1h), token);
    CHECK(token.stop_requested());
    CHECK(clock.elapsed() == (i == 1 ? 6s : 10s));
    throw ProviderError("stopped");
  };
  CHECK_THROWS_AS(run_with_plan(plan, call, {.budget = 10s, .clock = &clock}), DeadlineExceeded);
}

TEST_CASE("an attempt's stop token fires when the caller stops, with a time limit and without") {
  const bool limited = GENERATE(false, true);
  VirtualClock clock;
  std::stop_source stop;
  planb::Step<int> step{.name = "alpha", .provide = 1};
  if (limited) step.timeout = 10s;
  const ExecutionPlan<int> plan(std::vector{step});
  const auto call = [&](int&, const Attempt& attempt) {
    const std::stop_token token = attempt.stop_token();
    CHECK_FALSE(token.stop_requested());
    stop.request_stop();
    CHECK(token.stop_requested());
    throw ProviderError("stopped");
  };
  CHECK_THROWS_AS(run_with_plan(plan, call, {.stop = stop.get_token(), .clock = &clock}), planb::PlanInterrupted);
  CHECK(clock.elapsed() == 0s);
}

TEST_CASE("a stop that comes while the attempt waits on its token ends the wait there") {
  VirtualClock clock;
  std::stop_source stop;
  const planb::Timer caller = clock.call_at(at(3s), [&stop] { stop.request_stop(); });
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .timeout = 10s}};
  const auto call = [&](int&, const Attempt& attempt) {
    clock.sleep_until(at(1h), attempt.stop_token());
    throw ProviderError("stopped");
  };
  CHECK_THROWS_AS(run_with_plan(plan, call, {.stop = stop.get_token(), .clock = &clock}), planb::PlanInterrupted);
  CHECK(clock.elapsed() == 3s);
}

TEST_CASE("a token asked for when the time is up has fired") {
  VirtualClock clock;
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .timeout = 10s}};
  const auto call = [&](int&, const Attempt& attempt) {
    clock.advance(10s);
    CHECK(attempt.stop_token().stop_requested());
  };
  run_with_plan(plan, call, {.clock = &clock});
}

TEST_CASE("a token of an attempt that is over does not fire any more, by time or by the caller", "[field-11]") {
  VirtualClock clock;
  std::stop_source stop;
  std::vector<std::stop_token> tokens;
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .attempts = 3, .timeout = 10s}};
  const auto call = [&](int& i, const Attempt& attempt) {
    tokens.push_back(attempt.stop_token());
    CHECK(attempt.stop_token() == tokens.back());  // one for each attempt
    clock.advance(4s);
    if (attempt.attempt < 3) throw ProviderError(503, "busy");
    return i;
  };
  run_with_plan(plan, call, {.stop = stop.get_token(), .clock = &clock});
  REQUIRE(tokens.size() == 3);
  CHECK(tokens[0] != tokens[1]);
  clock.advance(1h);
  stop.request_stop();
  for (const std::stop_token& token : tokens) {
    CHECK_FALSE(token.stop_requested());
    CHECK_FALSE(token.stop_possible());
  }
}

TEST_CASE("a token keeps its attempt's time apart from the caller's stop") {
  VirtualClock clock;
  std::stop_source stop;
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .timeout = 10s}, {.name = "beta", .provide = 2}};
  const auto call = [&](int& i, const Attempt& attempt) {
    if (i == 2) return i;
    clock.sleep_until(at(1h), attempt.stop_token());
    CHECK_FALSE(stop.stop_requested());
    throw ProviderError("stopped");
  };
  CHECK(run_with_plan(plan, call, {.stop = stop.get_token(), .clock = &clock}) == 2);
  CHECK_FALSE(stop.stop_requested());
}

TEST_CASE("a token's callbacks run when the virtual clock reaches the deadline, in the attempt") {
  VirtualClock clock;
  std::optional<TimePoint> fired;
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .timeout = 10s}};
  const auto call = [&](int&, const Attempt& attempt) {
    const std::stop_callback on_stop(attempt.stop_token(), [&] { fired = clock.now(); });
    clock.advance(1min);
  };
  run_with_plan(plan, call, {.clock = &clock});
  CHECK(fired == at(10s));
}

TEST_CASE("without a time limit the token is the caller's own") {
  std::stop_source stop;
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1}};
  const auto same = [&](int&, const Attempt& attempt) { return attempt.stop_token() == stop.get_token(); };
  CHECK(run_with_plan(plan, same, {.stop = stop.get_token()}));
  const auto none = [](int&, const Attempt& attempt) { return attempt.stop_token().stop_possible(); };
  CHECK_FALSE(run_with_plan(plan, none));
  CHECK_FALSE(run_with_plan(plan, none, {}));
}

#endif

TEST_CASE("a wait that takes longer than it should, into what is reserved for later steps, leaves the step") {
  const ExecutionPlan<Client> plan{
      {.name = "first", .provide = Client{}, .attempts = 2, .schedule = planb::spaced(500ms)},
      {.name = "second", .provide = Client{}, .reserve = 1s}};
  for (const bool after_output : {false, true}) {
    CAPTURE(after_output);
    VirtualClock clock;
    PlanRun<Client> run(plan, {.budget = 2s, .clock = &clock}, planb::PartialStream::prevent_fallback);
    REQUIRE(run.next() == RunPhase::attempt);
    if (after_output) CHECK(run.deliver());
    run.fail(Cause::of(ProviderError(503)));
    REQUIRE(run.next() == RunPhase::wait);
    clock.advance(1200ms);
    if (after_output) {
      CHECK(run.next() == RunPhase::over);
      CHECK(run.end() == RunEnd::deadline);
    } else {
      REQUIRE(run.next() == RunPhase::attempt);
      CHECK(run.attempt().step_name == "second");
    }
    const RunReport report = run.report();
    CHECK(report.steps[0].attempts == 1);
    CHECK(report.steps[0].left == LeaveReason::out_of_time);
    CHECK_FALSE(report.steps[0].skipped);
    if (!after_output) run.succeed();
  }
}
