// Testing a router: fakes for the providers, a clock that jumps, and a case for each thing that can happen. The
// sequence of calls is asserted, and not only the answer: a router with another order, or one that asks all at once,
// may give the same answer.
#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "routing/chain.hpp"

using namespace std::chrono_literals;
using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;
using Names = std::vector<std::string>;

struct Chain {
  VirtualClock clock;
  AttemptLog log;
  std::shared_ptr<planb::CircuitBreaker> breaker = planb::circuit_breaker({.open_for = 30s});
  FakeProvider beta{"beta", {Behaviour::value("hi")}};

  planb::PlanResult<std::string> run_with(std::vector<Behaviour> alpha) {
    const auto plan = make_chain(FakeProvider("alpha", std::move(alpha)), beta, breaker);
    const auto ask = [](FakeProvider& provider) { return provider.complete("hello"); };
    return planb::try_run_with_plan(plan, ask, {.on_event = log, .clock = &clock});
  }
  std::string report_with(std::vector<Behaviour> alpha) { return run_with(std::move(alpha)).report().to_string(); }
};

TEST_CASE_METHOD(Chain, "alpha says for how long it is busy: it is asked again then, and beta after it") {
  const auto answer = run_with({Behaviour::status(503).retry_after(30s), Behaviour::status(503)});

  CHECK(answer.value() == "hi");
  CHECK(log.names() == Names{"alpha", "alpha", "beta"});
  CHECK(clock.elapsed() == 30s);
  CHECK(beta.prompts() == Names{"hello"});
  CHECK(answer.report().answered_by() == "beta");
}

TEST_CASE_METHOD(Chain, "alpha has passing trouble: it is asked again, then beta") {
  CHECK(report_with({Behaviour::status(503), Behaviour::status(429).retry_after(20s)}) ==
        "alpha: 2 attempts, last 429 too many requests; beta: answered");
  CHECK(log.names() == Names{"alpha", "alpha", "beta"});
  CHECK(clock.elapsed() == 1s);  // nobody waits for 20 s where no attempt is left
}

TEST_CASE_METHOD(Chain, "alpha's key has expired: beta answers, and somebody hears of it") {
  CHECK(report_with({Behaviour::status(401)}) == "alpha: 401 unauthorized (alert); beta: answered");
  CHECK(log.names() == Names{"alpha", "beta"});
}

TEST_CASE_METHOD(Chain, "the request is bad: it is sent to nobody else") {
  CHECK(report_with({Behaviour::status(400)}) == "plan aborted: alpha: 400 bad request");
  CHECK(log.names() == Names{"alpha"});
}

TEST_CASE_METHOD(Chain, "alpha's breaker is open: only beta is asked") {
  breaker->force_open(clock.now() + 30s);
  CHECK(report_with({Behaviour::value("hi")}) == "alpha: skipped, circuit open for 30 s; beta: answered");
  CHECK(log.names() == Names{"beta"});
}
