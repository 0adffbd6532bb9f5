#include <planb/gate/gate.hpp>

#include "catch.hpp"

#include <planb/engine/plan_run.hpp>
#include <planb/gate/circuit_breaker.hpp>
#include <planb/run.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using planb::Admission;
using planb::Attempt;
using planb::AttemptFailure;
using planb::AttemptStart;
using planb::Cause;
using planb::CauseKind;
using planb::CircuitBreaker;
using planb::CircuitState;
using planb::Duration;
using planb::ExecutionPlan;
using planb::LeaveReason;
using planb::NextMove;
using planb::Permit;
using planb::PlanRun;
using planb::ProviderError;
using planb::RunEnd;
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
using Notes = std::vector<std::string>;

constexpr TimePoint at(Duration since_start) { return TimePoint{since_start}; }

// Writes down what it is asked and told, and does as its members say.
class NotingGate final : public planb::Gate {
 public:
  Notes notes;
  int out = 0;            // permits that are out
  TimePoint open_from{};  // refused before
  std::function<void()> on_admit;
  std::function<void()> on_told;

  Admission admit(const planb::GateRequest& request) override {
    notes.emplace_back("asked");
    if (on_admit) on_admit();
    if (request.now < open_from) return planb::GateRefusal{open_from};
    ++out;
    return Permit(*this, 7);
  }
  TimePoint opens_at(const planb::GateRequest& request) const override {
    const_cast<NotingGate*>(this)->notes.emplace_back("looked at");
    return request.now < open_from ? open_from : request.now;
  }

 private:
  void told(std::uint64_t ticket, std::string what) {
    CHECK(ticket == 7);
    --out;
    notes.push_back(std::move(what));
    if (on_told) on_told();
  }
  void on_outcome(std::uint64_t ticket, const planb::GateOutcome& outcome) override {
    told(ticket, outcome.cause == nullptr ? "success" : "failure " + planb::detail::describe(*outcome.cause));
  }
  void on_first_output(std::uint64_t ticket, TimePoint) override {
    CHECK(ticket == 7);
    notes.emplace_back("first output");
  }
  void on_dropped(std::uint64_t ticket, bool) noexcept override {
    CHECK(ticket == 7);
    --out;
    notes.emplace_back("dropped");
  }
};

std::shared_ptr<NotingGate> noting_gate() { return std::make_shared<NotingGate>(); }

std::string complete(FakeProvider& provider) { return provider.complete(); }

std::shared_ptr<CircuitBreaker> open_until(TimePoint until) {
  auto breaker = planb::circuit_breaker();
  breaker->force_open(until);
  return breaker;
}

FakeProvider failing(std::string name, int status = 503) {
  return FakeProvider(std::move(name), {Behaviour::status(status)});
}

}  // namespace

// --- The permit
// -------------------------------------------------------------------------------------------------------

static_assert(!std::is_copy_constructible_v<Permit> && !std::is_copy_assignable_v<Permit>);
static_assert(std::is_nothrow_move_constructible_v<Permit> && std::is_nothrow_move_assignable_v<Permit>);

TEST_CASE("a permit is told once; dropped untold it is neutral") {
  NotingGate gate;
  SECTION("told, then destroyed") {
    {
      Admission admission = gate.admit(at(0s));
      admission.permit->succeeded(at(1s));
    }
    CHECK(gate.notes == Notes{"asked", "success"});
  }
  SECTION("told twice") {
    Admission admission = gate.admit(at(0s));
    admission.permit->failed(Cause::timed_out(), at(1s));
    admission.permit->succeeded(at(1s));
    CHECK(gate.notes == Notes{"asked", "failure timed out"});
  }
  SECTION("dropped") {
    static_cast<void>(gate.admit(at(0s)));
    CHECK(gate.notes == Notes{"asked", "dropped"});
  }
  SECTION("moved from") {
    Admission admission = gate.admit(at(0s));
    Permit permit = std::move(*admission.permit);
    admission.permit.reset();
    CHECK(gate.notes == Notes{"asked"});
    permit.succeeded(at(1s));
    CHECK(gate.notes == Notes{"asked", "success"});
  }
  SECTION("assigned over") {
    Admission first = gate.admit(at(0s));
    Admission second = gate.admit(at(0s));
    *first.permit = std::move(*second.permit);
    CHECK(gate.notes == Notes{"asked", "asked", "dropped"});
    first.permit->succeeded(at(1s));
    CHECK(gate.notes == Notes{"asked", "asked", "dropped", "success"});
  }
  SECTION("assigned to itself") {
    Admission admission = gate.admit(at(0s));
    Permit& same = *admission.permit;
    *admission.permit = std::move(same);
    CHECK(gate.notes == Notes{"asked"});
    admission.permit->succeeded(at(1s));
    CHECK(gate.notes == Notes{"asked", "success"});
  }
  SECTION("first output is not its end") {
    Admission admission = gate.admit(at(0s));
    admission.permit->first_output(at(1s));
    CHECK(gate.out == 1);
    admission.permit->succeeded(at(2s));
    admission.permit->first_output(at(3s));  // too late: it is spent
    CHECK(gate.notes == Notes{"asked", "first output", "success"});
  }
  SECTION("what the gate throws goes on, and the permit is spent all the same") {
    gate.on_told = [] { throw std::runtime_error("gate"); };
    {
      Admission admission = gate.admit(at(0s));
      CHECK_THROWS_AS(admission.permit->failed(Cause::timed_out(), at(1s)), std::runtime_error);
    }
    CHECK(gate.notes == Notes{"asked", "failure timed out"});
  }
  CHECK(gate.out == 0);
}

// --- Each attempt feeds its own step's gate, once
// ---------------------------------------------------------------------

TEST_CASE("every attempt asks its own step's gate before, and tells it after, in fallbacks too", "[field-44]") {
  const auto alphas = noting_gate();
  const auto betas = noting_gate();
  const auto gammas = noting_gate();
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = failing("alpha"), .attempts = 2, .schedule = planb::spaced(1s), .gate = alphas},
      {.name = "beta", .provide = failing("beta", 429), .gate = betas},
      {.name = "gamma", .provide = FakeProvider("gamma"), .gate = gammas},
  };
  VirtualClock clock;
  CHECK(run_with_plan(plan, complete, {.clock = &clock}) == "gamma");
  CHECK(alphas->notes == Notes{"asked", "failure 503 service unavailable", "looked at", "asked",
                               "failure 503 service unavailable", "looked at"});
  CHECK(betas->notes == Notes{"asked", "failure 429 too many requests", "looked at"});
  CHECK(gammas->notes == Notes{"asked", "success"});
}

TEST_CASE("a gate that several steps share hears of each of their attempts", "[field-44]") {
  const auto gate = noting_gate();
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = failing("alpha"), .gate = gate},
      {.name = "beta", .provide = failing("beta", 500), .gate = gate},
  };
  CHECK_FALSE(try_run_with_plan(plan, complete).has_value());
  CHECK(gate->notes == Notes{"asked", "failure 503 service unavailable", "looked at", "asked",
                             "failure 500 internal server error", "looked at"});
}

TEST_CASE("breakers open on the failures of their own step, wherever it stands in the chain", "[field-44]") {
  const auto alphas = planb::circuit_breaker({.failure_threshold = 3});
  const auto betas = planb::circuit_breaker({.failure_threshold = 3});
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = failing("alpha"), .gate = alphas},
      {.name = "beta", .provide = failing("beta"), .gate = betas},
      {.name = "gamma", .provide = FakeProvider("gamma")},
  };
  for (int i = 0; i != 2; ++i) CHECK(run_with_plan(plan, complete) == "gamma");
  CHECK(alphas->state() == CircuitState::closed);
  CHECK(betas->state() == CircuitState::closed);
  CHECK(run_with_plan(plan, complete) == "gamma");
  CHECK(alphas->state() == CircuitState::open);
  CHECK(betas->state() == CircuitState::open);
}

TEST_CASE("a gate is told of failures of every kind, with the cause as predicates see it", "[field-44]") {
  const auto gate = noting_gate();
  VirtualClock clock;
  const auto run = [&](const auto& provide, const auto& fn) {
    const ExecutionPlan<int> plan{{.name = "alpha", .provide = provide, .timeout = 10s, .gate = gate}};
    static_cast<void>(try_run_with_plan(plan, fn, {.clock = &clock}));
    if (gate->notes.back() == "looked at") gate->notes.pop_back();
    return gate->notes.back();
  };
  const auto answer = [](int& value) { return value; };
  const auto broken_factory = []() -> int { throw ProviderError(500, "no key"); };
  CHECK(run(broken_factory, answer) == "failure 500 no key");
  CHECK(run(1, [](int&) -> int { throw 42; }) == "failure 42");
  CHECK(run(1, [&](int&) -> int {
          clock.advance(10s);
          throw ProviderError(503, "too late");
        }) == "failure timed out: 503 too late");
  CHECK(run(1, planb::accepting(answer, [](int) { return false; })) == "failure value rejected: 1");
  CHECK(run(1, answer) == "success");
  CHECK(gate->notes.size() == 10);
  CHECK(gate->out == 0);
}

TEST_CASE("retry() asks its gate as a plan's step does") {
  const auto gate = noting_gate();
  int calls = 0;
  const int answer = planb::retry({.attempts = 3, .gate = gate}, [&] {
    if (++calls < 3) throw ProviderError(503, "busy");
    return calls;
  });
  CHECK(answer == 3);
  CHECK(gate->notes ==
        Notes{"asked", "failure 503 busy", "looked at", "asked", "failure 503 busy", "looked at", "asked", "success"});
}

TEST_CASE("retry() with an open breaker makes no call") {
  int calls = 0;
  const auto once = [&] { return ++calls; };
  CHECK_THROWS_AS(planb::retry({.attempts = 3, .gate = open_until((TimePoint::max)())}, once), planb::PlanExhausted);
  CHECK(calls == 0);
}

// --- Neutral ends
// -----------------------------------------------------------------------------------------------------

TEST_CASE("what says nothing about the provider is neutral", "[field-12]") {
  const auto gate = noting_gate();
  const ExecutionPlan<FakeProvider> plan{{.name = "alpha", .provide = FakeProvider("alpha"), .gate = gate}};

  SECTION("a defect") {
    CHECK_THROWS_AS(run_with_plan(plan, [](FakeProvider&) { throw planb::Defect("a bug"); }), planb::Defect);
  }
  SECTION("an acceptance check that throws") {
    const auto check = [](const std::string&) -> bool { throw std::runtime_error("check"); };
    CHECK_THROWS_AS(run_with_plan(plan, planb::accepting(complete, check)), planb::PlanAborted);
  }
  SECTION("a run that is given up inside its attempt") {
    {
      PlanRun<FakeProvider> run(plan);
      REQUIRE(run.next() == RunPhase::attempt);
      CHECK(gate->out == 1);
    }
  }
#if PLANB_HAS_STOP_TOKEN
  SECTION("a stop inside the attempt") {
    std::stop_source stop;
    const auto stopped = [&](FakeProvider&) {
      stop.request_stop();
      throw ProviderError("cancelled");
    };
    CHECK_THROWS_AS(run_with_plan(plan, stopped, {.stop = stop.get_token()}), planb::PlanInterrupted);
  }
  SECTION("a stop in the handler of the attempt's start") {
    std::stop_source stop;
    const auto on_start = [&](const AttemptStart&) { stop.request_stop(); };
    CHECK_THROWS_AS(run_with_plan(plan, complete, {.on_event = on_start, .stop = stop.get_token()}),
                    planb::PlanInterrupted);
  }
#endif
  CHECK(gate->notes == Notes{"asked", "dropped"});
  CHECK(gate->out == 0);
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("cancelled calls are never charged to a breaker", "[field-12]") {
  const auto breaker = planb::circuit_breaker({.failure_threshold = 1});
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .gate = breaker}};
  for (int i = 0; i != 5; ++i) {
    std::stop_source stop;
    const auto stopped = [&](int&) -> int {
      stop.request_stop();
      throw ProviderError(503, "cancelled");
    };
    CHECK_THROWS_AS(run_with_plan(plan, stopped, {.stop = stop.get_token()}), planb::PlanInterrupted);
  }
  CHECK(breaker->state() == CircuitState::closed);
}
#endif

TEST_CASE("a probe whose run is given up inside its attempt makes room for the next one", "[field-41]") {
  const auto breaker = planb::circuit_breaker({.failure_threshold = 1, .open_for = 10s});
  const ExecutionPlan<FakeProvider> plan{{.name = "alpha", .provide = FakeProvider("alpha"), .gate = breaker}};
  VirtualClock clock;
  breaker->force_open(at(10s));
  clock.advance(10s);
  {
    PlanRun<FakeProvider> run(plan, {.clock = &clock});
    REQUIRE(run.next() == RunPhase::attempt);
    CHECK(breaker->state() == CircuitState::half_open);
    PlanRun<FakeProvider> second(plan, {.clock = &clock});
    CHECK(second.next() == RunPhase::over);
    CHECK(second.end() == RunEnd::exhausted);
  }
  CHECK(breaker->state() == CircuitState::half_open);
  CHECK(run_with_plan(plan, complete, {.clock = &clock}) == "alpha");
  CHECK(breaker->state() == CircuitState::closed);
}

// --- Refused at entry
// -------------------------------------------------------------------------------------------------

TEST_CASE("alpha's breaker is open: the sequence is beta, gamma, and alpha is reported as skipped", "[field-43]") {
  const FakeProvider alpha("alpha");
  const FakeProvider beta = failing("beta");
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha",
       .provide = alpha,
       .attempts = 3,
       .schedule = planb::spaced(1min),
       .gate = open_until(at(4200ms))},
      {.name = "beta", .provide = beta},
      {.name = "gamma", .provide = FakeProvider("gamma")},
  };
  VirtualClock clock;
  const AttemptLog log;
  const auto result = try_run_with_plan(plan, complete, {.on_event = log, .clock = &clock});
  REQUIRE(result.has_value());
  CHECK(*result == "gamma");
  CHECK(log.names() == Names{"beta", "gamma"});
  CHECK(alpha.calls() == 0);
  CHECK(clock.waits() == 0);

  const auto skipped = log.of<StepSkipped>();
  REQUIRE(skipped.size() == 1);
  CHECK(skipped[0].step_index == 0);
  CHECK(skipped[0].step_name == "alpha");
  CHECK(skipped[0].reason == SkipReason::gate_closed);
  CHECK(skipped[0].opens_at == at(4200ms));
  CHECK(log.lines().front() == "StepSkipped step=0 alpha circuit open for 4.2 s");

  const RunReport& report = result.report();
  CHECK(report.answered_by() == "gamma");
  CHECK(report.attempts == 2);
  REQUIRE(report.steps.size() == 3);
  CHECK(report.steps[0].name == "alpha");
  CHECK(report.steps[0].attempts == 0);
  CHECK(report.steps[0].skipped == SkipReason::gate_closed);
  CHECK_FALSE(report.steps[0].cause);
  CHECK(report.steps[0].opens_at == at(4200ms));
  CHECK(report.steps[0].opens_in == Duration(4200ms));
  CHECK(report.opens_at() == at(4200ms));
  CHECK(report.to_string() == "alpha: skipped, circuit open for 4.2 s; beta: 503 service unavailable; gamma: answered");
}

TEST_CASE("every step is closed off: the error says the earliest time that one may be tried again", "[field-43]") {
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = FakeProvider("alpha"), .gate = open_until(at(9s))},
      {.name = "beta", .provide = FakeProvider("beta"), .gate = open_until(at(4s))},
      {.name = "gamma", .provide = FakeProvider("gamma"), .gate = open_until(at(7s))},
  };
  VirtualClock clock;
  clock.advance(1s);
  const std::size_t waits = clock.waits();
  const AttemptLog log;
  try {
    run_with_plan(plan, complete, {.on_event = log, .clock = &clock});
    FAIL_CHECK("no exception");
  } catch (const planb::PlanExhausted& error) {
    CHECK(error.report().opens_at() == at(4s));
    CHECK_THAT(error.what(), ContainsSubstring("alpha: skipped, circuit open for 8 s"));
    CHECK_THAT(error.what(), ContainsSubstring("beta: skipped, circuit open for 3 s"));
    CHECK_THAT(error.what(), ContainsSubstring("gamma: skipped, circuit open for 6 s"));
    CHECK(error.report().attempts == 0);
    CHECK(error.report().last_cause() == nullptr);
    CHECK(dynamic_cast<const std::nested_exception*>(&error) == nullptr);  // no attempt failed
  }
  CHECK(log.names().empty());
  CHECK(log.of<StepSkipped>().size() == 3);
  CHECK(clock.waits() == waits);
}

TEST_CASE("a gate is asked last: not where the step is passed over for another reason") {
  const auto gate = noting_gate();
  VirtualClock clock;

  SECTION("its guard declines") {
    const ExecutionPlan<int> plan{
        {.name = "alpha", .provide = 1, .enter_when = [](const Cause&) { return true; }, .gate = gate},
        {.name = "beta", .provide = 2}};
    CHECK(run_with_plan(plan, [](int& i) { return i; }) == 2);
  }
  SECTION("later steps' reserves leave it no time") {
    const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .gate = gate},
                                  {.name = "beta", .provide = 2, .reserve = 10s}};
    CHECK(run_with_plan(plan, [](int& i) { return i; }, {.budget = 10s, .clock = &clock}) == 2);
  }
  SECTION("the budget is spent") {
    const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .gate = gate}};
    CHECK_THROWS_AS(run_with_plan(plan, [](int& i) { return i; }, {.budget = 0s, .clock = &clock}),
                    planb::DeadlineExceeded);
  }
#if PLANB_HAS_STOP_TOKEN
  SECTION("a stop was requested") {
    std::stop_source stop;
    stop.request_stop();
    const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .gate = gate}};
    CHECK_THROWS_AS(run_with_plan(plan, [](int& i) { return i; }, {.stop = stop.get_token()}), planb::PlanInterrupted);
  }
#endif
  CHECK(gate->notes.empty());
}

TEST_CASE("in scheduled entry too, an open breaker costs no wait", "[field-43]") {
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = failing("alpha")},
      {.name = "beta",
       .provide = FakeProvider("beta"),
       .attempts = 2,
       .schedule = planb::spaced(10s),
       .gate = open_until(at(1min))},
      {.name = "gamma", .provide = FakeProvider("gamma")},
  };
  VirtualClock clock;
  const AttemptLog log;
  const planb::RunOptions options{.on_event = log, .clock = &clock, .entry = planb::StepEntry::scheduled};
  CHECK(run_with_plan(plan, complete, options) == "gamma");
  CHECK(log.names() == Names{"alpha", "gamma"});
  CHECK(clock.waits() == 0);
  REQUIRE(log.of<StepSkipped>().size() == 1);
  CHECK(log.of<StepSkipped>()[0].opens_at == at(1min));
}

TEST_CASE("in scheduled entry, a breaker that opens during the wait before it is met after that wait") {
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = failing("alpha")},
      {.name = "beta",
       .provide = FakeProvider("beta"),
       .attempts = 2,
       .schedule = planb::spaced(10s),
       .gate = open_until(at(10s))},
  };
  VirtualClock clock;
  const planb::RunOptions options{.clock = &clock, .entry = planb::StepEntry::scheduled};
  CHECK(run_with_plan(plan, complete, options) == "beta");
  CHECK(clock.elapsed() == 10s);
}

// --- Refused later
// ----------------------------------------------------------------------------------------------------

TEST_CASE("a breaker that the step's own failures have opened: the step is left at once, with that reason") {
  const auto breaker = planb::circuit_breaker({.failure_threshold = 2, .open_for = 1min});
  const FakeProvider alpha = failing("alpha");
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = alpha, .attempts = 5, .schedule = planb::spaced(1s), .gate = breaker},
      {.name = "beta", .provide = FakeProvider("beta")},
  };
  VirtualClock clock;
  const AttemptLog log;
  const auto result = try_run_with_plan(plan, complete, {.on_event = log, .clock = &clock});
  CHECK(*result == "beta");
  CHECK(log.names() == Names{"alpha", "alpha", "beta"});
  CHECK(clock.elapsed() == 1s);  // one wait, between the two attempts
  CHECK(log.of<StepSkipped>().empty());
  const auto failures = log.of<AttemptFailure>();
  REQUIRE(failures.size() == 2);
  CHECK(failures[0].next.kind == NextMove::retry);
  CHECK(failures[1].next.kind == NextMove::next_step);
  CHECK(failures[1].next.reason == LeaveReason::gate_closed);
  const planb::StepReport& report = result.report().steps[0];
  CHECK(report.attempts == 2);
  CHECK_FALSE(report.skipped);
  CHECK(report.left == LeaveReason::gate_closed);
  CHECK(report.opens_at == at(61s));
  CHECK(report.opens_in == Duration(1min));
}

TEST_CASE("a wait that ends when the breaker may be tried again is waited, and the next attempt is its probe") {
  const auto breaker = planb::circuit_breaker({.failure_threshold = 1, .open_for = 10s});
  const Duration delay = GENERATE(Duration(10s) - 1ns, Duration(10s), Duration(11s));
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha",
       .provide = FakeProvider("alpha", {Behaviour::status(503), Behaviour::value("well again")}),
       .attempts = 2,
       .schedule = planb::spaced(delay),
       .gate = breaker},
      {.name = "beta", .provide = FakeProvider("beta")},
  };
  VirtualClock clock;
  const std::string answer = run_with_plan(plan, complete, {.clock = &clock});
  if (delay < 10s) {
    CHECK(answer == "beta");
    CHECK(clock.elapsed() == 0s);
    CHECK(breaker->state() == CircuitState::open);
  } else {
    CHECK(answer == "well again");
    CHECK(clock.elapsed() == delay);
    CHECK(breaker->state() == CircuitState::closed);
  }
}

TEST_CASE("no permit is held while waiting, and before the wait only the opening time is looked at") {
  const auto gate = noting_gate();
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = failing("alpha"), .attempts = 2, .schedule = planb::spaced(1s), .gate = gate}};
  VirtualClock clock;
  PlanRun<FakeProvider> run(plan, {.clock = &clock});
  REQUIRE(run.next() == RunPhase::attempt);
  CHECK(gate->out == 1);
  run.fail(Cause::of(ProviderError(503, "busy")));
  CHECK(gate->out == 0);
  REQUIRE(run.next() == RunPhase::wait);
  CHECK(gate->notes == Notes{"asked", "failure 503 busy", "looked at"});
  CHECK(gate->out == 0);
  clock.advance(1s);
  REQUIRE(run.next() == RunPhase::attempt);
  CHECK(gate->notes == Notes{"asked", "failure 503 busy", "looked at", "asked"});
  run.succeed();
  CHECK(gate->notes.back() == "success");
}

TEST_CASE("a gate that refuses after a wait: the step is left with that reason, and is not skipped") {
  const auto breaker = planb::circuit_breaker({.failure_threshold = 100});
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = failing("alpha"), .attempts = 3, .schedule = planb::spaced(1s), .gate = breaker},
      {.name = "beta", .provide = FakeProvider("beta")},
  };
  VirtualClock clock;
  const AttemptLog log;
  PlanRun<FakeProvider> run(plan, {.on_event = log, .clock = &clock});
  REQUIRE(run.next() == RunPhase::attempt);
  run.fail(Cause::of(ProviderError(503, "busy")));
  REQUIRE(run.next() == RunPhase::wait);
  breaker->force_open(at(1min));  // other runs have opened it
  clock.advance(1s);
  REQUIRE(run.next() == RunPhase::attempt);
  CHECK(run.attempt().step_name == "beta");
  run.succeed();
  CHECK(log.names() == Names{"alpha", "beta"});
  CHECK(log.of<StepSkipped>().empty());
  const RunReport report = run.report();
  REQUIRE(report.steps.size() == 2);
  CHECK(report.steps[0].attempts == 1);
  CHECK_FALSE(report.steps[0].skipped);
  CHECK(report.steps[0].left == LeaveReason::gate_closed);
  CHECK(report.steps[0].opens_at == at(1min));
  CHECK(report.steps[0].opens_in == Duration(59s));
}

TEST_CASE("a gate that refuses after the last step's wait: exhausted, with the time that it may open") {
  const auto breaker = planb::circuit_breaker({.failure_threshold = 100});
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = failing("alpha"), .attempts = 3, .schedule = planb::spaced(1s), .gate = breaker}};
  VirtualClock clock;
  PlanRun<FakeProvider> run(plan, {.clock = &clock});
  REQUIRE(run.next() == RunPhase::attempt);
  run.fail(Cause::of(ProviderError(503, "busy")));
  REQUIRE(run.next() == RunPhase::wait);
  breaker->force_open(at(1min));
  clock.advance(1s);
  CHECK(run.next() == RunPhase::over);
  CHECK(run.end() == RunEnd::exhausted);
  CHECK(run.report().opens_at() == at(1min));
}

// --- Gates that throw
// -------------------------------------------------------------------------------------------------

TEST_CASE("a gate that throws ends the run as aborted, as any rule does") {
  const auto gate = noting_gate();
  const ExecutionPlan<FakeProvider> plan{{.name = "alpha", .provide = failing("alpha"), .attempts = 3, .gate = gate},
                                         {.name = "beta", .provide = FakeProvider("beta")}};
  const AttemptLog log;

  SECTION("when it is asked: no attempt, and what it threw is nested") {
    gate->on_admit = [] { throw std::runtime_error("gate"); };
    try {
      run_with_plan(plan, complete, {.on_event = log});
      FAIL_CHECK("no exception");
    } catch (const planb::PlanAborted& error) {
      CHECK_THROWS_AS(std::rethrow_if_nested(error), std::runtime_error);
      CHECK(error.report().attempts == 0);
    }
    CHECK(log.events().empty());
  }
  SECTION("when it is told of a failure: the attempt's own error stays in the report") {
    gate->on_told = [] { throw std::runtime_error("gate"); };
    try {
      run_with_plan(plan, complete, {.on_event = log});
      FAIL_CHECK("no exception");
    } catch (const planb::PlanAborted& error) {
      CHECK_THROWS_AS(std::rethrow_if_nested(error), std::runtime_error);
      REQUIRE(error.report().last_cause() != nullptr);
      CHECK(error.report().last_cause()->status() == 503);
    }
    CHECK(log.names() == Names{"alpha"});
    REQUIRE(log.of<AttemptFailure>().size() == 1);
    CHECK(log.of<AttemptFailure>()[0].next.run_end == RunEnd::aborted);
    CHECK(gate->notes == Notes{"asked", "failure 503 service unavailable"});
  }
  SECTION("in the original style, just what it threw") {
    gate->on_told = [] { throw std::runtime_error("gate"); };
    CHECK_THROWS_AS(run_with_plan(plan, complete, {.failure = planb::FailureStyle::original}), std::runtime_error);
  }
  SECTION("a defect leaves unchanged") {
    gate->on_told = [] { throw planb::Defect("a bug"); };
    CHECK_THROWS_AS(run_with_plan(plan, complete), planb::Defect);
    CHECK_THROWS_AS(try_run_with_plan(plan, complete), planb::Defect);
  }
  CHECK(gate->out == 0);
}

TEST_CASE("a gate that throws when it is told of a success takes no answer back") {
  const auto gate = noting_gate();
  gate->on_told = [] { throw std::runtime_error("gate"); };
  const ExecutionPlan<FakeProvider> plan{{.name = "alpha", .provide = FakeProvider("alpha"), .gate = gate},
                                         {.name = "beta", .provide = FakeProvider("beta")}};
  const AttemptLog log;
  CHECK(run_with_plan(plan, complete, {.on_event = log}) == "alpha");
  CHECK(log.events().size() == 2);
  CHECK(gate->notes == Notes{"asked", "success"});
}

TEST_CASE("a breaker's predicate that throws ends the run as aborted, and the probe's slot is given back") {
  bool broken = true;
  const auto breaker =
      planb::circuit_breaker({.failure_threshold = 1, .open_for = 10s, .counts_as_failure = [&broken](const Cause&) {
                                if (broken) throw std::runtime_error("predicate");
                                return true;
                              }});
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha",
       .provide = FakeProvider("alpha", {Behaviour::status(503), Behaviour::status(503), Behaviour::value("well")}),
       .gate = breaker}};
  VirtualClock clock;
  breaker->force_open(at(10s));
  clock.advance(10s);
  for (int i = 0; i != 2; ++i) {
    CHECK_THROWS_AS(run_with_plan(plan, complete, {.clock = &clock}), planb::PlanAborted);
    CHECK(breaker->state() == CircuitState::half_open);
  }
  CHECK(run_with_plan(plan, complete, {.clock = &clock}) == "well");
  CHECK(breaker->state() == CircuitState::closed);
}

// --- Shared by tests, plans and threads
// -------------------------------------------------------------------------------

namespace {

// What a program has one of, and its tests share.
CircuitBreaker& alphas_breaker() {
  static const std::shared_ptr<CircuitBreaker> breaker = planb::circuit_breaker({.failure_threshold = 1});
  return *breaker;
}

struct FreshBreakers {
  FreshBreakers() { alphas_breaker().reset(); }

  // A shared_ptr that owns nothing: the breaker lives as long as the program.
  ExecutionPlan<FakeProvider> plan{{.name = "alpha",
                                    .provide = failing("alpha"),
                                    .gate = std::shared_ptr<planb::Gate>(std::shared_ptr<void>(), &alphas_breaker())},
                                   {.name = "beta", .provide = FakeProvider("beta")}};
  AttemptLog log;
};

}  // namespace

TEST_CASE_METHOD(FreshBreakers, "a fixture that resets a breaker: this test opens it") {
  CHECK(run_with_plan(plan, complete, {.on_event = log}) == "beta");
  CHECK(log.names() == Names{"alpha", "beta"});
  CHECK(alphas_breaker().state() == CircuitState::open);
}

TEST_CASE_METHOD(FreshBreakers, "a fixture that resets a breaker: this one finds it closed, and opens it again") {
  CHECK(run_with_plan(plan, complete, {.on_event = log}) == "beta");
  CHECK(log.names() == Names{"alpha", "beta"});
  CHECK(alphas_breaker().state() == CircuitState::open);
  log.clear();
  CHECK(run_with_plan(plan, complete, {.on_event = log}) == "beta");
  CHECK(log.names() == Names{"beta"});
}

TEST_CASE("one breaker for two plans: what the one finds out spares the other the call", "[field-43]") {
  const auto breaker = planb::circuit_breaker({.failure_threshold = 1});
  const FakeProvider alpha = failing("alpha");
  const ExecutionPlan<FakeProvider> chat{{.name = "alpha", .provide = alpha, .gate = breaker},
                                         {.name = "beta", .provide = FakeProvider("beta")}};
  const ExecutionPlan<FakeProvider> embed{{.name = "alpha", .provide = alpha, .gate = breaker},
                                          {.name = "gamma", .provide = FakeProvider("gamma")}};
  VirtualClock clock;
  CHECK(run_with_plan(chat, complete, {.clock = &clock}) == "beta");
  CHECK(run_with_plan(embed, complete, {.clock = &clock}) == "gamma");
  CHECK(alpha.calls() == 1);
  clock.advance(30s);
  CHECK(run_with_plan(embed, complete, {.clock = &clock}) == "gamma");  // the probe
  CHECK(alpha.calls() == 2);
}

TEST_CASE("runs on several threads that share a breaker: the provider gets one probe", "[field-41]") {
  const auto breaker = planb::circuit_breaker({.failure_threshold = 1, .open_for = 10s});
  const FakeProvider alpha = failing("alpha");
  const ExecutionPlan<FakeProvider> plan{{.name = "alpha", .provide = alpha, .gate = breaker},
                                         {.name = "beta", .provide = FakeProvider("beta")}};
  VirtualClock clock;
  breaker->force_open(at(10s));
  clock.advance(10s);
  std::vector<std::thread> threads;
  for (int i = 0; i != 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n != 50; ++n) {
        if (run_with_plan(plan, complete, {.clock = &clock}) != "beta") std::terminate();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(alpha.calls() == 1);
}

TEST_CASE("a closed breaker that counts failures in a row costs no reading of the clock", "[gate]") {
  class CountingClock final : public planb::Clock {
   public:
    mutable int readings = 0;
    [[nodiscard]] planb::TimePoint now() const override {
      ++readings;
      return planb::TimePoint{};
    }
    void sleep_until(planb::TimePoint, planb::StopToken) override {}
  };
  CountingClock clock;
  const auto run = [&](std::shared_ptr<planb::Gate> gate) {
    clock.readings = 0;
    const planb::ExecutionPlan<int> plan{{.provide = 1, .gate = std::move(gate)}};
    planb::run_with_plan(plan, [](int) {}, {.clock = &clock});
    return clock.readings;
  };
  CHECK(run(planb::circuit_breaker({.failure_threshold = 5})) == 0);
  CHECK(run(planb::circuit_breaker({.failure_ratio = 0.5})) > 0);  // a window needs the time
}

namespace {

// Shut, and says why in its own words.
class WordyGate final : public planb::Gate {
 public:
  planb::GateRefusal words;

  Admission admit(const planb::GateRequest& request) override {
    if (request.now < words.opens_at) return words;
    return Permit(*this, 1);
  }
  [[nodiscard]] TimePoint opens_at(const planb::GateRequest&) const override { return words.opens_at; }
  [[nodiscard]] planb::GateRefusal refusal(const planb::GateRequest&) const override { return words; }

 private:
  void on_outcome(std::uint64_t, const planb::GateOutcome&) override {}
  void on_dropped(std::uint64_t, bool) noexcept override {}
};

}  // namespace

TEST_CASE("of a gate that refuses a step twice, the report has the last words") {
  for (const char* const last : {"second", ""}) {
    const auto gate = std::make_shared<WordyGate>();
    const ExecutionPlan<FakeProvider> plan{
        {.provide = failing("alpha"), .attempts = 3, .schedule = planb::spaced(1s), .gate = gate}};
    VirtualClock clock;
    PlanRun<FakeProvider> run(plan, {.clock = &clock});
    REQUIRE(run.next() == RunPhase::attempt);
    gate->words = {.opens_at = at(1s), .text = "first", .gate = "one"};
    run.fail(Cause::of(ProviderError(503)));
    CHECK(run.report().steps[0].gate_text == "first");
    CHECK(run.report().steps[0].gate == "one");
    REQUIRE(run.next() == RunPhase::wait);
    clock.advance(1s);
    gate->words = {.opens_at = at(1min), .text = last, .gate = "other"};
    CHECK(run.next() == RunPhase::over);
    CHECK(run.report().steps[0].gate_text == last);
    CHECK(run.report().steps[0].gate == "other");
  }
}
