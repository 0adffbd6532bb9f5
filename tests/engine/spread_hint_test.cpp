// A wait hint is spread where the step's schedule has a jitter, so that not everybody comes back at the same moment.
#include <planb/planb.hpp>

#include "catch.hpp"

#include <planb/testing.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::Duration;
using planb::OptionalDuration;
using planb::Schedule;
using planb::testing::AttemptLog;
using planb::testing::VirtualClock;

// The wait before the second attempt, after a failure with this hint; none where the step was left.
std::optional<Duration> wait_of(Schedule schedule, Duration hint, std::uint64_t seed, OptionalDuration max_wait = {},
                                OptionalDuration budget = {}) {
  const AttemptLog log;
  VirtualClock clock;
  const planb::ExecutionPlan<int> plan{
      {.name = "busy", .provide = 1, .attempts = 2, .schedule = std::move(schedule), .max_wait = max_wait}};
  static_cast<void>(
      planb::try_run_with_plan(plan, [&](int&) -> int { throw planb::ProviderError(429, "slow down", "", hint); },
                               {.on_event = log, .budget = budget, .clock = &clock, .seed = seed}));
  const planb::NextMove next = log.of<planb::AttemptFailure>().at(0).next;
  return next.kind == planb::NextMove::retry ? std::optional(next.delay) : std::nullopt;
}

}  // namespace

TEST_CASE("a hint is spread by up to a tenth where there is a jitter anywhere in the schedule") {
  const std::vector<Schedule> jittery{planb::jittered(planb::spaced(1s)),
                                      planb::full_jitter(planb::exponential(20ms)),
                                      planb::equal_jitter(planb::spaced(1s)),
                                      planb::decorrelated_jitter(10ms, 1s),
                                      planb::up_to(planb::capped(planb::jittered(planb::spaced(1s)), 2s), 5),
                                      planb::both(planb::spaced(1s), planb::jittered(planb::spaced(2s)))};
  for (const Schedule& schedule : jittery) {
    INFO(to_string(schedule));
    std::set<Duration> waits;
    for (std::uint64_t seed = 1; seed != 60; ++seed) {
      const std::optional<Duration> wait = wait_of(schedule, 10s, seed);
      REQUIRE(wait.has_value());
      CHECK(*wait >= 10s);
      CHECK(*wait <= 11s);
      CHECK(wait_of(schedule, 10s, seed) == wait);  // with a seed it repeats
      waits.insert(*wait);
    }
    CHECK(waits.size() > 50);
    CHECK(*waits.begin() < 10200ms);
    CHECK(*waits.rbegin() > 10800ms);
  }
}

TEST_CASE("without a jitter a hint is waited for exactly") {
  CHECK(wait_of(planb::spaced(1s), 10s, 1) == 10s);
  CHECK(wait_of(Schedule(), 10s, 1) == 10s);
  CHECK(wait_of(planb::capped(planb::both(planb::spaced(1s), planb::exponential(1s)), 5s), 10s, 1) == 10s);
  for (const char* const name : {"my own", "jittered", "full_jitter"}) {  // a name of the caller's says nothing
    INFO(name);
    CHECK(wait_of(Schedule::from(name, [](const planb::ScheduleInput&) { return 1s; }), 10s, 1) == 10s);
  }
}

TEST_CASE("a schedule's longer delay is not spread once more") {
  for (std::uint64_t seed = 1; seed != 20; ++seed) {
    const std::optional<Duration> wait = wait_of(planb::jittered(planb::spaced(10s)), 1s, seed);
    REQUIRE(wait.has_value());
    CHECK(*wait <= 12s);
  }
}

TEST_CASE("max_wait is compared with the bare hint, and cuts the spread") {
  const Schedule schedule = planb::jittered(planb::spaced(1s));
  CHECK(wait_of(schedule, 11s, 1, 10s) == std::nullopt);
  for (std::uint64_t seed = 1; seed != 20; ++seed) {
    CHECK(wait_of(schedule, 10s, seed, 10s) == 10s);
    CHECK(*wait_of(schedule, 10s, seed, 10100ms) <= 10100ms);
    CHECK(*wait_of(schedule, 60s, seed) >= 60s);  // a minute is not too long, and its spread neither
  }
}

TEST_CASE("the spread ends just below the time that is left") {
  const Schedule schedule = planb::jittered(planb::spaced(1s));
  CHECK(wait_of(schedule, 10s, 1, {}, 10s) == std::nullopt);
  for (std::uint64_t seed = 1; seed != 20; ++seed) {
    const std::optional<Duration> wait = wait_of(schedule, 10s, seed, {}, 10s + 1ms);
    REQUIRE(wait.has_value());
    CHECK(*wait >= 10s);
    CHECK(*wait < 10s + 1ms);
  }
}
