// A broad use of streams, coroutines, runs by hand and gates, for the warnings that its compilation must not bring out.
// It says `ok`.
#include <planb/coro.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace {

struct Model {
  std::vector<std::string> tokens;
  bool breaks_off = false;

  template <class Emit>
  void stream(Emit& emit) const {
    for (const std::string& token : tokens) {
      if (!emit(token)) return;
    }
    if (breaks_off) throw planb::ProviderError(503, "connection lost");
  }
};

struct Token {
  std::string text;
};

struct RateLimit final : planb::Gate {
  [[nodiscard]] planb::Admission admit(const planb::GateRequest& request) override {
    if (left-- > 0) return planb::Permit(*this, 1);
    return planb::GateRefusal{request.now + std::chrono::seconds(1)};
  }
  [[nodiscard]] planb::TimePoint opens_at(const planb::GateRequest& request) const override { return request.now; }
  int left = 1;

 private:
  void on_outcome(std::uint64_t, const planb::GateOutcome&) override {}
  void on_dropped(std::uint64_t, bool) noexcept override { ++left; }
};

int failures = 0;

void expect(bool holds, const std::source_location& where = std::source_location::current()) {
  if (holds) return;
  ++failures;
  std::printf("line %s\n", std::to_string(where.line()).c_str());
}

planb::ExecutionPlan<Model> models() {
  return {
      {.name = "alpha", .provide = Model{{"1", "2"}, true}, .attempts = 2, .schedule = planb::spaced(1s)},
      {.name = "beta", .provide = Model{{"1", "2", "3"}}},
  };
}

void pushed() {
  planb::testing::VirtualClock clock;
  std::string screen;
  planb::push_with_plan(
      models(), [](Model& model, auto& emit) { model.stream(emit); },
      [&](const std::string& token) { screen += token; },
      {.on_event = [&](const planb::Event& event) { expect(!to_string(event).empty()); }, .clock = &clock});
  expect(screen == "1212123");
  std::size_t count = 0;
  const std::size_t length = planb::push_with_plan(models(),
                                                   planb::committing(
                                                       [](Model& model, auto& emit, const planb::Attempt& attempt) {
                                                         if (attempt.step_index == 0)
                                                           throw planb::ProviderError(503, "down");
                                                         model.stream(emit);
                                                         return model.tokens.size();
                                                       },
                                                       [](const std::string& token) { return token == "3"; }, 8),
                                                   [&](const std::string&) { return ++count < 3; },
                                                   {.clock = &clock, .partial = planb::PartialStream::prevent_retry});
  expect(length == 3 && count == 3);
}

void pulled() {
  planb::testing::VirtualClock clock;
  std::string screen;
  for (const std::string& token :
       planb::stream_with_plan(models(), [](Model & model) -> auto& { return model.tokens; }, {.clock = &clock})) {
    screen += token;
  }
  expect(screen == "12");
  const planb::ExecutionPlan<std::vector<Token>> plan{{.provide = std::vector<Token>{{"a"}, {"b"}}}};
  auto stream = planb::stream_with_plan(plan, [](std::vector<Token>& tokens) { return std::move(tokens); });
  for (Token& token : stream) screen += token.text;
  expect(screen == "12ab" && stream.error() == nullptr && stream.report().delivered == 2);
  std::size_t held = 0;
  for (const Token& token :
       planb::stream_with_plan(plan, planb::committing(
                                         [](std::vector<Token> & tokens) -> auto& { return tokens; },
                                         [](const Token& token) { return token.text == "b"; }, 4))) {
    held += token.text.size();
  }
  expect(held == 2);
}

planb::Task<> sleep_for(planb::testing::VirtualClock& clock, planb::Duration time) {
  clock.advance(time);
  co_return;
}

void awaited() {
  planb::testing::VirtualClock clock;
  const auto nap = [&](planb::Duration time) { return sleep_for(clock, time); };
  const planb::RunOptions options{.on_event = [](const planb::AttemptFailure&) {}, .clock = &clock};
  const auto size = [](Model& model, const planb::Attempt& attempt) -> planb::Task<std::size_t> {
    if (attempt.attempt == 1) throw planb::ProviderError(429, "slow down");
    co_return model.tokens.size();
  };
  expect(planb::sync_wait(planb::co_run_with_plan<planb::Task<std::size_t>>(models(), size, nap, options)) == 2);
  expect(planb::sync_wait(planb::co_run_with_plan<planb::Task<std::size_t>>(
             models(), planb::accepting(size, [](std::size_t n) { return n == 3; }), nap, options)) == 3);
  planb::sync_wait(planb::co_run_with_plan<planb::Task<>>(
      models(), [](Model&) -> planb::Task<> { co_return; }, nap));
  expect(planb::sync_wait(planb::co_run_with_plan<planb::Task<std::unique_ptr<int>>>(
             models(), [](Model&) -> planb::Task<std::unique_ptr<int>> { co_return std::make_unique<int>(1); }, nap)) !=
         nullptr);
}

void by_hand() {
  planb::testing::VirtualClock clock;
  planb::PlanRun<Model> run(models(), {.on_event = [](const planb::StepSkipped&) {}, .clock = &clock});
  std::string answer;
  for (planb::RunPhase phase = run.next(); phase != planb::RunPhase::over; phase = run.next()) {
    if (phase == planb::RunPhase::wait) {
      clock.sleep_until(run.due(), {});
      continue;
    }
    planb::ContextSlot<Model> model;
    if (!run.provide(model)) continue;
    const bool broken = model->breaks_off;
    if (!broken) answer = model->tokens.back();
    model.reset();
    if (broken) {
      run.fail(planb::Cause::of(planb::ProviderError(503, "broke off")),
               planb::Verdict{.action = planb::Action::retry});
    } else {
      run.succeed();
    }
  }
  expect(answer == "3" && run.end() == planb::RunEnd::succeeded && run.report().attempts == 3);
}

void gates() {
  planb::testing::VirtualClock clock;
  int changes = 0;
  const auto breaker = planb::circuit_breaker(
      {.failure_threshold = 2,
       .failure_ratio = 0.5,
       .open_for = [](int openings) { return openings * 10s; },
       .counts_as_failure = [](const planb::ProviderError& error) { return error.status >= 500; },
       .on_change = [&](const planb::CircuitChange&) { ++changes; }});
  const planb::ExecutionPlan<int> plan{
      {.name = "guarded", .provide = 1, .attempts = 3, .gate = breaker},
      {.name = "limited", .provide = 2, .gate = std::make_shared<RateLimit>()},
      {.name = "open", .provide = 3},
  };
  const auto call = [](int& id) {
    if (id == 1) throw planb::ProviderError(503, "down");
    return id;
  };
  expect(planb::run_with_plan(plan, call, {.clock = &clock}) == 2);
  expect(planb::run_with_plan(plan, call, {.clock = &clock}) == 3);
  expect(breaker->state() == planb::CircuitState::open && changes == 1);
  breaker->reset();
  breaker->force_open(clock.now() + 1s, clock.now());
  expect(breaker->opens_at(clock.now()) == clock.now() + 1s);
}

}  // namespace

int main() {
  pushed();
  pulled();
  awaited();
  by_hand();
  gates();
  if (failures != 0) return EXIT_FAILURE;
  std::puts("ok");
  return EXIT_SUCCESS;
}
