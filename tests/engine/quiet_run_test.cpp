// A run without options makes its first attempt without an engine, and what nobody hears of is decided quickly. Nobody
// may tell: most cases here are run without options and with a handler, which the engine is asked for every attempt.
#include "catch.hpp"

#include <planb/error/accepting.hpp>
#include <planb/error/http_classifier.hpp>
#include <planb/gate/gate.hpp>
#include <planb/plan/metadata.hpp>
#include <planb/plan/plan.hpp>
#include <planb/run.hpp>
#include <planb/testing.hpp>

#include "results.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

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
  planb::Admission admit(const planb::GateRequest& request) override { return planb::GateRefusal{request.now}; }
  planb::TimePoint opens_at(const planb::GateRequest& request) const override { return request.now; }

 private:
  void on_outcome(std::uint64_t, const planb::GateOutcome&) override {}
  void on_dropped(std::uint64_t, bool) noexcept override {}
};

// Lets every attempt pass without being asked, and counts what it is told.
class Counting : public planb::Gate {
 public:
  Counting() { pass_.store(1); }
  planb::Admission admit(const planb::GateRequest&) override { return planb::Permit(*this, 1); }
  planb::TimePoint opens_at(const planb::GateRequest& request) const override { return request.now; }

  int failures = 0;
  int dropped = 0;

 private:
  void on_outcome(std::uint64_t, const planb::GateOutcome& outcome) override {
    failures += outcome.cause != nullptr ? 1 : 0;
  }
  void on_dropped(std::uint64_t, bool) noexcept override { ++dropped; }
};

using Plan = planb::ExecutionPlan<Client>;
using Step = planb::Step<Client>;
using Lines = std::vector<std::string>;

// What a run did: everything that can be seen of it, for comparison; and the same in short, as the cases below say it:
// the steps of its attempts, and its end.
struct Outcome {
  Lines lines;
  std::string path;
  std::string end;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

int id_of(const planb::Cause& cause) {
  if (const Told* const told = cause.get_if<Told>()) return told->id;
  if (const Thrown* const thrown = cause.get_if<Thrown>()) return thrown->id;
  return 0;
}

void tell(Outcome& outcome, const planb::RunReport& report) {
  Lines& lines = outcome.lines;
  outcome.end = to_string(report.end);
  lines.push_back(std::string(to_string(report.end)) + ", attempts " + std::to_string(report.attempts) + ", last failed " +
                  std::to_string(report.last_failed.value_or(-1)) +
                  (report.rule_error ? ", rule threw " + report.rule_error->message() : ""));
  for (const planb::StepReport& step : report.steps) {
    lines.push_back(step.name + " at " + std::to_string(step.index) + ": " + std::to_string(step.attempts) +
                    " attempts, cause " + (step.cause ? std::to_string(id_of(*step.cause)) : "none") + ", left " +
                    std::to_string(static_cast<int>(step.left)) + ", skipped " +
                    (step.skipped ? to_string(*step.skipped) : "no") + (step.alert ? ", alert" : ""));
    outcome.end += ", " + std::to_string(step.index + 1);
    if (step.cause) outcome.end += " failed with " + std::to_string(id_of(*step.cause));
    if (step.skipped) outcome.end += " skipped";
    if (step.alert) outcome.end += " alert";
  }
}

// What an attempt sees, then what it does: zero is success, anything else the number of its error.
int next(Outcome& outcome, const std::vector<int>& script, const Client& client, const planb::Attempt& attempt) {
  const planb::Metadata metadata = planb::CurrentMetadata::get();
  CHECK(metadata == planb::Metadata{attempt.attempt, attempt.step_index});
  outcome.path += std::to_string(attempt.step_index + 1);
  outcome.lines.push_back("attempt " + std::to_string(attempt.attempt) + ", " + std::to_string(attempt.step_attempt) + " of " +
                  std::string(attempt.step_name) + " at " + std::to_string(attempt.step_index) + " with " +
                  std::to_string(client.id) + ", after " +
                  (attempt.previous() != nullptr ? std::to_string(id_of(*attempt.previous())) : "nothing"));
  const std::size_t number = static_cast<std::size_t>(attempt.attempt) - 1;
  return number < script.size() ? script[number] : 7;
}

template <class... Options>
Outcome returning(const Plan& plan, const std::vector<int>& script, const Options&... options) {
  Outcome outcome;
  try {
    Answer answer = planb::run_with_plan(
        plan,
        [&](Client& client, const planb::Attempt& attempt) -> Answer {
          const int error = next(outcome, script, client, attempt);
          if (error == 99) throw planb::Defect("a bug");
          if (error != 0) return Told(error);
          return client.id;
        },
        options...);
    if (answer.has_value()) {
      outcome.end = "answer " + std::to_string(*answer);
    } else {
      outcome.lines.push_back("error " + std::to_string(answer.error().id));
      tell(outcome, answer.error().report);
    }
  } catch (const std::exception& e) {
    outcome.end = std::string("thrown: ") + e.what();
  }
  CHECK(planb::CurrentMetadata::get() == planb::Metadata{});
  return outcome;
}

template <class... Options>
Outcome throwing(const Plan& plan, const std::vector<int>& script, const Options&... options) {
  Outcome outcome;
  try {
    const int answer = planb::run_with_plan(
        plan,
        planb::accepting(
            [&](Client& client, const planb::Attempt& attempt) {
              const int error = next(outcome, script, client, attempt);
              if (error == 99) throw planb::Defect("a bug");
              if (error != 0 && error < 50) throw Thrown(error);
              return error != 0 ? error : client.id;
            },
            [](int value) {
              if (value == 51) throw std::runtime_error("the check broke");
              return value != 50;
            }),
        options...);
    outcome.end = "answer " + std::to_string(answer);
  } catch (const planb::PlanError& e) {
    tell(outcome, e.report());
  } catch (const std::exception& e) {
    outcome.end = std::string("thrown: ") + e.what();
  }
  return outcome;
}

std::vector<Step> steps(int count) {
  std::vector<Step> list;
  for (int i = 1; i <= count; ++i) list.push_back({.name = "step " + std::to_string(i), .provide = Client{i}});
  return list;
}

// "123": one attempt in each step up to `last`.
std::string up_to(std::size_t last) { return std::string("123456789").substr(0, last); }

// How a run ends in which every step has failed, with these errors.
std::string exhausted(const std::vector<int>& errors) {
  std::string end = "exhausted";
  for (std::size_t i = 0; i != errors.size(); ++i) {
    end += ", " + std::to_string(i + 1) + " failed with " + std::to_string(errors[i]);
  }
  return end;
}

// With and without options, thrown and returned: the attempts are in the steps of `path`, and the run ends as `end` says.
void same(const std::vector<Step>& list, const std::vector<int>& script, const std::string& path,
          const std::string& end) {
  const Plan plan(list);
  const planb::RunOptions watched{.on_event = [](const auto&) {}};
  for (const bool returned : {true, false}) {
    INFO((returned ? "returned" : "thrown"));
    const Outcome alone = returned ? returning(plan, script) : throwing(plan, script);
    const Outcome told = returned ? returning(plan, script, watched) : throwing(plan, script, watched);
    CHECK(alone.path == path);
    CHECK(alone.end == end);
    CHECK(alone.lines == told.lines);
    CHECK(told.path == path);
    CHECK(told.end == end);
  }
}

}  // namespace

TEST_CASE("without options: step after step, more than there is room for in place", "[quiet]") {
  for (int count = 1; count <= 9; ++count) {
    for (int failures = 0; failures <= count; ++failures) {
      std::vector<int> script;
      for (int i = 1; i <= failures; ++i) script.push_back(i);
      script.push_back(0);
      if (failures < count) {
        same(steps(count), script, up_to(script.size()), "answer " + std::to_string(failures + 1));
      } else {
        same(steps(count), script, up_to(script.size() - 1), exhausted({script.begin(), script.end() - 1}));
      }
    }
  }
}

TEST_CASE("every attempt knows the failure before it, however many steps there are", "[quiet]") {
  const Plan plan(steps(9));
  const planb::RunOptions watched{.on_event = [](const auto&) {}};
  const std::vector<int> all{1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (const Outcome& outcome : {returning(plan, all), throwing(plan, all), returning(plan, all, watched)}) {
    const Lines& lines = outcome.lines;
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
  same(list, {1, 0}, "11", "answer 1");
  same(list, {1, 2, 3, 0}, "1123", "answer 3");
  same(list, {1, 2, 3, 4, 5, 0}, "112333", "answer 3");
  same(list, {1, 2, 3, 4, 5, 6}, "112333", exhausted({2, 3, 6}));
}

TEST_CASE("without options: a retry_while that says no, or throws", "[quiet]") {
  std::vector<Step> list = steps(3);
  list[0].attempts = list[1].attempts = 5;
  list[0].retry_while = [](const planb::Cause& cause) { return id_of(cause) != 2; };
  list[1].retry_while = [](const planb::Cause& cause) {
    if (id_of(cause) == 4) throw std::runtime_error("the rule broke");
    return true;
  };
  same(list, {1, 2, 3, 0}, "1122", "answer 2");
  same(list, {2, 4}, "12", "aborted, 1 failed with 2, 2 failed with 4");
  list[1].retry_while = [](const planb::Cause& cause) -> bool {
    if (id_of(cause) == 4) throw planb::Defect("the rule has a bug");
    return true;
  };
  same(list, {2, 4}, "12", "thrown: the rule has a bug");
  list[2].retry_while = list[1].retry_while;
  same(list, {2, 3, 3, 3, 3, 3, 4}, "1222223", "thrown: the rule has a bug");
}

TEST_CASE("without options: whatever needs an engine takes one, at any step", "[quiet]") {
  for (std::size_t at = 0; at != 3; ++at) {
    INFO("step " << at);
    const std::string here = std::to_string(at + 1);
    const std::string before = up_to(at);
    SECTION("a defect " + std::to_string(at)) {
      std::vector<int> script(at, 1);
      script.push_back(99);
      same(steps(3), script, before + here, "thrown: a bug");
    }
    SECTION("a classifier " + std::to_string(at)) {
      std::vector<Step> list = steps(4);
      list[at].attempts = 3;
      list[at].classify = [](const planb::Cause& cause) -> planb::Verdict {
        if (id_of(cause) == 8) return {planb::Action::abort, true};
        return {id_of(cause) == 9 ? planb::Action::next_step : planb::Action::retry, id_of(cause) == 6};
      };
      const auto script = [&](int last) {
        std::vector<int> whole(at, 1);
        whole.insert(whole.end(), {5, last, 0});
        return whole;
      };
      std::string aborted = "aborted";
      for (std::size_t i = 1; i <= at; ++i) aborted += ", " + std::to_string(i) + " failed with 1";
      same(list, script(8), before + here + here, aborted + ", " + here + " failed with 8 alert");
      same(list, script(9), before + here + here + std::to_string(at + 2), "answer " + std::to_string(at + 2));
      same(list, script(6), before + here + here + here, "answer " + here);
      same(list, script(0), before + here + here, "answer " + here);
    }
    SECTION("a schedule " + std::to_string(at)) {
      std::vector<Step> list = steps(3);
      list[at].schedule = planb::recurs(2);
      std::vector<int> script(at, 1);
      script.insert(script.end(), {2, 3, 4});
      std::vector<int> errors(3, 7);
      for (std::size_t i = 0; i != at; ++i) errors[i] = 1;
      errors[at] = 4;
      const std::string after = std::string("23").substr(at);
      same(list, script, before + here + here + here + after, exhausted(errors));
      script.back() = 0;
      same(list, script, before + here + here + here, "answer " + here);
    }
    SECTION("a timeout, a limit to waits " + std::to_string(at)) {
      std::vector<Step> list = steps(3);
      list[at].timeout = std::chrono::hours(1);
      list[at].max_wait = planb::Duration();
      same(list, {1, 2, 0}, "123", "answer 3");
      same(list, {1, 2, 3}, "123", exhausted({1, 2, 3}));
    }
    SECTION("a gate that is shut " + std::to_string(at)) {
      std::vector<Step> list = steps(3);
      list[at].gate = std::make_shared<Shut>();
      same(list, {1, 2, 3}, at == 0 ? "23" : at == 1 ? "13" : "12",
           at == 0   ? "exhausted, 1 skipped, 2 failed with 1, 3 failed with 2"
           : at == 1 ? "exhausted, 1 failed with 1, 2 skipped, 3 failed with 2"
                     : "exhausted, 1 failed with 1, 2 failed with 2, 3 skipped");
      same(list, {1, 0}, at == 0 ? "23" : at == 1 ? "13" : "12", at == 2 ? "answer 2" : "answer 3");
    }
    SECTION("a guard " + std::to_string(at)) {
      std::vector<Step> list = steps(3);
      list[at].enter_when = [](const planb::Cause& cause) { return id_of(cause) == 2; };
      same(list, {1, 2, 3}, at == 0 ? "23" : at == 1 ? "13" : "123",
           at == 0   ? "exhausted, 1 skipped, 2 failed with 1, 3 failed with 2"
           : at == 1 ? "exhausted, 1 failed with 1, 2 skipped, 3 failed with 2"
                     : exhausted({1, 2, 3}));
      same(list, {2, 2, 3}, at == 0 ? "23" : "123",
           at == 0 ? "exhausted, 1 skipped, 2 failed with 2, 3 failed with 2" : exhausted({2, 2, 3}));
    }
    SECTION("a factory that fails " + std::to_string(at)) {
      std::vector<Step> list = steps(3);
      std::vector<int> errors{1, 2, 3};
      const std::string path = at == 0 ? "23" : at == 1 ? "13" : "12";
      list[at].provide = [] { return results::Outcome<Client, Told>(Told(77)); };
      errors[at] = 77;
      same(list, {1, 2, 3}, path, exhausted(errors));
      list[at].provide = []() -> Client { throw Thrown(78); };
      errors[at] = 78;
      same(list, {1, 2, 3}, path, exhausted(errors));
    }
  }
}

TEST_CASE("without options: a value refused, and a check that throws", "[quiet]") {
  const Plan plan(steps(4));
  const planb::RunOptions watched{.on_event = [](const auto&) {}};
  struct Row {
    std::vector<int> script;
    std::string path;
    std::string end;
  };
  for (const Row& row : {
           Row{{50, 1, 0}, "123", "answer 3"},
           Row{{1, 50, 0}, "123", "answer 3"},
           Row{{50, 50, 50, 50}, "1234", exhausted({0, 0, 0, 0})},
           Row{{1, 51}, "12", "aborted, 1 failed with 1, 2 failed with 0"},
       }) {
    const Outcome alone = throwing(plan, row.script);
    CHECK(alone.path == row.path);
    CHECK(alone.end == row.end);
    CHECK((alone == throwing(plan, row.script, watched)));
  }
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

TEST_CASE("a wait that an error asks for is kept where nobody hears of the run", "[quiet]") {
  planb::testing::VirtualClock clock;
  const planb::TimePoint start = clock.now();
  const Plan plan{{.name = "one", .provide = Client{1}, .attempts = 2}};
  int calls = 0;
  const int answer = planb::run_with_plan(plan,
                                          [&](Client&) {
                                            if (++calls == 1) throw planb::ProviderError(429, "busy", {}, 30s);
                                            return calls;
                                          },
                                          {.clock = &clock});
  CHECK(answer == 2);
  CHECK(clock.now() - start == 30s);
}

TEST_CASE("without options: the verdict of an acceptance check is obeyed", "[quiet]") {
  const Plan plan{{.name = "one", .provide = Client{1}, .attempts = 2}, {.name = "two", .provide = Client{2}}};
  std::vector<int> tried;
  const auto call = [&](Client& client) {
    tried.push_back(client.id);
    return client.id;
  };
  const auto verdict = [](planb::Action action) {
    return [action](int id) { return id == 1 ? planb::Verdict{.action = action} : planb::Verdict{}; };
  };
  SECTION("next step") {
    static_cast<void>(planb::try_run_with_plan(plan, planb::accepting(call, verdict(planb::Action::next_step))));
    CHECK(tried == std::vector{1, 2});
  }
  SECTION("abort") {
    CHECK_THROWS_AS(planb::run_with_plan(plan, planb::accepting(call, verdict(planb::Action::abort))),
                    planb::PlanAborted);
    CHECK(tried == std::vector{1});
  }
}

TEST_CASE("without options: the gate that let the first attempt pass hears of its failure", "[quiet]") {
  const auto gate = std::make_shared<Counting>();
  const Plan plan{{.name = "one", .provide = Client{1}, .gate = gate}, {.name = "two", .provide = Client{2}}};
  const int answer = planb::run_with_plan(plan, [](Client& client) {
    if (client.id == 1) throw Thrown(1);
    return client.id;
  });
  CHECK(answer == 2);
  CHECK(gate->failures == 1);
  CHECK(gate->dropped == 0);
}
