#include <planb/schedule/combinators.hpp>
#include <planb/schedule/jitter.hpp>
#include <planb/schedule/leaves.hpp>

#include "catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using planb::Cause;
using planb::Duration;
using planb::Schedule;
using planb::ScheduleInput;
using planb::ScheduleRun;
using planb::TimePoint;
using Delays = std::vector<Duration>;

constexpr Duration longest = (Duration::max)();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// A run in which every attempt takes as long as it is told to, and every wait exactly its delay.
class Stepper {
 public:
  explicit Stepper(const Schedule& schedule, std::optional<std::uint64_t> seed = {}) : run_(schedule, seed) {}

  std::optional<Duration> next(Duration attempt = 0ns, const Cause& cause = {}) {
    now_ = planb::detail::add(now_, attempt);
    const std::optional<Duration> delay = run_.next(now_, cause);
    if (delay) now_ = planb::detail::add(now_, *delay);
    return delay;
  }

 private:
  ScheduleRun run_;
  TimePoint now_{1h};
};

// The delays of a run, all of them or the first so many, where each attempt takes `attempt`.
Delays delays_of(const Schedule& schedule, std::size_t most = 100, Duration attempt = 0ns,
                 std::optional<std::uint64_t> seed = {}) {
  Stepper run(schedule, seed);
  Delays delays;
  while (delays.size() < most) {
    const std::optional<Duration> delay = run.next(attempt);
    if (!delay) break;
    delays.push_back(*delay);
  }
  return delays;
}

// The delays of a run whose attempts take these times.
Delays delays_after(const Schedule& schedule, const Delays& attempts) {
  Stepper run(schedule);
  Delays delays;
  for (const Duration attempt : attempts) {
    const std::optional<Duration> delay = run.next(attempt);
    if (!delay) break;
    delays.push_back(*delay);
  }
  return delays;
}

struct Spread {
  Duration least;
  Duration most;
  std::size_t distinct;
  std::size_t at_most;  // how many are the greatest value itself
};

// What a schedule draws once it has come to rest.
Spread spread_of(const Schedule& schedule, std::size_t skip = 20, std::size_t draws = 4000) {
  Delays delays = delays_of(schedule, skip + draws, 0ns, 7);
  REQUIRE(delays.size() == skip + draws);
  delays.erase(delays.begin(), delays.begin() + static_cast<std::ptrdiff_t>(skip));
  const auto [least, most] = std::minmax_element(delays.begin(), delays.end());
  const auto at_most = static_cast<std::size_t>(std::count(delays.begin(), delays.end(), *most));
  return {*least, *most, std::set<Duration>(delays.begin(), delays.end()).size(), at_most};
}

// Draws that fill [low, high] and do not heap up on its end.
void check_fills(const Schedule& schedule, Duration low, Duration high) {
  const Spread spread = spread_of(schedule);
  const Duration margin = (high - low) / 20;
  CHECK(spread.least >= low);
  CHECK(spread.least <= low + margin);
  CHECK(spread.most <= high);
  CHECK(spread.most >= high - margin);
  CHECK(spread.distinct > 3900);
  CHECK(spread.at_most < 5);
}

Schedule doubling() { return planb::exponential(100ms); }

}  // namespace

// Each schedule

TEST_CASE("spaced waits the same each time") {
  CHECK(delays_of(planb::spaced(10ms), 4) == Delays{10ms, 10ms, 10ms, 10ms});
  CHECK(delays_of(planb::spaced(0ms), 2) == Delays{0ms, 0ms});
}

TEST_CASE("exponential multiplies the whole sequence by its factor (field report 5)") {
  CHECK(delays_of(planb::exponential(20ms), 6) == Delays{20ms, 40ms, 80ms, 160ms, 320ms, 640ms});
  CHECK(delays_of(planb::exponential(100ms, 3), 4) == Delays{100ms, 300ms, 900ms, 2700ms});
  CHECK(delays_of(planb::exponential(8ms, 1.5), 6) == Delays{8ms, 12ms, 18ms, 27ms, 40'500us, 60'750us});
  CHECK(delays_of(planb::exponential(80ms, 0.5), 5) == Delays{80ms, 40ms, 20ms, 10ms, 5ms});
  CHECK(delays_of(planb::exponential(10ms, 1), 3) == Delays{10ms, 10ms, 10ms});
  CHECK(delays_of(planb::exponential(10ms, 0), 3) == Delays{10ms, 0ms, 0ms});
  CHECK(delays_of(planb::exponential(100ms, 1.1), 3) == Delays{100ms, 110ms, 121ms});
  CHECK(delays_of(planb::exponential(1ns, 1.5), 5) == Delays{1ns, 2ns, 2ns, 3ns, 5ns});  // to the nearest nanosecond
}

TEST_CASE("a delay that grows never resets midway") {
  for (const Schedule& schedule : {planb::exponential(1ms), planb::exponential(1ms, 1.01), planb::fibonacci(1ms),
                                   planb::linear(1ms), planb::capped(planb::exponential(1ms), 1min)}) {
    const Delays delays = delays_of(schedule, 3000);
    CHECK(delays.size() == 3000);
    CHECK(std::is_sorted(delays.begin(), delays.end()));
  }
}

TEST_CASE("1,100 attempts of an exponential saturate at the longest duration, or at the cap") {
  const Delays free = delays_of(planb::exponential(100ms), 1100);
  CHECK(free.at(1099) == longest);
  CHECK(std::count(free.begin(), free.end(), longest) == 1100 - 37);  // 100ms × 2^37 is the first that does not fit

  const Delays capped = delays_of(planb::capped(planb::exponential(100ms), 10s), 1100);
  CHECK(std::count(capped.begin(), capped.end(), Duration(10s)) == 1100 - 7);

  CHECK(delays_of(planb::exponential(1ms, 1e300), 3) == Delays{1ms, longest, longest});
  CHECK(delays_of(planb::fibonacci(1ms), 200).back() == longest);
  CHECK(delays_of(planb::linear(longest / 2), 4) == Delays{longest / 2, longest - 1ns, longest, longest});
}

TEST_CASE("the longest duration is a delay like any other") {
  CHECK(delays_of(planb::spaced(longest), 2) == Delays{longest, longest});
  CHECK(delays_of(planb::exponential(longest), 3) == Delays{longest, longest, longest});
  CHECK(delays_of(planb::exponential(longest, 1), 2) == Delays{longest, longest});
  CHECK(delays_of(planb::fibonacci(longest), 3) == Delays{longest, longest, longest});
  CHECK(delays_of(planb::add_delay(planb::spaced(longest), 1s), 2) == Delays{longest, longest});
  CHECK(delays_of(planb::fixed(longest), 1) == Delays{longest});
  CHECK(delays_of(planb::windowed(longest), 1) == Delays{longest});
  CHECK(delays_of(planb::spaced(std::chrono::hours::max()), 1) == Delays{longest});
  CHECK(delays_of(planb::up_to(planb::spaced(1h), longest), 3) == Delays{1h, 1h, 1h});
}

TEST_CASE("a zero base stays zero however often it recurs (field report 10)") {
  for (const Schedule& schedule : {planb::exponential(0ms), planb::fibonacci(0ms), planb::linear(0ms),
                                   planb::fixed(0ms), planb::windowed(0ms), planb::capped(planb::exponential(0ms), 1s),
                                   planb::jittered(planb::exponential(0ms)), planb::decorrelated_jitter(0ms, 1s)}) {
    const Delays delays = delays_of(schedule, 5000);
    CHECK(delays == Delays(5000, 0ms));
  }
}

TEST_CASE("fibonacci starts 1, 1, 2") {
  CHECK(delays_of(planb::fibonacci(10ms), 7) == Delays{10ms, 10ms, 20ms, 30ms, 50ms, 80ms, 130ms});
}

TEST_CASE("linear grows by its base") { CHECK(delays_of(planb::linear(10ms), 4) == Delays{10ms, 20ms, 30ms, 40ms}); }

TEST_CASE("fixed keeps to the grid that starts when it is first asked") {
  CHECK(delays_of(planb::fixed(50ms), 4) == Delays{50ms, 50ms, 50ms, 50ms});
  CHECK(delays_after(planb::fixed(50ms), {500ms, 20ms, 0ms, 49ms, 50ms}) == Delays{50ms, 30ms, 50ms, 1ms, 50ms});
}

TEST_CASE("fixed goes at once when it is behind by more than an interval, and then finds the grid again") {
  CHECK(delays_after(planb::fixed(50ms), {0ms, 51ms, 0ms}) == Delays{50ms, 0ms, 49ms});
  CHECK(delays_after(planb::fixed(50ms), {0ms, 120ms, 10ms}) == Delays{50ms, 0ms, 20ms});
}

TEST_CASE("windowed waits to the next multiple of its interval since it was first asked") {
  CHECK(delays_of(planb::windowed(50ms), 3) == Delays{50ms, 50ms, 50ms});
  CHECK(delays_after(planb::windowed(50ms), {500ms, 20ms, 120ms, 50ms}) == Delays{50ms, 30ms, 30ms, 50ms});
}

TEST_CASE("recurs, once and forever wait for nothing") {
  CHECK(delays_of(planb::recurs(3)) == Delays{0ms, 0ms, 0ms});
  CHECK(delays_of(planb::recurs(0)).empty());
  CHECK(delays_of(planb::once()) == Delays{0ms});
  CHECK(delays_of(planb::forever(), 100) == Delays(100, 0ms));
}

TEST_CASE("during goes on while no more than its time has elapsed since it was first asked") {
  CHECK(delays_of(planb::during(100ms), 100, 40ms) == Delays{0ms, 0ms, 0ms});
  CHECK(delays_of(planb::during(100ms), 100, 50ms) == Delays{0ms, 0ms, 0ms});  // at 0, 50 and just 100
  CHECK(delays_of(planb::during(0ms), 100, 1ns) == Delays{0ms});
}

TEST_CASE("duration recurs once, after its delay") { CHECK(delays_of(planb::duration(30ms)) == Delays{30ms}); }

TEST_CASE("delays gives its list and ends") {
  CHECK(delays_of(planb::delays({10ms, 2s, 1min})) == Delays{10ms, 2s, 1min});
  CHECK(delays_of(planb::delays(std::vector<std::chrono::milliseconds>{10ms, 0ms})) == Delays{10ms, 0ms});
  CHECK(delays_of(planb::delays({})).empty());
}

TEST_CASE("decorrelated_jitter draws between its base and three times the previous delay") {
  for (std::uint64_t seed = 0; seed != 50; ++seed) {
    Duration previous = 100ms;
    const Delays delays = delays_of(planb::decorrelated_jitter(100ms, 1h), 20, 0ns, seed);
    REQUIRE(delays.size() == 20);
    for (const Duration delay : delays) {
      CHECK(delay >= 100ms);
      CHECK(delay <= 3 * previous);
      previous = delay;
    }
  }
  check_fills(planb::decorrelated_jitter(100ms, 300ms), 100ms, 300ms);
  CHECK(spread_of(planb::decorrelated_jitter(100ms, 1h)).most > 10s);  // it grows
}

TEST_CASE("decorrelated_jitter stays spread out at its cap, or at a lower one further out") {
  const Spread own = spread_of(planb::decorrelated_jitter(100ms, 1s));
  CHECK(own.least >= 100ms);
  CHECK(own.most <= 1s);
  CHECK(own.distinct > 3900);
  CHECK(own.at_most < 5);
  check_fills(planb::capped(planb::decorrelated_jitter(100ms, 1s), 90ms), 30ms, 90ms);
  CHECK(delays_of(planb::decorrelated_jitter(1s, 1s), 3) == Delays{1s, 1s, 1s});
  CHECK(delays_of(planb::capped(planb::decorrelated_jitter(1s, 1s), 500ms), 3) == Delays{500ms, 500ms, 500ms});
  CHECK(spread_of(planb::decorrelated_jitter(1h, longest), 100).distinct > 3900);
}

// Combinators

TEST_CASE("concat follows the first to its end, then the second, whose time starts there") {
  CHECK(delays_of(planb::concat(planb::delays({10ms, 20ms}), planb::delays({5ms}))) == Delays{10ms, 20ms, 5ms});
  CHECK(delays_of(planb::concat(planb::up_to(planb::spaced(40ms), 2), planb::during(50ms)), 100, 20ms) ==
        Delays{40ms, 40ms, 0ms, 0ms, 0ms});
  CHECK(delays_of(planb::concat(planb::recurs(0), planb::once())) == Delays{0ms});
  CHECK(delays_of(planb::concat(planb::once(), planb::delays({1ms}), planb::delays({2ms}), planb::spaced(3ms)), 4) ==
        Delays{0ms, 1ms, 2ms, 3ms});
}

TEST_CASE("both recurs while all recur, and waits the longest") {
  CHECK(delays_of(planb::both(planb::delays({1ms, 20ms, 3ms}), planb::spaced(10ms))) == Delays{10ms, 20ms, 10ms});
  CHECK(delays_of(planb::both(planb::forever(), planb::spaced(5ms), planb::recurs(2))) == Delays{5ms, 5ms});
}

TEST_CASE("either recurs while any recurs, and waits the shortest of those that do") {
  CHECK(delays_of(planb::either(planb::delays({1ms, 20ms}), planb::delays({10ms, 10ms, 10ms, 30ms}))) ==
        Delays{1ms, 10ms, 10ms, 30ms});
  CHECK(delays_of(planb::either(planb::once(), planb::recurs(2), planb::delays({1ms, 2ms, 3ms}))) ==
        Delays{0ms, 0ms, 3ms});
}

TEST_CASE("a schedule that has ended inside another stays ended") {
  const auto odd = Schedule::from(
      "odd", [](const ScheduleInput& in) { return in.attempt % 2 == 1 ? std::optional<Duration>(1ms) : std::nullopt; });
  CHECK(delays_of(planb::either(odd, planb::spaced(5ms)), 4) == Delays{1ms, 5ms, 5ms, 5ms});
  CHECK(delays_of(planb::concat(odd, planb::delays({7ms}))) == Delays{1ms, 7ms});

  ScheduleRun run(odd);
  CHECK(run.next(TimePoint{}, Cause()) == Duration(1ms));
  CHECK(run.next(TimePoint{}, Cause()) == std::nullopt);
  CHECK(run.next(TimePoint{}, Cause()) == std::nullopt);
  CHECK_FALSE(run);
}

TEST_CASE("up_to ends after a number of recurrences or when a time has elapsed") {
  CHECK(delays_of(planb::up_to(doubling(), 3)) == Delays{100ms, 200ms, 400ms});
  CHECK(delays_of(planb::up_to(doubling(), 0)).empty());
  CHECK(delays_of(planb::up_to(planb::once(), 5)) == Delays{0ms});
  CHECK(delays_of(planb::up_to(doubling(), 300ms)) == Delays{100ms, 200ms, 400ms});  // asked at 0, 100 and just 300
  CHECK(delays_of(planb::up_to(doubling(), 299ms)) == Delays{100ms, 200ms});
  CHECK(delays_of(planb::up_to(planb::forever(), 2.5s), 100, 1s) == Delays{0ms, 0ms, 0ms});
}

TEST_CASE("capped bounds each delay") {
  CHECK(delays_of(planb::capped(doubling(), 500ms), 5) == Delays{100ms, 200ms, 400ms, 500ms, 500ms});
  CHECK(delays_of(planb::capped(planb::capped(doubling(), 500ms), 300ms), 4) == Delays{100ms, 200ms, 300ms, 300ms});
  CHECK(delays_of(planb::capped(planb::capped(doubling(), 300ms), 500ms), 4) == Delays{100ms, 200ms, 300ms, 300ms});
  CHECK(delays_of(planb::capped(planb::spaced(1s), 0ms), 2) == Delays{0ms, 0ms});
  CHECK(delays_of(planb::capped(planb::both(doubling(), planb::spaced(1s)), 500ms), 2) == Delays{500ms, 500ms});
  CHECK(delays_of(planb::capped(planb::windowed(50ms), 10ms), 6) == Delays(6, 10ms));
  CHECK(delays_of(planb::capped(Schedule::from("own", [](const ScheduleInput&) { return 1h; }), 1s), 1) == Delays{1s});
}

TEST_CASE("jitter draws from its range") {
  check_fills(planb::jittered(planb::spaced(1s)), 800ms, 1200ms);
  check_fills(planb::full_jitter(planb::spaced(1s)), 0ms, 1s);
  check_fills(planb::equal_jitter(planb::spaced(1s)), 500ms, 1s);
  check_fills(planb::jittered(planb::spaced(longest)), longest - longest / 5, longest);
}

TEST_CASE("jitter follows the delay that it spreads") {
  for (std::uint64_t seed = 0; seed != 50; ++seed) {
    Duration nominal = 100ms;
    const Delays delays = delays_of(planb::jittered(doubling()), 12, 0ns, seed);
    REQUIRE(delays.size() == 12);
    for (const Duration delay : delays) {
      CHECK(delay >= nominal - nominal / 5);
      CHECK(delay <= nominal + nominal / 5);
      nominal *= 2;
    }
  }
  CHECK(delays_of(planb::jittered(planb::recurs(2))) == Delays{0ms, 0ms});
}

TEST_CASE("jitter keeps its spread at the cap, in either nesting (field report 6)") {
  check_fills(planb::capped(planb::jittered(doubling()), 1s), 800ms, 1s);
  check_fills(planb::jittered(planb::capped(doubling(), 1s)), 800ms, 1s);
  check_fills(planb::capped(planb::full_jitter(doubling()), 1s), 0ms, 1s);
  check_fills(planb::full_jitter(planb::capped(doubling(), 1s)), 0ms, 1s);
  check_fills(planb::capped(planb::equal_jitter(doubling()), 1s), 500ms, 1s);
  check_fills(planb::equal_jitter(planb::capped(doubling(), 1s)), 500ms, 1s);
}

TEST_CASE("jitter keeps its spread at the cap through other combinators") {
  const auto twice = [](Duration d) { return d > longest / 2 ? longest : 2 * d; };
  const auto by_five = [](const ScheduleInput&) { return 5ms; };
  const auto seen = [](Duration) {};
  const auto same = [](Duration d) { return d; };
  check_fills(planb::capped(planb::tap(planb::jittered(doubling()), seen), 1s), 800ms, 1s);
  check_fills(planb::jittered(planb::tap(planb::capped(doubling(), 1s), seen)), 800ms, 1s);
  check_fills(planb::capped(planb::concat(planb::once(), planb::jittered(doubling())), 1s), 800ms, 1s);
  check_fills(planb::jittered(planb::concat(planb::once(), planb::capped(doubling(), 1s))), 800ms, 1s);
  check_fills(planb::jittered(planb::both(planb::capped(doubling(), 1s), planb::spaced(1ms))), 800ms, 1s);
  check_fills(planb::jittered(planb::either(planb::capped(doubling(), 1s), planb::spaced(1h))), 800ms, 1s);
  check_fills(planb::jittered(planb::both(planb::capped(planb::spaced(1s), 1s), planb::spaced(1s))), 800ms, 1200ms);
  check_fills(planb::jittered(planb::both(planb::spaced(1s), planb::capped(planb::spaced(1s), 1s))), 800ms, 1200ms);
  check_fills(planb::jittered(planb::either(planb::capped(planb::spaced(1s), 1s), planb::spaced(1s))), 800ms, 1s);
  check_fills(planb::jittered(planb::either(planb::spaced(1s), planb::capped(planb::spaced(1s), 1s))), 800ms, 1s);
  check_fills(planb::jittered(planb::up_to(planb::capped(doubling(), 1s), 100'000)), 800ms, 1s);
  check_fills(planb::capped(planb::modify_delay(planb::jittered(doubling()), twice), 1s), 800ms, 1s);
  check_fills(planb::jittered(planb::modify_delay(planb::capped(doubling(), 1s), same)), 800ms, 1s);
  check_fills(planb::capped(planb::add_delay(planb::jittered(doubling()), 5ms), 1s), 801ms, 1s);
  check_fills(planb::capped(planb::add_delay(planb::jittered(doubling()), by_five), 1s), 801ms, 1s);
  check_fills(planb::capped(planb::add_delay(planb::full_jitter(doubling()), 400ms), 1s), 400ms, 1s);
  check_fills(planb::capped(planb::add_delay(planb::jittered(doubling()), 1h), 1s), 800ms, 1s);
  check_fills(planb::jittered(planb::add_delay(planb::capped(doubling(), 1s), 500ms)), 1200ms, 1500ms);
  check_fills(planb::capped(planb::jittered(planb::capped(doubling(), 2s)), 1s), 800ms, 1s);
}

TEST_CASE("a run with a seed repeats exactly, one without does not") {
  for (const Schedule& schedule : {planb::jittered(doubling()), planb::full_jitter(doubling()),
                                   planb::equal_jitter(doubling()), planb::decorrelated_jitter(1s, 1h)}) {
    CHECK(delays_of(schedule, 20, 0ns, 42) == delays_of(schedule, 20, 0ns, 42));
    CHECK(delays_of(schedule, 20, 0ns, 0) == delays_of(schedule, 20, 0ns, 0));
    CHECK(delays_of(schedule, 20, 0ns, 42) != delays_of(schedule, 20, 0ns, 43));
  }
  std::set<Delays> seen;
  for (int i = 0; i != 1000; ++i) seen.insert(delays_of(planb::jittered(planb::spaced(1s)), 3));
  CHECK(seen.size() == 1000);
}

TEST_CASE("a seeded run draws the same on every platform") {
  CHECK(delays_of(planb::full_jitter(planb::spaced(1s)), 3, 0ns, 1) ==
        Delays{566'561'575ns, 745'781'758ns, 971'002'754ns});
}

TEST_CASE("add_delay adds a duration or what a function gives") {
  CHECK(delays_of(planb::add_delay(planb::delays({1ms, 2ms}), 10ms)) == Delays{11ms, 12ms});
  CHECK(delays_of(planb::add_delay(planb::delays({1ms, 2ms}), [] { return 1s; })) == Delays{1001ms, 1002ms});
  CHECK(delays_of(planb::add_delay(planb::delays({1ms, 2ms}),
                                   [](const ScheduleInput& in) { return in.attempt * 10ms; })) == Delays{11ms, 22ms});
  CHECK(delays_of(planb::add_delay(planb::delays({5ms}), [] { return -3ms; })) == Delays{5ms});
  CHECK(delays_of(planb::add_delay(planb::capped(planb::spaced(1h), 1s), 5ms), 1) == Delays{1005ms});
}

TEST_CASE("modify_delay replaces the delay, and never by a negative one") {
  CHECK(delays_of(planb::modify_delay(planb::delays({1ms, 2ms}), [](Duration d) { return 2 * d; })) ==
        Delays{2ms, 4ms});
  CHECK(delays_of(planb::modify_delay(planb::delays({1ms, 2ms}), [](auto d) { return d - 2ms; })) == Delays{0ms, 0ms});
  CHECK(delays_of(planb::modify_delay(planb::delays({1ms, 2ms}), [](Duration d, const ScheduleInput& in) {
          return d * in.attempt;
        })) == Delays{1ms, 4ms});
  const auto to_nan = [](Duration) { return std::chrono::duration<double>(not_a_number); };
  CHECK(delays_of(planb::modify_delay(planb::once(), to_nan)) == Delays{0ms});
}

TEST_CASE("a cap outside modify_delay bounds what the function gives, not what it is given") {
  const auto tenth = [](Duration d) { return d / 10; };
  CHECK(delays_of(planb::capped(planb::modify_delay(planb::exponential(1s, 10), tenth), 1s), 4) ==
        Delays{100ms, 1s, 1s, 1s});
  CHECK(delays_of(planb::capped(planb::modify_delay(planb::spaced(5s), tenth), 1s), 1) == Delays{500ms});
}

TEST_CASE("tap sees each recurrence and changes nothing") {
  std::vector<Duration> delays;
  std::vector<int> attempts;
  CHECK(delays_of(planb::tap(planb::delays({1ms, 2ms}), [&](Duration d) { delays.push_back(d); })) == Delays{1ms, 2ms});
  CHECK(delays == Delays{1ms, 2ms});
  CHECK(delays_of(planb::tap(planb::recurs(2), [&](const ScheduleInput& in) {
          attempts.push_back(in.attempt);
        })).size() == 2);
  CHECK(delays_of(planb::tap(planb::recurs(2), [&](auto, const auto& in) { attempts.push_back(in.attempt); })).size() ==
        2);
  CHECK(attempts == std::vector{1, 2, 1, 2});
}

namespace {

struct LlmError {
  int status = 0;
  [[nodiscard]] bool retryable() const { return status == 429; }
};

}  // namespace

TEST_CASE("while_input ends at the first failure that its predicate declines, in each form of predicate") {
  const Cause busy = Cause::of(LlmError{429});
  const Cause broken = Cause::of(LlmError{400});
  const std::vector<Schedule> schedules{
      planb::while_input(planb::spaced(5ms), &LlmError::retryable),
      planb::while_input(planb::spaced(5ms), [](const LlmError& e) { return e.status == 429; }),
      planb::while_input(planb::spaced(5ms), [](const Cause& cause) { return cause.status() == 429; })};
  for (const Schedule& schedule : schedules) {
    Stepper run(schedule);
    CHECK(run.next(0ms, busy) == Duration(5ms));
    CHECK(run.next(0ms, busy) == Duration(5ms));
    CHECK(run.next(0ms, broken) == std::nullopt);
    CHECK(run.next(0ms, busy) == std::nullopt);
  }
  Stepper other(schedules.front());
  CHECK(other.next(0ms, Cause::of(5)) == std::nullopt);
}

// Your own

TEST_CASE("a schedule of one's own is told the attempt, the time, its previous delay and the cause") {
  struct Seen {
    int attempt;
    Duration elapsed;
    Duration previous;
    TimePoint now;
    std::optional<int> status;
    bool operator==(const Seen&) const = default;
  };
  std::vector<Seen> seen;
  const Schedule own = Schedule::from("own", [&seen](const ScheduleInput& in) -> std::optional<Duration> {
    seen.push_back({in.attempt, in.elapsed, in.previous_delay, in.now, in.cause.status()});
    if (in.attempt == 3) return std::nullopt;
    return in.attempt * 10ms;
  });
  Stepper run(own);
  CHECK(run.next(5ms, Cause::of(LlmError{500})) == Duration(10ms));
  CHECK(run.next(5ms, Cause::of(LlmError{429})) == Duration(20ms));
  CHECK(run.next(5ms) == std::nullopt);
  CHECK(seen == std::vector<Seen>{{1, 0ms, 0ms, TimePoint{1h + 5ms}, 500},
                                  {2, 15ms, 10ms, TimePoint{1h + 20ms}, 429},
                                  {3, 40ms, 20ms, TimePoint{1h + 45ms}, std::nullopt}});
}

TEST_CASE("a schedule of one's own may give any duration, or an optional of one") {
  CHECK(delays_of(Schedule::from("a", [](const ScheduleInput&) { return 3s; }), 2) == Delays{3s, 3s});
  CHECK(delays_of(Schedule::from("b", [](const ScheduleInput&) { return 0.5s; }), 1) == Delays{500ms});
  CHECK(delays_of(Schedule::from("c", [](const ScheduleInput&) { return std::optional(2ms); }), 1) == Delays{2ms});
  CHECK(delays_of(Schedule::from("d", [](const ScheduleInput&) { return std::nullopt; })).empty());
  CHECK(delays_of(Schedule::from("e", [](const ScheduleInput&) { return -3s; }), 1) == Delays{0ms});
  CHECK(delays_of(Schedule::from("f", [](const ScheduleInput&) { return 1e300s; }), 1) == Delays{longest});
}

TEST_CASE("what a schedule's function throws comes out of the step") {
  const Schedule own = Schedule::from("own", [](const ScheduleInput&) -> Duration { throw std::out_of_range("own"); });
  ScheduleRun run(own);
  CHECK_THROWS_AS(run.next(TimePoint{}, Cause()), std::out_of_range);
}

// The type

TEST_CASE("a default-constructed schedule is none") {
  const Schedule none;
  CHECK_FALSE(none);
  CHECK(none.ends());
  CHECK(delays_of(none).empty());
  CHECK(planb::once());
}

TEST_CASE("every run of one schedule starts afresh, and the schedule is unchanged (field report 8)") {
  const Schedule schedule = planb::concat(planb::up_to(doubling(), 2), planb::fixed(1s), planb::once());
  const Delays first = delays_of(schedule, 5, 10ms);
  for (int i = 0; i != 1000; ++i) REQUIRE(delays_of(schedule, 5, 10ms) == first);

  Stepper a(schedule);
  Stepper b(schedule);
  CHECK(a.next() == Duration(100ms));
  CHECK(a.next() == Duration(200ms));
  CHECK(b.next() == Duration(100ms));
}

TEST_CASE("a copy and what it is composed into outlive the original") {
  std::optional<Schedule> original = planb::up_to(planb::spaced(5ms), 2);
  const Schedule copy = *original;
  const Schedule composed = planb::add_delay(*original, 1ms);
  original.reset();
  CHECK(delays_of(copy) == Delays{5ms, 5ms});
  CHECK(delays_of(composed) == Delays{6ms, 6ms});
}

TEST_CASE("a run can be moved midway, small or large") {
  Schedule large = planb::exponential(1ms);
  for (int i = 0; i != 20; ++i) large = planb::up_to(large, 1000);
  for (const Schedule& schedule : {planb::exponential(1ms), large, planb::jittered(planb::exponential(1s))}) {
    const Delays expected = delays_of(schedule, 4, 0ns, 5);
    ScheduleRun first(schedule, 5);
    CHECK(first.next(TimePoint{}, Cause()) == expected[0]);
    CHECK(first.next(TimePoint{}, Cause()) == expected[1]);
    ScheduleRun second(std::move(first));
    CHECK(second.next(TimePoint{}, Cause()) == expected[2]);
    ScheduleRun third;
    CHECK_FALSE(third);
    CHECK(third.next(TimePoint{}, Cause()) == std::nullopt);
    third = std::move(second);
    CHECK(third);
    CHECK(third.next(TimePoint{}, Cause()) == expected[3]);

    ScheduleRun unasked(schedule, 5);
    ScheduleRun moved(std::move(unasked));
    CHECK(moved.next(TimePoint{}, Cause()) == expected[0]);
    ScheduleRun& itself = moved;
    moved = std::move(itself);
    CHECK(moved);
    CHECK(moved.next(TimePoint{}, Cause()) == expected[1]);
  }
  static_assert(std::is_nothrow_move_constructible_v<ScheduleRun>);
  static_assert(!std::is_constructible_v<ScheduleRun, Schedule>);  // it borrows
}

TEST_CASE("a schedule tells whether it ends by itself") {
  using namespace planb;  // NOLINT(google-build-using-namespace): thirty names in a table
  const auto own = Schedule::from("own", [](const ScheduleInput&) { return 1s; });
  const auto any = [](const Cause&) { return true; };
  const auto same = [](Duration d) { return d; };
  for (const Schedule& ending :
       {recurs(3), once(), during(1s), planb::duration(1s), delays({1s}), up_to(forever(), 2), up_to(forever(), 1s),
        own, both(once(), forever()), both(forever(), once()), either(once(), once()), concat(once(), once()),
        jittered(once()), capped(once(), 1s), add_delay(once(), 1s), tap(once(), same), while_input(once(), any)}) {
    CHECK(ending.ends());
  }
  for (const Schedule& endless : {spaced(1s),
                                  exponential(1s),
                                  fibonacci(1s),
                                  linear(1s),
                                  fixed(1s),
                                  windowed(1s),
                                  forever(),
                                  decorrelated_jitter(1s, 2s),
                                  both(forever(), spaced(1s)),
                                  either(once(), forever()),
                                  either(forever(), once()),
                                  concat(once(), forever()),
                                  concat(forever(), once()),
                                  jittered(forever()),
                                  full_jitter(forever()),
                                  equal_jitter(forever()),
                                  capped(forever(), 1s),
                                  add_delay(forever(), 1s),
                                  modify_delay(forever(), same),
                                  tap(forever(), same),
                                  while_input(forever(), any)}) {
    CHECK_FALSE(endless.ends());
  }
}

// Refusals

TEST_CASE("arguments that make no sense are refused with the schedule's name and the remedy") {
  using Seconds = std::chrono::duration<double>;
  struct Row {
    const char* name;
    Schedule (*make)();
  };
  const Row rows[] = {
      {"spaced: ", [] { return planb::spaced(-1ns); }},
      {"spaced: ", [] { return planb::spaced(Seconds(not_a_number)); }},
      {"spaced: ", [] { return planb::spaced(Seconds(-1e-30)); }},
      {"exponential: ", [] { return planb::exponential(-1ms); }},
      {"exponential: ", [] { return planb::exponential(1ms, -0.5); }},
      {"exponential: ", [] { return planb::exponential(1ms, not_a_number); }},
      {"exponential: ", [] { return planb::exponential(1ms, infinity); }},
      {"fibonacci: ", [] { return planb::fibonacci(-1ms); }},
      {"linear: ", [] { return planb::linear(-1ms); }},
      {"fixed: ", [] { return planb::fixed(-1ms); }},
      {"windowed: ", [] { return planb::windowed(-1ms); }},
      {"recurs: ", [] { return planb::recurs(-1); }},
      {"during: ", [] { return planb::during(-1ms); }},
      {"duration: ", [] { return planb::duration(-1ms); }},
      {"delays: ",
       [] {
         return planb::delays({1ms, -1ms});
       }},
      {"delays: ", [] { return planb::delays(Delays{-1ms}); }},
      {"decorrelated_jitter: ", [] { return planb::decorrelated_jitter(2ms, 1ms); }},
      {"decorrelated_jitter: ", [] { return planb::decorrelated_jitter(-2ms, 1ms); }},
      {"decorrelated_jitter: ", [] { return planb::decorrelated_jitter(0ms, -1ms); }},
      {"up_to: ", [] { return planb::up_to(planb::once(), -1); }},
      {"up_to: ", [] { return planb::up_to(planb::once(), -1ms); }},
      {"capped: ", [] { return planb::capped(planb::once(), -1ms); }},
      {"add_delay: ", [] { return planb::add_delay(planb::once(), -1ms); }},
      {"capped: ", [] { return planb::capped(Schedule(), 1ms); }},
      {"jittered: ", [] { return planb::jittered(Schedule()); }},
      {"up_to: ", [] { return planb::up_to(Schedule(), 1); }},
      {"both: ", [] { return planb::both(planb::once(), Schedule()); }},
      {"either: ", [] { return planb::either(Schedule(), planb::once()); }},
      {"concat: ", [] { return planb::concat(planb::once(), planb::once(), Schedule()); }},
      {"while_input: ", [] { return planb::while_input(planb::once(), planb::detail::ErrorPredicate()); }},
  };
  for (const Row& row : rows) {
    std::string message;
    try {
      static_cast<void>(row.make());
    } catch (const std::invalid_argument& e) {
      message = e.what();
    }
    CHECK_THAT(message, ContainsSubstring(row.name));
    CHECK_THAT(message, ContainsSubstring("give"));
  }
}

TEST_CASE("schedules nest 128 deep, and not deeper") {
  Schedule schedule = planb::spaced(1ms);
  for (int depth = 1; depth != 128; ++depth) schedule = planb::add_delay(schedule, 1ms);
  CHECK(delays_of(schedule, 2) == Delays{128ms, 128ms});
  CHECK_THROWS_AS(planb::add_delay(schedule, 1ms), std::invalid_argument);
  CHECK_THROWS_AS(planb::both(planb::once(), schedule), std::invalid_argument);
}

TEST_CASE("a schedule that doubles itself is refused before it takes all memory") {
  Schedule schedule = planb::once();
  const auto grow = [&] {
    for (int i = 0; i != 100; ++i) schedule = planb::both(schedule, schedule);
  };
  CHECK_THROWS_WITH(grow(), ContainsSubstring("4096 parts"));
  CHECK(delays_of(schedule) == Delays{0ms});
}

TEST_CASE("a clock that goes backwards makes no delay negative or longer than the interval") {
  for (const Schedule& schedule : {planb::fixed(50ms), planb::windowed(50ms), planb::during(50ms)}) {
    for (const TimePoint back : {TimePoint{59min + 1ms}, TimePoint{(Duration::min)()}}) {
      ScheduleRun run(schedule);
      static_cast<void>(run.next(TimePoint{1h}, Cause()));
      const std::optional<Duration> delay = run.next(back, Cause());
      REQUIRE(delay.has_value());
      CHECK(*delay >= 0ms);
      CHECK(*delay <= 50ms);
    }
  }
}
