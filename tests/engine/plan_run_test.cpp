// PlanRun: the decisions of a run, driven by hand.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "two_steps.hpp"
#include "results.hpp"

#if PLANB_HAS_STOP_TOKEN
#include <stop_token>
#endif

using two::Client;
using namespace std::chrono_literals;
using planb::Cause;
using planb::CauseKind;
using planb::ContextSlot;
using planb::Defect;
using planb::ExecutionPlan;
using planb::PlanRun;
using planb::RunEnd;
using planb::RunPhase;
using results::Fault;

namespace {

ExecutionPlan<Client> two_steps() {
  return {{.name = "one", .provide = Client{1}, .attempts = 2, .schedule = planb::spaced(100ms)},
          {.name = "two", .provide = Client{2}}};
}

struct Fixture {
  planb::testing::VirtualClock clock;
  planb::testing::AttemptLog log;

  [[nodiscard]] planb::RunOptions options() { return {.on_event = log, .clock = &clock}; }
};

}  // namespace

TEST_CASE("a run by hand: attempt, wait, attempt, over", "[plan_run]") {
  Fixture f;
  PlanRun<Client> run(two_steps(), f.options());

  REQUIRE(run.next() == RunPhase::attempt);
  CHECK(run.attempt().attempt == 1);
  CHECK(run.attempt().step_name == "one");
  CHECK(run.metadata() == planb::Metadata{1, 0});
  {
    ContextSlot<Client> context;
    REQUIRE(run.provide(context));
    CHECK(context->id == 1);
  }
  run.fail(Cause::of(Fault{1}));

  REQUIRE(run.next() == RunPhase::wait);
  CHECK(run.due() == planb::TimePoint{100ms});
  f.clock.advance(100ms);
  REQUIRE(run.next() == RunPhase::attempt);
  CHECK(run.attempt().attempt == 2);
  CHECK(run.attempt().step_attempt == 2);
  CHECK(run.attempt().previous()->get_if<Fault>()->id == 1);
  run.fail(Cause::of(Fault{2}));

  REQUIRE(run.next() == RunPhase::attempt);
  CHECK(run.attempt().attempt == 3);
  CHECK(run.attempt().step_attempt == 1);
  CHECK(run.attempt().step_index == 1);
  CHECK(run.metadata() == planb::Metadata{3, 1});
  run.succeed();

  CHECK(run.next() == RunPhase::over);
  CHECK(run.next() == RunPhase::over);
  CHECK(run.end() == RunEnd::succeeded);
  CHECK(run.report().answered_by() == "two");
  CHECK(run.report().attempts == 3);
  CHECK(f.log.lines() == std::vector<std::string>{"AttemptStart #1 step=0 one",
                                                  "AttemptFailure #1 step=0 one unknown error, retry in 100 ms",
                                                  "AttemptStart #2 step=0 one",
                                                  "AttemptFailure #2 step=0 one unknown error, next step",
                                                  "AttemptStart #3 step=1 two", "AttemptSuccess #3 step=1 two"});
}

TEST_CASE("before its time a wait stays a wait", "[plan_run]") {
  Fixture f;
  PlanRun<Client> run(two_steps(), f.options());
  REQUIRE(run.next() == RunPhase::attempt);
  run.fail(Cause::of(Fault{1}));
  for (int i = 0; i != 3; ++i) CHECK(run.next() == RunPhase::wait);
  f.clock.advance(99ms);
  CHECK(run.next() == RunPhase::wait);
  CHECK(run.due() == planb::TimePoint{100ms});
  f.clock.advance(1ms);
  CHECK(run.next() == RunPhase::attempt);
  CHECK(f.log.names() == std::vector{"one", "one"});
  run.succeed();
}

TEST_CASE("in scheduled entry a step's first attempt may be waited for", "[plan_run]") {
  Fixture f;
  const ExecutionPlan<Client> plan{
      {.name = "one", .provide = Client{1}},
      {.name = "two", .provide = Client{2}, .attempts = 2, .schedule = planb::spaced(100ms)}};
  planb::RunOptions options = f.options();
  options.entry = planb::StepEntry::scheduled;
  PlanRun<Client> run(plan, options);
  REQUIRE(run.next() == RunPhase::attempt);
  run.fail(Cause::of(Fault{1}));
  REQUIRE(run.next() == RunPhase::wait);
  CHECK(run.due() == planb::TimePoint{100ms});
  f.clock.advance(100ms);
  REQUIRE(run.next() == RunPhase::attempt);
  CHECK(run.attempt().step_index == 1);
  CHECK(run.attempt().step_attempt == 1);
  run.succeed();
}

TEST_CASE("a failing run says how it ended", "[plan_run]") {
  Fixture f;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}}, {.name = "two", .provide = Client{2}}};
  const auto drive = [&](PlanRun<Client>& run, auto&& on_attempt) {
    int attempts = 0;
    for (;;) {
      switch (run.next()) {
        case RunPhase::attempt:
          ++attempts;
          on_attempt();
          run.fail(Cause::of(Fault{attempts}));
          break;
        case RunPhase::wait: f.clock.sleep_until(run.due(), {}); break;
        case RunPhase::over: return attempts;
      }
    }
  };
  planb::RunOptions options = f.options();
  SECTION("exhausted") {
    PlanRun<Client> run(plan, options);
    CHECK(drive(run, [] {}) == 2);
    CHECK(run.end() == RunEnd::exhausted);
    CHECK(run.report().end == RunEnd::exhausted);
    CHECK(run.report().steps.size() == 2);
    CHECK(run.report().last_cause()->get_if<Fault>()->id == 2);
    CHECK_FALSE(run.report().answered_step.has_value());
  }
  SECTION("out of time") {
    options.budget = 1s;
    PlanRun<Client> run(plan, options);
    CHECK(drive(run, [&] { f.clock.advance(1s); }) == 1);
    CHECK(run.end() == RunEnd::deadline);
  }
#if PLANB_HAS_STOP_TOKEN
  SECTION("stopped inside an attempt") {
    std::stop_source stop;
    options.stop = stop.get_token();
    PlanRun<Client> run(plan, options);
    CHECK(drive(run, [&] { stop.request_stop(); }) == 1);
    CHECK(run.end() == RunEnd::interrupted);
    CHECK(run.report().last_cause()->kind() == CauseKind::interrupted);
    CHECK(run.report().last_cause()->get_if<Fault>()->id == 1);
  }
  SECTION("stopped in a wait") {
    std::stop_source stop;
    options.stop = stop.get_token();
    PlanRun<Client> run(two_steps(), options);
    REQUIRE(run.next() == RunPhase::attempt);
    run.fail(Cause::of(Fault{1}));
    REQUIRE(run.next() == RunPhase::wait);
    stop.request_stop();
    CHECK(run.next() == RunPhase::over);
    CHECK(run.end() == RunEnd::interrupted);
    CHECK(f.log.names() == std::vector{"one"});
  }
#endif
  SECTION("a Defect") {
    PlanRun<Client> run(plan, options);
    REQUIRE(run.next() == RunPhase::attempt);
    run.fail(Cause::of(Defect("a bug")));
    CHECK(run.next() == RunPhase::over);
    CHECK(run.end() == RunEnd::defect);
  }
}

TEST_CASE("a verdict given with the failure stands before the classifier's", "[plan_run]") {
  int asked = 0;
  const ExecutionPlan<Client> plan{{.name = "one",
                                    .provide = Client{1},
                                    .attempts = 3,
                                    .classify = [&](const Cause&) { return ++asked, planb::Verdict(); }},
                                   {.name = "two", .provide = Client{2}}};
  SECTION("next step") {
    PlanRun<Client> run(plan);
    REQUIRE(run.next() == RunPhase::attempt);
    run.fail(Cause::of(Fault{1}), planb::Verdict{planb::Action::next_step});
    REQUIRE(run.next() == RunPhase::attempt);
    CHECK(run.attempt().step_name == "two");
    run.succeed();
  }
  SECTION("abort") {
    PlanRun<Client> run(plan);
    REQUIRE(run.next() == RunPhase::attempt);
    run.fail(Cause::of(Fault{1}), planb::Verdict{planb::Action::abort});
    CHECK(run.next() == RunPhase::over);
    CHECK(run.end() == RunEnd::aborted);
  }
  CHECK(asked == 0);
}

TEST_CASE("a factory that fails is a failed attempt", "[plan_run][field-20]") {
  Fixture f;
  const auto check = [&](planb::Step<Client> broken) {
    f.log.clear();
    broken.name = "broken";
    const ExecutionPlan<Client> plan{std::move(broken), {.name = "two", .provide = Client{2}}};
    PlanRun<Client> run(plan, f.options());
    ContextSlot<Client> context;
    REQUIRE(run.next() == RunPhase::attempt);
    CHECK_FALSE(run.provide(context));
    CHECK_FALSE(context.has_value());
    REQUIRE(run.next() == RunPhase::attempt);
    REQUIRE(run.provide(context));
    CHECK(context->id == 2);
    context.reset();
    run.succeed();
    REQUIRE(f.log.of<planb::AttemptFailure>().size() == 1);
    CHECK(f.log.of<planb::AttemptFailure>()[0].cause.get_if<Fault>() != nullptr);
    CHECK(f.log.names() == std::vector{"broken", "two"});
  };
  check({.provide = []() -> Client { throw Fault{1}; }});
  check({.provide = []() -> results::Outcome<Client, Fault> { return Fault{1}; }});
}

TEST_CASE("the metadata is set for the factory and the handlers, and left to the caller for the rest", "[plan_run]") {
  std::vector<planb::Metadata> seen;
  const auto look = [&] { seen.push_back(planb::CurrentMetadata::get()); };
  const ExecutionPlan<Client> plan{{.provide = [&] { return look(), Client{1}; }}};
  PlanRun<Client> run(plan, {.on_event = [&](const planb::Event&) { look(); }});
  REQUIRE(run.next() == RunPhase::attempt);
  look();
  {
    ContextSlot<Client> context;
    REQUIRE(run.provide(context));
    const planb::CurrentMetadata::Scope scope(run.metadata());
    look();
  }
  run.succeed();
  look();
  CHECK(seen == std::vector<planb::Metadata>{{1, 0}, {0, 0}, {1, 0}, {1, 0}, {1, 0}, {0, 0}, {0, 0}});
}

TEST_CASE("contexts may be immovable, or references", "[plan_run]") {
  struct Immovable {
    explicit Immovable(int i) : id(i) {}
    Immovable(const Immovable&) = delete;
    Immovable& operator=(const Immovable&) = delete;
    int id;
  };
  const ExecutionPlan<Immovable> plan{{.provide = [] { return Immovable(5); }}};
  PlanRun<Immovable> run(plan);
  REQUIRE(run.next() == RunPhase::attempt);
  {
    ContextSlot<Immovable> context;
    REQUIRE(run.provide(context));
    CHECK((*context).id == 5);
  }
  run.succeed();

  Client outside{7};
  const ExecutionPlan<Client&> referring{{.provide = [&]() -> Client& { return outside; }}};
  PlanRun<Client&> other(referring);
  REQUIRE(other.next() == RunPhase::attempt);
  ContextSlot<Client&> context;
  REQUIRE(other.provide(context));
  CHECK(&*context == &outside);
  other.succeed();
}

TEST_CASE("a run that is destroyed inside an attempt ends it as interrupted", "[plan_run]") {
  Fixture f;
  {
    PlanRun<Client> run(two_steps(), f.options());
    REQUIRE(run.next() == RunPhase::attempt);
    f.clock.advance(5ms);
  }
  const std::vector<planb::AttemptFailure> failures = f.log.of<planb::AttemptFailure>();
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].attempt == 1);
  CHECK(failures[0].cause.kind() == CauseKind::interrupted);
  CHECK(failures[0].next.kind == planb::NextMove::end);
  CHECK(failures[0].next.run_end == RunEnd::interrupted);
  CHECK(failures[0].duration == 5ms);
  CHECK(f.log.events().size() == 2);
}

TEST_CASE("a run that is destroyed elsewhere tells nothing more", "[plan_run]") {
  Fixture f;
  { const PlanRun<Client> run(two_steps(), f.options()); }
  CHECK(f.log.events().empty());
  {
    PlanRun<Client> run(two_steps(), f.options());
    REQUIRE(run.next() == RunPhase::attempt);
    run.fail(Cause::of(Fault{1}));
    REQUIRE(run.next() == RunPhase::wait);
  }
  CHECK(f.log.events().size() == 2);
  f.log.clear();
  {
    PlanRun<Client> run(two_steps(), f.options());
    REQUIRE(run.next() == RunPhase::attempt);
    run.succeed();
  }
  CHECK(f.log.events().size() == 2);
}

TEST_CASE("a run that is destroyed while an exception is under way still ends its attempt", "[plan_run]") {
  Fixture f;
  try {
    PlanRun<Client> run(two_steps(), f.options());
    REQUIRE(run.next() == RunPhase::attempt);
    throw std::runtime_error("unrelated");
  } catch (const std::runtime_error&) {
  }
  CHECK(f.log.of<planb::AttemptFailure>().size() == 1);

  // And a handler that throws there does no harm.
  try {
    PlanRun<Client> run(two_steps(), {.on_event = [](const planb::Event&) { throw 1; }});
    REQUIRE(run.next() == RunPhase::attempt);
    throw std::runtime_error("unrelated");
  } catch (const std::runtime_error& e) {
    CHECK(std::string(e.what()) == "unrelated");
  }
}

TEST_CASE("misuse is a Defect", "[plan_run]") {
  Fixture f;
  PlanRun<Client> run(two_steps(), f.options());
  ContextSlot<Client> context;
  CHECK_THROWS_AS(run.succeed(), Defect);
  CHECK_THROWS_AS(run.fail(Cause::of(Fault{1})), Defect);
  CHECK_THROWS_AS(run.provide(context), Defect);
  CHECK_THROWS_AS(run.attempt(), Defect);

  REQUIRE(run.next() == RunPhase::attempt);
  CHECK_THROWS_AS(run.next(), Defect);
  run.fail(Cause::of(Fault{1}));
  CHECK_THROWS_AS(run.fail(Cause::of(Fault{1})), Defect);
  CHECK_THROWS_AS(run.succeed(), Defect);

  // None of it has done any harm.
  REQUIRE(run.next() == RunPhase::wait);
  CHECK_THROWS_AS(run.succeed(), Defect);
  f.clock.advance(100ms);
  REQUIRE(run.next() == RunPhase::attempt);
  run.succeed();
  CHECK_THROWS_AS(run.succeed(), Defect);
  CHECK_THROWS_AS(run.fail(Cause::of(Fault{1})), Defect);
  CHECK_THROWS_AS(run.provide(context), Defect);
  CHECK(run.next() == RunPhase::over);
  CHECK(run.end() == RunEnd::succeeded);
  CHECK(f.log.events().size() == 4);
}

TEST_CASE("a Defect for misuse names what was called", "[plan_run]") {
  PlanRun<Client> run(two_steps());
  ContextSlot<Client> context;
  const auto message = [&](auto call) -> std::string {
    try {
      call();
    } catch (const Defect& e) {
      return e.what();
    }
    return "no Defect";
  };
  CHECK(message([&] { run.succeed(); }).find("succeed()") != std::string::npos);
  CHECK(message([&] { run.fail({}); }).find("fail()") != std::string::npos);
  CHECK(message([&] { static_cast<void>(run.provide(context)); }).find("provide()") != std::string::npos);
  REQUIRE(run.next() == RunPhase::attempt);
  CHECK(message([&] { run.next(); }).find("next()") != std::string::npos);
  run.succeed();
}

TEST_CASE("a run keeps what it needs: plan and options may go", "[plan_run]") {
  Fixture f;
  std::optional<PlanRun<Client>> run;
  {
    auto plan = std::make_unique<ExecutionPlan<Client>>(two_steps());
    auto options = std::make_unique<planb::RunOptions>(f.options());
    run.emplace(*plan, *options);
  }
  REQUIRE(run->next() == RunPhase::attempt);
  CHECK(run->attempt().step_name == "one");
  ContextSlot<Client> context;
  CHECK(run->provide(context));
  context.reset();
  run->succeed();
  CHECK(f.log.events().size() == 2);
}

TEST_CASE("many runs of one plan may be under way at once, on one thread", "[plan_run][field-28]") {
  Fixture f;
  const ExecutionPlan<Client> plan = two_steps();
  struct Under {
    planb::testing::AttemptLog log;
    std::unique_ptr<PlanRun<Client>> run;
  };
  std::vector<Under> runs(20);
  for (Under& r : runs) {
    r.log = planb::testing::AttemptLog();
    r.run = std::make_unique<PlanRun<Client>>(plan, planb::RunOptions{.on_event = r.log, .clock = &f.clock});
  }
  for (std::size_t over = 0; over != runs.size();) {
    over = 0;
    for (Under& r : runs) {  // one turn for each
      switch (r.run->next()) {
        case RunPhase::attempt:
          if (r.run->attempt().step_index == 0) {
            r.run->fail(Cause::of(Fault{1}));
          } else {
            r.run->succeed();
          }
          break;
        case RunPhase::wait: break;
        case RunPhase::over: ++over; break;
      }
    }
    f.clock.advance(10ms);
  }
  for (const Under& r : runs) CHECK(r.log.names() == std::vector{"one", "one", "two"});
}

TEST_CASE("the report may be asked for at any time, also from a handler", "[plan_run]") {
  std::vector<planb::RunReport> reports;
  const PlanRun<Client>* self = nullptr;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}}, {.name = "two", .provide = Client{2}}};
  {
    PlanRun<Client> run(plan, {.on_event = [&](const planb::Event&) { reports.push_back(self->report()); }});
    self = &run;
    CHECK(run.report().steps.empty());
    REQUIRE(run.next() == RunPhase::attempt);
    CHECK(run.report().attempts == 1);
    try {
      throw std::runtime_error("a text that is long enough to live on the heap");
    } catch (...) {
      run.fail(Cause::current());
    }
    CHECK(run.report().last_cause()->message() == "a text that is long enough to live on the heap");
    REQUIRE(run.next() == RunPhase::attempt);
    run.succeed();
  }
  REQUIRE(reports.size() == 5);
  CHECK(reports[4].end == RunEnd::succeeded);
  CHECK(reports[0].last_cause() == nullptr);
  REQUIRE(reports[1].last_cause() != nullptr);
  CHECK(reports[1].last_cause()->message() == "a text that is long enough to live on the heap");
  CHECK(reports[1].last_cause()->exception() != nullptr);
  CHECK_THROWS_AS(reports[1].last_cause()->rethrow(), std::runtime_error);
  CHECK(reports[3].answered_by() == "two");
}

TEST_CASE("a report of a run that is not over does not say that it is", "[plan_run]") {
  Fixture f;
  PlanRun<Client> run(two_steps(), f.options());
  CHECK_FALSE(run.report().answered_step.has_value());
  REQUIRE(run.next() == RunPhase::attempt);
  CHECK_FALSE(run.report().answered_step.has_value());
  run.fail(Cause::of(Fault{1}));
  CHECK(run.report().to_string().find("interrupted") == std::string::npos);
  run.next();
  CHECK(run.report().to_string().find("interrupted") == std::string::npos);
}

TEST_CASE("what a failure is decides what follows it, and when", "[plan_run]") {
  struct Row {
    const char* what;
    Cause cause;
    RunPhase then;
    planb::Duration wait;     // of a wait
    planb::LeaveReason left;  // of all else
    const char* event;
  };
  using planb::LeaveReason;
  using planb::ProviderError;
  const std::vector<Row> rows{
      {"the schedule's delay", Cause::of(ProviderError(503)), RunPhase::wait, 10ms, LeaveReason::none,
       "503, retry in 10 ms"},
      {"a longer hint", Cause::of(ProviderError(503, "", "", 200ms)), RunPhase::wait, 200ms, LeaveReason::none,
       "503, retry in 200 ms"},
      {"a shorter hint", Cause::of(ProviderError(503, "", "", 1ms)), RunPhase::wait, 10ms, LeaveReason::none,
       "503, retry in 10 ms"},
      {"a hint above max_wait", Cause::of(ProviderError(503, "", "", 2s)), RunPhase::attempt, 0ms,
       LeaveReason::wait_too_long, "503, next step: wait too long"},
      {"not worth retrying", Cause::of(ProviderError(404)), RunPhase::attempt, 0ms, LeaveReason::not_retryable,
       "404, next step"},
      {"out of time", Cause::timed_out(), RunPhase::attempt, 0ms, LeaveReason::not_retryable, "timed out, next step"},
      {"unknown", Cause(), RunPhase::attempt, 0ms, LeaveReason::not_retryable, "unknown error, next step"},
      {"the caller's fault", Cause::of(ProviderError(400)), RunPhase::over, 0ms, LeaveReason::none,
       "400, end: aborted"},
      {"a bug", Cause::of(Defect("a bug")), RunPhase::over, 0ms, LeaveReason::none, "a bug, end: defect"},
  };
  const ExecutionPlan<Client> plan{
      {.name = "one",
       .provide = Client{1},
       .attempts = 3,
       .schedule = planb::spaced(10ms),
       .retry_while = [](const Cause& cause) { return cause.status() == 503; },
       .classify =
           [](const Cause& cause) {
             return planb::Verdict{cause.status() == 400 ? planb::Action::abort : planb::Action::retry};
           },
       .max_wait = 1s},
      {.name = "two", .provide = Client{2}}};
  for (const Row& row : rows) {
    INFO(row.what);
    Fixture f;
    PlanRun<Client> run(plan, f.options());
    REQUIRE(run.next() == RunPhase::attempt);
    run.fail(row.cause);
    CHECK(f.log.lines().back() == std::string("AttemptFailure #1 step=0 one ") + row.event);
    CHECK(run.report().steps[0].left == row.left);
    REQUIRE(run.next() == row.then);
    if (row.then == RunPhase::wait) {
      CHECK(run.due() == planb::TimePoint{row.wait});
      f.clock.advance(row.wait);
      REQUIRE(run.next() == RunPhase::attempt);
      CHECK(run.attempt().step_name == "one");
      run.succeed();
    } else if (row.then == RunPhase::attempt) {
      CHECK(run.attempt().step_name == "two");
      run.succeed();
    }
    CHECK(run.next() == RunPhase::over);
    CHECK((run.end() == RunEnd::succeeded) == (row.then != RunPhase::over));
  }
}

TEST_CASE("what comes after a wait is decided when it is over, however late that is", "[plan_run]") {
  Fixture f;
  const auto breaker = std::make_shared<planb::CircuitBreaker>();
  const ExecutionPlan<Client> plan{
      {.name = "one", .provide = Client{1}, .attempts = 2, .schedule = planb::spaced(100ms), .gate = breaker},
      {.name = "two", .provide = Client{2}}};
  planb::RunOptions options = f.options();
  options.budget = 1h;
  PlanRun<Client> run(plan, options);
  REQUIRE(run.next() == RunPhase::attempt);
  run.fail(Cause::of(Fault{1}));
  REQUIRE(run.next() == RunPhase::wait);
  SECTION("a minute late") {
    f.clock.advance(1min);
    REQUIRE(run.next() == RunPhase::attempt);
    CHECK(run.attempt().step_attempt == 2);
    CHECK(run.attempt().timeout() == 59min);
    run.succeed();
    CHECK(run.end() == RunEnd::succeeded);
  }
  SECTION("its gate has closed meanwhile") {
    breaker->force_open();
    CHECK(run.next() == RunPhase::wait);  // not before the wait is over
    f.clock.advance(100ms);
    REQUIRE(run.next() == RunPhase::attempt);
    CHECK(run.attempt().step_name == "two");
    CHECK(run.report().steps[0].left == planb::LeaveReason::gate_closed);
    run.succeed();
  }
  SECTION("the budget is gone meanwhile") {
    f.clock.advance(1h);
    CHECK(run.next() == RunPhase::over);
    CHECK(run.end() == RunEnd::deadline);
    CHECK(f.log.names() == std::vector{"one"});
  }
}

TEST_CASE("an attempt's time is for the caller to keep; given up at its end, it is a timeout", "[plan_run]") {
  Fixture f;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .timeout = 50ms},
                                   {.name = "two", .provide = Client{2}}};
  PlanRun<Client> run(plan, f.options());
  f.clock.advance(1s);
  REQUIRE(run.next() == RunPhase::attempt);
  CHECK(run.attempt().deadline() == planb::TimePoint{1050ms});
  f.clock.advance(20ms);
  CHECK(run.attempt().timeout() == 30ms);
  CauseKind kind = CauseKind::timeout;
  SECTION("without an error of its own") {
    f.clock.advance(30ms);
    run.fail(Cause::timed_out());
  }
  SECTION("with one") {
    f.clock.advance(30ms);
    run.fail(Cause::of(Fault{1}));
    CHECK(run.report().last_cause()->get_if<Fault>()->id == 1);
  }
  SECTION("an error before its end is none") {
    f.clock.advance(29ms);
    run.fail(Cause::of(Fault{1}));
    kind = CauseKind::error;
  }
  CHECK(run.report().last_cause()->kind() == kind);
  REQUIRE(run.next() == RunPhase::attempt);
  CHECK(run.attempt().step_name == "two");
  CHECK_FALSE(run.attempt().deadline().has_value());

  // An answer that comes late is an answer.
  PlanRun<Client> late(plan, f.options());
  REQUIRE(late.next() == RunPhase::attempt);
  f.clock.advance(1h);
  late.succeed();
  CHECK(late.end() == RunEnd::succeeded);
  run.succeed();
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("a stop is noticed by the next call, wherever the run is", "[plan_run][field-11]") {
  Fixture f;
  std::stop_source stop;
  int built = 0;
  int asked = 0;
  const ExecutionPlan<Client> plan{{.name = "one",
                                    .provide = [&] { return ++built, Client{1}; },
                                    .attempts = 2,
                                    .schedule = planb::spaced(100ms),
                                    .retry_while = [&](const Cause&) { return ++asked, true; }},
                                   {.name = "two", .provide = Client{2}}};
  planb::RunOptions options = f.options();
  options.stop = stop.get_token();
  std::optional<PlanRun<Client>> run(std::in_place, plan, options);
  std::vector<std::string> lines;
  SECTION("before the run") { stop.request_stop(); }
  SECTION("in the handler of the attempt's start") {
    options.on_event = [&, log = f.log](const planb::Event& event) mutable {
      log(event);
      if (event.get_if<planb::AttemptStart>() != nullptr) stop.request_stop();
    };
    run.emplace(plan, options);
    lines = {"AttemptStart #1 step=0 one", "AttemptFailure #1 step=0 one interrupted, end: interrupted"};
  }
  SECTION("inside an attempt that then fails") {
    REQUIRE(run->next() == RunPhase::attempt);
    stop.request_stop();
    CHECK(run->end() == RunEnd::running);
    CHECK(run->attempt().stop_token().stop_requested());
    run->fail(Cause::of(Fault{1}));
    lines = {"AttemptStart #1 step=0 one", "AttemptFailure #1 step=0 one interrupted, end: interrupted"};
    CHECK(run->report().last_cause()->get_if<Fault>() != nullptr);
  }
  SECTION("between a failure and its wait") {
    REQUIRE(run->next() == RunPhase::attempt);
    run->fail(Cause::of(Fault{1}));
    stop.request_stop();
    CHECK(std::exchange(asked, 0) == 1);
    lines = {"AttemptStart #1 step=0 one", "AttemptFailure #1 step=0 one unknown error, retry in 100 ms"};
  }
  SECTION("in a wait, and its end") {
    REQUIRE(run->next() == RunPhase::attempt);
    run->fail(Cause::of(Fault{1}));
    REQUIRE(run->next() == RunPhase::wait);
    f.clock.advance(100ms);
    stop.request_stop();
    CHECK(std::exchange(asked, 0) == 1);
    lines = {"AttemptStart #1 step=0 one", "AttemptFailure #1 step=0 one unknown error, retry in 100 ms"};
  }
  CHECK(run->next() == RunPhase::over);
  CHECK(run->end() == RunEnd::interrupted);
  CHECK(run->report().end == RunEnd::interrupted);
  CHECK(run->report().attempts == (lines.empty() ? 0 : 1));
  CHECK(run->next() == RunPhase::over);
  CHECK(built == 0);
  CHECK(asked == 0);
  CHECK(f.log.lines() == lines);
}

TEST_CASE("an answer that comes after a stop is an answer", "[plan_run]") {
  Fixture f;
  std::stop_source stop;
  planb::RunOptions options = f.options();
  options.stop = stop.get_token();
  PlanRun<Client> run(two_steps(), options);
  REQUIRE(run.next() == RunPhase::attempt);
  stop.request_stop();
  run.succeed();
  CHECK(run.next() == RunPhase::over);
  CHECK(run.end() == RunEnd::succeeded);
}

TEST_CASE("the attempt's stop token fires on a stop and at its deadline, until the attempt is over", "[plan_run]") {
  Fixture f;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .attempts = 2, .timeout = 50ms}};
  std::stop_source stop;
  planb::RunOptions options = f.options();
  options.stop = stop.get_token();
  PlanRun<Client> run(plan, options);
  REQUIRE(run.next() == RunPhase::attempt);
  const planb::StopToken first = run.attempt().stop_token();
  f.clock.advance(49ms);
  CHECK_FALSE(first.stop_requested());
  f.clock.advance(1ms);
  CHECK(first.stop_requested());
  run.fail(Cause::timed_out());
  CHECK_FALSE(stop.stop_requested());

  REQUIRE(run.next() == RunPhase::attempt);
  const planb::StopToken second = run.attempt().stop_token();
  CHECK_FALSE(second.stop_requested());
  run.succeed();
  f.clock.advance(1h);
  CHECK_FALSE(second.stop_requested());  // its timer went with the attempt
}
#endif

TEST_CASE("the report says at any time what has happened so far", "[plan_run]") {
  Fixture f;
  const auto closed = std::make_shared<planb::CircuitBreaker>();
  closed->force_open();
  const ExecutionPlan<Client> plan{
      {.name = "one", .provide = Client{1}, .attempts = 2, .schedule = planb::spaced(100ms)},
      {.name = "closed", .provide = Client{2}, .gate = closed},
      {.name = "three", .provide = Client{3}}};
  PlanRun<Client> run(plan, f.options());
  std::vector<std::string> reports;
  std::vector<int> attempts;
  const auto look = [&] {
    const planb::RunReport report = run.report();
    reports.push_back(report.to_string());
    attempts.push_back(report.attempts);
    CHECK(report.end == run.end());
  };
  look();
  REQUIRE(run.next() == RunPhase::attempt);
  look();
  run.fail(Cause::of(planb::ProviderError(503)));
  look();
  REQUIRE(run.next() == RunPhase::wait);
  const planb::RunReport kept = run.report();
  f.clock.advance(100ms);
  REQUIRE(run.next() == RunPhase::attempt);
  look();
  run.fail(Cause::of(planb::ProviderError(429)));
  REQUIRE(run.next() == RunPhase::attempt);
  look();
  run.succeed();
  look();
  CHECK(run.next() == RunPhase::over);
  look();
  CHECK(reports == std::vector<std::string>{
                       "plan running",
                       "plan running: one: no failure",
                       "plan running: one: 503",
                       "plan running: one: 2 attempts, last 503",
                       "plan running: one: 2 attempts, last 429; closed: skipped, circuit open; three: no failure",
                       "one: 2 attempts, last 429; closed: skipped, circuit open; three: answered",
                       "one: 2 attempts, last 429; closed: skipped, circuit open; three: answered",
                   });
  CHECK(attempts == std::vector{0, 1, 1, 2, 3, 3, 3});
  CHECK(kept.to_string() == "plan running: one: 503");  // a value of its own
}

TEST_CASE("misuse changes nothing, wherever it comes", "[plan_run]") {
  enum Call { next, provide, succeed, fail, attempt };
  enum Where { before, in_attempt, in_wait, between_steps, over };
  struct Row {
    Where where;
    std::vector<Call> wrong;
  };
  const std::vector<Row> rows{
      {before, {provide, succeed, fail, attempt}},  {in_attempt, {next}},
      {in_wait, {provide, succeed, fail, attempt}}, {between_steps, {provide, succeed, fail, attempt}},
      {over, {provide, succeed, fail, attempt}},
  };
  // A whole run, with a visit to each place.
  const auto drive = [](const auto& visit) {
    Fixture f;
    PlanRun<Client> run(two_steps(), f.options());
    visit(before, run);
    REQUIRE(run.next() == RunPhase::attempt);
    visit(in_attempt, run);
    run.fail(Cause::of(Fault{1}));
    REQUIRE(run.next() == RunPhase::wait);
    visit(in_wait, run);
    f.clock.advance(100ms);
    REQUIRE(run.next() == RunPhase::attempt);
    run.fail(Cause::of(Fault{2}));
    visit(between_steps, run);
    REQUIRE(run.next() == RunPhase::attempt);
    ContextSlot<Client> context;
    REQUIRE(run.provide(context));
    CHECK(context->id == 2);
    run.succeed();
    visit(over, run);
    CHECK(run.next() == RunPhase::over);
    CHECK(run.report().to_string() == "one: 2 attempts, last unknown error; two: answered");
    return f.log.lines();
  };
  const std::vector<std::string> undisturbed = drive([](Where, PlanRun<Client>&) {});
  CHECK(undisturbed.size() == 6);

  for (const Row& row : rows) {
    for (const Call call : row.wrong) {
      INFO("call " << call << " in place " << row.where);
      bool visited = false;
      const auto lines = drive([&](Where where, PlanRun<Client>& run) {
        if (where != row.where) return;
        visited = true;
        ContextSlot<Client> context;
        for (int twice = 0; twice != 2; ++twice) {
          switch (call) {
            case next: CHECK_THROWS_AS(run.next(), Defect); break;
            case provide: CHECK_THROWS_AS(run.provide(context), Defect); break;
            case succeed: CHECK_THROWS_AS(run.succeed(), Defect); break;
            case fail: CHECK_THROWS_AS(run.fail(Cause::of(Fault{3})), Defect); break;
            case attempt: CHECK_THROWS_AS(run.attempt(), Defect); break;
          }
        }
        CHECK_FALSE(context.has_value());
      });
      CHECK(visited);
      CHECK(lines == undisturbed);
    }
  }
}

TEST_CASE("misuse costs a gate nothing", "[plan_run][field-44]") {
  Fixture f;
  const auto breaker = std::make_shared<planb::CircuitBreaker>(planb::CircuitBreakerOptions{.failure_threshold = 2});
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .attempts = 2, .gate = breaker}};
  PlanRun<Client> run(plan, f.options());
  REQUIRE(run.next() == RunPhase::attempt);
  run.fail(Cause::of(Fault{1}));
  for (int i = 0; i != 5; ++i) CHECK_THROWS_AS(run.fail(Cause::of(Fault{1})), Defect);
  CHECK(breaker->state() == planb::CircuitState::closed);
  REQUIRE(run.next() == RunPhase::attempt);
  CHECK_THROWS_AS(run.next(), Defect);
  run.succeed();
  CHECK_THROWS_AS(run.fail(Cause::of(Fault{1})), Defect);
  CHECK(breaker->state() == planb::CircuitState::closed);
}

TEST_CASE("a rule that drives its own run ends it as a defect", "[plan_run]") {
  PlanRun<Client>* self = nullptr;
  const ExecutionPlan<Client> plan{{.name = "one",
                                    .provide = Client{1},
                                    .attempts = 2,
                                    .retry_while =
                                        [&](const Cause&) {
                                          self->succeed();
                                          return true;
                                        }},
                                   {.name = "two", .provide = Client{2}}};
  Fixture f;
  PlanRun<Client> run(plan, f.options());
  self = &run;
  REQUIRE(run.next() == RunPhase::attempt);
  run.fail(Cause::of(Fault{1}));
  CHECK(run.next() == RunPhase::over);
  CHECK(run.end() == RunEnd::defect);
  REQUIRE(run.report().rule_error.has_value());
  CHECK(run.report().rule_error->message().find("succeed()") != std::string::npos);
  CHECK(run.report().last_cause()->get_if<Fault>() != nullptr);
  CHECK(f.log.lines() == std::vector<std::string>{"AttemptStart #1 step=0 one",
                                                  "AttemptFailure #1 step=0 one unknown error, end: defect"});
}

TEST_CASE("a context slot serves one attempt after the other", "[plan_run][field-29]") {
  int built = 0;
  int alive = 0;
  struct Counted {
    explicit Counted(int i, int& count) : id(i), alive(&count) { ++*alive; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted() { --*alive; }
    int id;
    int* alive;
  };
  const ExecutionPlan<Counted> plan{{.provide = [&] { return Counted(++built, alive); }, .attempts = 3}};
  PlanRun<Counted> run(plan);
  ContextSlot<Counted> context;
  for (int i = 1; i <= 2; ++i) {
    REQUIRE(run.next() == RunPhase::attempt);
    REQUIRE(run.provide(context));
    CHECK(context->id == i);
    CHECK(alive == 1);
    context.reset();
    CHECK(alive == 0);
    CHECK_FALSE(context.has_value());
    run.fail(Cause::of(Fault{i}));
  }
  REQUIRE(run.next() == RunPhase::attempt);
  REQUIRE(run.provide(context));
  context.reset();
  context.reset();
  run.succeed();
  CHECK(built == 3);
}

TEST_CASE("a context need not be asked for", "[plan_run]") {
  int built = 0;
  const ExecutionPlan<Client> plan{{.provide = [&] { return ++built, Client{1}; }}};
  PlanRun<Client> run(plan);
  REQUIRE(run.next() == RunPhase::attempt);
  run.succeed();
  CHECK(run.end() == RunEnd::succeeded);
  CHECK(built == 0);
}

TEST_CASE("interleaved runs on one thread, each with its own metadata in its own scope", "[plan_run][field-28]") {
  const ExecutionPlan<Client> plan{
      {.name = "one", .provide = [](const planb::Attempt& attempt) { return Client{attempt.attempt}; }, .attempts = 2},
      {.name = "two", .provide = Client{2}}};
  const auto now = [] { return planb::CurrentMetadata::get(); };
  std::vector<std::unique_ptr<PlanRun<Client>>> runs;
  for (int i = 0; i != 3; ++i) runs.push_back(std::make_unique<PlanRun<Client>>(plan));
  // The first run is in its first attempt, the second in its second, the third in its third.
  for (std::size_t i = 0; i != runs.size(); ++i) {
    for (std::size_t failures = 0; failures != i; ++failures) {
      REQUIRE(runs[i]->next() == RunPhase::attempt);
      runs[i]->fail(Cause::of(Fault{1}));
    }
    REQUIRE(runs[i]->next() == RunPhase::attempt);
    CHECK(now() == planb::Metadata{0, 0});
  }
  std::vector<planb::Metadata> seen;
  const auto turn = [&](std::size_t i) {
    const planb::CurrentMetadata::Scope scope(runs[i]->metadata());
    seen.push_back(now());
  };
  for (const std::size_t i : {0U, 2U, 1U, 0U}) turn(i);
  {
    const planb::CurrentMetadata::Scope outer(runs[0]->metadata());
    turn(2);  // and one within the other
    seen.push_back(now());
  }
  CHECK(seen == std::vector<planb::Metadata>{{1, 0}, {3, 1}, {2, 0}, {1, 0}, {3, 1}, {1, 0}});
  CHECK(now() == planb::Metadata{0, 0});

  runs[1]->succeed();
  CHECK(runs[0]->attempt().attempt == 1);
  CHECK(runs[2]->attempt().attempt == 3);
  runs[2]->fail(Cause::of(Fault{3}));
  CHECK(runs[2]->next() == RunPhase::over);
  CHECK(runs[2]->end() == RunEnd::exhausted);
  runs[0]->fail(Cause::of(Fault{1}));
  REQUIRE(runs[0]->next() == RunPhase::attempt);
  CHECK(runs[0]->metadata() == planb::Metadata{2, 0});
  runs[0]->succeed();
}

TEST_CASE("a run may go from thread to thread between calls", "[plan_run][field-32]") {
  Fixture f;
  PlanRun<Client> run(two_steps(), f.options());
  const auto elsewhere = [](auto call) { std::thread(call).join(); };
  ContextSlot<Client> context;
  RunPhase phase{};
  elsewhere([&] { phase = run.next(); });
  REQUIRE(phase == RunPhase::attempt);
  bool provided = false;
  elsewhere([&] { provided = run.provide(context); });
  REQUIRE(provided);
  CHECK(run.attempt().attempt == 1);
  planb::Metadata there;
  elsewhere([&, metadata = run.metadata()] {
    const planb::CurrentMetadata::Scope scope(metadata);
    there = planb::CurrentMetadata::get();
  });
  CHECK(there == planb::Metadata{1, 0});
  CHECK(planb::CurrentMetadata::get() == planb::Metadata{0, 0});
  context.reset();
  elsewhere([&] { run.fail(Cause::of(Fault{1})); });
  elsewhere([&] { phase = run.next(); });
  CHECK(phase == RunPhase::wait);
  f.clock.advance(100ms);
  elsewhere([&] { phase = run.next(); });
  CHECK(phase == RunPhase::attempt);
  elsewhere([&] { run.succeed(); });
  CHECK(run.next() == RunPhase::over);
  CHECK(f.log.lines() == std::vector<std::string>{"AttemptStart #1 step=0 one",
                                                  "AttemptFailure #1 step=0 one unknown error, retry in 100 ms",
                                                  "AttemptStart #2 step=0 one", "AttemptSuccess #2 step=0 one"});
}

TEST_CASE("a million attempts leave nothing behind", "[plan_run]") {
  static int alive;
  static int most;
  struct Counted {
    Counted() { most = (std::max)(most, ++alive); }
    Counted(const Counted&) { most = (std::max)(most, ++alive); }
    Counted& operator=(const Counted&) = default;
    ~Counted() { --alive; }
  };
  Fixture f;
  int told = 0;
  const auto drive = [&](int attempts, const planb::RunOptions& options) {
    alive = most = 0;
    const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .attempts = attempts},
                                     {.name = "two", .provide = Client{2}}};
    {
      PlanRun<Client> run(plan, options);
      for (int i = 0; i != attempts; ++i) {
        if (run.next() != RunPhase::attempt || run.metadata().attempt != i + 1) FAIL("not attempt " << i + 1);
        run.fail(Cause::of(Counted()));
      }
      CHECK(alive == 1);
      CHECK(most <= 3);
      REQUIRE(run.next() == RunPhase::attempt);
      CHECK(run.attempt().step_name == "two");
      run.succeed();
      CHECK(run.report().steps.size() == 2);
      CHECK(run.report().steps[0].attempts == attempts);
    }
    CHECK(alive == 0);
  };
  drive(1'000'000, {});
  drive(10'000, {.on_event = [&](const planb::Event&) { ++told; }, .budget = 1h, .clock = &f.clock});
  CHECK(told == 20'003);
}

TEST_CASE("a handler may look at its run, and not drive it", "[plan_run][field-51]") {
  enum Call { next, provide, succeed, fail };
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .attempts = 2},
                                   {.name = "guarded", .provide = Client{2}, .enter_when = [](Fault) { return false; }},
                                   {.name = "three", .provide = Client{3}}};
  std::vector<std::string> undisturbed;
  for (const int call : {-1, int{next}, int{provide}, int{succeed}, int{fail}}) {
    INFO("call " << call);
    Fixture f;
    PlanRun<Client>* self = nullptr;
    int refused = 0;
    std::vector<int> seen;
    const auto meddle = [&] {
      ContextSlot<Client> context;
      try {
        switch (call) {
          case next: self->next(); break;
          case provide: static_cast<void>(self->provide(context)); break;
          case succeed: self->succeed(); break;
          case fail: self->fail(Cause::of(Fault{9})); break;
          default: break;
        }
      } catch (const Defect& e) {
        ++refused;
        CHECK(std::string(e.what()).find("handler") != std::string::npos);
      }
    };
    planb::RunOptions options = f.options();
    options.on_event = [&, log = f.log](const planb::Event& event) mutable {
      log(event);
      if (refused > 100) std::abort();  // a call within a call, and so on
      if (event.get_if<planb::AttemptSuccess>() == nullptr && event.get_if<planb::RunFinish>() == nullptr) meddle();
      seen.push_back(self->report().attempts);
    };
    PlanRun<Client> run(plan, options);
    self = &run;
    for (int i = 1; i <= 2; ++i) {
      REQUIRE(run.next() == RunPhase::attempt);
      run.fail(Cause::of(Fault{i}));
    }
    REQUIRE(run.next() == RunPhase::attempt);
    CHECK(run.attempt().step_name == "three");
    run.succeed();
    CHECK(run.next() == RunPhase::over);
    CHECK(run.end() == RunEnd::succeeded);
    CHECK(refused == (call < 0 ? 0 : 6));  // three starts, two failures and a skipped step
    CHECK(seen == std::vector{1, 1, 2, 2, 2, 3, 3, 3});
    if (call < 0) {
      undisturbed = f.log.lines();
    } else {
      CHECK(f.log.lines() == undisturbed);
    }
  }
}

TEST_CASE("a guard that drives its own run ends it as a defect", "[plan_run]") {
  PlanRun<Client>* self = nullptr;
  int asked = 0;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}},
                                   {.name = "two", .provide = Client{2}, .enter_when = [&](const Cause&) {
                                      if (++asked > 100) std::abort();
                                      self->next();
                                      return true;
                                    }}};
  PlanRun<Client> run(plan);
  self = &run;
  REQUIRE(run.next() == RunPhase::attempt);
  run.fail(Cause::of(Fault{1}));
  CHECK(run.next() == RunPhase::over);
  CHECK(run.end() == RunEnd::defect);
  CHECK(asked == 1);
  REQUIRE(run.report().rule_error.has_value());
  CHECK(run.report().rule_error->message().find("next()") != std::string::npos);
}

TEST_CASE("a Defect for misuse says what is to be done", "[plan_run]") {
  const auto message = [](auto call) -> std::string {
    try {
      call();
    } catch (const Defect& e) {
      return e.what();
    }
    return "no Defect";
  };
  PlanRun<Client> run(two_steps());
  CHECK(message([&] { run.succeed(); }) ==
        "planb: succeed() was called without an attempt that is running; ask next() first, until it says attempt");
  REQUIRE(run.next() == RunPhase::attempt);
  CHECK(message([&] { run.next(); }) ==
        "planb: next() was called while an attempt is running; say succeed() or fail() first");
  run.succeed();
  CHECK(message([&] { run.fail({}); }) ==
        "planb: fail() was called without an attempt that is running; the run is over");
}

TEST_CASE("a streamed run by hand: deliver, resume, and what may follow partial output", "[plan_run][stream]") {
  Fixture f;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .timeout = 30s},
                                   {.name = "two", .provide = Client{2}}};
  planb::RunOptions options = f.options();
  options.budget = 100s;
  PlanRun<Client> run(plan, options, planb::PartialStream::prevent_fallback);
  REQUIRE_THROWS_AS(run.deliver(), Defect);
  REQUIRE_THROWS_AS(run.resume(), Defect);
  REQUIRE(run.next() == RunPhase::attempt);
  CHECK(run.attempt().timeout() == 30s);
  CHECK(run.deliver());
  CHECK(run.attempt().delivered() == 1);
  CHECK(run.attempt().timeout() == 100s);  // the consumer's time is not the source's
  f.clock.advance(60s);
  CHECK(run.resume());
  CHECK(run.attempt().timeout() == 30s);
  f.clock.advance(41s);  // the budget is gone
  CHECK_FALSE(run.deliver());
  CHECK_FALSE(run.resume());
  run.fail(Cause::timed_out());
  CHECK(run.next() == RunPhase::over);
  CHECK(run.end() == RunEnd::deadline);
  CHECK(run.report().delivered == 1);

  PlanRun<Client> other(plan, f.options(), planb::PartialStream::prevent_fallback);
  REQUIRE(other.next() == RunPhase::attempt);
  CHECK(other.deliver());
  other.fail(Cause::of(Fault{1}));
  CHECK(other.next() == RunPhase::over);
  CHECK(other.end() == RunEnd::exhausted);
}

TEST_CASE("the metadata of a run is that of its last attempt, also between attempts and after the end", "[plan_run]") {
  const ExecutionPlan<Client> plan{
      {.name = "one", .provide = Client{1}},
      {.name = "guarded", .provide = Client{2}, .enter_when = [](Fault) { return false; }}};
  PlanRun<Client> run(plan);
  CHECK(run.metadata() == planb::Metadata{0, 0});
  REQUIRE(run.next() == RunPhase::attempt);
  run.fail(Cause::of(Fault{1}));
  CHECK(run.metadata() == planb::Metadata{1, 0});
  CHECK(run.next() == RunPhase::over);
  CHECK(run.metadata() == planb::Metadata{1, 0});
}

TEST_CASE("a factory may not drive the run that it is called by", "[plan_run]") {
  PlanRun<Client>* self = nullptr;
  int refused = 0;
  const ExecutionPlan<Client> plan{{.provide = [&] {
    for (const bool good : {true, false}) {
      try {
        good ? self->succeed() : self->fail(Cause::of(Fault{1}));
      } catch (const Defect&) {
        ++refused;
      }
    }
    CHECK(self->attempt().attempt == 1);
    return Client{1};
  }}};
  PlanRun<Client> run(plan);
  self = &run;
  REQUIRE(run.next() == RunPhase::attempt);
  ContextSlot<Client> context;
  REQUIRE(run.provide(context));
  CHECK(refused == 2);
  context.reset();
  run.succeed();
  CHECK(run.end() == RunEnd::succeeded);
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("an attempt that is asked for its token after its end does not shorten the next one", "[plan_run]") {
  Fixture f;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .attempts = 2, .timeout = 10s}};
  PlanRun<Client> run(plan, f.options());
  REQUIRE(run.next() == RunPhase::attempt);
  const planb::Attempt late = run.attempt();
  f.clock.advance(9s);
  run.fail(Cause::of(Fault{1}));
  const planb::StopToken old = late.stop_token();
  REQUIRE(run.next() == RunPhase::attempt);
  const planb::StopToken token = run.attempt().stop_token();
  f.clock.advance(2s);
  CHECK_FALSE(token.stop_requested());
  run.fail(Cause::of(Fault{2}));
  CHECK(run.report().last_cause()->kind() == CauseKind::error);
}
#endif
