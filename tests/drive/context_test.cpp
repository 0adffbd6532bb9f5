// What an attempt gets and how long it lives: the context and the callable.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include "catch.hpp"
#include "chains.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using chains::Answer;
using chains::Refused;
using chains::Strings;
using chains::ms;
using planb::ExecutionPlan;
using planb::ProviderError;
using planb::RunOptions;
using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;

}  // namespace

namespace {

// Writes down waits, between whatever else is written down.
class RecordingClock final : public planb::Clock {
 public:
  explicit RecordingClock(Strings& record) : record_(record) {}

  [[nodiscard]] planb::TimePoint now() const override { return clock_.now(); }
  void sleep_until(planb::TimePoint due, planb::StopToken stop) override {
    record_.push_back("wait " + ms(due - now()));
    clock_.sleep_until(due, stop);
  }

 private:
  Strings& record_;
  VirtualClock clock_;
};

// A context that neither moves nor copies, and writes down its life.
class Connection {
 public:
  explicit Connection(Strings& record) : record_(record) { record_.push_back("open"); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { record_.push_back("close"); }

 private:
  Strings& record_;
};

}  // namespace

TEST_CASE("a context is gone before its attempt's terminal event, and so before any wait", "[field-31]") {
  Strings record;
  RecordingClock clock(record);
  const auto make = [&]() -> Connection { return Connection(record); };
  const ExecutionPlan<Connection> plan{
      {.name = "alpha", .provide = make, .attempts = 2, .schedule = planb::spaced(10ms)},
      {.name = "beta", .provide = make}};
  const RunOptions quiet{.clock = &clock};
  RunOptions telling = quiet;
  telling.on_event = planb::overloaded{[&](const planb::AttemptStart&) { record.push_back("start"); },
                                       [&](const planb::AttemptSuccess&) { record.push_back("success"); },
                                       [&](const planb::AttemptFailure&) { record.push_back("failure"); }};
  const Strings told{"start", "open",  "call",    "close", "failure", "wait 10ms", "start", "open",
                     "call",  "close", "failure", "start", "open",    "call",      "close", "success"};
  Strings untold = told;
  untold.erase(std::remove_if(untold.begin(), untold.end(),
                              [](const std::string& s) { return s == "start" || s == "failure" || s == "success"; }),
               untold.end());

  SECTION("of thrown errors") {
    const auto call = [&](Connection&, const planb::Attempt& attempt) {
      record.push_back("call");
      if (attempt.attempt < 3) throw ProviderError(503);
      return attempt.attempt;
    };
    CHECK(planb::run_with_plan(plan, call, telling) == 3);
    CHECK(record == told);
    record.clear();
    CHECK(planb::run_with_plan(plan, call, quiet) == 3);
    CHECK(record == untold);
    record.clear();
    CHECK(planb::try_run_with_plan(plan, call, telling).has_value());
    CHECK(record == told);
  }
  SECTION("of returned errors") {
    const auto call = [&](Connection&, const planb::Attempt& attempt) {
      record.push_back("call");
      return attempt.attempt < 3 ? Answer(Refused{503}) : Answer("done");
    };
    CHECK(*planb::run_with_plan(plan, call, telling) == "done");
    CHECK(record == told);
  }
  SECTION("of refused values") {
    const auto call = [&](Connection&, const planb::Attempt& attempt) {
      return record.push_back("call"), attempt.attempt;
    };
    const auto checked = planb::accepting(call, [](int value) { return value == 3; });
    CHECK(planb::run_with_plan(plan, checked, telling) == 3);
    CHECK(record == told);
  }
}

TEST_CASE("without options, too, a context is gone before the next one is made", "[field-31]") {
  Strings record;
  const auto make = [&]() -> Connection { return Connection(record); };
  const ExecutionPlan<Connection> plan{{.name = "alpha", .provide = make, .attempts = 2},
                                       {.name = "beta", .provide = make}};
  planb::run_with_plan(plan, [&](Connection&, const planb::Attempt& attempt) {
    record.push_back("call");
    if (attempt.attempt < 3) throw ProviderError(503);
  });
  CHECK(record == Strings{"open", "call", "close", "open", "call", "close", "open", "call", "close"});
}

TEST_CASE("each attempt gets a fresh context, whatever the last one left of its own", "[field-29]") {
  const auto take_and_fail = [](std::string& context, const planb::Attempt& attempt) {
    const std::string taken = std::move(context);
    context = "spoilt";
    if (attempt.attempt < 4) throw ProviderError(503);
    return taken;
  };
  int built = 0;
  const ExecutionPlan<std::string> plan{
      {.name = "ready value", .provide = std::string("a ready value"), .attempts = 2},
      {.name = "factory", .provide = [&] { return "built " + std::to_string(++built); }, .attempts = 2}};
  CHECK(planb::run_with_plan(plan, take_and_fail) == "built 2");
  CHECK(planb::run_with_plan(plan, [](std::string& context) { return std::move(context); }) == "a ready value");

  Strings seen;
  const ExecutionPlan<std::string> ready{{.name = "ready", .provide = std::string("a ready value"), .attempts = 3}};
  CHECK_THROWS_AS(planb::run_with_plan(ready,
                                       [&](std::string& context) {
                                         seen.push_back(std::move(context));
                                         context = "spoilt";
                                         throw ProviderError(503);
                                       }),
                  planb::PlanExhausted);
  CHECK(seen == Strings{"a ready value", "a ready value", "a ready value"});
}

TEST_CASE("a factory that hands out move-only contexts builds one for each attempt", "[field-29]") {
  int built = 0;
  const ExecutionPlan<std::unique_ptr<int>> plan{
      {.name = "alpha", .provide = [&] { return std::make_unique<int>(++built); }, .attempts = 3}};
  std::vector<int> taken;
  CHECK_THROWS_AS(planb::run_with_plan(plan,
                                       [&](std::unique_ptr<int>& context) {
                                         const std::unique_ptr<int> mine = std::move(context);
                                         taken.push_back(*mine);
                                         throw ProviderError(503);
                                       }),
                  planb::PlanExhausted);
  CHECK(taken == std::vector{1, 2, 3});
}

namespace {

// Must be called where it stands: neither copied nor moved, and never as an rvalue.
struct Prompt {
  explicit Prompt(std::string t) : text(std::move(t)) {}
  Prompt(const Prompt&) = delete;
  Prompt& operator=(const Prompt&) = delete;

  std::string operator()(const FakeProvider& provider) & {
    ++calls;
    return provider.complete(text);
  }
  std::string operator()(const FakeProvider&) && = delete;

  std::string text;
  int calls = 0;
};

}  // namespace

TEST_CASE("what the callable captured is never touched: not copied, not moved, the same at every call",
          "[field-30]") {
  const FakeProvider alpha("alpha", {Behaviour::status(503), Behaviour::status(500), Behaviour::value("done")});
  const ExecutionPlan<FakeProvider> plan{{.name = "alpha", .provide = alpha, .attempts = 3}};
  const AttemptLog log;
  const Strings thrice{"a prompt", "a prompt", "a prompt"};

  SECTION("an lvalue") {
    Prompt prompt("a prompt");
    CHECK(planb::run_with_plan(plan, prompt) == "done");
    CHECK(prompt.text == "a prompt");
    CHECK(prompt.calls == 3);
    CHECK(alpha.prompts() == thrice);
  }
  SECTION("with options") {
    Prompt prompt("a prompt");
    CHECK(planb::run_with_plan(plan, prompt, {.on_event = log}) == "done");
    CHECK(prompt.calls == 3);
    CHECK(alpha.prompts() == thrice);
  }
  SECTION("a temporary") {
    CHECK(planb::run_with_plan(plan, Prompt("a prompt"), {.on_event = log}) == "done");
    CHECK(alpha.prompts() == thrice);
  }
  SECTION("what a lambda captured by value") {
    const auto call = [text = std::string("a prompt")](const FakeProvider& provider) {
      return provider.complete(text);
    };
    CHECK(planb::run_with_plan(plan, call, {.on_event = log}) == "done");
    CHECK(alpha.prompts() == thrice);
  }
}
