// What a report tells the caller: whether the run fell back, and when it makes sense to ask again.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <optional>
#include <utility>

#include "catch.hpp"
#include "two_steps.hpp"

using namespace std::chrono_literals;
using planb::Cause;
using planb::Duration;
using planb::RunReport;
using planb::StepReport;
using planb::TimePoint;

namespace {

TimePoint at(Duration since) { return TimePoint{since}; }

Cause hint(Duration wait) { return Cause::of(planb::ProviderError(429, "slow down", {}, wait)); }

template <class... Steps>
RunReport exhausted(Steps... steps) {
  RunReport report{.end = planb::RunEnd::exhausted};
  (static_cast<void>(report.steps.emplace_back(std::move(steps))), ...);
  return report;
}

const StepReport hinted{.name = "hinted", .attempts = 1, .cause = hint(30s), .failed_at = at(10s)};
const StepReport closed{.name = "closed", .skipped = planb::SkipReason::gate_closed, .opens_at = at(25s)};
const StepReport plain{
    .name = "plain", .attempts = 1, .cause = Cause::of(planb::ProviderError(500, "no hint")), .failed_at = at(10s)};

}  // namespace

TEST_CASE("a run fell back where a step after the first has answered", "[report]") {
  const auto run = [](int answers) {
    return planb::try_run_with_plan(two::two_steps(), [&](two::Client& client) {
      if (client.id != answers) throw planb::ProviderError(503, "busy");
      return client.id;
    });
  };
  CHECK_FALSE(run(1).report().fell_back());
  CHECK(run(2).report().fell_back());
  CHECK_FALSE(run(3).report().fell_back());  // it tried to, and nobody answered

  const planb::ExecutionPlan<two::Client> guarded{
      {.name = "one", .provide = two::Client{1}, .enter_when = [](const Cause&) { return true; }},
      {.name = "two", .provide = two::Client{2}}};
  const auto passed_over = planb::try_run_with_plan(guarded, [](two::Client& client) { return client.id; });
  CHECK(passed_over.report().fell_back());
  const auto retried = planb::try_run_with_plan(
      planb::ExecutionPlan<two::Client>{{.name = "one", .provide = two::Client{1}, .attempts = 2}},
      [n = 0](two::Client&) mutable {
        if (++n == 1) throw planb::ProviderError(503, "busy");
        return n;
      });
  CHECK_FALSE(retried.report().fell_back());
}

TEST_CASE("the time to ask again is that of the first step that is ready", "[report]") {
  CHECK_FALSE(RunReport().retry_at());
  CHECK_FALSE(exhausted(plain).retry_at());
  CHECK(exhausted(hinted).retry_at() == at(40s));
  CHECK(exhausted(closed).retry_at() == at(25s));
  CHECK(exhausted(hinted, closed).retry_at() == at(25s));
  CHECK(exhausted(closed, hinted).retry_at() == at(25s));
  CHECK(exhausted(plain, hinted).retry_at() == at(40s));
}

TEST_CASE("a step with a wait hint and a closed gate is ready when both are over", "[report]") {
  StepReport both = hinted;
  both.opens_at = at(39s);
  CHECK(exhausted(both).retry_at() == at(40s));
  both.opens_at = at(41s);
  CHECK(exhausted(both).retry_at() == at(41s));
}

TEST_CASE("times that nobody knows are left out of the time to ask again", "[report]") {
  StepReport unknown = closed;
  unknown.opens_at = TimePoint::max();
  CHECK_FALSE(exhausted(unknown).retry_at());
  CHECK(exhausted(unknown, hinted).retry_at() == at(40s));
  StepReport both = hinted;
  both.opens_at = TimePoint::max();
  CHECK(exhausted(both).retry_at() == at(40s));
  StepReport for_ever = hinted;
  for_ever.cause = hint(Duration::max());
  CHECK_FALSE(exhausted(for_ever).retry_at());
  StepReport unread = hinted;  // nobody read a clock when it failed
  unread.failed_at.reset();
  CHECK_FALSE(exhausted(unread).retry_at());
}

TEST_CASE("after a success there is no time to ask again", "[report]") {
  RunReport report = exhausted(hinted);
  report.end = planb::RunEnd::succeeded;
  CHECK_FALSE(report.retry_at());
}

TEST_CASE("a run that found its gates closed says when to ask again", "[report]") {
  planb::testing::VirtualClock clock;
  clock.advance(1h);
  const auto breaker = planb::circuit_breaker({.failure_threshold = 1, .open_for = 30s});
  const planb::ExecutionPlan<two::Client> plan{{.name = "one", .provide = two::Client{1}, .gate = breaker}};
  const auto fail = [&] {
    return planb::try_run_with_plan(plan, [](two::Client&) -> int { throw planb::ProviderError(503, "busy"); },
                                    {.clock = &clock});
  };
  static_cast<void>(fail());
  clock.advance(10s);
  CHECK(fail().report().retry_at() == at(1h + 30s));
}
