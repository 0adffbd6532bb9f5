// A thousand clients and a provider that fails for ten seconds: what it sees, with a retry budget and without.
#include "catch.hpp"

#include <planb/engine/plan_run.hpp>
#include <planb/error/provider_error.hpp>
#include <planb/gates.hpp>
#include <planb/schedule/jitter.hpp>
#include <planb/schedule/leaves.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::Cause;
using planb::Duration;
using planb::ExecutionPlan;
using planb::PlanRun;
using planb::RunPhase;
using planb::TimePoint;
using planb::testing::VirtualClock;

struct Seen {
  std::vector<int> requests = std::vector<int>(40, 0);  // in each second, the clients' own
  std::vector<int> attempts = std::vector<int>(40, 0);  // and what the provider sees
  int failed_late = 0;                                  // runs that began after the provider had recovered, and failed
};

// Each client asks twice a second for thirty seconds, whatever became of its last question. The provider fails from 10
// s to 20 s.
Seen storm(const std::shared_ptr<planb::Gate>& gate) {
  constexpr int clients = 1'000;
  VirtualClock clock;
  const ExecutionPlan<int> plan{
      {.provide = 1, .attempts = 3, .schedule = planb::jittered(planb::spaced(100ms)), .gate = gate}};
  Seen seen;
  struct Due {
    TimePoint at;
    std::size_t run;
    bool operator>(const Due& other) const { return std::pair(at, run) > std::pair(other.at, other.run); }
  };
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due;
  std::vector<std::unique_ptr<PlanRun<int>>> runs;
  std::vector<TimePoint> begins;
  for (int half = 0; half != 60; ++half) {
    for (int client = 0; client != clients; ++client) {
      begins.push_back(TimePoint{half * 500ms + client * 500us});
      due.push({begins.back(), begins.size() - 1});
    }
  }
  runs.resize(begins.size());
  while (!due.empty()) {
    const Due next = due.top();
    due.pop();
    clock.advance(next.at - clock.now());
    const auto second = static_cast<std::size_t>(clock.now().time_since_epoch() / 1s);
    std::unique_ptr<PlanRun<int>>& run = runs[next.run];
    if (run == nullptr) {
      run = std::make_unique<PlanRun<int>>(plan, planb::RunOptions{.clock = &clock, .seed = next.run});
      ++seen.requests[second];
    }
    for (RunPhase phase = run->next();; phase = run->next()) {
      if (phase == RunPhase::wait) {
        due.push({run->due(), next.run});
        break;
      }
      if (phase == RunPhase::over) {
        seen.failed_late += run->report().end != planb::RunEnd::succeeded && begins[next.run] >= TimePoint{20s} ? 1 : 0;
        run.reset();
        break;
      }
      ++seen.attempts[second];
      if (clock.now() >= TimePoint{10s} && clock.now() < TimePoint{20s}) {
        run->fail(Cause::of(planb::ProviderError(503, "overloaded")));
      } else {
        run->succeed();
      }
    }
  }
  return seen;
}

}  // namespace

TEST_CASE("a retry budget keeps a storm of retries from a provider that fails") {
  const Seen without = storm(nullptr);
  const Seen with = storm(planb::retry_budget({.ratio = 0.2, .burst = 10}));
  int requests = 0;
  int attempts = 0;
  int attempts_without = 0;
  for (std::size_t second = 11; second != 20; ++second) {
    CAPTURE(second);
    REQUIRE(with.requests[second] == 2'000);
    CHECK(with.attempts[second] <= 2'400 + 10);
    CHECK(without.attempts[second] > 5'900);  // three times as many
    requests += with.requests[second];
    attempts += with.attempts[second];
    attempts_without += without.attempts[second];
  }
  CHECK(attempts <= requests * 12 / 10 + 10);
  CHECK(attempts_without > requests * 29 / 10);
  // It recovers, and stays so: every request from then on is one attempt.
  CHECK(with.failed_late == 0);
  for (std::size_t second = 21; second != 30; ++second) {
    CAPTURE(second);
    CHECK(with.attempts[second] == with.requests[second]);
  }
}
