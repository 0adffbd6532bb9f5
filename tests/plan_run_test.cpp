// PlanRun: the decisions of a run, driven by hand.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "results.hpp"

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

struct Client {
  int id = 0;
};

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
  CHECK(seen == std::vector<planb::Metadata>{{1, 0}, {0, 0}, {1, 0}, {1, 0}, {1, 0}, {0, 0}});
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
  REQUIRE(reports.size() == 4);
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
