// Attempt::last_of_step() and last_of_run(): whether another attempt can follow.
#include <planb/planb.hpp>
#include <planb/stream.hpp>

#include "catch.hpp"

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::Attempt;
using Step = planb::Step<int>;
using Steps = std::vector<Step>;

std::string words(const Attempt& attempt) {
  const auto word = [](std::optional<bool> last) { return !last ? '?' : *last ? 'y' : 'n'; };
  return {word(attempt.last_of_step()), word(attempt.last_of_run())};
}

// "step/run" for each attempt, where all fail: y, n or ? for unknown.
std::string seen(Steps steps, const planb::RunOptions* options = nullptr) {
  std::string text;
  const auto call = [&](int&, const Attempt& attempt) {
    text += text.empty() ? "" : " ";
    text += words(attempt);
    throw std::runtime_error("down");
  };
  const planb::ExecutionPlan<int> plan(std::move(steps));
  try {
    if (options != nullptr) {
      planb::run_with_plan(plan, call, *options);
    } else {
      planb::run_with_plan(plan, call);
    }
  } catch (const planb::PlanError&) {  // as it should
  }
  return text;
}

}  // namespace

TEST_CASE("an attempt knows whether another can follow, in its step and in the run") {
  struct Row {
    const char* what;
    Steps steps;
    const char* expected;
  };
  const auto yes = [](const planb::Cause&) { return true; };
  const auto no = [](const planb::Cause&) { return false; };
  const auto retry = [](const planb::Cause&) { return planb::Verdict{planb::Action::retry}; };
  const std::vector<Row> rows{
      {"one step, one attempt", {{.provide = 1}}, "yy"},
      {"one step, three attempts", {{.provide = 1, .attempts = 3}}, "nn nn yy"},
      {"two steps", {{.provide = 1, .attempts = 2}, {.provide = 2}}, "nn yn yy"},
      {"a predicate decides", {{.provide = 1, .attempts = 2, .retry_while = yes}}, "?? yy"},
      {"a predicate decides, but a step follows",
       {{.provide = 1, .attempts = 2, .retry_while = yes}, {.provide = 2}},
       "?n yn yy"},
      {"a schedule decides", {{.provide = 1, .attempts = 2, .schedule = planb::recurs(5)}}, "?? yy"},
      {"a classifier decides", {{.provide = 1, .attempts = 2, .classify = retry}}, "?? yy"},
      {"a schedule alone", {{.provide = 1, .schedule = planb::recurs(1)}}, "?? ??"},
      {"a classifier may end the run", {{.provide = 1, .classify = retry}, {.provide = 2}}, "y? yy"},
      {"only a guarded step follows", {{.provide = 1, .attempts = 2}, {.provide = 2, .enter_when = no}}, "nn y?"},
      {"a guarded step and another follow",
       {{.provide = 1}, {.provide = 2, .enter_when = no}, {.provide = 3}},
       "yn yy"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(seen(row.steps) == row.expected);
    const planb::RunOptions watched{.on_event = [](const planb::AttemptStart&) {}};
    CHECK(seen(row.steps, &watched) == row.expected);
  }
}

TEST_CASE("in scheduled entry a later step's schedule and predicate may pass it over") {
  struct Row {
    const char* what;
    Steps steps;
    const char* expected;
  };
  const auto yes = [](const planb::Cause&) { return true; };
  const std::vector<Row> rows{
      {"a bare step follows", {{.provide = 1}, {.provide = 2}}, "yn yy"},
      {"a schedule is asked first", {{.provide = 1}, {.provide = 2, .schedule = planb::recurs(2)}}, "y? ?? ??"},
      {"a predicate is asked first", {{.provide = 1}, {.provide = 2, .retry_while = yes}}, "y? yy"},
      {"a bare step follows that", {{.provide = 1}, {.provide = 2, .retry_while = yes}, {.provide = 3}}, "yn yn yy"},
  };
  const planb::RunOptions scheduled{.entry = planb::StepEntry::scheduled};
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(seen(row.steps, &scheduled) == row.expected);
  }
}

TEST_CASE("output makes an attempt the last where StreamOptions::partial says so") {
  struct Row {
    planb::PartialStream partial;
    const char* before;
    const char* after;
  };
  const std::vector<Row> rows{
      {planb::PartialStream::allow, "nn", "nn"},
      {planb::PartialStream::prevent_fallback, "nn", "nn"},
      {planb::PartialStream::prevent_retry, "nn", "yy"},
  };
  const planb::ExecutionPlan<int> plan{{.provide = 1, .attempts = 2}, {.provide = 2}};
  for (const Row& row : rows) {
    INFO(to_label(row.partial));
    std::vector<std::string> seen;
    const auto producer = [&](int&, auto& emit, const Attempt& attempt) {
      seen.push_back(words(attempt));
      emit(1);
      seen.push_back(words(attempt));
      throw std::runtime_error("down");
    };
    static_cast<void>(planb::try_push_with_plan(plan, producer, [](int) {}, {.partial = row.partial}));
    REQUIRE(seen.size() >= 2);
    CHECK(seen[0] == row.before);
    CHECK(seen[1] == row.after);
    if (row.partial == planb::PartialStream::prevent_retry) {
      CHECK(seen.size() == 2);
    } else {
      REQUIRE(seen.size() >= 4);  // the step's second attempt
      CHECK(seen[3] == (row.partial == planb::PartialStream::allow ? "yn" : "yy"));
    }
  }
}

TEST_CASE("retry() tells it too, and an attempt of nobody's is unknown") {
  std::vector<std::optional<bool>> last;
  const auto call = [&](const Attempt& attempt) {
    last.push_back(attempt.last_of_run());
    throw std::runtime_error("down");
  };
  CHECK_THROWS(planb::retry({.attempts = 2}, call));
  CHECK(last == std::vector<std::optional<bool>>{false, true});
  CHECK(Attempt().last_of_step() == std::nullopt);
  CHECK(Attempt().last_of_run() == std::nullopt);
}
