// ExecutionPlan: a fallback chain as a value.
#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::Action;
using planb::Cause;
using planb::Duration;
using planb::ExecutionPlan;
using planb::Step;
using planb::Verdict;
using Plan = ExecutionPlan<int>;
using Strings = std::vector<std::string>;

static_assert(!std::is_default_constructible_v<Plan>, "there is no plan without steps");
static_assert(std::is_nothrow_copy_constructible_v<Plan> && std::is_nothrow_copy_assignable_v<Plan>);
static_assert(std::is_nothrow_move_constructible_v<Plan> && std::is_nothrow_move_assignable_v<Plan>);
static_assert(!std::is_convertible_v<std::vector<Step<int>>, Plan>, "a vector becomes a plan only where that is said");
static_assert(std::is_constructible_v<Plan, std::vector<Step<int>>>);
static_assert(std::is_same_v<decltype(std::declval<Plan&>().steps()), const std::vector<Step<int>>&>,
              "what a plan holds cannot be changed, not even through a plan that is not const");
static_assert(std::is_aggregate_v<Step<int>>);
static_assert(std::is_same_v<Plan::context_type, int> && std::is_void_v<Plan::env_type>);

// Each step gives its number; the calls fail with it.
Plan numbered(int count) {
  std::vector<Step<int>> steps;
  for (int i = 0; i != count; ++i) steps.push_back({.name = "s" + std::to_string(i), .provide = i});
  return Plan(std::move(steps));
}

const auto fail = [](int&) -> int { throw std::runtime_error("failed"); };

struct OpenGate final : planb::Gate {
  [[nodiscard]] planb::Admission admit(const planb::GateRequest&) override { return planb::Permit(*this, 0); }
  [[nodiscard]] planb::TimePoint opens_at(const planb::GateRequest& request) const override { return request.now; }
  void on_outcome(std::uint64_t, const planb::GateOutcome&) override {}
  void on_dropped(std::uint64_t, bool) noexcept override {}
};

std::string refusal_of(std::vector<Step<int>> steps) {
  try {
    const Plan plan(std::move(steps));
    return {};
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("a plan is written with the members that matter", "[plan]") {
  // Compiled with -Wmissing-field-initializers and -Werror: what is left out is left out without a warning.
  const Plan plan{
      {.name = "only a provide", .provide = 1},
      {.provide = 2, .attempts = 3},
      {.name = "everything",
       .provide = 3,
       .attempts = 4,
       .schedule = planb::spaced(1s),
       .retry_while = [](const Cause&) { return true; },
       .classify = [](const Cause&) { return Verdict{}; },
       .enter_when = [](const Cause&) { return true; },
       .max_wait = 2s,
       .timeout = 3s,
       .first_timeout = 5s,
       .reserve = 4s,
       .gate = std::make_shared<OpenGate>()},
  };
  REQUIRE(plan.size() == 3);
  REQUIRE(plan.steps().size() == 3);

  const Step<int>& bare = plan.steps()[0];
  CHECK(bare.name == "only a provide");
  CHECK(bare.attempts == std::nullopt);
  CHECK_FALSE(bare.schedule);
  CHECK_FALSE(bare.retry_while);
  CHECK_FALSE(bare.classify);
  CHECK_FALSE(bare.enter_when);
  CHECK(bare.max_wait == std::nullopt);
  CHECK(bare.timeout == std::nullopt);
  CHECK(bare.first_timeout == std::nullopt);
  CHECK(bare.reserve == Duration(0));
  CHECK(bare.gate == nullptr);

  CHECK(plan.steps()[1].name.empty());
  CHECK(plan.steps()[1].attempts == 3);

  const Step<int>& full = plan.steps()[2];
  CHECK(full.attempts == 4);
  CHECK(to_string(full.schedule) == "spaced(1s)");
  CHECK(full.retry_while);
  CHECK(full.classify);
  CHECK(full.enter_when);
  CHECK(full.max_wait == Duration(2s));
  CHECK(full.timeout == Duration(3s));
  CHECK(full.first_timeout == Duration(5s));
  CHECK(full.reserve == Duration(4s));
  CHECK(full.gate != nullptr);
}

TEST_CASE("a plan is made from a list, a vector or steps at hand", "[plan]") {
  const Step<int> first{.name = "first", .provide = 1};
  const Step<int> second{.name = "second", .provide = 2};
  const Plan from_list{first, second};
  const Plan from_vector(std::vector<Step<int>>{first, second});
  const Plan with_equals = {first, second};
  for (const Plan* plan : {&from_list, &from_vector, &with_equals}) {
    REQUIRE(plan->size() == 2);
    CHECK(plan->steps()[0].name == "first");
    CHECK(plan->steps()[1].name == "second");
  }
  CHECK(first.name == "first");
}

TEST_CASE("steps are kept in any container before they are a plan", "[plan]") {
  using Entry = Step<int>;
  std::map<std::string, Entry> by_name;
  by_name.emplace("a", Entry{.name = "a", .provide = 1});
  by_name.insert({"b", {.name = "b", .provide = 2}});
  const std::pair<std::string, Entry> pair{"c", {.name = "c", .provide = 3}};
  const std::tuple<int, Entry> tuple{4, {.name = "d", .provide = 4}};
  std::optional<Entry> maybe;
  maybe = Entry{.name = "e", .provide = 5};
  std::variant<int, Entry> either = 0;
  either = Entry{.name = "f", .provide = 6};
  const std::array<Entry, 1> array{Entry{.name = "g", .provide = 7}};
  const auto shared = std::make_shared<Entry>(array[0]);
  const ExecutionPlan<int> plan{by_name.at("a"), by_name.at("b"),         pair.second, std::get<1>(tuple),
                                *maybe,          std::get<Entry>(either), array[0],    *shared};
  CHECK(plan.size() == 8);
  CHECK(planb::run_with_plan(plan, [](int& i) { return i; }) == 1);
  STATIC_REQUIRE(std::is_aggregate_v<Entry>);
}

TEST_CASE("a copy of a plan shares its steps, and so does what it was moved to", "[plan]") {
  const Plan plan = numbered(3);
  const Plan copy = plan;  // NOLINT(performance-unnecessary-copy-initialization)
  CHECK(&copy.steps() == &plan.steps());

  Plan assigned = numbered(1);
  assigned = plan;
  CHECK(&assigned.steps() == &plan.steps());

  Plan source = plan;
  const Plan moved = std::move(source);
  CHECK(&moved.steps() == &plan.steps());
  CHECK(source.size() == 3);  // a moved-from plan still is one
  CHECK(run_with_plan(source, [](int& n) { return n + 1; }) == 1);

  Plan& self = assigned;
  assigned = self;
  CHECK(assigned.size() == 3);
}

TEST_CASE("a plan outlives the one that it was copied from", "[plan]") {
  auto first = std::make_unique<Plan>(numbered(2));
  const Plan copy = *first;
  first.reset();
  CHECK(run_with_plan(copy, [](int& n) { return n == 1 ? n : throw std::runtime_error("first"); }) == 1);
}

TEST_CASE("a run leaves its plan as it was, a thousand times", "[plan][field-8]") {
  const Plan plan{{.name = "a", .provide = 1, .attempts = 2, .schedule = planb::recurs(5)},
                  {.name = "b", .provide = 2}};
  for (int run = 0; run != 1000; ++run) {
    std::vector<int> calls;
    CHECK_FALSE(try_run_with_plan(plan, [&](int& ctx) {
      calls.push_back(ctx);
      ctx = 0;
      throw std::runtime_error("failed");
    }));
    REQUIRE(calls == std::vector<int>{1, 1, 2});
  }
}

TEST_CASE("plans that make no sense are refused; the refusal names the step and the remedy", "[plan]") {
  struct Row {
    std::vector<Step<int>> steps;
    std::string message;
  };
  const Step<int> well{.name = "well", .provide = 1};
  const std::string counts = "; it counts the first try too, so it must be 1 or more (or planb::unlimited)";
  const std::string endless =
      ": the schedule never ends by itself and no `attempts` is given; give `attempts`, a schedule that ends, or "
      "`attempts = planb::unlimited` if that is meant";
  const std::vector<Row> table{
      {{}, "an ExecutionPlan needs at least one step"},
      {{{.name = "a", .provide = 1, .attempts = 0}}, "step \"a\": `attempts` is 0" + counts},
      {{well, {.name = "b", .provide = 1, .attempts = -3}}, "step \"b\": `attempts` is -3" + counts},
      {{well, well, {.provide = 1, .attempts = 0}}, "step 2: `attempts` is 0" + counts},
      {{{.name = "a", .provide = 1, .schedule = planb::spaced(1s)}}, "step \"a\"" + endless},
      {{well, {.provide = 1, .schedule = planb::exponential(1s)}}, "step 1" + endless},
      {{{.name = "a", .provide = 1, .max_wait = -1ns}}, "step \"a\": `max_wait` is negative"},
      {{{.name = "a", .provide = 1, .timeout = 0s}},
       "step \"a\": `timeout` must be above zero; leave it out for no limit"},
      {{{.provide = 1, .timeout = -1s}}, "step 0: `timeout` must be above zero; leave it out for no limit"},
      {{well, {.name = "a", .provide = 1, .reserve = -1ns}}, "step \"a\": `reserve` is negative"},
      // The first fault is told.
      {{{.name = "a", .provide = 1, .attempts = 0}, {.name = "b", .provide = 1, .timeout = 0s}},
       "step \"a\": `attempts` is 0" + counts},
  };
  for (const Row& row : table) {
    CHECK(refusal_of(row.steps) == "planb: " + row.message);
    const auto made = Plan::make(row.steps);
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().message() == row.message);
  }
}

TEST_CASE("what comes near to that is accepted", "[plan]") {
  const std::vector<Step<int>> table{
      {.provide = 1},
      {.provide = 1, .attempts = 1},
      {.provide = 1, .attempts = planb::unlimited},
      {.provide = 1, .attempts = 2, .schedule = planb::spaced(1s)},
      {.provide = 1, .attempts = planb::unlimited, .schedule = planb::exponential(1s)},
      {.provide = 1, .schedule = planb::recurs(3)},
      {.provide = 1, .schedule = planb::Schedule::from("own", [](const auto&) { return std::optional(Duration(1)); })},
      {.provide = 1, .max_wait = 0s},
      {.provide = 1, .timeout = 1ns, .reserve = 0s},
      {.provide = 1, .timeout = (Duration::max)(), .reserve = (Duration::max)()},
  };
  for (const Step<int>& step : table) {
    CHECK(refusal_of({step}).empty());
    CHECK(Plan::make({step}).has_value());
  }
}

TEST_CASE("make gives the plan or the refusal", "[plan]") {
  const planb::Checked<Plan, planb::InvalidPlan> made = Plan::make({{.name = "a", .provide = 5}});
  REQUIRE(made.has_value());
  CHECK(run_with_plan(*made, [](int& n) { return n; }) == 5);
  CHECK(made->size() == 1);

  const auto refused = Plan::make({});
  REQUIRE_FALSE(refused);
  CHECK_THROWS_AS(static_cast<void>(refused.value()), std::invalid_argument);
}

TEST_CASE("names may be empty, and need not differ", "[plan]") {
  const Plan plan{{.provide = 1}, {.name = "same", .provide = 2}, {.name = "same", .provide = 3}};
  planb::testing::AttemptLog log;
  const auto result = try_run_with_plan(plan, fail, {.on_event = log});
  CHECK(log.names() == Strings{"", "same", "same"});
  REQUIRE_FALSE(result.has_value());
  CHECK(std::string(result.error().what()) == "plan exhausted: step 0: failed; same: failed; same: failed");
  CHECK(log.lines()[0] == "AttemptStart #1 step=0");

  const auto answered = try_run_with_plan(plan, [](int& n) { return n; });
  CHECK(answered.report().answered_by() == "step 0");
}

TEST_CASE("without attempts a step is tried once, or as often as its schedule says", "[plan]") {
  const auto calls = [](const Step<int>& step) {
    int count = 0;
    planb::testing::VirtualClock clock;
    CHECK_FALSE(try_run_with_plan(Plan{step},
                                  [&](int&) {
                                    ++count;
                                    throw std::runtime_error("failed");
                                  },
                                  {.clock = &clock}));
    return count;
  };
  CHECK(calls({.provide = 1}) == 1);
  CHECK(calls({.provide = 1, .retry_while = [](const Cause&) { return true; }}) == 1);
  CHECK(calls({.provide = 1, .attempts = 3}) == 3);
  CHECK(calls({.provide = 1, .schedule = planb::recurs(3)}) == 4);
  CHECK(calls({.provide = 1, .attempts = 2, .schedule = planb::recurs(3)}) == 2);
  CHECK(calls({.provide = 1, .attempts = 9, .schedule = planb::recurs(3)}) == 4);
}

TEST_CASE("with_classifier gives a classifier to the steps that have none", "[plan]") {
  const planb::Classifier alarm = [](const Cause&) { return Verdict{Action::abort, true}; };
  const Plan plan{
      {.name = "own", .provide = 1, .classify = [](const Cause&) { return Verdict{Action::next_step}; }},
      {.name = "none", .provide = 2},
      {.name = "unreached", .provide = 3},
  };
  const Plan with = plan.with_classifier(alarm);
  CHECK(&with.steps() != &plan.steps());
  CHECK_FALSE(plan.steps()[1].classify);

  planb::testing::AttemptLog log;
  const auto result = try_run_with_plan(with, fail, {.on_event = log});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().end() == planb::RunEnd::aborted);
  CHECK(log.names() == Strings{"own", "none"});
  REQUIRE(log.of<planb::AttemptFailure>().size() == 2);
  CHECK(log.of<planb::AttemptFailure>()[0].verdict == Verdict{Action::next_step});
  CHECK(log.of<planb::AttemptFailure>()[1].verdict == Verdict{Action::abort, true});

  const auto before = try_run_with_plan(plan, fail);
  CHECK(before.error().end() == planb::RunEnd::exhausted);
  CHECK(before.report().attempts == 3);
}

TEST_CASE("a plan may have a thousand steps", "[plan]") {
  const Plan plan = numbered(1000);
  CHECK(plan.size() == 1000);
  std::vector<int> calls;
  const int answer = run_with_plan(plan, [&](int& n) {
    calls.push_back(n);
    if (n != 999) throw std::runtime_error("failed");
    return n;
  });
  CHECK(answer == 999);
  REQUIRE(calls.size() == 1000);
  for (int i = 0; i != 1000; ++i) REQUIRE(calls[static_cast<std::size_t>(i)] == i);

  const auto failed = try_run_with_plan(plan, fail);
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.report().steps.size() == 1000);
  CHECK(std::string(failed.error().what()).size() < 3000);
}

TEST_CASE("an empty function is refused where it is given, not where it would be called", "[plan]") {
  using Steps = std::vector<planb::Step<int>>;
  const std::function<bool(const planb::Cause&)> no_predicate;
  const std::function<planb::Verdict(const planb::ProviderError&)> no_classifier;
  const std::function<int()> no_factory;
  int (*const no_function)() = nullptr;
  CHECK_THROWS_AS((Steps{{.provide = 1, .retry_while = no_predicate}}), std::invalid_argument);
  CHECK_THROWS_AS((Steps{{.provide = 1, .enter_when = no_predicate}}), std::invalid_argument);
  CHECK_THROWS_AS((Steps{{.provide = 1, .classify = no_classifier}}), std::invalid_argument);
  CHECK_THROWS_AS((Steps{{.provide = no_factory}}), std::invalid_argument);
  CHECK_THROWS_AS((Steps{{.provide = no_function}}), std::invalid_argument);
  const planb::ExecutionPlan<int> full{{.provide = std::function<int()>([] { return 7; })}};
  CHECK(planb::run_with_plan(full, [](int n) { return n; }) == 7);
}

TEST_CASE("an empty function as a handler is none", "[plan]") {
  const std::function<void(const planb::AttemptStart&)> nobody;
  CHECK_FALSE(planb::EventHandler(nobody));
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  CHECK(planb::run_with_plan(plan, [](int n) { return n; }, {.on_event = nobody}) == 1);
}
