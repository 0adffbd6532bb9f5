// merge: several plans as one.
#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::ExecutionPlan;
using planb::ProviderError;
using planb::Step;
using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;
using Plan = ExecutionPlan<FakeProvider>;
using Strings = std::vector<std::string>;

Step<FakeProvider> remote(std::vector<Behaviour> behaviours = {Behaviour::status(503)}) {
  return {.name = "remote",
          .provide = FakeProvider("remote", std::move(behaviours)),
          .attempts = 2,
          .schedule = planb::exponential(20ms),
          .retry_while = [](const ProviderError& e) { return e.status >= 500; }};
}

Step<FakeProvider> named(const std::string& name, std::vector<Behaviour> behaviours = {}) {
  return {.name = name, .provide = FakeProvider(name, std::move(behaviours))};
}

// All that can be seen of a run: its events with their times, and its outcome.
Strings story(const Plan& plan) {
  AttemptLog log;
  VirtualClock clock;
  const auto result = try_run_with_plan(plan, [](FakeProvider& p) { return p.complete(); },
                                        {.on_event = log, .clock = &clock});
  Strings lines;
  for (const planb::Event& event : log.events()) {
    const auto at = event.visit([](const auto& e) { return e.at.time_since_epoch(); });
    lines.push_back(std::to_string(at / 1ms) + "ms " + to_string(event));
  }
  lines.push_back(result ? *result : std::string(result.error().what()));
  lines.push_back(result.report().to_string());
  return lines;
}

Strings names(const Plan& plan) {
  Strings all;
  for (const auto& step : plan.steps()) all.push_back(step.name);
  return all;
}

}  // namespace

TEST_CASE("a merged plan behaves as the one plan would", "[merge]") {
  const Plan merged = planb::merge(Plan{remote()}, Plan{named("local")});
  const Plan one{remote(), named("local")};
  CHECK(story(merged) == story(one));
  CHECK(story(planb::merge(Plan{remote()}, Plan{named("local")})) ==
        Strings{"0ms AttemptStart #1 step=0 remote",
                "0ms AttemptFailure #1 step=0 remote 503 service unavailable, retry in 20 ms",
                "20ms AttemptStart #2 step=0 remote",
                "20ms AttemptFailure #2 step=0 remote 503 service unavailable, next step",
                "20ms AttemptStart #3 step=1 local", "20ms AttemptSuccess #3 step=1 local", "local",
                "remote: 2 attempts, last 503 service unavailable; local: answered"});
}

TEST_CASE("where all of a merged plan fails, it fails as the one plan would", "[merge]") {
  const auto down = [](const std::string& name) { return named(name, {Behaviour::status(429)}); };
  CHECK(story(planb::merge(Plan{remote(), down("b")}, Plan{down("c")}, Plan{remote()})) ==
        story(Plan{remote(), down("b"), down("c"), remote()}));
}

TEST_CASE("any number of plans is merged, in order", "[merge]") {
  const Plan a{named("a")};
  const Plan bc{named("b"), named("c")};
  const Plan d{named("d")};
  CHECK(names(planb::merge(a)) == Strings{"a"});
  CHECK(names(planb::merge(a, bc)) == Strings{"a", "b", "c"});
  CHECK(names(planb::merge(bc, a)) == Strings{"b", "c", "a"});
  CHECK(names(planb::merge(a, bc, d)) == Strings{"a", "b", "c", "d"});
  CHECK(names(planb::merge(a, planb::merge(bc, d))) == names(planb::merge(planb::merge(a, bc), d)));
  CHECK(names(planb::merge(a, a, a)) == Strings{"a", "a", "a"});
}

TEST_CASE("merging leaves the plans as they were", "[merge]") {
  const Plan a{named("a")};
  const Plan b{named("b")};
  const auto* const before = &a.steps();
  const Plan merged = planb::merge(a, b);
  CHECK(&a.steps() == before);
  CHECK(names(a) == Strings{"a"});
  CHECK(names(b) == Strings{"b"});
  CHECK(merged.size() == 2);
}

TEST_CASE("the error types that one plan names can be read in the others", "[merge]") {
  struct OwnError {
    int status = 418;
  };
  std::vector<std::optional<int>> seen;
  const ExecutionPlan<int> reads{{.provide = 1, .attempts = 2, .retry_while = [&](const planb::Cause& cause) {
                                    seen.push_back(cause.status());
                                    return true;
                                  }}};
  const ExecutionPlan<int> names_it{{.provide = 2, .retry_while = [](const OwnError&) { return true; }}};
  CHECK_FALSE(try_run_with_plan(planb::merge(reads, names_it), [](int&) -> int { throw OwnError(); }));
  CHECK(seen == std::vector<std::optional<int>>{418, 418});
}

TEST_CASE("plans with an Env are merged before it is captured, or after", "[merge]") {
  struct Env {
    std::string prefix;
  };
  using EnvPlan = ExecutionPlan<std::string, Env>;
  const auto plan = [](const std::string& name) {
    return EnvPlan{{.name = name, .provide = [name](Env& env) { return env.prefix + name; }}};
  };
  const auto both = [](const ExecutionPlan<std::string>& p) {
    Strings seen;
    CHECK_FALSE(try_run_with_plan(p, [&](std::string& ctx) {
      seen.push_back(ctx);
      throw ProviderError(503);
    }));
    return seen;
  };
  CHECK(both(planb::merge(plan("a"), plan("b")).capture_requirements(Env{"x-"})) == Strings{"x-a", "x-b"});
  CHECK(both(planb::merge(plan("a").capture_requirements(Env{"y-"}), plan("b").capture_requirements(Env{"z-"}))) ==
        Strings{"y-a", "z-b"});
}
