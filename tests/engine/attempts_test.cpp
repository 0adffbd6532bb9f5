// The attempts of a step, and the waits between them.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include "catch.hpp"
#include "chains.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using chains::Answer;
using chains::Refused;
using chains::Strings;
using chains::ask;
using chains::decided_delays;
using chains::failing;
using chains::failing_step;
using chains::ms;
using chains::start_times;
using chains::story;
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

}  // namespace

TEST_CASE("attempts count all calls of a step, and a schedule's end limits them too", "[field-1]") {
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

TEST_CASE("without options, too, attempts count all calls", "[field-1]") {
  const FakeProvider alpha = failing("alpha", 503);
  const FakeProvider beta = failing("beta", 500);
  const ExecutionPlan<FakeProvider> plan{{.name = "alpha", .provide = alpha, .attempts = 4},
                                         {.name = "beta", .provide = beta, .attempts = 2}};
  CHECK_THROWS_AS(planb::run_with_plan(plan, ask), planb::PlanExhausted);
  CHECK(alpha.calls() == 4);
  CHECK(beta.calls() == 2);
}

TEST_CASE("spaced(100ms) puts 100 ms between three attempts") {
  VirtualClock clock;
  const AttemptLog log;
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = failing("alpha", 503), .attempts = 3, .schedule = planb::spaced(100ms)}};
  CHECK_THROWS_AS(planb::run_with_plan(plan, ask, {.on_event = log, .clock = &clock}), planb::PlanExhausted);
  CHECK(start_times(log) == std::vector<Duration>{0ms, 100ms, 200ms});
  CHECK(clock.elapsed() == 200ms);
}

TEST_CASE("an endless schedule with attempts = 2 runs twice") {
  VirtualClock clock;
  const AttemptLog log;
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = failing("alpha", 503), .attempts = 2, .schedule = planb::forever()}};
  CHECK_THROWS_AS(planb::run_with_plan(plan, ask, {.on_event = log, .clock = &clock}), planb::PlanExhausted);
  CHECK(log.names() == std::vector{"alpha", "alpha"});
}

TEST_CASE("attempts = 5 with a predicate that says no: one call, then the next step") {
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

TEST_CASE("a step's last attempt is not followed by a wait", "[field-4]") {
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

TEST_CASE("a wait of nothing is no wait") {
  VirtualClock clock;
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = failing("alpha", 503), .attempts = 4, .schedule = planb::spaced(0ms)},
      failing_step("beta", 503, 4)};
  CHECK_THROWS_AS(planb::run_with_plan(plan, ask, {.clock = &clock}), planb::PlanExhausted);
  CHECK(clock.waits() == 0);
}

TEST_CASE("delays run on to the step's end, and every step and run begins its own", "[field-5]") {
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

TEST_CASE("the same const plan run a thousand times: full attempts every time", "[field-8]") {
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

TEST_CASE("a predicate that says retry still gets the schedule's delay", "[field-9]") {
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

TEST_CASE("errors reach predicates in order, each the latest one", "[field-26]") {
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

TEST_CASE("returned errors reach predicates in order, each the latest one", "[field-26]") {
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

TEST_CASE("a schedule of one's own sees each failure and decides") {
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

TEST_CASE("hundreds of thousands of attempts in one step take no more room than two") {
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

TEST_CASE("each step's schedule starts afresh, also where nobody watches") {
  const ExecutionPlan<int> plan{
      {.name = "alpha", .provide = 1, .attempts = 3, .schedule = planb::exponential(1s)},
      {.name = "beta", .provide = 2, .attempts = 3, .schedule = planb::exponential(10s)},
  };
  VirtualClock clock;
  CHECK_THROWS_AS(planb::run_with_plan(plan, [](int) { throw 42; }, {.clock = &clock}), planb::PlanExhausted);
  CHECK(clock.elapsed() == 1s + 2s + 10s + 20s);
}
