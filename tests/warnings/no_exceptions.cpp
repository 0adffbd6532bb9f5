// The same for a build without exceptions and RTTI, where errors are returned. It says `ok`.
#include <planb/coro.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace std::chrono_literals;

namespace {

struct Fault {
  Fault(int number, std::string text) : status(number), message(std::move(text)) {}
  explicit Fault(const planb::PlanError& error) : message(error.what()) {}

  int status = 0;
  std::string message;
};

// What std::expected looks like.
template <class T, class E>
class Outcome {
 public:
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Outcome(E error) : state_(std::in_place_index<1>, std::move(error)) {}
  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  [[nodiscard]] E& error() & { return std::get<1>(state_); }
  [[nodiscard]] const E& error() const& { return std::get<1>(state_); }
  [[nodiscard]] E&& error() && { return std::get<1>(std::move(state_)); }
  [[nodiscard]] T& operator*() & { return std::get<0>(state_); }
  [[nodiscard]] T&& operator*() && { return std::get<0>(std::move(state_)); }

 private:
  std::variant<T, E> state_;
};
using Answer = Outcome<std::string, Fault>;

struct Model {
  int id = 0;
  std::vector<std::string> tokens = {"a", "b"};
};

int failures = 0;

void expect(bool holds, const std::source_location& where = std::source_location::current()) {
  if (holds) return;
  ++failures;
  std::printf("line %s\n", std::to_string(where.line()).c_str());
}

planb::ExecutionPlan<Model> models() {
  return {
      {.name = "alpha",
       .provide = Model{1},
       .attempts = 2,
       .schedule = planb::exponential(1ms),
       .retry_while = [](const Fault& fault) { return fault.status == 503; },
       .classify = planb::http_classifier<Fault>(planb::ContentRefusal::next_step)},
      {.name = "beta",
       .provide = [] { return Outcome<Model, Fault>(Model{2}); },
       .gate = planb::circuit_breaker({.failure_threshold = 3})},
  };
}

Answer ask(Model& model) {
  if (model.id == 1) return Fault(503, "down");
  return std::string("answer");
}

void runs() {
  planb::testing::VirtualClock clock;
  planb::testing::AttemptLog log;
  const planb::RunOptions options{.on_event = log, .clock = &clock};
  expect(planb::run_with_plan(models(), ask, options).has_value());
  const Answer down = planb::run_with_plan(
      models(), [](Model&) -> Answer { return Fault(503, "down"); }, options);
  expect(!down.has_value() && !down.error().message.empty());
  const auto tried = planb::try_run_with_plan(
      models(), planb::accepting(ask, [](const std::string& s) { return s.empty(); }), options);
  expect(!tried && !tried.error().report().to_string().empty());
  const auto number = planb::try_run_with_plan(models(), [](Model& model) { return model.id; });
  expect(number && *number == 1);
  expect(planb::retry({.attempts = 2}, [](const planb::Attempt& attempt) -> Answer {
           if (attempt.attempt == 1) return Fault(503, "down");
           return std::string("answer");
         }).has_value());
  expect(!planb::ExecutionPlan<int>::make({{.provide = 1, .attempts = 0}}).has_value());
}

void streams() {
  planb::testing::VirtualClock clock;
  std::string screen;
  const Outcome<int, Fault> pushed = planb::push_with_plan(
      models(),
      [](Model& model, auto& emit) -> Outcome<int, Fault> {
        for (const std::string& token : model.tokens) emit(token);
        if (model.id == 1) return Fault(503, "broke off");
        return model.id;
      },
      [&](const std::string& token) { screen += token; }, {.clock = &clock});
  expect(pushed.has_value() && screen == "ababab");
  auto stream = planb::stream_with_plan(
      models(), [](Model & model) -> auto& { return model.tokens; });
  for (const std::string& token : stream) screen += token;
  expect(screen == "abababab" && stream.error() == nullptr);
}

void other_drivers() {
  planb::testing::VirtualClock clock;
  const auto nap = [&](planb::Duration time) -> planb::Task<> {
    clock.advance(time);
    co_return;
  };
  const auto call = [](Model& model) -> planb::Task<Answer> { co_return ask(model); };
  expect(planb::sync_wait(planb::co_run_with_plan<planb::Task<Answer>>(models(), call, nap, {.clock = &clock}))
             .has_value());

  planb::PlanRun<Model> run(models(), {.clock = &clock});
  for (planb::RunPhase phase = run.next(); phase != planb::RunPhase::over; phase = run.next()) {
    if (phase == planb::RunPhase::wait) {
      clock.sleep_until(run.due(), {});
      continue;
    }
    planb::ContextSlot<Model> model;
    if (!run.provide(model)) continue;
    Answer answer = ask(*model);
    model.reset();
    if (answer.has_value()) {
      run.succeed();
    } else {
      run.fail(planb::Cause::of(std::move(answer).error()));
    }
  }
  expect(run.end() == planb::RunEnd::succeeded);
}

}  // namespace

int main() {
  runs();
  streams();
  other_drivers();
  if (failures != 0) return EXIT_FAILURE;
  std::puts("ok");
  return EXIT_SUCCESS;
}
