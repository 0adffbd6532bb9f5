// Durations given as options: any unit, saturated, and the longest one is no limit. Whatever drives the run.
#include <planb/coro.hpp>
#include <planb/drive/task.hpp>
#include <planb/observe/explain.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <ratio>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace std::chrono_literals;
using planb::Attempt;
using planb::Duration;
using planb::ExecutionPlan;
using planb::OptionalDuration;
using planb::RunEnd;
using planb::SaturatedDuration;
using planb::testing::VirtualClock;

namespace {

constexpr Duration most = (Duration::max)();
constexpr Duration least = (Duration::min)();

template <class Rep>
constexpr Rep infinity = std::numeric_limits<Rep>::infinity();

static_assert(std::is_trivially_copyable_v<OptionalDuration> && std::is_trivially_copyable_v<SaturatedDuration>);
static_assert(sizeof(OptionalDuration) == sizeof(std::optional<Duration>));
static_assert(sizeof(SaturatedDuration) == sizeof(Duration));
static_assert(!std::is_constructible_v<OptionalDuration, int> && !std::is_convertible_v<int, SaturatedDuration>);

constexpr OptionalDuration made_by_the_compiler = (std::chrono::hours::max)();
static_assert(*made_by_the_compiler == most);

// Calls `check` with the longest of each unit, as an option and by name. `to` is 1 or -1: the longest or the shortest.
template <class Check>
void with_each_unit(int to, Check check) {
  const auto end = [&](auto d) {
    using D = decltype(d);
    return to > 0 ? (D::max)() : (D::min)();
  };
  using std::chrono::duration;
  check(end(std::chrono::hours()), "hours");
  check(end(std::chrono::minutes()), "minutes");
  check(end(std::chrono::seconds()), "seconds");
  check(end(std::chrono::milliseconds()), "milliseconds");
  check(end(std::chrono::microseconds()), "microseconds");
  check(end(std::chrono::nanoseconds()), "nanoseconds");
  check(end(std::chrono::years()), "years, of 32 or 64 bits");
  check(end(duration<std::int64_t, std::exa>()), "exaseconds");
  check(duration<double>(to * 1e30), "1e30 s");
  check(duration<float, std::milli>(static_cast<float>(to) * 1e30F), "1e30 ms as float");
  check(duration<double>(to * infinity<double>), "infinity");
  check(duration<long double, std::nano>(to * infinity<long double>), "infinity as long double");
}

// What a run came to.
struct Seen {
  RunEnd end = RunEnd::succeeded;
  int attempts = 0;
  bool limited = false;  // an attempt had a timeout or a deadline
  bool operator==(const Seen&) const = default;
};

struct Options {
  OptionalDuration budget = std::nullopt;
  OptionalDuration timeout = std::nullopt;
  OptionalDuration max_wait = std::nullopt;
  int failures = 1;  // attempts that fail with a wait hint of a minute or the schedule's of a second
  bool hint = false;
};

using Driver = Seen (*)(const Options&);

// The calls of a run, whatever drives it.
class Calls {
 public:
  Calls(const Options& options, Seen& seen) : options_(options), seen_(&seen) {}

  int operator()(int&, const Attempt& attempt) const { return (*this)(attempt); }
  int operator()(const Attempt& attempt) const {
    ++seen_->attempts;
    if (attempt.timeout() || attempt.deadline()) seen_->limited = true;
    if (seen_->attempts <= options_.failures) {
      throw planb::ProviderError(503, "busy", "", options_.hint ? OptionalDuration(2h) : OptionalDuration());
    }
    return 7;
  }

 private:
  Options options_;
  Seen* seen_;
};

ExecutionPlan<int> plan_of(const Options& o) {
  return ExecutionPlan<int>{{.name = "only",
                             .provide = 1,
                             .attempts = 3,
                             .schedule = planb::spaced(1s),
                             .max_wait = o.max_wait,
                             .timeout = o.timeout}};
}

template <class Run>
void guarded(Seen& seen, Run run) {
  try {
    run();
  } catch (const planb::PlanError& e) {
    seen.end = e.end();
  }
}

Seen by_call(const Options& o) {
  Seen seen;
  VirtualClock clock;
  guarded(seen, [&] { planb::run_with_plan(plan_of(o), Calls(o, seen), {.budget = o.budget, .clock = &clock}); });
  return seen;
}

Seen by_try(const Options& o) {
  Seen seen;
  VirtualClock clock;
  const auto result = planb::try_run_with_plan(plan_of(o), Calls(o, seen), {.budget = o.budget, .clock = &clock});
  seen.end = result.report().end;
  return seen;
}

Seen by_retry(const Options& o) {
  Seen seen;
  VirtualClock clock;
  const planb::RetryPolicy policy{
      .attempts = 3, .schedule = planb::spaced(1s), .max_wait = o.max_wait, .timeout = o.timeout};
  guarded(seen, [&] {
    planb::retry(policy, Calls(o, seen),
                 {.budget = o.budget, .clock = &clock, .failure = planb::FailureStyle::aggregate});
  });
  return seen;
}

Seen by_push(const Options& o) {
  Seen seen;
  VirtualClock clock;
  const Calls calls(o, seen);
  guarded(seen, [&] {
    planb::push_with_plan(
        plan_of(o), [&](int&, auto& emit, const Attempt& attempt) { emit(calls(attempt)); }, [](int) {},
        {.budget = o.budget, .clock = &clock});
  });
  return seen;
}

Seen by_pull(const Options& o) {
  Seen seen;
  VirtualClock clock;
  const Calls calls(o, seen);
  guarded(seen, [&] {
    for (const int item : planb::stream_with_plan(
             plan_of(o), [&](int&, const Attempt& attempt) { return std::vector<int>{calls(attempt)}; },
             {.budget = o.budget, .clock = &clock})) {
      CHECK(item == 7);
    }
  });
  return seen;
}

Seen by_hand(const Options& o) {
  Seen seen;
  VirtualClock clock;
  const Calls calls(o, seen);
  planb::PlanRun<int> run(plan_of(o), {.budget = o.budget, .clock = &clock});
  for (planb::RunPhase phase = run.next(); phase != planb::RunPhase::over; phase = run.next()) {
    if (phase == planb::RunPhase::wait) {
      clock.sleep_until(run.due(), {});
      continue;
    }
    try {
      calls(run.attempt());
      run.succeed();
    } catch (...) {
      run.fail(planb::Cause::current());
    }
  }
  seen.end = run.end();
  return seen;
}

Seen in_coroutine(const Options& o) {
  Seen seen;
  VirtualClock clock;
  const auto asks = [calls = Calls(o, seen)](int&, const Attempt& attempt) -> planb::Task<int> {
    co_return calls(attempt);
  };
  const auto sleep = [&clock](Duration time) -> planb::Task<> {
    clock.advance(time);
    co_return;
  };
  guarded(seen, [&] {
    planb::sync_wait(
        planb::co_run_with_plan<planb::Task<int>>(plan_of(o), asks, sleep, {.budget = o.budget, .clock = &clock}));
  });
  return seen;
}

constexpr std::array<std::pair<const char*, Driver>, 7> drivers{{{"run_with_plan", by_call},
                                                                 {"try_run_with_plan", by_try},
                                                                 {"retry", by_retry},
                                                                 {"a pushed stream", by_push},
                                                                 {"a pulled stream", by_pull},
                                                                 {"a run by hand", by_hand},
                                                                 {"a coroutine", in_coroutine}}};

template <class Make>
std::string refusal_of(Make make) {
  try {
    make();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("the longest duration of any unit is no limit, whatever drives the run", "[duration]") {
  with_each_unit(1, [](auto longest, const char* unit) {
    for (const auto& [name, drive] : drivers) {
      INFO(unit << ", " << name);
      const Seen unlimited{RunEnd::succeeded, 2, false};
      CHECK(drive({.budget = longest}) == unlimited);
      CHECK(drive({.timeout = longest}) == unlimited);
      CHECK(drive({.budget = longest, .timeout = longest, .max_wait = longest}) == unlimited);
      // Any wait is short enough, also a hint of hours, which is too long where there is no max_wait.
      CHECK(drive({.max_wait = longest, .hint = true}) == unlimited);
      CHECK(drive({.hint = true}) == Seen{RunEnd::exhausted, 1, false});
    }
  });
}

TEST_CASE("a limit that ends with time itself is none either", "[duration]") {
  for (const auto& [name, drive] : drivers) {
    INFO(name);
    CHECK(drive({.budget = 10s}) == Seen{RunEnd::succeeded, 2, true});
    CHECK(drive({.timeout = most - 1ns}) == Seen{RunEnd::succeeded, 2, true});  // the second begins a second later
  }
  VirtualClock clock;
  clock.advance(1h);
  const ExecutionPlan<int> plan{{.provide = 1, .timeout = most - 1ns}};
  CHECK(planb::run_with_plan(
      plan, [](int&, const Attempt& a) { return !a.timeout() && !a.deadline() && !a.stop_token().stop_requested(); },
      {.clock = &clock}));
}

TEST_CASE("the shortest duration of any unit is no time at all", "[duration]") {
  with_each_unit(-1, [](auto shortest, const char* unit) {
    INFO(unit);
    for (const auto& [name, drive] : drivers) {
      INFO(name);
      CHECK(drive({.budget = shortest}) == Seen{RunEnd::deadline, 0, false});
    }
    const auto refusal = [](planb::Step<int> step) {
      return refusal_of([&] { const ExecutionPlan<int> plan{std::move(step)}; });
    };
    CHECK(refusal({.provide = 1, .timeout = shortest}) ==
          "planb: step 0: `timeout` must be above zero; leave it out for no limit");
    CHECK(refusal({.provide = 1, .max_wait = shortest}) == "planb: step 0: `max_wait` is negative");
    CHECK(refusal({.provide = 1, .reserve = shortest}) == "planb: step 0: `reserve` is negative");
    CHECK(refusal_of([&] { planb::retry({.timeout = shortest}, [] {}); }) ==
          "planb: retry: `timeout` must be above zero; leave it out for no limit");
    CHECK(refusal_of([&] { planb::retry({.max_wait = shortest}, [] {}); }) == "planb: retry: `max_wait` is negative");
    CHECK(refusal_of([&] { static_cast<void>(planb::circuit_breaker({.window = shortest})); }) ==
          "planb: circuit breaker: `window` must be above zero; give the time to look back over");
    CHECK_FALSE(refusal_of([&] { static_cast<void>(planb::circuit_breaker({.open_for = shortest})); }).empty());
    CHECK_FALSE(refusal_of([&] { static_cast<void>(planb::circuit_breaker({.longest_hint = shortest})); }).empty());
  });
}

TEST_CASE("a negative duration keeps its sign in any unit", "[duration]") {
  CHECK(SaturatedDuration(-5s) == -5s);
  CHECK(OptionalDuration(-1500us) == -1500us);
  CHECK(SaturatedDuration(std::chrono::duration<std::int64_t, std::pico>(-2999)) == -2ns);
  CHECK(SaturatedDuration(std::chrono::duration<double>(-0.25)) == -250ms);
  CHECK(SaturatedDuration(std::chrono::duration<std::int8_t, std::ratio<1, 3>>(-1)) == -333'333'333ns);
}

TEST_CASE("a step whose limits are the longest duration is a step without them", "[duration]") {
  const ExecutionPlan<int> plain{{.name = "only", .provide = 1}};
  const ExecutionPlan<int> longest{{.name = "only", .provide = 1, .timeout = most, .first_timeout = most}};
  CHECK(to_string(planb::explain(longest)) == to_string(planb::explain(plain)));
}

TEST_CASE("what is not a number is zero", "[duration]") {
  const std::chrono::duration<double> nan{std::numeric_limits<double>::quiet_NaN()};
  CHECK(SaturatedDuration(nan) == 0ns);
  CHECK(OptionalDuration(nan) == 0ns);
  for (const auto& [name, drive] : drivers) {
    INFO(name);
    CHECK(drive({.budget = nan}) == Seen{RunEnd::deadline, 0, false});
  }
  CHECK_FALSE(refusal_of([&] { const ExecutionPlan<int> plan{{.provide = 1, .timeout = nan}}; }).empty());
}

TEST_CASE("a reserve of the longest duration leaves nothing to the steps before it", "[duration]") {
  with_each_unit(1, [](auto longest, const char* unit) {
    INFO(unit);
    const auto runs_in = [&](OptionalDuration budget) {
      VirtualClock clock;
      const ExecutionPlan<std::string> plan{{.provide = "first"}, {.provide = "second", .reserve = longest}};
      return planb::run_with_plan(plan, [](std::string& s) { return s; }, {.budget = budget, .clock = &clock});
    };
    CHECK(runs_in(1h) == "second");
    CHECK(runs_in(std::nullopt) == "first");
    CHECK(runs_in(longest) == "first");
  });
}

TEST_CASE("a breaker takes the longest durations", "[duration]") {
  with_each_unit(1, [](auto longest, const char* unit) {
    INFO(unit);
    VirtualClock clock;
    const auto breaker = planb::circuit_breaker(
        {.failure_ratio = 0.5, .minimum_calls = 2, .window = longest, .open_for = longest, .longest_hint = longest});
    const auto fails = [&] {
      planb::Admission admission = breaker->admit(clock.now());
      REQUIRE(admission.permit);
      admission.permit->failed(planb::Cause::of(planb::ProviderError(503, "busy", "", longest)), clock.now());
    };
    fails();
    clock.advance(24h * 365);  // within the window still
    fails();
    CHECK(breaker->state(clock.now()) == planb::CircuitState::open);
    clock.advance(24h * 365 * 100);
    CHECK(breaker->state(clock.now()) == planb::CircuitState::open);
  });
}

TEST_CASE("the test kit and errors take the longest durations", "[duration]") {
  with_each_unit(1, [](auto longest, const char* unit) {
    INFO(unit);
    planb::ProviderError error(503, "busy", "", longest);
    CHECK(error.retry_after == most);
    error.retry_after = longest;
    CHECK(planb::Cause::of(error).retry_after() == most);
    VirtualClock clock;
    clock.advance(longest);
    CHECK(clock.elapsed() == most);
  });
  with_each_unit(-1, [](auto shortest, const char* unit) {
    INFO(unit);
    CHECK(planb::Cause::of(planb::ProviderError(503, "busy", "", shortest)).retry_after() == 0ns);
    VirtualClock clock;
    clock.advance(shortest);
    CHECK(clock.elapsed() == 0ns);
  });
}

TEST_CASE("an option reads like the optional or the duration that it holds", "[duration]") {
  OptionalDuration option;
  CHECK_FALSE(option.has_value());
  CHECK_FALSE(static_cast<bool>(option));
  CHECK(option == std::nullopt);
  CHECK(option == std::optional<Duration>());
  CHECK(std::optional<std::chrono::seconds>() == option);
  CHECK(option.value_or(5s) == 5s);
  CHECK(option.value_or((std::chrono::hours::max)()) == most);
  CHECK_THROWS_AS(option.value(), std::bad_optional_access);
  CHECK(option < 0s);
  CHECK(OptionalDuration(0s) > option);
  CHECK_FALSE(OptionalDuration(0s) < option);

  option = 5s;
  CHECK(*option == 5s);
  CHECK(option->count() == 5'000'000'000);
  CHECK(std::as_const(option)->count() == 5'000'000'000);
  CHECK(option.value() == 5s);
  CHECK(option.value_or(1s) == 5s);
  CHECK(option == 5s);
  CHECK(5000ms == option);
  CHECK(option != 6s);
  CHECK(option != std::nullopt);
  CHECK(option == std::optional(5s));
  CHECK(option != std::optional(6s));
  CHECK(option != std::optional<Duration>());
  CHECK(option < 6s);
  CHECK(option >= OptionalDuration(5s));
  *option += 1s;
  const std::optional<Duration> copy = option;
  CHECK(copy == Duration(6s));
  option.reset();
  CHECK(option == std::nullopt);
  option = copy;
  CHECK(option == copy);
  option = std::nullopt;
  CHECK_FALSE(option.has_value());
  option = std::optional(1.5h);
  CHECK(option == 90min);

  SaturatedDuration span;
  CHECK(span == 0s);
  span = 5s;
  CHECK(span + 1s == 6s);
  CHECK(span < 1min);
  const Duration plain = span;
  CHECK(plain == 5s);
  CHECK(SaturatedDuration(std::chrono::duration<double>(0.25)) == 250ms);
}
