// What a chain does about each kind of failure: one row each, over fake providers and virtual time.
#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;
using Names = std::vector<std::string>;
using Behaviours = std::vector<Behaviour>;

const Behaviour well = Behaviour::value("hello");

// Three providers, each with what it does; the third has the larger window or the lenient policy where a row says so.
struct Chain {
  VirtualClock clock;
  AttemptLog log;
  FakeProvider alpha;
  FakeProvider beta;
  FakeProvider gamma;
  planb::ContentRefusal refusal = planb::ContentRefusal::abort;
  bool guarded = false;
  std::shared_ptr<planb::CircuitBreaker> breaker;
  std::optional<planb::Duration> budget;

  Chain(Behaviours a, Behaviours b, Behaviours c)
      : alpha("alpha", std::move(a), &clock), beta("beta", std::move(b), &clock), gamma("gamma", std::move(c), &clock) {}

  [[nodiscard]] planb::PlanResult<std::string> run() {
    std::vector<planb::Step<FakeProvider>> steps{
        {.name = "alpha", .provide = alpha, .timeout = 30s, .gate = breaker},
        {.name = "beta", .provide = beta, .timeout = 30s},
        {.name = "gamma", .provide = gamma, .timeout = 30s}};
    if (guarded) {
      steps[2].enter_when = [](const planb::Cause& cause) {
        return cause.code() == "context_length_exceeded" || cause.code() == "content_filter";
      };
    }
    const auto plan =
        planb::ExecutionPlan<FakeProvider>(steps).with_classifier(planb::http_classifier(refusal));
    return planb::try_run_with_plan(
        plan,
        [](FakeProvider& provider, const planb::Attempt& attempt) {
          return provider.complete("hi", attempt.stop_token());
        },
        {.on_event = log, .budget = budget, .clock = &clock});
  }

  // The steps over which an alert was raised, in order.
  [[nodiscard]] Names alerts() const {
    Names names;
    for (const auto& failure : log.of<planb::AttemptFailure>()) {
      if (failure.verdict && failure.verdict->alert) names.push_back(failure.step_name);
    }
    return names;
  }
};

struct Row {
  std::string what;
  Behaviours alpha;
  Behaviours beta;
  Behaviours gamma;
  Names asked;
  Names alerts;
  planb::RunEnd end;
};

}  // namespace

TEST_CASE("each kind of failure takes its way through the chain", "[issue-3]") {
  const auto fails = [](int status) { return Behaviour::status(status); };
  const Names all{"alpha", "beta", "gamma"};
  const std::vector<Row> rows{
      {"first fails", {fails(503)}, {well}, {well}, {"alpha", "beta"}, {}, planb::RunEnd::succeeded},
      {"two fail", {fails(503)}, {fails(429)}, {well}, all, {}, planb::RunEnd::succeeded},
      {"all fail", {fails(503)}, {fails(429)}, {fails(500)}, all, {}, planb::RunEnd::exhausted},
      {"400: the request", {fails(400)}, {well}, {well}, {"alpha"}, {}, planb::RunEnd::aborted},
      {"422: the request", {fails(422)}, {well}, {well}, {"alpha"}, {}, planb::RunEnd::aborted},
      {"401: the key", {fails(401)}, {well}, {well}, {"alpha", "beta"}, {"alpha"}, planb::RunEnd::succeeded},
      {"404: the model", {fails(404)}, {well}, {well}, {"alpha", "beta"}, {"alpha"}, planb::RunEnd::succeeded},
      {"402: the account", {fails(402)}, {well}, {well}, {"alpha", "beta"}, {"alpha"}, planb::RunEnd::succeeded},
      {"quota", {fails(429).code("insufficient_quota")}, {well}, {well}, {"alpha", "beta"}, {"alpha"},
       planb::RunEnd::succeeded},
      {"a rate limit as a 403", {fails(403).code("rateLimitExceeded")}, {well}, {well}, {"alpha", "beta"}, {},
       planb::RunEnd::succeeded},
      {"an overload as a 400", {fails(400).code("server_is_overloaded")}, {well}, {well}, {"alpha", "beta"}, {},
       planb::RunEnd::succeeded},
      {"522: the way there", {fails(522)}, {well}, {well}, {"alpha", "beta"}, {}, planb::RunEnd::succeeded},
      {"501: this provider cannot", {fails(501)}, {well}, {well}, {"alpha", "beta"}, {}, planb::RunEnd::succeeded},
      {"no connection", {Behaviour::throws(planb::ProviderError("connection refused"))}, {well}, {well},
       {"alpha", "beta"}, {}, planb::RunEnd::succeeded},
      {"unknown", {Behaviour::throws(42)}, {well}, {well}, {"alpha", "beta"}, {}, planb::RunEnd::succeeded},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Chain chain(row.alpha, row.beta, row.gamma);
    const auto result = chain.run();
    CHECK(chain.log.names() == row.asked);
    CHECK(chain.alerts() == row.alerts);
    CHECK(result.report().end == row.end);
    CHECK(result.has_value() == (row.end == planb::RunEnd::succeeded));
    CHECK(chain.alpha.calls() + chain.beta.calls() + chain.gamma.calls() == row.asked.size());
  }
}

TEST_CASE("when all fail, the error lists each step with its last error", "[issue-3]") {
  Chain chain({Behaviour::status(503)}, {Behaviour::status(429)}, {Behaviour::status(500)});
  const auto result = chain.run();
  REQUIRE_FALSE(result.has_value());
  CHECK(std::string(result.error().what()) ==
        "plan exhausted: alpha: 503 service unavailable; beta: 429 too many requests; gamma: 500 internal server error");
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("a provider that hangs is left at its timeout", "[issue-3]") {
  Chain chain({Behaviour::value("late").after(1h)}, {well}, {well});
  const auto result = chain.run();
  CHECK(chain.log.names() == Names{"alpha", "beta"});
  CHECK(chain.log.of<planb::AttemptFailure>().at(0).cause.kind() == planb::CauseKind::timeout);
  CHECK(chain.clock.elapsed() == 30s);
  CHECK(result.report().answered_by() == "beta");
}

TEST_CASE("a budget that ends midway ends the run", "[issue-3]") {
  Chain chain({Behaviour::value("late").after(1h)}, {Behaviour::value("late").after(1h)}, {well});
  chain.budget = 40s;
  const auto result = chain.run();
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().end() == planb::RunEnd::deadline);
  CHECK(chain.log.names() == Names{"alpha", "beta"});
  CHECK(chain.gamma.calls() == 0);
  CHECK(chain.clock.elapsed() == 40s);
}
#endif

TEST_CASE("a content refusal does what the caller decided", "[issue-3]") {
  const Behaviour refused = Behaviour::status(400).code("content_filter");
  SECTION("abort") {
    Chain chain({refused}, {well}, {well});
    chain.refusal = planb::ContentRefusal::abort;
    CHECK(chain.run().report().end == planb::RunEnd::aborted);
    CHECK(chain.log.names() == Names{"alpha"});
  }
  SECTION("next step") {
    Chain chain({refused}, {well}, {well});
    chain.refusal = planb::ContentRefusal::next_step;
    CHECK(chain.run().report().answered_by() == "beta");
    CHECK(chain.log.names() == Names{"alpha", "beta"});
  }
  SECTION("only a step that takes it") {
    Chain chain({refused}, {well}, {well});
    chain.refusal = planb::ContentRefusal::next_guarded;
    chain.guarded = true;
    CHECK(chain.run().report().answered_by() == "gamma");
    CHECK(chain.log.names() == Names{"alpha", "gamma"});
  }
}

TEST_CASE("a context overflow goes only to a step with the larger window", "[issue-3]") {
  const Behaviour overflow = Behaviour::status(400).code("context_length_exceeded");
  SECTION("there is one") {
    Chain chain({overflow}, {well}, {well});
    chain.guarded = true;
    CHECK(chain.run().report().answered_by() == "gamma");
    CHECK(chain.log.names() == Names{"alpha", "gamma"});
    CHECK(chain.log.of<planb::StepSkipped>().at(0).step_name == "beta");
  }
  SECTION("there is none") {
    Chain chain({overflow}, {well}, {well});
    CHECK(chain.run().report().end == planb::RunEnd::aborted);
    CHECK(chain.log.names() == Names{"alpha"});
  }
}

TEST_CASE("a step whose breaker is open is passed over without a call or a wait", "[issue-3]") {
  Chain chain({well}, {Behaviour::status(503)}, {well});
  chain.breaker = std::make_shared<planb::CircuitBreaker>();
  chain.breaker->force_open();
  const auto result = chain.run();
  CHECK(chain.log.names() == Names{"beta", "gamma"});
  CHECK(chain.alpha.calls() == 0);
  CHECK(chain.clock.elapsed() == 0s);
  CHECK(result.report().steps[0].skipped == planb::SkipReason::gate_closed);
}
