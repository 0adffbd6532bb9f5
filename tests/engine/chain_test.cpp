// A fallback chain as a whole: which calls are made, in which order, when, and how the run ends.
#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::Duration;
using planb::ExecutionPlan;
using planb::FailureStyle;
using planb::ProviderError;
using planb::RunOptions;
using planb::Schedule;
using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;
using Strings = std::vector<std::string>;

std::string ms(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + "ms";
}

// Each event in short: time, kind, attempt/step_index, status.
Strings story(const AttemptLog& log) {
  Strings lines;
  const auto line = [&](const auto& event, const char* kind) {
    lines.push_back(ms(event.at.time_since_epoch()) + " " + kind + " " + std::to_string(event.attempt) + "/" +
                    std::to_string(event.step_index));
  };
  for (const planb::Event& event : log.events()) {
    event.visit(planb::overloaded{[&](const planb::AttemptStart& e) { line(e, "start"); },
                                  [&](const planb::AttemptSuccess& e) { line(e, "success"); },
                                  [&](const planb::AttemptFailure& e) {
                                    line(e, "failure");
                                    lines.back() += " " + std::to_string(e.cause.status().value_or(0));
                                  },
                                  [&](const planb::StepSkipped&) { lines.push_back("skipped"); }, [](const auto&) {}});
  }
  return lines;
}

std::vector<Duration> start_times(const AttemptLog& log) {
  std::vector<Duration> times;
  for (const auto& start : log.of<planb::AttemptStart>()) times.push_back(start.at.time_since_epoch());
  return times;
}

// What the plan decided to wait after each failure; of a failure that is not retried, nothing.
std::vector<std::optional<Duration>> decided_delays(const AttemptLog& log) {
  std::vector<std::optional<Duration>> delays;
  for (const auto& failure : log.of<planb::AttemptFailure>()) {
    const bool retried = failure.next.kind == planb::NextMove::retry;
    delays.push_back(retried ? std::optional(failure.next.delay) : std::nullopt);
  }
  return delays;
}

const auto ask = [](const FakeProvider& provider) { return provider.complete("hello"); };

FakeProvider failing(std::string name, int status) {
  return FakeProvider(std::move(name), {Behaviour::status(status)});
}

// A step that fails all its attempts.
planb::Step<FakeProvider> failing_step(std::string name, int status, std::optional<int> attempts = std::nullopt) {
  return {.name = name, .provide = failing(name, status), .attempts = attempts};
}

// An expected-like of a hand-made kind.
struct Refused {
  int status = 0;
};

class Answer {
 public:
  explicit Answer(std::string text) : text_(std::move(text)) {}
  explicit Answer(Refused error) : error_(error) {}

  [[nodiscard]] bool has_value() const { return text_.has_value(); }
  [[nodiscard]] const std::string& operator*() const { return *text_; }
  [[nodiscard]] const Refused& error() const { return error_; }

 private:
  std::optional<std::string> text_;
  Refused error_;
};

}  // namespace

TEST_CASE("openai twice, anthropic once, local answers: exactly these events at these times", "[chain]") {
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

TEST_CASE("the first step's success asks nobody else", "[chain]") {
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

TEST_CASE("attempts count all calls of a step, and a schedule's end limits them too", "[chain][field-1]") {
  struct Row {
    const char* what;
    std::optional<int> attempts;
    Schedule schedule;
    std::size_t calls;
  };
  const Row rows[] = {
      {"neither attempts nor schedule", {}, {}, 1},
      {"attempts = 1", 1, {}, 1},
      {"attempts = 2", 2, {}, 2},
      {"attempts = 4", 4, {}, 4},
      {"one attempt with a schedule", 1, planb::spaced(10ms), 1},
      {"an endless schedule, two attempts", 2, planb::exponential(10ms), 2},
      {"a schedule that recurs three times", {}, planb::recurs(3), 4},
      {"attempts before the schedule's end", 2, planb::recurs(3), 2},
      {"attempts at the schedule's end", 4, planb::recurs(3), 4},
      {"attempts behind the schedule's end", 9, planb::recurs(3), 4},
      {"a schedule that never recurs", 9, planb::recurs(0), 1},
      {"a list of two delays", {}, planb::delays({10ms, 20ms}), 3},
      {"unlimited attempts, a schedule that ends", planb::unlimited, planb::up_to(planb::spaced(1s), 5), 6},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const FakeProvider alpha = failing("alpha", 503);
    const FakeProvider beta = failing("beta", 500);
    const planb::Step<FakeProvider> step{
        .name = "alpha", .provide = alpha, .attempts = row.attempts, .schedule = row.schedule};
    const ExecutionPlan<FakeProvider> alone{step};
    const ExecutionPlan<FakeProvider> followed{step, {.name = "beta", .provide = beta}};
    const ExecutionPlan<FakeProvider> preceded{{.name = "beta", .provide = beta}, step};

    for (const FailureStyle style : {FailureStyle::aggregate, FailureStyle::original}) {
      VirtualClock clock;
      const RunOptions options{.clock = &clock, .failure = style};
      alpha.reset();
      CHECK_THROWS(planb::run_with_plan(alone, ask, options));
      CHECK(alpha.calls() == row.calls);

      alpha.reset();
      CHECK_THROWS(planb::run_with_plan(followed, ask, options));
      CHECK(alpha.calls() == row.calls);

      alpha.reset();
      CHECK_THROWS(planb::run_with_plan(preceded, ask, options));
      CHECK(alpha.calls() == row.calls);

      alpha.reset();
      const auto result = planb::try_run_with_plan(alone, ask, options);
      CHECK_FALSE(result.has_value());
      CHECK(result.report().attempts == static_cast<int>(row.calls));
      CHECK(alpha.calls() == row.calls);

      std::size_t returned = 0;
      const auto refuse = [&](const FakeProvider&) { return ++returned, Answer(Refused{503}); };
      if (style == FailureStyle::original) {
        CHECK_FALSE(planb::run_with_plan(alone, refuse, options).has_value());
      } else {
        CHECK_FALSE(planb::try_run_with_plan(alone, refuse, options).has_value());
      }
      CHECK(returned == row.calls);

      std::size_t retried = 0;
      const auto fail = [&] { ++retried, throw ProviderError(503); };
      CHECK_THROWS(planb::retry({.attempts = row.attempts, .schedule = row.schedule}, fail, options));
      CHECK(retried == row.calls);
    }
  }
}

TEST_CASE("without options, too, attempts count all calls", "[chain][field-1]") {
  const FakeProvider alpha = failing("alpha", 503);
  const FakeProvider beta = failing("beta", 500);
  const ExecutionPlan<FakeProvider> plan{{.name = "alpha", .provide = alpha, .attempts = 4},
                                         {.name = "beta", .provide = beta, .attempts = 2}};
  CHECK_THROWS_AS(planb::run_with_plan(plan, ask), planb::PlanExhausted);
  CHECK(alpha.calls() == 4);
  CHECK(beta.calls() == 2);
}

TEST_CASE("spaced(100ms) puts 100 ms between three attempts", "[chain]") {
  VirtualClock clock;
  const AttemptLog log;
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = failing("alpha", 503), .attempts = 3, .schedule = planb::spaced(100ms)}};
  CHECK_THROWS_AS(planb::run_with_plan(plan, ask, {.on_event = log, .clock = &clock}), planb::PlanExhausted);
  CHECK(start_times(log) == std::vector<Duration>{0ms, 100ms, 200ms});
  CHECK(clock.elapsed() == 200ms);
}

TEST_CASE("an endless schedule with attempts = 2 runs twice", "[chain]") {
  VirtualClock clock;
  const AttemptLog log;
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = failing("alpha", 503), .attempts = 2, .schedule = planb::forever()}};
  CHECK_THROWS_AS(planb::run_with_plan(plan, ask, {.on_event = log, .clock = &clock}), planb::PlanExhausted);
  CHECK(log.names() == std::vector{"alpha", "alpha"});
}

TEST_CASE("attempts = 5 with a predicate that says no: one call, then the next step", "[chain]") {
  VirtualClock clock;
  const AttemptLog log;
  const ExecutionPlan<FakeProvider> plan{{.name = "alpha",
                                          .provide = failing("alpha", 400),
                                          .attempts = 5,
                                          .schedule = planb::spaced(1s),
                                          .retry_while = [](const ProviderError& e) { return e.status >= 500; }},
                                         {.name = "beta", .provide = FakeProvider("beta")}};
  CHECK(planb::run_with_plan(plan, ask, {.on_event = log, .clock = &clock}) == "beta");
  CHECK(story(log) == Strings{"0ms start 1/0", "0ms failure 1/0 400", "0ms start 2/1", "0ms success 2/1"});
  CHECK(log.of<planb::AttemptFailure>().at(0).next.reason == planb::LeaveReason::not_retryable);
}

TEST_CASE("all fail, original style: the last error itself, not a list", "[chain]") {
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

TEST_CASE("all fail, default style: every step with its attempts and last error, the last error nested", "[chain]") {
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

TEST_CASE("merged plans behave as the one plan with all their steps", "[chain]") {
  const auto remote_step = [] {
    return planb::Step<FakeProvider>{
        .name = "remote", .provide = failing("remote", 503), .attempts = 2, .schedule = planb::spaced(5ms)};
  };
  const auto local_step = [] { return planb::Step<FakeProvider>{.name = "local", .provide = FakeProvider("local")}; };
  const auto run = [](const ExecutionPlan<FakeProvider>& plan) {
    VirtualClock clock;
    const AttemptLog log;
    const auto result = planb::try_run_with_plan(plan, ask, {.on_event = log, .clock = &clock});
    Strings told = story(log);
    told.push_back(result.has_value() ? *result : result.error().what());
    return told;
  };
  const ExecutionPlan<FakeProvider> remote{remote_step()};
  const ExecutionPlan<FakeProvider> local{local_step()};
  const ExecutionPlan<FakeProvider> both{remote_step(), local_step()};

  const ExecutionPlan<FakeProvider> merged = planb::merge(remote, local);
  CHECK(merged.size() == 2);
  CHECK(run(merged) == run(both));
  CHECK(run(merged) == Strings{"0ms start 1/0", "0ms failure 1/0 503", "5ms start 2/0", "5ms failure 2/0 503",
                               "5ms start 3/1", "5ms success 3/1", "local"});

  SECTION("in the order of the arguments") {
    CHECK(run(planb::merge(local, remote)) == Strings{"0ms start 1/0", "0ms success 1/0", "local"});
    CHECK(run(planb::merge(remote, remote, local)) ==
          Strings{"0ms start 1/0", "0ms failure 1/0 503", "5ms start 2/0", "5ms failure 2/0 503", "5ms start 3/1",
                  "5ms failure 3/1 503", "10ms start 4/1", "10ms failure 4/1 503", "10ms start 5/2", "10ms success 5/2",
                  "local"});
  }
  SECTION("and the parts stay what they were") {
    CHECK(remote.size() == 1);
    CHECK(local.size() == 1);
    CHECK(run(local) == Strings{"0ms start 1/0", "0ms success 1/0", "local"});
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

TEST_CASE("providers are tried one at a time, in order, and no further than to the first answer", "[chain]") {
  const Router plan_router = [](Switchboard& board, const AttemptLog& log) {
    std::vector<planb::Step<std::size_t>> steps;
    for (std::size_t i = 0; i != board.size(); ++i) steps.push_back({.name = Switchboard::name(i), .provide = i});
    const ExecutionPlan<std::size_t> plan(std::move(steps));
    return planb::run_with_plan(plan, [&](std::size_t provider) { return board.call(provider); },
                                {.on_event = log, .failure = FailureStyle::original});
  };
  CHECK(broken_routes(plan_router) == Strings{});
}

TEST_CASE("the routing table tells a router of another kind from a fallback chain", "[chain]") {
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

TEST_CASE("a fallback never restarts the chain: each step is entered once", "[chain][field-3]") {
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

TEST_CASE("a step's last attempt is not followed by a wait", "[chain][field-4]") {
  const int attempts = GENERATE(1, 2, 3, 4, 5, 6);
  INFO(attempts << " attempts");
  VirtualClock clock;
  const AttemptLog log;
  const RunOptions options{.on_event = log, .clock = &clock};
  const planb::Step<FakeProvider> alpha{
      .name = "alpha", .provide = failing("alpha", 503), .attempts = attempts, .schedule = planb::spaced(10ms)};

  SECTION("alone") {
    CHECK_THROWS_AS(planb::run_with_plan(ExecutionPlan<FakeProvider>{alpha}, ask, options), planb::PlanExhausted);
    CHECK(clock.elapsed() == (attempts - 1) * 10ms);
  }
  SECTION("before another step, which starts at once") {
    const ExecutionPlan<FakeProvider> plan{alpha, {.name = "beta", .provide = FakeProvider("beta")}};
    CHECK(planb::run_with_plan(plan, ask, options) == "beta");
    CHECK(start_times(log).back() == (attempts - 1) * 10ms);
  }
  SECTION("where the schedule ends") {
    const ExecutionPlan<FakeProvider> plan{{.name = "alpha",
                                            .provide = failing("alpha", 503),
                                            .schedule = planb::up_to(planb::spaced(10ms), attempts - 1)}};
    CHECK_THROWS_AS(planb::run_with_plan(plan, ask, options), planb::PlanExhausted);
    CHECK(log.names().size() == static_cast<std::size_t>(attempts));
  }
  SECTION("in retry()") {
    const auto fail = [] { throw ProviderError(503); };
    CHECK_THROWS_AS(planb::retry({.attempts = attempts, .schedule = planb::spaced(10ms)}, fail, options),
                    ProviderError);
  }
  CHECK(clock.waits() == static_cast<std::size_t>(attempts - 1));
}

TEST_CASE("a wait of nothing is no wait", "[chain]") {
  VirtualClock clock;
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = failing("alpha", 503), .attempts = 4, .schedule = planb::spaced(0ms)},
      failing_step("beta", 503, 4)};
  CHECK_THROWS_AS(planb::run_with_plan(plan, ask, {.clock = &clock}), planb::PlanExhausted);
  CHECK(clock.waits() == 0);
}

TEST_CASE("delays run on to the step's end, and every step and run begins its own", "[chain][field-5]") {
  const std::optional<Duration> none;
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = failing("alpha", 503), .attempts = 4, .schedule = planb::exponential(100ms, 3)},
      {.name = "beta", .provide = failing("beta", 503), .attempts = 4, .schedule = planb::exponential(100ms, 1.5)}};
  for (int run = 0; run != 2; ++run) {
    VirtualClock clock;
    const AttemptLog log;
    CHECK_THROWS_AS(planb::run_with_plan(plan, ask, {.on_event = log, .clock = &clock}), planb::PlanExhausted);
    CHECK(decided_delays(log) ==
          std::vector<std::optional<Duration>>{100ms, 300ms, 900ms, none, 100ms, 150ms, 225ms, none});
    CHECK(start_times(log) == std::vector<Duration>{0ms, 100ms, 400ms, 1300ms, 1300ms, 1400ms, 1550ms, 1775ms});
  }
}

TEST_CASE("the same const plan run a thousand times: full attempts every time", "[chain][field-8]") {
  const FakeProvider alpha = failing("alpha", 503);
  const FakeProvider beta = failing("beta", 429);
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = alpha, .attempts = 2, .schedule = planb::exponential(20ms)},
      {.name = "beta", .provide = beta, .schedule = planb::up_to(planb::spaced(30ms), 2)}};
  const Strings expected{"0ms start 1/0",  "0ms failure 1/0 503",  "20ms start 2/0", "20ms failure 2/0 503",
                         "20ms start 3/1", "20ms failure 3/1 429", "50ms start 4/1", "50ms failure 4/1 429",
                         "80ms start 5/1", "80ms failure 5/1 429"};
  int different = 0;
  for (int run = 0; run != 1000; ++run) {
    VirtualClock clock;
    const AttemptLog log;
    const auto result = planb::try_run_with_plan(plan, ask, {.on_event = log, .clock = &clock});
    if (result.has_value() || story(log) != expected) ++different;
  }
  CHECK(different == 0);
  CHECK(alpha.calls() == 2000);
  CHECK(beta.calls() == 3000);
  CHECK(plan.size() == 2);
  CHECK(plan.steps()[0].attempts == 2);
  CHECK(plan.steps()[1].attempts == std::nullopt);
}

TEST_CASE("a predicate that says retry still gets the schedule's delay", "[chain][field-9]") {
  VirtualClock clock;
  const AttemptLog log;
  const ExecutionPlan<FakeProvider> plan{{.name = "alpha",
                                          .provide = failing("alpha", 400),
                                          .attempts = 3,
                                          .schedule = planb::exponential(40ms),
                                          .retry_while = [](const planb::Cause&) { return true; }}};
  CHECK_THROWS_AS(planb::run_with_plan(plan, ask, {.on_event = log, .clock = &clock}), planb::PlanExhausted);
  CHECK(start_times(log) == std::vector<Duration>{0ms, 40ms, 120ms});
}

TEST_CASE("errors reach predicates in order, each the latest one", "[chain][field-26]") {
  std::vector<int> alpha_asked;
  std::vector<int> beta_asked;
  std::vector<int> gamma_entered;
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha",
       .provide = FakeProvider("alpha", {Behaviour::status(500), Behaviour::status(502), Behaviour::status(503)}),
       .attempts = 3,
       .retry_while = [&](const ProviderError& e) { return alpha_asked.push_back(e.status), true; }},
      {.name = "beta",
       .provide = FakeProvider("beta", {Behaviour::status(429), Behaviour::status(400)}),
       .attempts = 5,
       .retry_while =
           [&](const planb::Cause& cause) {
             beta_asked.push_back(cause.status().value_or(0));
             return cause.status() != 400;
           }},
      {.name = "gamma", .provide = FakeProvider("gamma"), .enter_when = [&](const ProviderError& e) {
         return gamma_entered.push_back(e.status), true;
       }}};

  SECTION("thrown") {
    CHECK(planb::run_with_plan(plan, ask) == "gamma");
    CHECK(alpha_asked == std::vector{500, 502, 503});
    CHECK(beta_asked == std::vector{429, 400});
    CHECK(gamma_entered == std::vector{400});
  }
  SECTION("and each attempt can see the failure before it") {
    std::vector<int> previous;
    planb::run_with_plan(plan, [&](const FakeProvider& provider, const planb::Attempt& attempt) {
      previous.push_back(attempt.previous() != nullptr ? attempt.previous()->status().value_or(-1) : 0);
      return provider.complete();
    });
    CHECK(previous == std::vector{0, 500, 502, 503, 429, 400});
  }
}

TEST_CASE("returned errors reach predicates in order, each the latest one", "[chain][field-26]") {
  std::vector<int> asked;
  const ExecutionPlan<int> plan{
      {.name = "alpha", .provide = 0, .attempts = 4, .retry_while = [&](const Refused& refused) {
         return asked.push_back(refused.status), refused.status != 503;
       }}};
  int status = 500;
  const Answer answer =
      planb::run_with_plan(plan, [&](int) { return Answer(Refused{status++}); }, {.failure = FailureStyle::original});
  CHECK(asked == std::vector{500, 501, 502, 503});
  CHECK(answer.error().status == 503);
}

namespace {

// Writes down waits, between whatever else is written down.
class RecordingClock final : public planb::Clock {
 public:
  explicit RecordingClock(Strings& record) : record_(record) {}

  [[nodiscard]] planb::TimePoint now() const override { return clock_.now(); }
  void sleep_until(planb::TimePoint due, planb::StopToken stop) override {
    record_.push_back("wait " + ms(due - now()));
    clock_.sleep_until(due, stop);
  }

 private:
  Strings& record_;
  VirtualClock clock_;
};

// A context that neither moves nor copies, and writes down its life.
class Connection {
 public:
  explicit Connection(Strings& record) : record_(record) { record_.push_back("open"); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { record_.push_back("close"); }

 private:
  Strings& record_;
};

}  // namespace

TEST_CASE("a context is gone before its attempt's terminal event, and so before any wait", "[chain][field-31]") {
  Strings record;
  RecordingClock clock(record);
  const auto make = [&]() -> Connection { return Connection(record); };
  const ExecutionPlan<Connection> plan{
      {.name = "alpha", .provide = make, .attempts = 2, .schedule = planb::spaced(10ms)},
      {.name = "beta", .provide = make}};
  const RunOptions quiet{.clock = &clock};
  RunOptions telling = quiet;
  telling.on_event = planb::overloaded{[&](const planb::AttemptStart&) { record.push_back("start"); },
                                       [&](const planb::AttemptSuccess&) { record.push_back("success"); },
                                       [&](const planb::AttemptFailure&) { record.push_back("failure"); }};
  const Strings told{"start", "open",  "call",    "close", "failure", "wait 10ms", "start", "open",
                     "call",  "close", "failure", "start", "open",    "call",      "close", "success"};
  Strings untold = told;
  untold.erase(std::remove_if(untold.begin(), untold.end(),
                              [](const std::string& s) { return s == "start" || s == "failure" || s == "success"; }),
               untold.end());

  SECTION("of thrown errors") {
    const auto call = [&](Connection&, const planb::Attempt& attempt) {
      record.push_back("call");
      if (attempt.attempt < 3) throw ProviderError(503);
      return attempt.attempt;
    };
    CHECK(planb::run_with_plan(plan, call, telling) == 3);
    CHECK(record == told);
    record.clear();
    CHECK(planb::run_with_plan(plan, call, quiet) == 3);
    CHECK(record == untold);
    record.clear();
    CHECK(planb::try_run_with_plan(plan, call, telling).has_value());
    CHECK(record == told);
  }
  SECTION("of returned errors") {
    const auto call = [&](Connection&, const planb::Attempt& attempt) {
      record.push_back("call");
      return attempt.attempt < 3 ? Answer(Refused{503}) : Answer("done");
    };
    CHECK(*planb::run_with_plan(plan, call, telling) == "done");
    CHECK(record == told);
  }
  SECTION("of refused values") {
    const auto call = [&](Connection&, const planb::Attempt& attempt) {
      return record.push_back("call"), attempt.attempt;
    };
    const auto checked = planb::accepting(call, [](int value) { return value == 3; });
    CHECK(planb::run_with_plan(plan, checked, telling) == 3);
    CHECK(record == told);
  }
}

TEST_CASE("without options, too, a context is gone before the next one is made", "[chain][field-31]") {
  Strings record;
  const auto make = [&]() -> Connection { return Connection(record); };
  const ExecutionPlan<Connection> plan{{.name = "alpha", .provide = make, .attempts = 2},
                                       {.name = "beta", .provide = make}};
  planb::run_with_plan(plan, [&](Connection&, const planb::Attempt& attempt) {
    record.push_back("call");
    if (attempt.attempt < 3) throw ProviderError(503);
  });
  CHECK(record == Strings{"open", "call", "close", "open", "call", "close", "open", "call", "close"});
}

TEST_CASE("each attempt gets a fresh context, whatever the last one left of its own", "[chain][field-29]") {
  const auto take_and_fail = [](std::string& context, const planb::Attempt& attempt) {
    const std::string taken = std::move(context);
    context = "spoilt";
    if (attempt.attempt < 4) throw ProviderError(503);
    return taken;
  };
  int built = 0;
  const ExecutionPlan<std::string> plan{
      {.name = "ready value", .provide = std::string("a ready value"), .attempts = 2},
      {.name = "factory", .provide = [&] { return "built " + std::to_string(++built); }, .attempts = 2}};
  CHECK(planb::run_with_plan(plan, take_and_fail) == "built 2");
  CHECK(planb::run_with_plan(plan, [](std::string& context) { return std::move(context); }) == "a ready value");

  Strings seen;
  const ExecutionPlan<std::string> ready{{.name = "ready", .provide = std::string("a ready value"), .attempts = 3}};
  CHECK_THROWS_AS(planb::run_with_plan(ready,
                                       [&](std::string& context) {
                                         seen.push_back(std::move(context));
                                         context = "spoilt";
                                         throw ProviderError(503);
                                       }),
                  planb::PlanExhausted);
  CHECK(seen == Strings{"a ready value", "a ready value", "a ready value"});
}

TEST_CASE("a factory that hands out move-only contexts builds one for each attempt", "[chain][field-29]") {
  int built = 0;
  const ExecutionPlan<std::unique_ptr<int>> plan{
      {.name = "alpha", .provide = [&] { return std::make_unique<int>(++built); }, .attempts = 3}};
  std::vector<int> taken;
  CHECK_THROWS_AS(planb::run_with_plan(plan,
                                       [&](std::unique_ptr<int>& context) {
                                         const std::unique_ptr<int> mine = std::move(context);
                                         taken.push_back(*mine);
                                         throw ProviderError(503);
                                       }),
                  planb::PlanExhausted);
  CHECK(taken == std::vector{1, 2, 3});
}

namespace {

// Must be called where it stands: neither copied nor moved, and never as an rvalue.
struct Prompt {
  explicit Prompt(std::string t) : text(std::move(t)) {}
  Prompt(const Prompt&) = delete;
  Prompt& operator=(const Prompt&) = delete;

  std::string operator()(const FakeProvider& provider) & {
    ++calls;
    return provider.complete(text);
  }
  std::string operator()(const FakeProvider&) && = delete;

  std::string text;
  int calls = 0;
};

}  // namespace

TEST_CASE("what the callable captured is never touched: not copied, not moved, the same at every call",
          "[chain][field-30]") {
  const FakeProvider alpha("alpha", {Behaviour::status(503), Behaviour::status(500), Behaviour::value("done")});
  const ExecutionPlan<FakeProvider> plan{{.name = "alpha", .provide = alpha, .attempts = 3}};
  const AttemptLog log;
  const Strings thrice{"a prompt", "a prompt", "a prompt"};

  SECTION("an lvalue") {
    Prompt prompt("a prompt");
    CHECK(planb::run_with_plan(plan, prompt) == "done");
    CHECK(prompt.text == "a prompt");
    CHECK(prompt.calls == 3);
    CHECK(alpha.prompts() == thrice);
  }
  SECTION("with options") {
    Prompt prompt("a prompt");
    CHECK(planb::run_with_plan(plan, prompt, {.on_event = log}) == "done");
    CHECK(prompt.calls == 3);
    CHECK(alpha.prompts() == thrice);
  }
  SECTION("a temporary") {
    CHECK(planb::run_with_plan(plan, Prompt("a prompt"), {.on_event = log}) == "done");
    CHECK(alpha.prompts() == thrice);
  }
  SECTION("what a lambda captured by value") {
    const auto call = [text = std::string("a prompt")](const FakeProvider& provider) {
      return provider.complete(text);
    };
    CHECK(planb::run_with_plan(plan, call, {.on_event = log}) == "done");
    CHECK(alpha.prompts() == thrice);
  }
}

TEST_CASE("a schedule of one's own sees each failure and decides", "[chain]") {
  Strings asked;
  const Schedule schedule = Schedule::from("mine", [&](const planb::ScheduleInput& input) -> std::optional<Duration> {
    asked.push_back(std::to_string(input.attempt) + " at " + ms(input.now.time_since_epoch()) + ", after " +
                    ms(input.elapsed) + ", previous " + ms(input.previous_delay) + ", " +
                    std::to_string(input.cause.status().value_or(0)));
    if (input.attempt == 3) return -5ms;
    if (input.attempt == 4) return std::nullopt;
    return input.attempt * 10ms;
  });
  VirtualClock clock;
  clock.advance(7ms);
  const AttemptLog log;
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha",
       .provide = FakeProvider(
           "alpha", {Behaviour::status(500), Behaviour::status(501), Behaviour::status(502), Behaviour::status(503)}),
       .schedule = schedule},
      {.name = "beta", .provide = FakeProvider("beta")}};
  CHECK(planb::run_with_plan(plan, ask, {.on_event = log, .clock = &clock}) == "beta");
  CHECK(asked == Strings{"1 at 7ms, after 0ms, previous 0ms, 500", "2 at 17ms, after 10ms, previous 10ms, 501",
                         "3 at 37ms, after 30ms, previous 20ms, 502", "4 at 37ms, after 30ms, previous 0ms, 503"});
  CHECK(start_times(log) == std::vector<Duration>{7ms, 17ms, 37ms, 37ms, 37ms});
  CHECK(log.of<planb::AttemptFailure>().at(3).next.reason == planb::LeaveReason::schedule_ended);
}

namespace {

// An error that knows how many of its kind are alive.
class Tracked {
 public:
  explicit Tracked(int n) : number(n) { ++alive; }
  Tracked(const Tracked& other) noexcept : number(other.number) { ++alive; }
  Tracked& operator=(const Tracked&) noexcept = default;
  ~Tracked() { --alive; }

  int number;
  static inline int alive = 0;
};

class TrackedAnswer {
 public:
  explicit TrackedAnswer(int value) : value_(value) {}
  explicit TrackedAnswer(Tracked error) : error_(error) {}

  [[nodiscard]] bool has_value() const { return !error_.has_value(); }
  [[nodiscard]] int operator*() const { return value_; }
  [[nodiscard]] const Tracked& error() const { return *error_; }

 private:
  int value_ = 0;
  std::optional<Tracked> error_;
};

}  // namespace

TEST_CASE("hundreds of thousands of attempts in one step take no more room than two", "[chain]") {
  constexpr int many = 200'000;
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 0, .attempts = planb::unlimited},
                                {.name = "beta", .provide = 1}};
  int calls = 0;
  int most_alive = 0;
  std::uintptr_t lowest = UINTPTR_MAX;
  std::uintptr_t highest = 0;
  const auto call = [&](int) {
    most_alive = std::max(most_alive, Tracked::alive);
#if defined(__GNUC__)
    const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (calls != 0) {  // the first attempt of a run without options has a frame of its own
      lowest = std::min(lowest, frame);
      highest = std::max(highest, frame);
    }
#endif
    return ++calls < many ? TrackedAnswer(Tracked(calls)) : TrackedAnswer(calls);
  };

  SECTION("without options") { CHECK(*planb::run_with_plan(plan, call) == many); }
  SECTION("with options") {
    VirtualClock clock;
    CHECK(*planb::run_with_plan(plan, call, {.clock = &clock}) == many);
  }
  SECTION("with a report, which counts them") {
    const auto result = planb::try_run_with_plan(plan, call);
    REQUIRE(result.has_value());
    CHECK(result.report().attempts == many);
    CHECK(result.report().steps.size() == 1);
    CHECK(result.report().steps[0].attempts == many);
    CHECK(result.report().steps[0].cause->get_if<Tracked>()->number == many - 1);
  }
  SECTION("with a schedule, whose waits are virtual") {
    VirtualClock clock;
    const ExecutionPlan<int> patient{
        {.name = "alpha", .provide = 0, .attempts = planb::unlimited, .schedule = planb::spaced(1h)}};
    CHECK(*planb::run_with_plan(patient, call, {.clock = &clock}) == many);
    CHECK(clock.elapsed() == (many - 1) * 1h);
  }
  CHECK(calls == many);
  CHECK(most_alive <= 4);
#if defined(__GNUC__)
  CHECK(highest == lowest);
#endif
  CHECK(Tracked::alive == 0);
}

TEST_CASE("each step's schedule starts afresh, also where nobody watches", "[chain]") {
  const ExecutionPlan<int> plan{
      {.name = "alpha", .provide = 1, .attempts = 3, .schedule = planb::exponential(1s)},
      {.name = "beta", .provide = 2, .attempts = 3, .schedule = planb::exponential(10s)},
  };
  VirtualClock clock;
  CHECK_THROWS_AS(planb::run_with_plan(plan, [](int) { throw 42; }, {.clock = &clock}), planb::PlanExhausted);
  CHECK(clock.elapsed() == 1s + 2s + 10s + 20s);
}
