// Testing a router: fakes for the providers, a clock that jumps, and the sequence of calls as what is asserted. Any
// test framework will do; this one is a function.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;

namespace {

// The code under test: a plan over whatever providers it is given.
planb::ExecutionPlan<FakeProvider> make_plan(const std::vector<FakeProvider>& providers) {
  std::vector<planb::Step<FakeProvider>> steps;
  for (const FakeProvider& provider : providers) {
    steps.push_back({.name = provider.name(), .provide = provider, .attempts = 2, .schedule = planb::spaced(10s)});
  }
  return planb::ExecutionPlan<FakeProvider>(steps);
}

bool check(bool holds, const char* what) {
  std::cout << (holds ? "passed: " : "FAILED: ") << what << '\n';
  return holds;
}

}  // namespace

int main() {
  VirtualClock clock;
  const AttemptLog log;
  const FakeProvider alpha("alpha", {Behaviour::status(503)});
  const FakeProvider beta("beta", {Behaviour::status(429).retry_after(30s), Behaviour::value("hi")}, &clock);
  const FakeProvider gamma("gamma");
  const auto plan = make_plan({alpha, beta, gamma});

  const auto result = planb::try_run_with_plan(plan, [](FakeProvider& provider) { return provider.complete("hello"); },
                                               {.on_event = log, .clock = &clock});

  bool good = check(result.has_value() && *result == "hi", "the answer is beta's");
  // Assert the sequence: a router with another order, or one that asks all at once, may give the same answer.
  good = check(log.names() == std::vector{"alpha", "alpha", "beta", "beta"}, "alpha twice, then beta twice") && good;
  good = check(gamma.calls() == 0, "gamma is never asked") && good;
  good = check(clock.elapsed() == 10s + 30s, "the waits are the schedule's and then the provider's") && good;
  good =
      check(beta.prompts() == std::vector<std::string>{"hello", "hello"}, "the prompt is the same each time") && good;
  good = check(result.report().answered_by() == "beta", "the report knows who answered") && good;
  return good ? 0 : 1;
}
