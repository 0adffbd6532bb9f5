// What explain() says of a plan: its worst case, and what cannot work as written.
#include <planb/observe.hpp>
#include <planb/planb.hpp>

#include "catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using planb::Cause;
using planb::Duration;
using planb::Explanation;
using planb::FindingKind;
using planb::PartialStream;
using planb::RunOptions;
using planb::Step;
using planb::StepEntry;
using planb::StreamOptions;
using planb::TimePoint;
using Plan = planb::ExecutionPlan<int>;

bool any_cause(const Cause&) { return true; }

struct Found {
  FindingKind kind;
  std::optional<int> step;
  friend bool operator==(const Found&, const Found&) = default;
};

std::vector<Found> found_in(const Explanation& told) {
  std::vector<Found> all;
  for (const planb::Finding& finding : told.findings) all.push_back({finding.kind, finding.step});
  return all;
}

Explanation of(Step<int> step, const RunOptions& options = {}) {
  return planb::explain(Plan{std::move(step)}, options);
}

// For all that one can tell, it may be closed.
struct AnyGate final : planb::Gate {
  explicit AnyGate(planb::Duration patience = {}) : patience_(patience) {}

  planb::Admission admit(const planb::GateRequest&) override { return planb::Permit(*this, 1); }
  [[nodiscard]] TimePoint opens_at(const planb::GateRequest& request) const override { return request.now; }
  [[nodiscard]] planb::Duration patience() const override { return patience_; }

 private:
  void on_outcome(std::uint64_t, const planb::GateOutcome&) override {}
  void on_dropped(std::uint64_t, bool) noexcept override {}

  planb::Duration patience_;
};

}  // namespace

TEST_CASE("explain: a step that can never be entered is told") {
  const Step<int> plain{.name = "plain", .provide = 1};
  const Step<int> guarded{.name = "guarded", .provide = 1, .enter_when = any_cause};
  struct Row {
    const char* what;
    Plan plan;
    RunOptions options;
    std::vector<int> never;
  };
  const Step<int> rich{.name = "rich", .provide = 1, .reserve = 10s};
  const Step<int> ended{.name = "ended", .provide = 1, .schedule = planb::recurs(0)};
  const Step<int> slow{.name = "slow", .provide = 1, .attempts = 2, .schedule = planb::spaced(5s)};
  Step<int> hurried = slow;
  hurried.max_wait = 1s;
  Step<int> gated = plain;
  gated.gate = std::make_shared<AnyGate>();
  Step<int> guarded_ended = ended;
  guarded_ended.enter_when = any_cause;
  const std::vector<Row> rows{
      {"an ordinary plan", {plain, guarded, plain}, {}, {}},
      {"a guard has no failure to look at", {guarded, plain}, {}, {0}},
      {"nor has a second one", {guarded, guarded, plain, guarded}, {}, {0, 1}},
      {"nor one behind a step that has no time", {plain, guarded, rich}, {.budget = 10s}, {0, 1}},
      {"reserves take all of the budget", {plain, rich}, {.budget = 10s}, {0}},
      {"they leave a nanosecond", {plain, rich}, {.budget = 10s + 1ns}, {}},
      {"no budget at all", {plain, plain}, {.budget = 0s}, {0, 1}},
      {"the longest is none", {plain, rich}, {.budget = Duration::max()}, {}},
      {"a schedule that has ended, asked at entry", {plain, ended}, {.entry = StepEntry::scheduled}, {1}},
      {"it is not asked otherwise", {plain, ended}, {}, {}},
      {"nor where nothing has failed", {ended, plain}, {.entry = StepEntry::scheduled}, {}},
      {"which may be so behind a gate", {gated, ended}, {.entry = StepEntry::scheduled}, {}},
      {"but not where a guard is", {gated, guarded_ended}, {.entry = StepEntry::scheduled}, {1}},
      {"its entry's delay is above max_wait", {plain, hurried}, {.entry = StepEntry::scheduled}, {1}},
      {"or above the budget", {plain, slow}, {.budget = 5s, .entry = StepEntry::scheduled}, {1}},
      {"or within it", {plain, slow}, {.budget = 5s + 1ns, .entry = StepEntry::scheduled}, {}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const Explanation told = planb::explain(row.plan, row.options);
    std::vector<int> never;
    for (const planb::Finding& finding : told.findings) {
      if (finding.kind != FindingKind::never_entered) continue;
      never.push_back(finding.step.value());
      CHECK(finding.step_name == row.plan.steps()[static_cast<std::size_t>(*finding.step)].name);
      CHECK_THAT(finding.text, ContainsSubstring("is never entered: "));
      CHECK_THAT(finding.text, ContainsSubstring(";"));  // a remedy follows
    }
    CHECK(never == row.never);
    for (const planb::StepExplanation& step : told.steps) {
      const bool is_never = std::find(never.begin(), never.end(), step.index) != never.end();
      CHECK(step.reachable == !is_never);
      CHECK((step.worst.calls == 0) == is_never);
    }
  }
}

TEST_CASE("explain: reserves above the budget are told of the run") {
  const Plan plan{{.provide = 1}, {.provide = 2, .reserve = 6s}, {.provide = 3, .reserve = 5s}};
  const Explanation told = planb::explain(plan, {.budget = 10s});
  CHECK(found_in(told) ==
        std::vector<Found>{{FindingKind::reserves_above_budget, std::nullopt}, {FindingKind::never_entered, 0}});
  CHECK(told.findings[0].text ==
        "the steps after the first reserve 11 s in all, more than the budget of 10 s; reserve less, or give a larger "
        "budget");
  CHECK(found_in(planb::explain(plan, {.budget = 12s})).empty());
}

TEST_CASE("explain: a budget of nothing is told of the run") {
  const Explanation told = of({.provide = 1, .timeout = 1s}, {.budget = -1s});
  CHECK(found_in(told) == std::vector<Found>{{FindingKind::no_budget, std::nullopt}, {FindingKind::never_entered, 0}});
  CHECK(told.worst.calls == 0);
  CHECK(told.worst.waits == Duration());
  CHECK(told.worst.time == Duration());
}

TEST_CASE("explain: a timeout above the budget never ends an attempt") {
  CHECK(found_in(of({.provide = 1, .timeout = 10s}, {.budget = 10s})).empty());
  CHECK(found_in(of({.provide = 1, .timeout = 11s}, {.budget = 10s})) ==
        std::vector<Found>{{FindingKind::timeout_above_budget, 0}});
  CHECK(found_in(of({.provide = 1, .timeout = 11s})).empty());
  CHECK(found_in(of({.provide = 1, .timeout = Duration::max()}, {.budget = 10s})).empty());  // it is none

  const Plan plan{{.provide = 1, .timeout = 7s}, {.provide = 2, .reserve = 4s}};
  const Explanation told = planb::explain(plan, {.budget = 10s});
  CHECK(found_in(told) == std::vector<Found>{{FindingKind::timeout_above_budget, 0}});
  CHECK_THAT(told.findings.at(0).text, ContainsSubstring("the 6 s that the reserves of later steps leave"));
  // After output, what others reserve is the step's own.
  CHECK(found_in(planb::explain(plan, StreamOptions{.budget = 10s})).size() == 1);
  CHECK(
      found_in(planb::explain(plan, StreamOptions{.budget = 10s, .partial = PartialStream::prevent_fallback})).empty());
}

TEST_CASE("explain: waits above max_wait keep further attempts away") {
  struct Row {
    planb::Schedule schedule;
    std::optional<int> attempts;
    Duration max_wait;
    std::optional<long long> calls;  // where there is a finding
  };
  const std::vector<Row> rows{
      {planb::spaced(2s), 3, 1s, 1},
      {planb::spaced(1s), 3, 1s, std::nullopt},
      {planb::exponential(1s), 10, 10s, 5},
      {planb::exponential(1s), planb::unlimited, 10s, 5},
      {planb::exponential(1s), 5, 10s, std::nullopt},
      {planb::capped(planb::exponential(1s), 10s), 10, 10s, std::nullopt},
      {planb::delays({1s, 20s}), std::nullopt, 10s, 2},
      {planb::jittered(planb::spaced(10s)), 3, 8s, std::nullopt},  // it may be so short
      {planb::jittered(planb::spaced(10s)), 3, 8s - 1ns, 1},
      {planb::full_jitter(planb::spaced(10s)), 3, 0s, std::nullopt},
      {planb::Schedule::from("own", [](const planb::ScheduleInput&) { return 10s; }), 3, 1s, std::nullopt},
  };
  for (const Row& row : rows) {
    INFO(planb::to_string(row.schedule));
    const Explanation told =
        of({.provide = 1, .attempts = row.attempts, .schedule = row.schedule, .max_wait = row.max_wait});
    const std::vector<Found> wanted =
        row.calls ? std::vector<Found>{{FindingKind::wait_above_max_wait, 0}} : std::vector<Found>{};
    CHECK(found_in(told) == wanted);
    if (row.calls) CHECK(told.worst.calls == row.calls);
  }
}

TEST_CASE("explain: a schedule that ends before the attempts is told") {
  const auto early = std::vector<Found>{{FindingKind::schedule_ends_early, 0}};
  struct Row {
    planb::Schedule schedule;
    std::optional<int> attempts;
    long long calls;
    bool told;
  };
  const std::vector<Row> rows{
      {planb::recurs(3), 5, 4, true},
      {planb::recurs(3), 4, 4, false},
      {planb::recurs(3), planb::unlimited, 4, false},  // no limit but the schedule's: it may be meant
      {planb::recurs(3), std::nullopt, 4, false},
      {planb::recurs(0), std::nullopt, 1, true},  // no retry at all
      {planb::jittered(planb::recurs(3)), 5, 4, true},
      {planb::concat(planb::once(), planb::delays({1s, 2s})), 5, 4, true},
      {planb::up_to(planb::spaced(1s), 5s), 8, 7, true},  // asked after 0 to 5 s, at the soonest
      {planb::up_to(planb::spaced(1s), 5s), 7, 7, false},
      {planb::during(5s), 100, 100, false},
  };
  for (const Row& row : rows) {
    INFO(planb::to_string(row.schedule));
    const Explanation told = of({.provide = 1, .attempts = row.attempts, .schedule = row.schedule});
    CHECK(found_in(told) == (row.told ? early : std::vector<Found>()));
    CHECK(told.worst.calls == row.calls);
  }
  CHECK_THAT(of({.provide = 1, .attempts = 5, .schedule = planb::recurs(3)}).findings.at(0).text,
             ContainsSubstring("ends after 4 attempts, so that `attempts = 5` are never made"));
}

TEST_CASE("explain: waits that the budget has no room for are told") {
  const Step<int> step{.provide = 1, .attempts = 10, .schedule = planb::spaced(2s)};
  const Explanation told = of(step, {.budget = 6s});
  CHECK(found_in(told) == std::vector<Found>{{FindingKind::wait_above_budget, 0}});
  CHECK(told.worst.calls == 3);
  CHECK(found_in(of(step, {.budget = 18s + 1ns})).empty());
  // Until the budget ends is what a retry without limit means, but not that there is none.
  CHECK(found_in(of({.provide = 1, .attempts = planb::unlimited, .schedule = planb::spaced(2s)}, {.budget = 6s}))
            .empty());
  CHECK(found_in(of({.provide = 1, .attempts = planb::unlimited, .schedule = planb::spaced(2s)}, {.budget = 2s})) ==
        std::vector<Found>{{FindingKind::wait_above_budget, 0}});
}

TEST_CASE("explain: what only a retry would ask is told where there is none") {
  const Step<int> step{
      .provide = 1, .attempts = 1, .schedule = planb::spaced(1s), .retry_while = any_cause, .max_wait = 10s};
  CHECK(found_in(of(step)) == std::vector<Found>{{FindingKind::schedule_unused, 0},
                                                 {FindingKind::retry_while_unused, 0},
                                                 {FindingKind::max_wait_unused, 0}});
  // A later step's are asked at its entry, where entry is scheduled.
  Step<int> later = step;
  later.provide = 2;
  const Plan plan{{.provide = 1}, later};
  CHECK(found_in(planb::explain(plan, {.entry = StepEntry::scheduled})).empty());
  CHECK(found_in(planb::explain(plan, RunOptions{})).size() == 3);
}

TEST_CASE("explain: a reserve that keeps nothing back is told") {
  const Plan plan{{.provide = 1, .reserve = 1s}, {.provide = 2, .reserve = 1s}};
  const Found first{FindingKind::reserve_unused, 0};
  const Found second{FindingKind::reserve_unused, 1};
  CHECK(found_in(planb::explain(plan, RunOptions{})) == std::vector<Found>{first, second});
  CHECK(found_in(planb::explain(plan, {.budget = 10s})) == std::vector<Found>{first});
  CHECK(found_in(planb::explain(plan)) == std::vector<Found>{first});  // who knows the budget?
}

TEST_CASE("explain: the worst case of a call") {
  const Plan plan{
      {.provide = 1, .attempts = 3, .schedule = planb::spaced(2s), .max_wait = 2s, .timeout = 5s},
      {.provide = 2, .attempts = 2, .timeout = 10s},
  };
  const Explanation told = planb::explain(plan);
  CHECK(told.steps[0].worst.calls == 3);
  CHECK(told.steps[0].worst.waits == 4s);
  CHECK(told.steps[0].worst.time == 19s);
  CHECK(told.steps[1].worst.waits == 1min);  // a wait hint
  CHECK(told.steps[1].worst.time == 80s);
  CHECK(told.worst.calls == 5);
  CHECK(told.worst.waits == 64s);
  CHECK(told.worst.time == 99s);

  const Explanation within = planb::explain(plan, {.budget = 30s});
  CHECK(within.worst.calls == 5);
  CHECK(within.steps[0].worst.time == 19s);
  CHECK(within.worst.time == 30s);
}

TEST_CASE("explain: without a bound there is none") {
  CHECK(of({.provide = 1, .attempts = 2}).worst.time == std::nullopt);
  CHECK(of({.provide = 1, .attempts = 2}).worst.calls == 2);
  CHECK(of({.provide = 1, .attempts = 2}, {.budget = 10s}).worst.time == Duration(10s));
  const Explanation endless =
      of({.provide = 1, .attempts = planb::unlimited, .schedule = planb::spaced(1s), .timeout = 1s});
  CHECK(endless.worst.calls == std::nullopt);
  CHECK(endless.worst.waits == std::nullopt);
  CHECK(endless.worst.time == std::nullopt);
  const Explanation bounded =
      of({.provide = 1, .attempts = planb::unlimited, .schedule = planb::spaced(1s), .timeout = 1s}, {.budget = 10s});
  CHECK(bounded.worst.calls == 10);
  CHECK(bounded.worst.time == Duration(10s));
  // Any hint is heeded.
  CHECK(of({.provide = 1, .attempts = 2, .max_wait = Duration::max(), .timeout = 1s}).worst.waits == std::nullopt);
  CHECK(of({.provide = 1,
            .attempts = 2,
            .schedule = planb::Schedule::from("own", [](const auto&) { return 1s; }),
            .timeout = 1s})
            .worst.waits == std::nullopt);
  const auto own = planb::capped(planb::Schedule::from("own", [](const auto&) { return 1s; }), 2min);
  CHECK(of({.provide = 1, .attempts = 2, .schedule = own}).worst.waits == Duration(2min));
  // Long rows of attempts are not looked at one by one.
  const Explanation long_row = of({.provide = 1, .attempts = 2'000'000'000, .max_wait = 1ms, .timeout = 1ms});
  CHECK(long_row.worst.calls == 2'000'000'000);
  CHECK(long_row.worst.waits == Duration(1'999'999'999ms));
  CHECK(long_row.worst.time == Duration(3'999'999'999ms));
  CHECK(of({.provide = 1, .schedule = planb::recurs(2'000'000)}).worst.calls == 2'000'001);
}

TEST_CASE("explain: rows that are too long to be looked at one by one end where shorter ones do") {
  using planb::recurs;
  using planb::spaced;
  const auto calls = [](planb::Schedule schedule) {
    return of({.provide = 1, .attempts = planb::unlimited, .schedule = std::move(schedule)}).worst.calls;
  };
  for (const int n : {998, 999, 1000, 5000, 200'000}) CHECK(calls(recurs(n)) == n + 1);
  CHECK(calls(planb::either(recurs(200'000), recurs(300'000))) == 300'001);
  CHECK(calls(planb::both(recurs(200'000), recurs(300'000))) == 200'001);
  CHECK(calls(planb::concat(recurs(200'000), recurs(300'000))) == 500'001);

  // A budget lets an attempt begin while there is any time left.
  const auto in_time = [](Duration budget) {
    return of({.provide = 1, .attempts = planb::unlimited, .schedule = spaced(1s), .max_wait = 1s}, {.budget = budget})
        .worst.calls;
  };
  for (const long long seconds : {10, 900, 100'000, 200'000, 1'000'000}) {
    CAPTURE(seconds);
    CHECK(in_time(seconds * 1s) == seconds);
    CHECK(in_time(seconds * 1s + 1ns) == seconds + 1);
    CHECK(in_time(seconds * 1s - 1ns) == seconds);
  }
}

TEST_CASE("explain: the longest wait of a long row is the longest that there may be") {
  static constexpr int attempts = 200'000;
  const auto waits = [](planb::Schedule schedule) {
    return of({.provide = 1, .attempts = attempts, .schedule = std::move(schedule)}).worst.waits;
  };
  CHECK(waits(planb::forever()) == (attempts - 1) * Duration(1min));  // hints
  CHECK(waits(planb::spaced(2min)) == (attempts - 1) * Duration(2min));
  CHECK(waits(planb::exponential(2min, 0.5)) > (attempts - 2) * Duration(1min));
  // 1, 2, 4, 8, 16 and 32 s, which hints make longer, 64 s, and then the cap.
  CHECK(waits(planb::capped(planb::exponential(1s, 2), 2min)) == 6 * 60s + 64s + (attempts - 8) * Duration(2min));
}

TEST_CASE("explain: a step without a schedule is entered at once, in scheduled entry too") {
  const Plan plan{{.provide = 1, .timeout = 1s}, {.provide = 2, .timeout = 1s}};
  const Explanation told = planb::explain(plan, {.entry = StepEntry::scheduled});
  CHECK(told.steps[1].worst.calls == 1);
  CHECK(told.worst.waits == Duration());
  CHECK(told.worst.time == Duration(2s));
}

TEST_CASE("explain: a decorrelated jitter with no room above its base waits as long as its cap") {
  const auto told = of({.provide = 1,
                        .attempts = 3,
                        .schedule = planb::capped(planb::decorrelated_jitter(100s, 100s), 90s),
                        .max_wait = 60s});
  CHECK(found_in(told) == std::vector<Found>{{FindingKind::wait_above_max_wait, 0}});
  CHECK(told.worst.calls == 1);
}

TEST_CASE("explain: a jitter counts by the upper end of its spread") {
  using planb::spaced;
  struct Row {
    planb::Schedule schedule;
    Duration waits;
  };
  const Duration by_hint = 66s;  // a minute, spread by a tenth
  const std::vector<Row> rows{
      {planb::jittered(spaced(100s)), 120s},
      {planb::capped(planb::jittered(spaced(100s)), 110s), 110s},
      {planb::jittered(planb::capped(spaced(100s), 90s)), 90s},
      {planb::full_jitter(spaced(100s)), 100s},
      {planb::equal_jitter(spaced(10s)), by_hint},
      {planb::decorrelated_jitter(50s, 1000s), 150s},
      {planb::decorrelated_jitter(50s, 120s), 120s},
      {planb::add_delay(planb::jittered(spaced(100s)), 5s), 125s},
      {planb::either(planb::jittered(spaced(100s)), spaced(80s)), 80s},
      {planb::either(planb::while_input(spaced(80s), any_cause), planb::jittered(spaced(100s))), 120s},
      {planb::both(planb::jittered(spaced(100s)), spaced(130s)), 130s},
  };
  for (const Row& row : rows) {
    INFO(planb::to_string(row.schedule));
    CHECK(of({.provide = 1, .attempts = 2, .schedule = row.schedule}).worst.waits == row.waits);
  }
}

TEST_CASE("explain: time that a schedule ends by bounds the waits") {
  const Explanation told = of(
      {.provide = 1, .attempts = 20, .schedule = planb::up_to(planb::spaced(1s), 10s), .max_wait = 1s, .timeout = 2s});
  CHECK(told.worst.time == Duration(2s + 10s + 1s + 2s));
  CHECK(told.worst.calls == 12);
}

TEST_CASE("explain: scheduled entry waits before a step, too") {
  const Step<int> later{
      .provide = 2, .attempts = 2, .schedule = planb::delays({1s, 3s}), .max_wait = 5s, .timeout = 1s};
  const Plan plan{{.provide = 1, .timeout = 1s}, later};
  const Explanation scheduled = planb::explain(plan, {.entry = StepEntry::scheduled});
  CHECK(scheduled.steps[1].worst.waits == Duration(1s + 5s));  // no hint at the entry
  CHECK(scheduled.worst.time == Duration(1s + 1s + 1s + 5s + 1s));
  CHECK(planb::explain(plan).steps[1].worst.waits == Duration(5s));

  // Behind a gate nothing may have failed yet: then it is not asked at its entry, and recurs once more.
  const Plan behind{{.provide = 1, .gate = std::make_shared<AnyGate>()}, {.provide = 2, .schedule = planb::recurs(2)}};
  CHECK(planb::explain(behind, {.entry = StepEntry::scheduled}).steps[1].worst.calls == 3);
  const Plan after{{.provide = 1}, {.provide = 2, .schedule = planb::recurs(2)}};
  CHECK(planb::explain(after, {.entry = StepEntry::scheduled}).steps[1].worst.calls == 2);
}

TEST_CASE("explain: a stream's attempt is bounded by the budget alone") {
  const Plan plan{{.provide = 1, .timeout = 5s}, {.provide = 2, .reserve = 4s}};
  CHECK(planb::explain(plan, StreamOptions{}).worst.time == std::nullopt);
  const Explanation allowed = planb::explain(plan, StreamOptions{.budget = 10s});
  CHECK(allowed.steps[0].worst.time == Duration(6s));
  CHECK(allowed.worst.time == Duration(10s));
  const Explanation prevented =
      planb::explain(plan, StreamOptions{.budget = 10s, .partial = PartialStream::prevent_retry});
  CHECK(prevented.steps[0].worst.time == Duration(10s));
  CHECK_THAT(prevented.text, ContainsSubstring("after output nothing is tried again"));
  CHECK_THAT(prevented.steps[0].text, ContainsSubstring("no silence of its source longer than 5 s"));
}

TEST_CASE("explain: as text") {
  const Plan plan{
      {.name = "openai", .provide = 1, .attempts = 3, .schedule = planb::spaced(1s), .max_wait = 5s, .timeout = 10s},
      {.provide = 2, .enter_when = any_cause, .timeout = 45s, .reserve = 5s},
  };
  CHECK(planb::to_string(planb::explain(plan, {.budget = 30s})) ==
        "a call, budget 30 s\n"
        "at worst 4 calls, 10 s of waits, 30 s in all\n"
        "  openai: up to 3 attempts; each at most 10 s; all of it at most 25 s, for the rest of the budget is "
        "reserved; waits spaced(1s); a wait above 5 s leaves it\n"
        "          at worst 3 calls, 10 s of waits, 25 s in all\n"
        "  step 1: 1 attempt; each at most 45 s; entered only where enter_when accepts the failure before it; 5 s of "
        "the budget are kept for it\n"
        "          at worst 1 call, 30 s in all\n"
        "cannot work as written\n"
        "  step 1: its timeout of 45 s never ends an attempt: the budget of 30 s is over before; give a shorter "
        "timeout, or a larger budget\n");
}

TEST_CASE("explain: as text, where there is no bound or no entry") {
  const Plan endless{{.provide = 1, .attempts = planb::unlimited}};
  CHECK(planb::to_string(planb::explain(endless)) ==
        "a call, no budget\n"
        "at worst calls without bound, waits without bound, time without bound\n"
        "  step 0: attempts without limit; a wait hint above 1 min leaves it\n"
        "          at worst calls without bound, waits without bound, time without bound\n");
  const std::string none = planb::to_string(planb::explain(endless, {.budget = 0s}));
  CHECK_THAT(none, ContainsSubstring("\n          never entered\ncannot work as written\n  the budget is zero"));
  CHECK_THAT(none, ContainsSubstring("\n  step 0: is never entered: "));
}

TEST_CASE("explain: none of the plan's functions is called, and an Env may still be missing") {
  struct Env {};
  const auto never = [](const auto&) -> bool { throw std::logic_error("called"); };
  const planb::ExecutionPlan<int, Env> plan{
      {.provide = [](Env&) -> int { throw std::logic_error("called"); },
       .attempts = 3,
       .schedule = planb::Schedule::from(
           "spaced(1s)", [](const planb::ScheduleInput&) -> Duration { throw std::logic_error("called"); }),
       .retry_while = [never](const Cause& cause) { return never(cause); }}};
  const Explanation told = planb::explain(plan);
  CHECK(told.worst.calls == 3);
  CHECK(told.worst.waits == std::nullopt);  // a name is not a rule
}

TEST_CASE("explain: every kind of finding has words") {
  for (int i = 0; i <= static_cast<int>(FindingKind::first_timeout_unused); ++i) {
    CHECK(std::string(planb::to_string(static_cast<FindingKind>(i))) != "unknown");
  }
  CHECK(std::string(planb::to_string(static_cast<FindingKind>(99))) == "unknown");
}

TEST_CASE("explain: a gate's patience counts once per attempt, and no longer than max_wait") {
  const auto worst = [](std::optional<planb::Duration> max_wait) {
    const Explanation explanation = of({.name = "patient",
                                        .provide = 1,
                                        .attempts = 3,
                                        .schedule = planb::spaced(1s),
                                        .max_wait = max_wait,
                                        .timeout = 10s,
                                        .gate = std::make_shared<AnyGate>(2s)});
    return explanation.worst.time;
  };
  CHECK(worst(5s) == 3 * 12s + 2 * 5s);  // a wait hint up to max_wait
  CHECK(worst(1s) == 3 * 11s + 2 * 1s);
}

TEST_CASE("explain: waiting for a gate is waiting") {
  const auto gated = [](Duration patience) -> Step<int> {
    return {.provide = 1, .timeout = 10s, .gate = std::make_shared<AnyGate>(patience)};
  };
  const Explanation once = of(gated(2s));
  CHECK(once.worst.waits == Duration(2s));
  CHECK(once.worst.time == Duration(12s));
  CHECK_THAT(once.steps[0].text, ContainsSubstring("its gate is asked before each attempt, which waits up to 2 s"));
  CHECK(of(gated(0s)).worst.waits == Duration());
  CHECK(of(gated(20s), {.budget = 5s}).worst.waits == Duration(5s - 1ns));  // or there is no time for the attempt
  CHECK(of(gated(Duration::max())).worst.waits == std::nullopt);
  Step<int> retried = gated(2s);
  retried.schedule = planb::up_to(planb::spaced(1s), 10s);
  retried.max_wait = 2s;
  // The time that the schedule goes on for begins after the first admission.
  CHECK(of(retried).worst.waits == Duration(2s + 10s + 2s + 2s));
  // The longest of several gates, each asked by itself.
  Step<int> both = gated(2s);
  both.gate = planb::all_of(std::make_shared<AnyGate>(1s), std::make_shared<AnyGate>(3s));
  CHECK(of(both).worst.waits == Duration(3s));
}

TEST_CASE("explain: a first_timeout is a stream's") {
  const Plan plan{{.provide = 1, .timeout = 1s, .first_timeout = 7s}, {.provide = 2, .reserve = 4s}};
  const auto stream = [&plan](std::optional<Duration> budget, PartialStream partial = PartialStream::allow) {
    return planb::explain(plan, StreamOptions{.budget = budget, .partial = partial});
  };
  CHECK(found_in(stream(11s)).empty());
  CHECK_THAT(stream(11s).steps[0].text,
             ContainsSubstring("the first output within 7 s; after it no silence of its source longer than 1 s"));
  const auto above = std::vector<Found>{{FindingKind::first_timeout_above_budget, 0}};
  CHECK(found_in(stream(11s - 1ns)) == above);
  CHECK(found_in(stream(11s - 1ns, PartialStream::prevent_retry)) == above);  // before output, reserves are others'
  CHECK_THAT(stream(10s).findings.at(0).text,
             ContainsSubstring("its first_timeout of 7 s never ends an attempt: the 6 s that the reserves"));
  CHECK_THAT(stream(6s).findings.at(0).text, ContainsSubstring("the budget of 6 s is over before; give a shorter "
                                                               "first_timeout"));
  CHECK(stream(std::nullopt).worst.time == std::nullopt);  // what comes after the first output has no bound

  const auto unused = std::vector<Found>{{FindingKind::first_timeout_unused, 0}};
  CHECK(found_in(planb::explain(plan, {.budget = 5s})) == unused);
  CHECK_THAT(planb::explain(plan, {.budget = 5s}).steps[0].text, !ContainsSubstring("first output"));
  CHECK(found_in(planb::explain(plan)).empty());  // it may be for streams
  CHECK_THAT(planb::explain(plan).steps[0].text, ContainsSubstring("of a stream, the first output within 7 s"));
}
