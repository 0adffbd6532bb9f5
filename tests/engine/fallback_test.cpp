// Which step comes next: each is entered once, in order, and no further than to the first answer.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include "catch.hpp"
#include "chains.hpp"

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using chains::Strings;
using chains::ask;
using chains::failing;
using chains::failing_step;
using chains::story;
using planb::ExecutionPlan;
using planb::FailureStyle;
using planb::ProviderError;
using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;

}  // namespace

TEST_CASE("openai twice, anthropic once, local answers: exactly these events at these times") {
  VirtualClock clock;
  const AttemptLog log;
  const FakeProvider openai = failing("openai", 503);
  const FakeProvider anthropic = failing("anthropic", 429);
  const FakeProvider local("local", {Behaviour::value("from local")});
  const ExecutionPlan<FakeProvider> plan{
      {.name = "openai",
       .provide = openai,
       .attempts = 2,
       .schedule = planb::exponential(20ms),
       .retry_while = [](const ProviderError& e) { return e.status == 429 || e.status >= 500; }},
      {.name = "anthropic", .provide = anthropic},
      {.name = "local", .provide = local},
  };

  const std::string answer = planb::run_with_plan(plan, ask, {.on_event = log, .clock = &clock});

  CHECK(answer == "from local");
  CHECK(story(log) == Strings{"0ms start 1/0", "0ms failure 1/0 503", "20ms start 2/0", "20ms failure 2/0 503",
                              "20ms start 3/1", "20ms failure 3/1 429", "20ms start 4/2", "20ms success 4/2"});
  CHECK(log.names() == std::vector{"openai", "openai", "anthropic", "local"});
  std::vector<int> step_attempts;
  for (const auto& start : log.of<planb::AttemptStart>()) step_attempts.push_back(start.step_attempt);
  CHECK(step_attempts == std::vector{1, 2, 1, 1});
  CHECK(openai.calls() == 2);
  CHECK(anthropic.calls() == 1);
  CHECK(local.prompts() == Strings{"hello"});
  CHECK(clock.waits() == 1);
}

TEST_CASE("the first step's success asks nobody else") {
  VirtualClock clock;
  const AttemptLog log;
  const FakeProvider second("second");
  const ExecutionPlan<FakeProvider> plan{
      {.name = "first", .provide = FakeProvider("first"), .attempts = 3, .schedule = planb::spaced(1s)},
      {.name = "second", .provide = second}};

  CHECK(planb::run_with_plan(plan, ask, {.on_event = log, .clock = &clock}) == "first");
  CHECK(story(log) == Strings{"0ms start 1/0", "0ms success 1/0"});
  CHECK(second.calls() == 0);
  CHECK(clock.waits() == 0);
}

TEST_CASE("all fail, original style: the last error itself, not a list") {
  const ExecutionPlan<FakeProvider> plan{failing_step("alpha", 503, 2), failing_step("beta", 429),
                                         failing_step("gamma", 500)};
  try {
    planb::run_with_plan(plan, ask, {.failure = FailureStyle::original});
    FAIL("all steps failed");
  } catch (const ProviderError& error) {
    CHECK(error.status == 500);
    CHECK(dynamic_cast<const planb::PlanError*>(static_cast<const std::exception*>(&error)) == nullptr);
    CHECK(dynamic_cast<const std::nested_exception*>(static_cast<const std::exception*>(&error)) == nullptr);
  }
}

TEST_CASE("all fail, default style: every step with its attempts and last error, the last error nested") {
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha",
       .provide = FakeProvider("alpha", {Behaviour::status(500), Behaviour::status(503)}),
       .attempts = 2},
      failing_step("beta", 429),
      failing_step("gamma", 529, 3)};
  try {
    planb::run_with_plan(plan, ask);
    FAIL("all steps failed");
  } catch (const planb::PlanExhausted& error) {
    const planb::RunReport& report = error.report();
    Strings steps;
    for (const planb::StepReport& step : report.steps) {
      steps.push_back(step.name + " " + std::to_string(step.attempts) + " " +
                      std::to_string(step.cause ? step.cause->status().value_or(0) : 0));
    }
    CHECK(steps == Strings{"alpha 2 503", "beta 1 429", "gamma 3 529"});
    CHECK(report.attempts == 6);
    CHECK(error.end() == planb::RunEnd::exhausted);
    CHECK_FALSE(report.answered_step.has_value());

    const std::string text = error.what();
    const std::size_t alpha = text.find("alpha: 2 attempts, last 503");
    const std::size_t beta = text.find("beta: 429");
    const std::size_t gamma = text.find("gamma: 3 attempts, last 529");
    CHECK(gamma != std::string::npos);
    CHECK(alpha < beta);
    CHECK(beta < gamma);

    const auto* const nesting = dynamic_cast<const std::nested_exception*>(static_cast<const std::exception*>(&error));
    REQUIRE(nesting != nullptr);
    try {
      nesting->rethrow_nested();
    } catch (const ProviderError& last) {
      CHECK(last.status == 529);
    }
  }
}

// The routing table: what providers do, and the calls that must come of it. It is checked against the calls as the
// providers see them, so that it holds for any router.
namespace {

// Notes calls as they begin and end.
class Switchboard {
 public:
  explicit Switchboard(std::vector<bool> fails) : fails_(std::move(fails)) {}

  [[nodiscard]] std::size_t size() const { return fails_.size(); }

  std::string call(std::size_t provider) {
    calls_.push_back("begin " + name(provider));
    if (during_call) during_call();
    calls_.push_back("end " + name(provider));
    if (fails_[provider]) throw ProviderError(503, name(provider) + " is down");
    return name(provider);
  }

  [[nodiscard]] const Strings& calls() const { return calls_; }

  static std::string name(std::size_t provider) {
    static const char* const names[] = {"alpha", "beta", "gamma"};
    return names[provider];
  }

  std::function<void()> during_call;  // where a router would have the time for something else

 private:
  std::vector<bool> fails_;
  Strings calls_;
};

using Router = std::function<std::string(Switchboard&, const AttemptLog&)>;

struct Route {
  const char* what;
  std::vector<bool> fails;
  Strings tried;
  std::string outcome;
};

const std::vector<Route>& routes() {
  static const std::vector<Route> table{
      {"none fails", {false, false, false}, {"alpha"}, "alpha"},
      {"the first fails", {true, false, false}, {"alpha", "beta"}, "beta"},
      {"two fail", {true, true, false}, {"alpha", "beta", "gamma"}, "gamma"},
      {"all fail", {true, true, true}, {"alpha", "beta", "gamma"}, "gamma is down"},
      {"only the second fails", {false, true, false}, {"alpha"}, "alpha"},
  };
  return table;
}

// The rows that the router gets wrong.
Strings broken_routes(const Router& router) {
  Strings broken;
  for (const Route& route : routes()) {
    Switchboard board(route.fails);
    const AttemptLog log;
    std::string outcome;
    try {
      outcome = router(board, log);
    } catch (const std::exception& error) {
      outcome = error.what();
    }
    Strings calls;
    for (const std::string& name : route.tried) {
      calls.push_back("begin " + name);
      calls.push_back("end " + name);
    }
    if (outcome != route.outcome || board.calls() != calls || !(log.names() == route.tried))
      broken.push_back(route.what);
  }
  return broken;
}

planb::Event started(std::size_t provider) {
  return planb::Event(planb::AttemptStart{.step_name = Switchboard::name(provider)});
}

}  // namespace

TEST_CASE("providers are tried one at a time, in order, and no further than to the first answer") {
  const Router plan_router = [](Switchboard& board, const AttemptLog& log) {
    std::vector<planb::Step<std::size_t>> steps;
    for (std::size_t i = 0; i != board.size(); ++i) steps.push_back({.name = Switchboard::name(i), .provide = i});
    const ExecutionPlan<std::size_t> plan(std::move(steps));
    return planb::run_with_plan(plan, [&](std::size_t provider) { return board.call(provider); },
                                {.on_event = log, .failure = FailureStyle::original});
  };
  CHECK(broken_routes(plan_router) == Strings{});
}

TEST_CASE("the routing table tells a router of another kind from a fallback chain") {
  const auto in_order = [](const std::vector<std::size_t>& order) {
    return [order](Switchboard& board, const AttemptLog& log) {
      std::exception_ptr last;
      for (const std::size_t provider : order) {
        log(started(provider));
        try {
          return board.call(provider);
        } catch (const ProviderError&) {
          last = std::current_exception();
        }
      }
      std::rethrow_exception(last);
    };
  };
  CHECK(broken_routes(in_order({0, 1, 2})) == Strings{});
  CHECK(broken_routes(in_order({2, 1, 0})).size() == routes().size());
  CHECK(broken_routes(in_order({0, 2, 1})) == Strings{"the first fails", "two fail", "all fail"});
  CHECK(broken_routes(in_order({0, 1})) == Strings{"two fail", "all fail"});
  CHECK(broken_routes(in_order({0, 0, 1, 2})) == Strings{"the first fails", "two fail", "all fail"});
  CHECK(broken_routes(in_order({0, 1, 0, 1, 2})) == Strings{"two fail", "all fail"});

  const Router all_at_once = [](Switchboard& board, const AttemptLog& log) {
    std::vector<std::string> answers(board.size());
    std::exception_ptr last;
    const std::function<void(std::size_t)> begin = [&](std::size_t provider) {
      if (provider == board.size()) return;
      log(started(provider));
      board.during_call = [&, provider] { begin(provider + 1); };
      try {
        answers[provider] = board.call(provider);
      } catch (const ProviderError&) {
        last = std::current_exception();
      }
    };
    begin(0);
    board.during_call = nullptr;
    for (const std::string& answer : answers) {
      if (!answer.empty()) return answer;
    }
    std::rethrow_exception(last);
  };
  CHECK(broken_routes(all_at_once).size() == routes().size());
}

TEST_CASE("a fallback never restarts the chain: each step is entered once", "[field-3]") {
  VirtualClock clock;
  const AttemptLog log;
  const ExecutionPlan<FakeProvider> plan{failing_step("alpha", 500, 2), failing_step("beta", 502, 3),
                                         failing_step("gamma", 503)};
  CHECK_THROWS_AS(planb::run_with_plan(plan, ask, {.on_event = log, .clock = &clock}), planb::PlanExhausted);
  Strings attempts;
  for (const auto& start : log.of<planb::AttemptStart>()) {
    attempts.push_back(std::to_string(start.attempt) + " " + std::to_string(start.step_attempt) + " " +
                       start.step_name);
  }
  CHECK(attempts == Strings{"1 1 alpha", "2 2 alpha", "3 1 beta", "4 2 beta", "5 3 beta", "6 1 gamma"});
}
