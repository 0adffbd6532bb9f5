// Time: saturating arithmetic, and clocks as far as virtual time reaches.
#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <ratio>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if PLANB_HAS_STOP_TOKEN
#include <stop_token>
#endif

namespace {

using namespace std::chrono_literals;
using planb::Clock;
using planb::Duration;
using planb::StopToken;
using planb::TimePoint;
using planb::Timer;
using planb::detail::add;
using planb::detail::between;
using planb::detail::to_duration;
using planb::testing::VirtualClock;

constexpr Duration most = (Duration::max)();
constexpr Duration least = (Duration::min)();

constexpr TimePoint at(Duration since_epoch) { return TimePoint{since_epoch}; }

static_assert(!std::is_copy_constructible_v<Timer> && std::is_nothrow_move_constructible_v<Timer>);
static_assert(std::is_abstract_v<Clock> && std::has_virtual_destructor_v<Clock>);
static_assert(!std::is_copy_constructible_v<VirtualClock>);

// A clock of one's own needs two functions.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  void sleep_until(TimePoint due, StopToken) override { now_ = due; }

 private:
  TimePoint now_{};
};

}  // namespace

TEST_CASE("durations add up, and stop at the ends", "[clock]") {
  struct Row {
    Duration a, b, sum;
  };
  const std::vector<Row> table{
      {1s, 2s, 3s},           {1s, -2s, -1s},         {0ns, 0ns, 0ns},          {most, 0ns, most},
      {most, 1ns, most},      {most - 1ns, 1ns, most}, {most - 1ns, 2ns, most}, {most, most, most},
      {least, 0ns, least},    {least, -1ns, least},   {least + 1ns, -1ns, least}, {least, least, least},
      {most, least, -1ns},    {least, most, -1ns},    {most, -1ns, most - 1ns}, {least, 1ns, least + 1ns},
  };
  for (const Row& row : table) {
    CHECK(add(row.a, row.b) == row.sum);
    CHECK(add(row.b, row.a) == row.sum);
    CHECK(add(at(row.a), row.b) == at(row.sum));
  }
}

TEST_CASE("the time between two points stops at the ends", "[clock]") {
  struct Row {
    Duration from, to, time;
  };
  const std::vector<Row> table{
      {1s, 3s, 2s},        {3s, 1s, -2s},          {0ns, most, most},         {0ns, least, least},
      {most, most, 0ns},   {least, least, 0ns},    {least, most, most},       {most, least, least},
      {-1ns, most, most},  {1ns, least, least},    {-1ns, most - 1ns, most},  {1ns, least + 1ns, least},
      {1ns, most, most - 1ns}, {least, 0ns, most}, {least, -1ns, most},       {most, 0ns, -most},
  };
  for (const Row& row : table) CHECK(between(at(row.from), at(row.to)) == row.time);
}

TEST_CASE("any chrono duration becomes a Duration, saturated", "[clock]") {
  using std::chrono::duration;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(to_duration(5ns) == 5ns);
  CHECK(to_duration(5s) == 5s);
  CHECK(to_duration(-5min) == -5min);
  CHECK(to_duration(24h) == 24h);
  CHECK(to_duration(most) == most);
  CHECK(to_duration(least) == least);
  CHECK(to_duration(most - 1ns) == most - 1ns);
  CHECK(to_duration(duration<int, std::ratio<1, 60>>(90)) == 1500ms);
  CHECK(to_duration(duration<int, std::ratio<1, 3>>(1)) == 333'333'333ns);
  CHECK(to_duration(duration<long long, std::pico>(1999)) == 1ns);
  CHECK(to_duration(duration<std::uint8_t>(255)) == 255s);
  CHECK(to_duration(duration<double>(0.5)) == 500ms);
  CHECK(to_duration(duration<float, std::milli>(0.25F)) == 250us);
  CHECK(to_duration(duration<double>(-0.5)) == -500ms);

  CHECK(to_duration((std::chrono::hours::max)()) == most);
  CHECK(to_duration((std::chrono::hours::min)()) == least);
  CHECK(to_duration(std::chrono::seconds(9'223'372'036)) == 9'223'372'036s);
  CHECK(to_duration(std::chrono::seconds(9'223'372'037)) == most);
  CHECK(to_duration(std::chrono::seconds(-9'223'372'037)) == least);
  CHECK(to_duration(duration<std::uint64_t>((std::numeric_limits<std::uint64_t>::max)())) == most);
  CHECK(to_duration(duration<std::uint64_t, std::nano>((std::numeric_limits<std::uint64_t>::max)())) == most);
  CHECK(to_duration(duration<double>(infinity)) == most);
  CHECK(to_duration(duration<double>(-infinity)) == least);
  CHECK(to_duration(duration<double>(1e300)) == most);
  CHECK(to_duration(duration<long double>(-1e300L)) == least);
  CHECK(to_duration(duration<double>(std::nan(""))) == 0ns);

  // Each fits, although multiplying before dividing would not.
  CHECK(to_duration(duration<long long, std::ratio<1, 30>>(200'000'000'000)) == Duration(6'666'666'666'666'666'666));
  CHECK(to_duration(duration<long long, std::ratio<1, 30>>(-200'000'000'000)) == Duration(-6'666'666'666'666'666'666));
}

TEST_CASE("virtual time stands still until somebody waits", "[clock]") {
  VirtualClock clock;
  CHECK(clock.now() == TimePoint{});
  CHECK(clock.elapsed() == 0ns);
  CHECK(clock.waits() == 0);

  clock.sleep_until(at(5s), {});
  CHECK(clock.now() == at(5s));
  CHECK(clock.waits() == 1);

  clock.sleep_until(at(3s), {});  // past: no wait, and never back
  CHECK(clock.now() == at(5s));
  CHECK(clock.waits() == 1);

  clock.advance(2h);
  CHECK(clock.elapsed() == 2h + 5s);
  clock.advance(0s);
  CHECK(clock.elapsed() == 2h + 5s);

  clock.sleep_until((TimePoint::max)(), {});
  CHECK(clock.now() == (TimePoint::max)());
  clock.advance(1h);
  CHECK(clock.now() == (TimePoint::max)());
}

TEST_CASE("virtual timers fire once, in the order of their times, at their times", "[clock]") {
  VirtualClock clock;
  std::vector<std::string> fired;
  const auto tell = [&](std::string name) {
    return [&fired, &clock, name] { fired.push_back(name + " at " + std::to_string(clock.elapsed() / 1s)); };
  };
  const Timer late = clock.call_at(at(3s), tell("late"));
  const Timer early = clock.call_at(at(1s), tell("early"));
  const Timer last = clock.call_at(at(100s), tell("last"));
  CHECK(fired.empty());
  clock.sleep_until(at(10s), {});
  CHECK(fired == std::vector<std::string>{"early at 1", "late at 3"});
  CHECK(clock.elapsed() == 10s);
  clock.advance(89s);
  CHECK(fired.size() == 2);
  clock.advance(1s);
  CHECK(fired == std::vector<std::string>{"early at 1", "late at 3", "last at 100"});
}

TEST_CASE("a virtual timer whose time has passed fires at once", "[clock]") {
  VirtualClock clock;
  clock.advance(5s);
  int fired = 0;
  const Timer past = clock.call_at(at(1s), [&] { ++fired; });
  CHECK(fired == 1);
  const Timer now = clock.call_at(clock.now(), [&] { ++fired; });
  CHECK(fired == 2);
  clock.advance(10s);
  CHECK(fired == 2);
}

TEST_CASE("a timer that is destroyed or replaced does not fire", "[clock]") {
  VirtualClock clock;
  int fired = 0;
  { const Timer gone = clock.call_at(at(1s), [&] { ++fired; }); }
  Timer replaced = clock.call_at(at(1s), [&] { ++fired; });
  replaced = Timer();
  Timer moved_from = clock.call_at(at(2s), [&] { fired += 10; });
  const Timer moved = std::move(moved_from);
  clock.advance(5s);
  CHECK(fired == 10);
}

TEST_CASE("a timer may set and cancel timers", "[clock]") {
  VirtualClock clock;
  std::vector<int> fired;
  std::optional<Timer> second;
  std::optional<Timer> third = clock.call_at(at(3s), [&] { fired.push_back(3); });
  const Timer first = clock.call_at(at(1s), [&] {
    fired.push_back(1);
    second.emplace(clock.call_at(at(2s), [&] { fired.push_back(2); }));
    third.reset();
  });
  clock.advance(10s);
  CHECK(fired == std::vector<int>{1, 2});
}

TEST_CASE("a timer may end itself while it runs", "[clock]") {
  VirtualClock clock;
  int fired = 0;
  auto self = std::make_unique<Timer>();
  *self = clock.call_at(at(1s), [&] {
    self.reset();
    ++fired;
  });
  clock.advance(2s);
  CHECK(fired == 1);
  CHECK(self == nullptr);
}

TEST_CASE("a timer whose clock cannot move it says so", "[clock]") {
  CHECK_FALSE(Timer().move_to(at(1s)));
  CHECK_FALSE(Timer(std::make_unique<Timer::Pending>()).move_to(at(1s)));
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("a requested stop ends a virtual wait where it was requested", "[clock]") {
  VirtualClock clock;
  std::stop_source source;
  SECTION("before it") {
    source.request_stop();
    clock.sleep_until(at(10s), source.get_token());
    CHECK(clock.elapsed() == 0s);
  }
  SECTION("by a timer within it") {
    const Timer stop = clock.call_at(at(4s), [&] { source.request_stop(); });
    clock.sleep_until(at(10s), source.get_token());
    CHECK(clock.elapsed() == 4s);
  }
  SECTION("after it") {
    clock.sleep_until(at(10s), source.get_token());
    source.request_stop();
    CHECK(clock.elapsed() == 10s);
  }
}
#else
TEST_CASE("where there is no std::stop_token, a StopToken never stops", "[clock]") {
  CHECK_FALSE(StopToken().stop_requested());
  CHECK_FALSE(StopToken().stop_possible());
  CHECK(StopToken() == StopToken());
}
#endif

TEST_CASE("a run reads the time from the clock that it is given", "[clock]") {
  ManualClock clock;
  std::vector<Duration> starts;
  const planb::ExecutionPlan<int> plan{{.provide = 1, .attempts = 3, .schedule = planb::spaced(10min)}};
  CHECK_FALSE(try_run_with_plan(
      plan, [](int&) -> int { throw 1; },
      {.on_event = [&](const planb::AttemptStart& e) { starts.push_back(e.at.time_since_epoch()); }, .clock = &clock}));
  CHECK(starts == std::vector<Duration>{0s, 10min, 20min});
}
