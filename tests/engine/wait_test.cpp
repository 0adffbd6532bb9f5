// How long a step waits after a failure, and when it is left for it.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include "catch.hpp"
#include "rules.hpp"

#include <chrono>
#include <optional>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using planb::AttemptFailure;
using planb::Duration;
using planb::LeaveReason;
using planb::NextMove;
using planb::RunEnd;
using planb::Schedule;
using planb::spaced;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using rules::Hint;
using rules::Names;
using rules::Plan;
using rules::Run;
using rules::failing;
using rules::fails;

}  // namespace

TEST_CASE("the wait is the longer of the schedule's delay and the error's hint") {
  struct Case {
    std::optional<Duration> schedule;
    Hint hint;
    Duration wait;
  };
  for (const Case& c : std::vector<Case>{
           {100ms, std::nullopt, 100ms},
           {100ms, 50ms, 100ms},
           {100ms, 100ms, 100ms},
           {100ms, 101ms, 101ms},
           {100ms, 5s, 5s},
           {100ms, 0s, 100ms},
           {100ms, -5s, 100ms},  // a negative hint counts as zero
           {std::nullopt, 2s, 2s},
           {std::nullopt, -2s, 0s},
           {std::nullopt, std::nullopt, 0s},
       }) {
    INFO("schedule " << (c.schedule ? c.schedule->count() : -1) << ", hint " << (c.hint ? c.hint->count() : -1));
    Run run;
    const auto result =
        run.of(Plan{{.name = "alpha",
                     .provide = FakeProvider("alpha", {failing(429, c.hint), Behaviour::value("answer")}),
                     .attempts = 2,
                     .schedule = c.schedule ? spaced(*c.schedule) : Schedule()}});
    CHECK(result.has_value());
    CHECK(run.delays() == std::vector<Duration>{c.wait});
    CHECK(run.starts() == std::vector<Duration>{0s, c.wait});
    CHECK(run.clock.waits() == (c.wait > 0s ? 1U : 0U));  // a zero wait calls nothing
  }
}

TEST_CASE("the latest error's hint counts, not an earlier one's") {  // [field-7]
  Run run;
  static_cast<void>(run.of(Plan{{.name = "alpha",
                                 .provide = fails({failing(429, 5s), failing(429, 1s), failing(503), failing(429, 3s)}),
                                 .attempts = 5,
                                 .schedule = spaced(2s)}}));
  CHECK(run.delays() == std::vector<Duration>{5s, 2s, 2s, 3s});
  CHECK(run.starts() == std::vector<Duration>{0s, 5s, 7s, 9s, 12s});
}

TEST_CASE("a hint neither resets nor skips the schedule") {
  Run run;
  static_cast<void>(run.of(Plan{{.name = "alpha",
                                 .provide = fails({failing(503), failing(429, 1s), failing(503)}),
                                 .attempts = 4,
                                 .schedule = planb::exponential(10ms)}}));
  CHECK(run.delays() == std::vector<Duration>{10ms, 1s, 40ms});
}

TEST_CASE("a hint after a step's last attempt is not waited for, nor does it delay the next step") {
  Run run;
  const auto result = run.of(Plan{{.name = "alpha", .provide = fails({failing(429, 30s)})},
                                  {.name = "beta", .provide = FakeProvider("beta")}});
  CHECK(result.has_value());
  CHECK(run.names() == Names{"alpha", "beta"});
  CHECK(run.clock.waits() == 0);
}

TEST_CASE("a wait that is too long leaves the step at once, and event and report say why") {
  struct Case {
    std::optional<Duration> schedule;
    Hint hint;
    std::optional<Duration> max_wait;
    std::optional<Duration> wait;  // none: too long
  };
  for (const Case& c : std::vector<Case>{
           // Without max_wait a hint above a minute is too long.
           {std::nullopt, 60s, std::nullopt, 60s},
           {std::nullopt, 60s + 1ns, std::nullopt, std::nullopt},
           {1s, 61s, std::nullopt, std::nullopt},
           {std::nullopt, (Duration::max)(), std::nullopt, std::nullopt},
           // A schedule's own delay never is, not even where a long hint is shorter.
           {2h, std::nullopt, std::nullopt, 2h},
           {2h, 1s, std::nullopt, 2h},
           {2h, 90s, std::nullopt, 2h},
           // max_wait bounds both, and lets a longer hint through.
           {1s, std::nullopt, 1s, 1s},
           {1s + 1ns, std::nullopt, 1s, std::nullopt},
           {std::nullopt, 1s, 1s, 1s},
           {std::nullopt, 1s + 1ns, 1s, std::nullopt},
           {100ms, 5s, 1s, std::nullopt},
           {std::nullopt, 90s, 10min, 90s},
           {std::nullopt, 11min, 10min, std::nullopt},
           {2h, 90s, 10min, std::nullopt},
           {std::nullopt, std::nullopt, 0s, 0s},
           {std::nullopt, 1ns, 0s, std::nullopt},
       }) {
    INFO("schedule " << (c.schedule ? c.schedule->count() : -1) << ", hint " << (c.hint ? c.hint->count() : -1)
                     << ", max_wait " << (c.max_wait ? c.max_wait->count() : -1));
    Run run;
    const auto result = run.of(Plan{{.name = "alpha",
                                     .provide = fails({failing(429, c.hint)}),
                                     .attempts = 2,
                                     .schedule = c.schedule ? spaced(*c.schedule) : Schedule(),
                                     .max_wait = c.max_wait},
                                    {.name = "beta", .provide = FakeProvider("beta")}});
    REQUIRE(result.has_value());
    const planb::StepReport& alpha = result.report().steps[0];
    if (c.wait) {
      CHECK(run.names() == Names{"alpha", "alpha", "beta"});
      CHECK(run.clock.elapsed() == *c.wait);
      CHECK(alpha.left == LeaveReason::attempts_spent);
    } else {
      CHECK(run.names() == Names{"alpha", "beta"});
      CHECK(run.clock.waits() == 0);
      CHECK(run.failures()[0].next.kind == NextMove::next_step);
      CHECK(run.failures()[0].next.reason == LeaveReason::wait_too_long);
      CHECK(alpha.left == LeaveReason::wait_too_long);
      CHECK_THAT(to_string(run.failures()[0]), ContainsSubstring("wait too long"));
    }
  }
}

TEST_CASE("a wait that is too long in the last step exhausts the plan") {
  Run run;
  const auto result = run.of(Plan{{.name = "alpha", .provide = fails({failing(429, 2min)}), .attempts = 3}});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.report().end == RunEnd::exhausted);
  CHECK(result.report().steps[0].attempts == 1);
  CHECK_THAT(result.report().to_string(), ContainsSubstring("wait too long"));
}

TEST_CASE("a wait that is not shorter than the time left to the step goes to the next step") {  // [field-13]
  struct Case {
    Duration budget;
    Duration reserve;  // of beta
    bool waits;
  };
  for (const Case& c :
       std::vector<Case>{{10s, 0s, false}, {10s + 1ns, 0s, true}, {15s, 5s, false}, {15s + 1ns, 5s, true}}) {
    INFO("budget " << c.budget.count() << ", reserve " << c.reserve.count());
    Run run;
    const auto result = run.of(Plan{{.name = "alpha", .provide = fails({failing(429, 10s)}), .attempts = 2},
                                    {.name = "beta", .provide = FakeProvider("beta"), .reserve = c.reserve}},
                               {.budget = c.budget});
    REQUIRE(result.has_value());
    CHECK(run.names() == (c.waits ? Names{"alpha", "alpha", "beta"} : Names{"alpha", "beta"}));
    CHECK(run.clock.elapsed() == (c.waits ? 10s : 0s));
    const AttemptFailure first = run.failures()[0];
    CHECK(first.next.kind == (c.waits ? NextMove::retry : NextMove::next_step));
    CHECK(first.next.reason == (c.waits ? LeaveReason::none : LeaveReason::out_of_time));
    CHECK(result.report().steps[0].left == (c.waits ? LeaveReason::attempts_spent : LeaveReason::out_of_time));
  }
}

TEST_CASE("a wait that the budget has no time for, in the last step, ends as a deadline") {
  Run run;
  const auto result =
      run.of(Plan{{.name = "alpha", .provide = fails(), .attempts = 2, .schedule = spaced(10s)}}, {.budget = 10s});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.report().end == RunEnd::deadline);
  CHECK(run.clock.waits() == 0);
  CHECK(run.failures()[0].next.kind == NextMove::end);
  CHECK(run.failures()[0].next.run_end == RunEnd::deadline);
  CHECK(run.failures()[0].next.reason == LeaveReason::out_of_time);
  CHECK_THROWS_AS(result.value(), planb::DeadlineExceeded);
}

TEST_CASE("max_wait is looked at before the time that is left") {
  Run run;
  const auto result = run.of(
      Plan{{.name = "alpha", .provide = fails({failing(429, 10s)}), .attempts = 2, .max_wait = 5s}}, {.budget = 10s});
  CHECK(result.report().end == RunEnd::exhausted);
  CHECK(result.report().steps[0].left == LeaveReason::wait_too_long);
}
