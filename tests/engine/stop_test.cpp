// Stopping a run from outside.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "results.hpp"
#include "two_steps.hpp"

using namespace std::chrono_literals;
using planb::Attempt;
using planb::AttemptFailure;
using planb::AttemptStart;
using planb::AttemptSuccess;
using planb::Cause;
using planb::CauseKind;
using planb::Event;
using planb::ExecutionPlan;
using planb::run_with_plan;
using planb::RunEnd;
using planb::StepSkipped;
using planb::try_run_with_plan;
using results::Fault;
using two::Client;

TEST_CASE("without a stop token nothing ever stops", "[stop]") {
  const ExecutionPlan<Client> plan{{.provide = Client{1}, .timeout = 1h}};
  CHECK_FALSE(planb::RunOptions{}.stop.stop_possible());
  CHECK_FALSE(Attempt().stop_token().stop_requested());
  CHECK(run_with_plan(plan, [](Client& client, const Attempt& a) {
          CHECK_FALSE(a.stop_token().stop_requested());
          return client.id;
        }) == 1);
}

#if PLANB_HAS_STOP_TOKEN

namespace {

// A plan of two steps with three attempts each, which counts what is asked of it.
struct Scene {
  planb::testing::VirtualClock clock;
  planb::testing::AttemptLog log;
  std::stop_source stop;
  int built = 0;
  int calls = 0;
  int asked = 0;

  [[nodiscard]] planb::Step<Client> step(int id) {
    return {.name = "step" + std::to_string(id),
            .provide = [this, id] { return ++built, Client{id}; },
            .attempts = 3,
            .schedule = planb::spaced(100ms),
            .retry_while = [this](const Cause&) { return ++asked > 0; },
            .classify = [this](const Cause&) { return ++asked, planb::Verdict(); }};
  }
  [[nodiscard]] ExecutionPlan<Client> plan() { return {step(1), step(2)}; }
  [[nodiscard]] planb::RunOptions options(std::function<void(const Event&)> also = {}) {
    planb::RunOptions options;
    options.on_event = [this, also](const Event& event) {
      log(event);
      if (also) also(event);
    };
    options.stop = stop.get_token();
    options.clock = &clock;
    return options;
  }
  [[nodiscard]] auto failing() {
    return [this](Client& client) -> int {
      ++calls;
      throw Fault{client.id};
    };
  }
};

}  // namespace

TEST_CASE("a stop before the run: no attempt, no event", "[stop][field-11]") {
  Scene s;
  s.stop.request_stop();
  CHECK_THROWS_AS(run_with_plan(s.plan(), s.failing(), s.options()), planb::PlanInterrupted);
  const auto result = try_run_with_plan(s.plan(), s.failing(), s.options());
  CHECK(result.error().end() == RunEnd::interrupted);
  CHECK(result.report().attempts == 0);
  CHECK(result.report().steps.empty());
  CHECK(std::string(result.error().what()) == "plan interrupted");
  CHECK_THROWS_AS(planb::retry(
                      {.attempts = 3}, [&]() -> int { return ++s.calls; }, s.options()),
                  planb::PlanInterrupted);
  CHECK(s.built + s.calls + s.asked == 0);
  CHECK(s.log.events().empty());
}

TEST_CASE("a stop inside an attempt that then fails: that attempt is the last", "[stop][field-11][field-12]") {
  const auto thrown = GENERATE(true, false);
  Scene s;
  const auto result = try_run_with_plan(
      s.plan(),
      [&](Client& client) -> results::Outcome<int, Fault> {
        ++s.calls;
        if (client.id == 2) s.stop.request_stop();
        if (thrown) throw Fault{client.id};
        return Fault{client.id};
      },
      s.options());
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().end() == RunEnd::interrupted);
  CHECK(s.calls == 4);
  CHECK(s.asked == 2 * 3);  // of step1's failures alone
  CHECK(s.clock.elapsed() == 200ms);
  const AttemptFailure last = s.log.of<AttemptFailure>().back();
  CHECK(last.attempt == 4);
  CHECK(last.cause.kind() == CauseKind::interrupted);
  CHECK(last.cause.get_if<Fault>()->id == 2);  // what the attempt left is kept
  CHECK(last.next.kind == planb::NextMove::end);
  CHECK(last.next.run_end == RunEnd::interrupted);
  CHECK(s.log.events().size() == 8);
}

TEST_CASE("a stop inside an attempt that then succeeds changes nothing", "[stop]") {
  Scene s;
  const auto fn = [&](Client& client) {
    s.stop.request_stop();
    return client.id;
  };
  CHECK(run_with_plan(s.plan(), fn, s.options()) == 1);
  CHECK(s.log.of<AttemptSuccess>().size() == 1);
}

TEST_CASE("a stop inside a factory that then fails", "[stop][field-11]") {
  Scene s;
  planb::Step<Client> first = s.step(1);
  first.provide = [&]() -> Client {
    ++s.built;
    s.stop.request_stop();
    throw Fault{1};
  };
  CHECK_THROWS_AS(run_with_plan(ExecutionPlan<Client>{first, s.step(2)}, s.failing(), s.options()),
                  planb::PlanInterrupted);
  CHECK(s.built == 1);
  CHECK(s.calls + s.asked == 0);
  CHECK(s.log.of<AttemptFailure>().size() == 1);
  CHECK(s.log.of<AttemptFailure>()[0].cause.kind() == CauseKind::interrupted);
}

TEST_CASE("a stop in the handler of a start: a failure, and no factory call", "[stop][field-11]") {
  Scene s;
  const auto stops = [&](const Event& event) {
    if (const auto* start = event.get_if<AttemptStart>(); start != nullptr && start->attempt == 2)
      s.stop.request_stop();
  };
  CHECK_THROWS_AS(run_with_plan(s.plan(), s.failing(), s.options(stops)), planb::PlanInterrupted);
  CHECK(s.built == 1);
  CHECK(s.calls == 1);
  CHECK(s.log.lines() == std::vector<std::string>{"AttemptStart #1 step=0 step1",
                                                  "AttemptFailure #1 step=0 step1 unknown exception, retry in 100 ms",
                                                  "AttemptStart #2 step=0 step1",
                                                  "AttemptFailure #2 step=0 step1 interrupted, end: interrupted"});
}

TEST_CASE("a stop in the handler of a failure: no further attempt and no wait", "[stop][field-11]") {
  // The third is the last of its step; the sixth is the last of all.
  const auto at = GENERATE(1, 2, 3, 5, 6);
  const auto style = GENERATE(planb::FailureStyle::aggregate, planb::FailureStyle::original);
  CAPTURE(at);
  Scene s;
  const auto stops = [&](const Event& event) {
    const auto* const failure = event.get_if<AttemptFailure>();
    if (failure != nullptr && failure->attempt == at) s.stop.request_stop();
  };
  planb::RunOptions options = s.options(stops);
  options.failure = style;
  CHECK_THROWS_AS(run_with_plan(s.plan(), s.failing(), options), planb::PlanInterrupted);
  CHECK(s.calls == at);
  CHECK(s.log.events().size() == 2 * static_cast<std::size_t>(at));
  CHECK(s.clock.elapsed() == 100ms * (at - 1 - (at > 3 ? 1 : 0)));
}

TEST_CASE("a stop in the handler of a failure that aborts, or runs out of time", "[stop][field-11]") {
  Scene s;
  planb::Step<Client> first = s.step(1);
  planb::RunOptions options = s.options([&](const Event& event) {
    if (event.get_if<AttemptFailure>() != nullptr) s.stop.request_stop();
  });
  SECTION("aborts") {
    first.classify = [](const Cause&) { return planb::Verdict{planb::Action::abort}; };
    CHECK_THROWS_AS(run_with_plan(ExecutionPlan<Client>{first}, s.failing(), options), planb::PlanInterrupted);
  }
  SECTION("runs out of time") {
    options.budget = 1s;
    CHECK_THROWS_AS(run_with_plan(
                        ExecutionPlan<Client>{first},
                        [&](Client&) -> int {
                          s.clock.advance(1s);
                          throw Fault{1};
                        },
                        options),
                    planb::PlanInterrupted);
  }
  SECTION("but a Defect leaves all the same") {
    CHECK_THROWS_AS(run_with_plan(
                        ExecutionPlan<Client>{first}, [](Client&) -> int { throw planb::Defect("a bug"); }, options),
                    planb::Defect);
  }
}

TEST_CASE("a stop in the handler of a skipped step", "[stop][field-11]") {
  const auto last = GENERATE(false, true);
  Scene s;
  planb::Step<Client> guarded = s.step(2);
  guarded.enter_when = [](const Cause&) { return false; };
  planb::Step<Client> first = s.step(1);
  first.attempts = 1;
  std::vector<planb::Step<Client>> steps{first, guarded};
  if (!last) steps.push_back(s.step(3));
  const auto stops = [&](const Event& event) {
    if (event.get_if<StepSkipped>() != nullptr) s.stop.request_stop();
  };
  CHECK_THROWS_AS(run_with_plan(ExecutionPlan<Client>(steps), s.failing(), s.options(stops)), planb::PlanInterrupted);
  CHECK(s.calls == 1);
}

TEST_CASE("a stop in the handler of a success comes too late", "[stop][field-11]") {
  Scene s;
  const auto stops = [&](const Event& event) {
    if (event.get_if<AttemptSuccess>() != nullptr) s.stop.request_stop();
  };
  CHECK(run_with_plan(
            s.plan(), [](Client& client) { return client.id; }, s.options(stops)) == 1);
}

TEST_CASE("a stop in a wait ends it at once", "[stop][field-11]") {
  Scene s;
  const planb::Timer timer = s.clock.call_at(planb::TimePoint{130ms}, [&] { s.stop.request_stop(); });
  const auto result = try_run_with_plan(s.plan(), s.failing(), s.options());
  CHECK(result.error().end() == RunEnd::interrupted);
  CHECK(s.calls == 2);
  CHECK(s.clock.elapsed() == 130ms);
  CHECK(s.log.events().size() == 4);
  CHECK(s.log.of<AttemptFailure>().back().next.kind == planb::NextMove::retry);
  CHECK(result.report().last_cause()->kind() == CauseKind::error);
  CHECK(result.report().last_cause()->get_if<Fault>()->id == 1);
}

TEST_CASE("a stop in a predicate, a classifier, a schedule or a guard", "[stop]") {
  Scene s;
  planb::Step<Client> first = s.step(1);
  planb::Step<Client> second = s.step(2);
  SECTION("predicate") {
    first.retry_while = [&](const Cause&) { return s.stop.request_stop(); };
  }
  SECTION("classifier") {
    first.classify = [&](const Cause&) { return s.stop.request_stop(), planb::Verdict(); };
  }
  SECTION("schedule") {
    first.schedule = planb::Schedule::from("own", [&](const planb::ScheduleInput&) -> std::optional<planb::Duration> {
      s.stop.request_stop();
      return 1s;
    });
  }
  SECTION("guard") {
    first.attempts = 1;
    second.enter_when = [&](const Cause&) { return s.stop.request_stop(); };
  }
  CHECK_THROWS_AS(run_with_plan(ExecutionPlan<Client>{first, second}, s.failing(), s.options()),
                  planb::PlanInterrupted);
  CHECK(s.calls == 1);
  CHECK(s.clock.elapsed() == 0ms);
  CHECK(s.log.events().size() == 2);
}

TEST_CASE("a stop wins over a timeout and over a spent budget", "[stop]") {
  Scene s;
  planb::Step<Client> first = s.step(1);
  first.timeout = 1s;
  planb::RunOptions options = s.options();
  options.budget = 2s;
  const auto result = try_run_with_plan(
      ExecutionPlan<Client>{first, s.step(2)},
      [&](Client&) -> int {
        s.clock.advance(3s);
        s.stop.request_stop();
        throw Fault{1};
      },
      options);
  CHECK(result.error().end() == RunEnd::interrupted);
  CHECK(result.report().last_cause()->kind() == CauseKind::interrupted);
}

TEST_CASE("a stop nests the last error, in every style", "[stop]") {
  const auto style = GENERATE(planb::FailureStyle::aggregate, planb::FailureStyle::original);
  Scene s;
  planb::RunOptions options = s.options();
  options.failure = style;
  try {
    run_with_plan(
        s.plan(),
        [&](Client&) {
          s.stop.request_stop();
          throw Fault{5};
        },
        options);
    FAIL("nothing was thrown");
  } catch (const planb::PlanInterrupted& e) {
    CHECK(std::string(e.what()).find("plan interrupted: step1: ") == 0);
    CHECK_THROWS_AS(std::rethrow_if_nested(e), Fault);
  }
}

TEST_CASE("nested runs with one token all end", "[stop][field-2]") {
  Scene s;
  const auto outer = [&](Client&) {
    ++s.calls;
    return run_with_plan(
        s.plan(),
        [&](Client&) -> int {
          s.stop.request_stop();
          throw Fault{1};
        },
        s.options());
  };
  CHECK_THROWS_AS(run_with_plan(s.plan(), outer, s.options()), planb::PlanInterrupted);
  CHECK(s.calls == 1);
  CHECK(s.asked == 0);
  CHECK(planb::CurrentMetadata::get() == planb::Metadata{});
}

TEST_CASE("a stop is told to no gate", "[stop][field-12]") {
  struct Recorder final : planb::Gate {
    planb::Admission admit(const planb::GateRequest&) override { return planb::Permit(*this, 0); }
    [[nodiscard]] planb::TimePoint opens_at(const planb::GateRequest& request) const override { return request.now; }
    void on_outcome(std::uint64_t, const planb::GateOutcome& outcome) override {
      told += outcome.cause == nullptr ? 's' : 'f';
    }
    void on_dropped(std::uint64_t, bool) noexcept override { told += 'd'; }
    std::string told;
  };
  Scene s;
  const auto gate = std::make_shared<Recorder>();
  planb::Step<Client> first = s.step(1);
  first.gate = gate;
  const ExecutionPlan<Client> plan{first};
  SECTION("inside an attempt") {
    CHECK_THROWS_AS(run_with_plan(
                        plan,
                        [&](Client&) {
                          s.stop.request_stop();
                          throw Fault{1};
                        },
                        s.options()),
                    planb::PlanInterrupted);
  }
  SECTION("in the handler of a start") {
    const auto stops = [&](const Event&) { s.stop.request_stop(); };
    CHECK_THROWS_AS(run_with_plan(plan, s.failing(), s.options(stops)), planb::PlanInterrupted);
  }
  CHECK(gate->told == "d");
}

// --- Attempt::stop_token()
// ---------------------------------------------------------------------------------------------

TEST_CASE("an attempt's token is the caller's where the attempt's time has no limit", "[stop]") {
  Scene s;
  run_with_plan(
      s.plan(), [&](Client&, const Attempt& a) { CHECK(a.stop_token() == s.stop.get_token()); }, s.options());
}

TEST_CASE("an attempt's token fires at the attempt's deadline", "[stop][field-15]") {
  Scene s;
  planb::Step<Client> first = s.step(1);
  first.timeout = 1s;
  first.attempts = 2;
  std::vector<planb::Duration> fired;
  const auto hang = [&](Client& client, const Attempt& a) {
    if (client.id == 2) return client.id;
    const planb::StopToken token = a.stop_token();
    CHECK_FALSE(token.stop_requested());
    CHECK(a.stop_token() == token);  // one token for each attempt
    s.clock.sleep_until(planb::TimePoint::max(), token);
    CHECK(token.stop_requested());
    fired.push_back(s.clock.elapsed());
    throw Fault{1};
  };
  CHECK(run_with_plan(ExecutionPlan<Client>{first, s.step(2)}, hang, s.options()) == 2);
  CHECK(fired == std::vector<planb::Duration>{1s, 2100ms});
  REQUIRE(s.log.of<AttemptFailure>().size() == 2);
  for (const AttemptFailure& failure : s.log.of<AttemptFailure>()) CHECK(failure.cause.kind() == CauseKind::timeout);
}

TEST_CASE("an attempt's token fires when the caller stops", "[stop]") {
  Scene s;
  planb::Step<Client> first = s.step(1);
  first.timeout = 1h;
  const planb::Timer timer = s.clock.call_at(planb::TimePoint{5s}, [&] { s.stop.request_stop(); });
  const auto hang = [&](Client&, const Attempt& a) {
    s.clock.sleep_until(planb::TimePoint::max(), a.stop_token());
    throw Fault{1};
  };
  CHECK_THROWS_AS(run_with_plan(ExecutionPlan<Client>{first}, hang, s.options()), planb::PlanInterrupted);
  CHECK(s.clock.elapsed() == 5s);
}

TEST_CASE("an attempt's token may be asked for after the caller has stopped", "[stop]") {
  Scene s;
  planb::Step<Client> first = s.step(1);
  first.timeout = 1h;
  const auto fn = [&](Client& client, const Attempt& a) {
    s.stop.request_stop();
    CHECK(a.stop_token().stop_requested());
    return client.id;
  };
  CHECK(run_with_plan(ExecutionPlan<Client>{first}, fn, s.options()) == 1);
}

TEST_CASE("nothing stays registered when an attempt is over", "[stop][field-11]") {
  Scene s;
  planb::Step<Client> first = s.step(1);
  first.timeout = 10s;
  first.schedule = planb::spaced(1h);  // the deadline of an attempt passes while the next one is waited for
  std::vector<planb::StopToken> kept;
  std::vector<std::string> called;
  struct OnStop {
    std::vector<std::string>* called;
    void operator()() const { called->emplace_back("called"); }
  };
  const auto fn = [&](Client&, const Attempt& a) {
    for (const planb::StopToken& token : kept) CHECK_FALSE(token == a.stop_token());
    kept.push_back(a.stop_token());
    const std::stop_callback<OnStop> on_stop(a.stop_token(), OnStop{&called});
    if (a.attempt == 3) return a.attempt;
    throw Fault{1};
  };
  CHECK(run_with_plan(ExecutionPlan<Client>{first}, fn, s.options()) == 3);
  s.clock.advance(1h);    // past all deadlines
  s.stop.request_stop();  // and the caller stops, too late
  CHECK(kept.size() == 3);
  for (const planb::StopToken& token : kept) CHECK_FALSE(token.stop_requested());
  CHECK(called.empty());
}

TEST_CASE("a token lives as long as its attempt in a run by hand", "[stop]") {
  Scene s;
  planb::Step<Client> first = s.step(1);
  first.timeout = 1s;
  const ExecutionPlan<Client> plan{first};
  planb::StopToken token;
  {
    planb::PlanRun<Client> run(plan, s.options());
    REQUIRE(run.next() == planb::RunPhase::attempt);
    token = run.attempt().stop_token();
    s.clock.advance(500ms);
    CHECK_FALSE(token.stop_requested());
    s.clock.advance(500ms);
    CHECK(token.stop_requested());
    run.fail(Cause::timed_out());
    REQUIRE(run.next() == planb::RunPhase::wait);
    s.clock.advance(100ms);
    REQUIRE(run.next() == planb::RunPhase::attempt);
    token = run.attempt().stop_token();
    CHECK_FALSE(token.stop_requested());
  }
  s.clock.advance(1h);
  CHECK_FALSE(token.stop_requested());
}

#endif

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("an acceptance check that throws after a stop was requested: the run was interrupted, by no rule") {
  std::stop_source stop;
  const planb::ExecutionPlan<int> plan{{.provide = 1, .attempts = 2}, {.provide = 2}};
  const auto check = [&](int) -> bool {
    stop.request_stop();
    throw std::runtime_error("cancelled");
  };
  const auto result = planb::try_run_with_plan(plan, planb::accepting([](int& step) { return step; }, check),
                                               {.stop = stop.get_token()});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.report().end == planb::RunEnd::interrupted);
  CHECK_FALSE(result.report().rule_error);
  REQUIRE(result.report().last_cause() != nullptr);
  CHECK(result.report().last_cause()->kind() == planb::CauseKind::interrupted);
}
#endif
