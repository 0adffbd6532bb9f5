// A broad use of runs, for the warnings that its compilation must not bring out. It says `ok`.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

using namespace std::chrono_literals;

namespace {

struct Client {
  int id = 0;
  std::string host;
};

struct Immovable {
  explicit Immovable(int n) : id(n) {}
  Immovable(const Immovable&) = delete;
  Immovable& operator=(const Immovable&) = delete;
  int id;
};

// An error type of the program's own, thrown and returned.
struct LlmError {
  int status = 0;
  std::string code;
  std::string message;
  std::optional<std::chrono::seconds> retry_after;
};

struct Large {
  int status = 503;
  char room[200] = {};
};

// An error that a failed run can be told in.
class Told {
 public:
  explicit Told(int number) : id_(number) {}
  explicit Told(const planb::PlanError& error) : id_(-1), text_(error.what()) {}
  [[nodiscard]] int status() const { return id_; }

 private:
  int id_;
  std::string text_;
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

// And StatusOr.
class Status {
 public:
  [[nodiscard]] bool ok() const { return code_ == 0; }
  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] std::string message() const { return "none"; }

 private:
  int code_ = 0;
};
class StatusOr {
 public:
  [[nodiscard]] bool ok() const { return status_.ok(); }
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] const std::string& operator*() const { return value_; }

 private:
  Status status_;
  std::string value_ = "answer";
};

int failures = 0;

void expect(bool holds, const std::source_location& where = std::source_location::current()) {
  if (holds) return;
  ++failures;
  std::printf("line %s\n", std::to_string(where.line()).c_str());
}

using Plan = planb::ExecutionPlan<Client>;

Plan chain() {
  return {
      {.name = "openai",
       .provide =
           [] {
             return Client{1, "openai.example"};
           },
       .attempts = 3,
       .schedule = planb::jittered(planb::capped(planb::exponential(100ms), 5s)),
       .retry_while = [](const LlmError& e) { return e.status == 429 || e.status >= 500; },
       .classify = planb::http_classifier<LlmError, Large>(planb::ContentRefusal::next_step)
                       .on_status(404, {.action = planb::Action::abort})
                       .on_code("quota_*", {.action = planb::Action::next_step, .alert = true})
                       .on_text("try another", {.action = planb::Action::next_step}),
       .max_wait = 10s,
       .timeout = 30s},
      {.name = "anthropic",
       .provide =
           [](const planb::Attempt& attempt) {
             return Client{attempt.attempt, "anthropic.example"};
           },
       .schedule = planb::delays({10ms, 20ms}),
       .retry_while = [](const planb::Cause& cause) { return cause.status() == 503; },
       .enter_when = [](const planb::Cause& cause) { return cause.kind() != planb::CauseKind::rejected; },
       .reserve = 1s},
      {.name = "local", .provide = Client{3, "local"}},
  };
}

void throwing_runs() {
  planb::testing::VirtualClock clock;
  planb::testing::AttemptLog log;
  const planb::RunOptions watched{.on_event = log, .budget = 1h, .clock = &clock, .seed = 1};
  int calls = 0;
  const auto fail_first = [&](Client& client, const planb::Attempt& attempt) {
    ++calls;
    if (attempt.attempt == 1) throw LlmError{503, {}, "overloaded", 1s};
    if (attempt.attempt == 2) throw planb::ProviderError(429, "slow down", "rate_limit");
    if (attempt.previous() != nullptr && attempt.previous()->status() == 1) throw 42;
    return client.host;
  };
  expect(!planb::run_with_plan(chain(), fail_first, watched).empty());
  const planb::RunOptions quiet{.clock = &clock};
  expect(!planb::run_with_plan(chain(), fail_first, quiet).empty());
  expect(calls == 6);
  expect(clock.elapsed() > 0s);
  expect(!log.names().empty() && !log.lines().empty());

  const Plan plain{{.name = "one", .provide = Client{1, "a"}},
                   {.name = "two", .provide = Client{2, "b"}, .attempts = 2}};
  expect(planb::run_with_plan(plain, &Client::id) == 1);
  int seen = 0;
  planb::run_with_plan(plain, [&](Client& client) {
    if (client.id == 1) throw std::runtime_error("down");
    seen = client.id;
  });
  expect(seen == 2);

  Client outside{7, "outside"};
  const planb::ExecutionPlan<Client&> shared{{.provide = outside}};
  expect(&planb::run_with_plan(shared, [](Client& client) -> Client& { return client; }) == &outside);
  const planb::ExecutionPlan<Immovable> built{{.provide = [] { return Immovable(5); }}};
  expect(planb::run_with_plan(built, [](Immovable& i) { return i.id; }) == 5);
  const planb::ExecutionPlan<std::unique_ptr<int>> owned{{.provide = [] { return std::make_unique<int>(5); }}};
  expect(*planb::run_with_plan(owned, [](std::unique_ptr<int>& p) { return std::move(p); }) == 5);
  const planb::ExecutionPlan<Client, int> open{{.provide = [](int& id) { return Client{id, "bound"}; }}};
  int id = 9;
  expect(planb::run_with_plan(open.capture_requirements(id), &Client::id) == 9);
  expect(planb::merge(chain(), plain).size() == 5);

  for (const planb::FailureStyle style : {planb::FailureStyle::aggregate, planb::FailureStyle::original}) {
    try {
      planb::run_with_plan(plain, [](Client&) -> int { throw std::runtime_error("down"); }, {.failure = style});
    } catch (const planb::PlanError& error) {
      expect(error.report().attempts == 3 && !error.report().to_string().empty());
    } catch (const std::runtime_error& error) {
      expect(std::string(error.what()) == "down");
    }
  }
}

void returning_runs() {
  const Plan plan = chain();
  planb::testing::VirtualClock clock;
  const planb::RunOptions options{.on_event = [](const planb::Event& event) { expect(!to_string(event).empty()); },
                                  .clock = &clock};
  const auto value = planb::run_with_plan(plan, [](Client& client) -> Outcome<int, Told> {
    if (client.id != 3) return Told(401);
    return client.id;
  });
  expect(value.has_value());
  const auto fault = planb::run_with_plan(
      plan,
      [](Client&) -> Outcome<std::string, LlmError> {
        return LlmError{401, {}, "no key", {}};
      },
      options);
  expect(!fault.has_value() && fault.error().status == 401);
  const auto large = planb::run_with_plan(
      plan, [](Client&) -> Outcome<int, Large> { return Large{}; }, options);
  expect(large.error().status == 503);
  const auto code = planb::run_with_plan(
      plan, [](Client&) -> Outcome<int, std::error_code> { return std::make_error_code(std::errc::timed_out); },
      options);
  expect(!code.has_value());
  const auto pointer = planb::run_with_plan(
      plan,
      [](Client&) -> Outcome<int, std::exception_ptr> { return std::make_exception_ptr(std::runtime_error("caught")); },
      options);
  expect(!pointer.has_value());
  const auto unique = planb::run_with_plan(
      plan, [](Client&) -> Outcome<std::unique_ptr<int>, std::string> { return std::make_unique<int>(1); });
  expect(unique.has_value());
  expect(*planb::run_with_plan(plan, [](Client&) { return StatusOr(); }) == "answer");

  const planb::ExecutionPlan<Client> factories{{.provide = [] { return Outcome<Client, Told>(Told(503)); }}};
  const auto failed = planb::try_run_with_plan(factories, [](Client& client) { return client.id; });
  expect(!failed.has_value() && !failed.error().report().to_string().empty());
}

void values() {
  const Plan plan = chain();
  planb::testing::VirtualClock clock;
  const planb::RunOptions options{.clock = &clock};
  const planb::PlanResult<std::string> text = planb::try_run_with_plan(plan, [](Client& c) { return c.host; });
  expect(text && text.value() == *text && text->size() == text.value().size());
  const planb::PlanResult<void> nothing = planb::try_run_with_plan(
      plan, [](Client&) {}, options);
  expect(nothing.has_value() && nothing.report().attempts == 1);
  int target = 0;
  planb::PlanResult<int&> reference = planb::try_run_with_plan(plan, [&](Client&) -> int& { return target; });
  expect(&reference.value() == &target);
  auto moved = planb::try_run_with_plan(
      plan, [](Client&) { return std::make_unique<int>(3); }, options);
  expect(*std::move(moved).value() == 3);
  const auto failed = planb::try_run_with_plan(
      plan,
      [](Client&) -> int {
        throw LlmError{503, {}, "down", {}};
      },
      options);
  try {
    static_cast<void>(failed.value());
  } catch (const planb::PlanExhausted& error) {
    expect(error.report().attempts > 2);
  }
  for (const planb::StepReport& step : failed.report().steps) {
    if (step.cause) expect(step.cause->get_if<LlmError>() != nullptr && !step.cause->message().empty());
  }

  const auto refused = planb::try_run_with_plan(
      plan, planb::accepting([](Client& c) { return c.id; }, [](int id) { return id == 3; }), options);
  expect(refused.has_value());
  const auto by_verdict = planb::try_run_with_plan(
      plan,
      planb::accepting(
          [](Client& c) { return c.host; },
          [](const std::string&) { return std::optional<planb::Verdict>({.action = planb::Action::abort}); }),
      options);
  expect(!by_verdict);
}

void one_resource() {
  planb::testing::VirtualClock clock;
  int calls = 0;
  expect(planb::retry({.attempts = 3, .schedule = planb::spaced(1s)},
                      [&] {
                        if (++calls < 3) throw std::runtime_error("down");
                        return calls;
                      },
                      {.clock = &clock}) == 3);
  calls = 0;
  auto answer = planb::retry({.attempts = 2, .retry_while = [](const Told& told) { return told.status() > 0; }},
                             [&](const planb::Attempt& attempt) -> Outcome<int, Told> {
                               if (attempt.attempt == 1) return Told(503);
                               return 1;
                             });
  expect(*answer == 1);
}

void schedules() {
  const planb::Schedule all[] = {
      planb::once(),
      planb::spaced(1s),
      planb::exponential(100ms, 1.5),
      planb::fibonacci(10ms),
      planb::linear(1s),
      planb::recurs(3),
      planb::delays({1s, 2s}),
      planb::decorrelated_jitter(1s, 1min),
      planb::concat(planb::recurs(1), planb::spaced(1s)),
      planb::both(planb::spaced(1s), planb::recurs(2)),
      planb::either(planb::spaced(1s), planb::recurs(2)),
      planb::up_to(planb::spaced(1s), 3),
      planb::up_to(planb::spaced(1s), 1min),
      planb::full_jitter(planb::spaced(0.5s)),
      planb::equal_jitter(planb::spaced(1s)),
      planb::add_delay(planb::spaced(1s), 1s),
      planb::modify_delay(planb::spaced(1s), [](planb::Duration d, const planb::ScheduleInput&) { return d * 2; }),
      planb::while_input(planb::spaced(1s), [](const LlmError& e) { return e.status == 503; }),
      planb::Schedule::from("own", [](const planb::ScheduleInput&) { return std::optional<planb::Duration>(1s); }),
  };
  expect(std::size(all) == 19);
  const auto read = planb::parse_schedule("exponential(100ms, 1.5)");
  expect(read.has_value() && to_string(*read) == "exponential(100ms, 1.5)");
  expect(!planb::parse_schedule("nonsense(").has_value());
  expect(planb::parse_retry_after("120", std::chrono::system_clock::now()).has_value());
}

void test_kit() {
  using planb::testing::Behaviour;
  planb::testing::VirtualClock clock;
  planb::testing::AttemptLog log;
  const planb::testing::FakeProvider alpha("alpha", {Behaviour::status(503), Behaviour::throws(LlmError{})}, &clock);
  const planb::testing::FakeProvider beta("beta", {Behaviour::status(429).retry_after(30s), Behaviour::value("hi")});
  const planb::ExecutionPlan<planb::testing::FakeProvider> plan{
      {.name = "alpha", .provide = alpha, .attempts = 2},
      {.name = "beta", .provide = beta, .attempts = 2},
  };
  const auto answer =
      planb::try_run_with_plan(plan, [](planb::testing::FakeProvider& provider) { return provider.complete("hello"); },
                               {.on_event = log, .clock = &clock});
  expect(answer && *answer == "hi" && log.of<planb::AttemptFailure>().size() == 3);
}

}  // namespace

int main() {
  throwing_runs();
  returning_runs();
  values();
  one_resource();
  schedules();
  test_kit();
  if (failures != 0) return EXIT_FAILURE;
  std::puts("ok");
  return EXIT_SUCCESS;
}
