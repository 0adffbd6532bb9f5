// A run without options goes without an engine as far as it can. Nobody may tell: each case here is run without options
// and with a handler, which takes an engine from the first attempt on.
#include "catch.hpp"

#include <planb/accepting.hpp>
#include <planb/classify.hpp>
#include <planb/gate.hpp>
#include <planb/metadata.hpp>
#include <planb/plan.hpp>
#include <planb/run.hpp>

#include "results.hpp"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Client {
  int id = 0;
};

// An error that a failed run can be told in.
struct Told {
  Told(int number) : id(number) {}  // NOLINT(google-explicit-constructor)
  explicit Told(const planb::PlanError& error) : id(-1), report(error.report()) {}

  int id;
  planb::RunReport report;
};
using Answer = results::Outcome<int, Told>;

struct Thrown : std::runtime_error {
  explicit Thrown(int number) : std::runtime_error("error " + std::to_string(number)), id(number) {}
  int id;
};

class Shut : public planb::Gate {
 public:
  planb::Admission admit(planb::TimePoint now) override { return {.permit = {}, .opens_at = now}; }
  planb::TimePoint opens_at(planb::TimePoint now) const override { return now; }

 private:
  void on_success(std::uint64_t, planb::TimePoint) override {}
  void on_failure(std::uint64_t, const planb::Cause&, planb::TimePoint) override {}
  void on_dropped(std::uint64_t) noexcept override {}
};

using Plan = planb::ExecutionPlan<Client>;
using Step = planb::Step<Client>;
using Lines = std::vector<std::string>;

int id_of(const planb::Cause& cause) {
  if (const Told* const told = cause.get_if<Told>()) return told->id;
  if (const Thrown* const thrown = cause.get_if<Thrown>()) return thrown->id;
  return 0;
}

void tell(Lines& lines, const planb::RunReport& report) {
  lines.push_back(std::string(to_string(report.end)) + ", attempts " + std::to_string(report.attempts) + ", last failed " +
                  std::to_string(report.last_failed.value_or(-1)) +
                  (report.rule_error ? ", rule threw " + report.rule_error->message() : ""));
  for (const planb::StepReport& step : report.steps) {
    lines.push_back(step.name + " at " + std::to_string(step.index) + ": " + std::to_string(step.attempts) +
                    " attempts, cause " + (step.cause ? std::to_string(id_of(*step.cause)) : "none") + ", left " +
                    std::to_string(static_cast<int>(step.left)) + ", skipped " +
                    (step.skipped ? to_string(*step.skipped) : "no") + (step.alert ? ", alert" : ""));
  }
}

// What an attempt sees, then what it does: zero is success, anything else the number of its error.
int next(Lines& lines, const std::vector<int>& script, const Client& client, const planb::Attempt& attempt) {
  const planb::Metadata metadata = planb::CurrentMetadata::get();
  CHECK(metadata == planb::Metadata{attempt.attempt, attempt.step_index});
  lines.push_back("attempt " + std::to_string(attempt.attempt) + ", " + std::to_string(attempt.step_attempt) + " of " +
                  std::string(attempt.step_name) + " at " + std::to_string(attempt.step_index) + " with " +
                  std::to_string(client.id) + ", after " +
                  (attempt.previous() != nullptr ? std::to_string(id_of(*attempt.previous())) : "nothing"));
  const std::size_t number = static_cast<std::size_t>(attempt.attempt) - 1;
  return number < script.size() ? script[number] : 7;
}

template <class... Options>
Lines returning(const Plan& plan, const std::vector<int>& script, const Options&... options) {
  Lines lines;
  try {
    Answer answer = planb::run_with_plan(
        plan,
        [&](Client& client, const planb::Attempt& attempt) -> Answer {
          const int error = next(lines, script, client, attempt);
          if (error == 99) throw planb::Defect("a bug");
          if (error != 0) return Told(error);
          return client.id;
        },
        options...);
    if (answer.has_value()) {
      lines.push_back("answer " + std::to_string(*answer));
    } else {
      lines.push_back("error " + std::to_string(answer.error().id));
      tell(lines, answer.error().report);
    }
  } catch (const std::exception& e) {
    lines.push_back(std::string("thrown: ") + e.what());
  }
  CHECK(planb::CurrentMetadata::get() == planb::Metadata{});
  return lines;
}

template <class... Options>
Lines throwing(const Plan& plan, const std::vector<int>& script, const Options&... options) {
  Lines lines;
  try {
    const int answer = planb::run_with_plan(
        plan,
        planb::accepting(
            [&](Client& client, const planb::Attempt& attempt) {
              const int error = next(lines, script, client, attempt);
              if (error == 99) throw planb::Defect("a bug");
              if (error != 0 && error < 50) throw Thrown(error);
              return error != 0 ? error : client.id;
            },
            [](int value) {
              if (value == 51) throw std::runtime_error("the check broke");
              return value != 50;
            }),
        options...);
    lines.push_back("answer " + std::to_string(answer));
  } catch (const planb::PlanError& e) {
    tell(lines, e.report());
  } catch (const std::exception& e) {
    lines.push_back(std::string("thrown: ") + e.what());
  }
  return lines;
}

std::vector<Step> steps(int count) {
  std::vector<Step> list;
  for (int i = 1; i <= count; ++i) list.push_back({.name = "step " + std::to_string(i), .provide = Client{i}});
  return list;
}

// Both give the same, and it has `attempts` attempts.
void same(const std::vector<Step>& list, const std::vector<int>& script, int attempts) {
  const Plan plan(list);
  const planb::RunOptions watched{.on_event = [](const auto&) {}};
  for (const bool returned : {true, false}) {
    INFO((returned ? "returned" : "thrown"));
    const Lines alone = returned ? returning(plan, script) : throwing(plan, script);
    const Lines told = returned ? returning(plan, script, watched) : throwing(plan, script, watched);
    CHECK(alone == told);
    int made = 0;
    for (const std::string& line : alone) made += line.starts_with("attempt ") ? 1 : 0;
    CHECK(made == attempts);
  }
}

}  // namespace

TEST_CASE("without options: step after step, more than there is room for in place", "[quiet]") {
  for (int count = 1; count <= 9; ++count) {
    for (int failures = 0; failures <= count; ++failures) {
      std::vector<int> script;
      for (int i = 1; i <= failures; ++i) script.push_back(i);
      script.push_back(0);
      same(steps(count), script, failures < count ? failures + 1 : count);
    }
  }
}

TEST_CASE("every attempt knows the failure before it, however many steps there are", "[quiet]") {
  const Plan plan(steps(9));
  const planb::RunOptions watched{.on_event = [](const auto&) {}};
  for (const Lines& lines : {returning(plan, {1, 2, 3, 4, 5, 6, 7, 8, 9}), throwing(plan, {1, 2, 3, 4, 5, 6, 7, 8, 9}),
                             returning(plan, {1, 2, 3, 4, 5, 6, 7, 8, 9}, watched)}) {
    REQUIRE(lines.size() > 9);
    for (std::size_t i = 0; i != 9; ++i) {
      INFO(lines[i]);
      CHECK(lines[i].ends_with(i == 0 ? "after nothing" : "after " + std::to_string(i)));
    }
  }
}

TEST_CASE("without options: attempts within a step, the last one's too", "[quiet]") {
  std::vector<Step> list = steps(3);
  list[0].attempts = 2;
  list[2].attempts = 3;
  same(list, {1, 0}, 2);
  same(list, {1, 2, 3, 0}, 4);
  same(list, {1, 2, 3, 4, 5, 0}, 6);
  same(list, {1, 2, 3, 4, 5, 6}, 6);
}

TEST_CASE("without options: a retry_while that says no, or throws", "[quiet]") {
  std::vector<Step> list = steps(3);
  list[0].attempts = list[1].attempts = 5;
  list[0].retry_while = [](const planb::Cause& cause) { return id_of(cause) != 2; };
  list[1].retry_while = [](const planb::Cause& cause) {
    if (id_of(cause) == 4) throw std::runtime_error("the rule broke");
    return true;
  };
  same(list, {1, 2, 3, 0}, 4);
  same(list, {2, 4}, 2);
  list[1].retry_while = [](const planb::Cause& cause) -> bool {
    if (id_of(cause) == 4) throw planb::Defect("the rule has a bug");
    return true;
  };
  same(list, {2, 4}, 2);
  list[2].retry_while = list[1].retry_while;
  same(list, {2, 3, 3, 3, 3, 3, 4}, 7);
}

TEST_CASE("without options: whatever needs an engine takes one, at any step", "[quiet]") {
  for (std::size_t at = 0; at != 3; ++at) {
    INFO("step " << at);
    SECTION("a defect " + std::to_string(at)) {
      std::vector<int> script(at, 1);
      script.push_back(99);
      same(steps(3), script, static_cast<int>(at) + 1);
    }
    SECTION("a classifier " + std::to_string(at)) {
      std::vector<Step> list = steps(4);
      list[at].attempts = 3;
      list[at].classify = [](const planb::Cause& cause) -> planb::Verdict {
        if (id_of(cause) == 8) return {planb::Action::abort, true};
        return {id_of(cause) == 9 ? planb::Action::next_step : planb::Action::retry, id_of(cause) == 6};
      };
      std::vector<int> script(at, 1);
      for (const int last : {8, 9, 6, 0}) {
        std::vector<int> whole = script;
        whole.insert(whole.end(), {5, last, 0});
        same(list, whole, static_cast<int>(at) + (last == 8 || last == 0 ? 2 : 3));
      }
    }
    SECTION("a schedule " + std::to_string(at)) {
      std::vector<Step> list = steps(3);
      list[at].schedule = planb::recurs(2);
      std::vector<int> script(at, 1);
      script.insert(script.end(), {2, 3, 4});
      same(list, script, 3 + 2);
      script.back() = 0;
      same(list, script, static_cast<int>(at) + 3);
    }
    SECTION("a timeout, a limit to waits " + std::to_string(at)) {
      std::vector<Step> list = steps(3);
      list[at].timeout = std::chrono::hours(1);
      list[at].max_wait = planb::Duration();
      same(list, {1, 2, 0}, 3);
      same(list, {1, 2, 3}, 3);
    }
    SECTION("a gate that is shut " + std::to_string(at)) {
      std::vector<Step> list = steps(3);
      list[at].gate = std::make_shared<Shut>();
      same(list, {1, 2, 3}, 2);
      same(list, {1, 0}, 2);
    }
    SECTION("a guard " + std::to_string(at)) {
      std::vector<Step> list = steps(3);
      list[at].enter_when = [](const planb::Cause& cause) { return id_of(cause) == 2; };
      same(list, {1, 2, 3}, at == 1 ? 2 : at == 0 ? 2 : 3);
      same(list, {2, 2, 3}, at == 0 ? 2 : 3);
    }
    SECTION("a factory that fails " + std::to_string(at)) {
      std::vector<Step> list = steps(3);
      list[at].provide = [] { return results::Outcome<Client, Told>(Told(77)); };
      same(list, {1, 2, 3}, 2);
      list[at].provide = []() -> Client { throw Thrown(78); };
      same(list, {1, 2, 3}, 2);
    }
  }
}

TEST_CASE("without options: a value refused, and a check that throws", "[quiet]") {
  const Plan plan(steps(4));
  const planb::RunOptions watched{.on_event = [](const auto&) {}};
  for (const std::vector<int>& script : std::vector<std::vector<int>>{{50, 1, 0}, {1, 50, 0}, {50, 50, 50, 50}, {1, 51}}) {
    CHECK(throwing(plan, script) == throwing(plan, script, watched));
  }
  CHECK(throwing(plan, {1, 50, 0}).back() == "answer 3");
  CHECK(throwing(plan, {1, 51}).size() > 2);
}

TEST_CASE("without options: retry() as well", "[quiet]") {
  int calls = 0;
  const auto fail_then_answer = [&]() -> results::Outcome<int, Told> {
    ++calls;
    if (calls != 5) return Told(calls);
    return 42;
  };
  auto answer = planb::retry({.attempts = 9}, fail_then_answer);
  CHECK(*answer == 42);
  CHECK(calls == 5);
  calls = 5;
  auto error = planb::retry({.attempts = 3, .retry_while = [](const Told& told) { return told.id != 7; }}, fail_then_answer);
  CHECK(error.error().id == 7);
  CHECK(calls == 7);
}

TEST_CASE("without options: an error that says that it was interrupted ends the run", "[quiet]") {
  planb::Cause interrupted;
  planb::detail::CauseAccess::set_kind(interrupted, planb::CauseKind::interrupted);
  int calls = 0;
  const auto call = [&](Client&) -> results::Outcome<int, planb::Cause> {
    ++calls;
    return interrupted;
  };
  const Plan plan(steps(3));
  CHECK_FALSE(planb::run_with_plan(plan, call).has_value());
  CHECK(calls == 1);
}
