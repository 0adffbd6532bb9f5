// Testing a router without a test framework: fakes for the providers, a clock that jumps, and the sequence of calls as
// what is asserted. routing_test.cpp does more of that, with Catch2.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "routing/chain.hpp"

using namespace std::chrono_literals;
using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;

namespace {

bool check(bool holds, const char* what) {
  std::cout << (holds ? "passed: " : "FAILED: ") << what << '\n';
  return holds;
}

}  // namespace

int main() {
  VirtualClock clock;
  const AttemptLog log;
  const FakeProvider alpha("alpha", {Behaviour::status(503).retry_after(30s), Behaviour::status(503)});
  const FakeProvider beta("beta", {Behaviour::value("hi")});

  const auto ask = [](FakeProvider& provider) { return provider.complete("hello"); };
  const auto result = planb::try_run_with_plan(make_chain(alpha, beta), ask, {.on_event = log, .clock = &clock});

  bool good = check(result.has_value() && *result == "hi", "the answer is beta's");
  // Assert the sequence: a router with another order, or one that asks all at once, may give the same answer.
  good = check(log.names() == std::vector{"alpha", "alpha", "beta"}, "alpha twice, then beta") && good;
  good = check(clock.elapsed() == 30s, "the one wait is as long as alpha asked for") && good;
  good = check(beta.prompts() == std::vector<std::string>{"hello"}, "beta gets the same prompt, once") && good;
  good = check(result.report().answered_by() == "beta", "the report knows who answered") && good;
  return good ? 0 : 1;
}
