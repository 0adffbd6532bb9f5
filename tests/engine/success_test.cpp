// A success stays one: nothing that comes after the callable's return leads to another attempt.
#include "catch.hpp"
#include "every_driver.hpp"

#include <planb/coro.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace planb;

namespace {

const ExecutionPlan<int> two_steps{{.name = "first", .provide = 1, .attempts = 2}, {.name = "second", .provide = 2}};

// When an object of this kind throws: at the n-th call of what is named. Zero: never.
struct Trap {
  int destroyed = 0;
  int moved = 0;
};
Trap trap;  // set anew by each test

void step_on(int& count, const char* what) {
  if (count > 0 && --count == 0) throw std::runtime_error(what);
}

// An expected-like whose destructor and moves throw when they are told to.
template <class T>
class Fragile {
 public:
  using value_type = T;
  using unexpected_type = std::runtime_error;

  Fragile(T value) : value_(std::move(value)) {}               // NOLINT(google-explicit-constructor)
  Fragile(const std::runtime_error& error) : error_(error) {}  // NOLINT(google-explicit-constructor)
  Fragile(Fragile&& other) : value_(std::move(other.value_)), error_(std::move(other.error_)) {
    step_on(trap.moved, "its move");
  }
  ~Fragile() noexcept(false) { step_on(trap.destroyed, "its destructor"); }

  [[nodiscard]] bool has_value() const noexcept { return value_.has_value(); }
  [[nodiscard]] const std::runtime_error& error() const noexcept { return *error_; }
  [[nodiscard]] T& operator*() noexcept { return *value_; }

 private:
  std::optional<T> value_;
  std::optional<std::runtime_error> error_;
};

// Small, so that causes hold it in place and copy it; the copy throws from the given number on.
struct HardToCopy {
  inline static int copies_left = 1000;
  inline static bool text_throws = false;
  int status = 503;

  [[nodiscard]] std::string message() const {
    if (text_throws) throw std::runtime_error("no text");
    return "too hard";
  }

  HardToCopy() = default;
  HardToCopy(const HardToCopy& other) : status(other.status) {
    if (copies_left-- <= 0) throw std::runtime_error("no more copies");
  }
  HardToCopy(HardToCopy&&) noexcept = default;
};

struct Reply {  // an expected-like that fails with one of these
  using unexpected_type = HardToCopy;
  std::optional<int> value = {};
  HardToCopy failure = {};

  explicit Reply(int v) : value(v) {}
  explicit Reply(HardToCopy&& e) : failure(std::move(e)) {}
  [[nodiscard]] bool has_value() const { return value.has_value(); }
  [[nodiscard]] HardToCopy&& error() && { return std::move(failure); }
  [[nodiscard]] HardToCopy& error() & { return failure; }
  [[nodiscard]] int& operator*() { return *value; }
};

}  // namespace

TEST_CASE("what the destructor or the move of a success throws leaves, and the provider is not called again") {
  for (const bool destroyed : {true, false}) {
    int calls = 0;
    const auto all = drivers::every(
        two_steps,
        [&](int& step) -> Fragile<int> {
          ++calls;
          trap = destroyed ? Trap{.destroyed = 1} : Trap{.moved = 1};
          return Fragile<int>(step);
        },
        [](auto&&) {});
    trap = {};
    REQUIRE(all.size() == 4);
    CHECK(calls == 4);  // one for each driver
    for (const drivers::Made& made : all) {
      INFO(made.driver);
      CHECK(made.thrown == (destroyed ? "its destructor" : "its move"));
      if (made.driver == std::string("run without options")) continue;
      REQUIRE(made.events.size() == 2);
      CHECK(made.events[0] == "AttemptStart #1 step=0 first");
      CHECK(made.events[1] == "AttemptSuccess #1 step=0 first");
    }
  }
}

TEST_CASE("what the destructor of a failed result throws does not hide its error, and leads to no other end") {
  int calls = 0;
  const auto all = drivers::every(
      two_steps,
      [&](int& step) -> Fragile<int> {
        ++calls;
        if (step == 2) return Fragile<int>(step);
        trap = {.destroyed = 1};
        return Fragile<int>(std::runtime_error("busy"));
      },
      [](auto&& result) { CHECK(*result == 2); });
  trap = {};
  CHECK(calls == 3 * 4);
  for (const drivers::Made& made : all) {
    INFO(made.driver);
    CHECK(made.thrown.empty());
    if (made.driver == std::string("run without options")) continue;
    REQUIRE(made.events.size() == 6);
    CHECK(made.events[1] == "AttemptFailure #1 step=0 first busy, retry");
    CHECK(made.events[3] == "AttemptFailure #2 step=0 first busy, next step");
  }
}

TEST_CASE("a defect that a destructor throws after a failure ends the run") {
  struct Result {
    [[nodiscard]] static bool has_value() noexcept { return false; }
    [[nodiscard]] static int error() noexcept { return 7; }
    int operator*() const noexcept { return 0; }
    Result() = default;
    Result(Result&&) noexcept = default;
    ~Result() noexcept(false) { throw Defect("in a destructor"); }
  };
  int calls = 0;
  const auto fail = [&](int&) {
    ++calls;
    return Result();
  };
  CHECK_THROWS_AS(static_cast<void>(try_run_with_plan(two_steps, fail)), Defect);
  CHECK(calls == 1);
}

TEST_CASE("an error whose copy throws is told in the report as its text, and changes no end") {
  const auto fails_until = [](int good) {
    return [good](int& step) {
      if (step == good) {
        HardToCopy::copies_left = 0;
        return Reply(step);
      }
      HardToCopy::copies_left = step == 2 ? 0 : 1000;
      return Reply(HardToCopy());
    };
  };
  const auto told_as = [](const RunReport& report, std::size_t step) {
    REQUIRE(report.steps[step].cause);
    CHECK(report.steps[step].cause->get_if<HardToCopy>() == nullptr);
    CHECK(report.steps[step].cause->kind() == CauseKind::error);
    return report.steps[step].cause->message();
  };

  SECTION("of a success") {
    const auto result = try_run_with_plan(two_steps, fails_until(2));
    REQUIRE(result.has_value());
    CHECK(*result == 2);
    CHECK(result.report().end == RunEnd::succeeded);
    CHECK(result.report().attempts == 3);
    CHECK(result.report().answered_step == 1);
    REQUIRE(result.report().steps.size() == 2);
    CHECK(told_as(result.report(), 0) == "too hard");
  }
  SECTION("of a failure") {
    const auto result = try_run_with_plan(two_steps, fails_until(0));
    REQUIRE_FALSE(result.has_value());
    CHECK(result.report().end == RunEnd::exhausted);
    REQUIRE(result.report().steps.size() == 2);
    CHECK(told_as(result.report(), 0) == "too hard");
    CHECK(told_as(result.report(), 1) == "too hard");
    CHECK(result.report().to_string() == "plan exhausted: first: 2 attempts, last too hard; second: too hard");
  }
  SECTION("of a failure that is thrown") {
    HardToCopy::copies_left = 0;
    CHECK_THROWS_AS(push_with_plan(
                        two_steps, [](int&, auto& emit) { emit(Reply(HardToCopy())); }, [](const Reply&) {}),
                    PlanExhausted);
    auto pulled = stream_with_plan(two_steps, [](int&) {
      return std::views::iota(0, 1) | std::views::transform([](int) { return Reply(HardToCopy()); });
    });
    CHECK_THROWS_AS(pulled.begin(), PlanExhausted);
    REQUIRE(pulled.error() != nullptr);
    CHECK(told_as(pulled.error()->report(), 1) == "too hard");
  }
  SECTION("of a coroutine") {
    HardToCopy::copies_left = 0;
    const auto sleep = [](Duration) -> Task<> { co_return; };
    const Reply result = sync_wait(co_run_with_plan<Task<Reply>>(
        two_steps, [](int&) -> Task<Reply> { co_return Reply(HardToCopy()); }, sleep));
    CHECK_FALSE(result.has_value());
  }
  SECTION("of a run by hand") {
    HardToCopy::copies_left = 0;
    PlanRun<int> run(two_steps);
    while (run.next() == RunPhase::attempt) run.fail(Cause::of(HardToCopy()));
    CHECK(run.end() == RunEnd::exhausted);
    CHECK(told_as(run.report(), 0) == "too hard");
  }
  SECTION("of a failure without a text") {
    HardToCopy::copies_left = 0;
    HardToCopy::text_throws = true;
    const auto result = try_run_with_plan(two_steps, [](int&) { return Reply(HardToCopy()); });
    HardToCopy::text_throws = false;
    CHECK(told_as(result.report(), 1) == "<no text>");
  }
  SECTION("of a refused value, and of one that came too late") {
    HardToCopy::copies_left = 0;
    const auto refused = try_run_with_plan(
        two_steps, accepting([](int&) { return HardToCopy(); }, [](const HardToCopy&) { return false; }));
    REQUIRE(refused.report().last_cause() != nullptr);
    CHECK(refused.report().last_cause()->kind() == CauseKind::rejected);
    CHECK(refused.report().last_cause()->message() == "value rejected: too hard");
    testing::VirtualClock clock;
    const ExecutionPlan<int> slow{{.provide = 1, .timeout = std::chrono::seconds(1)}};
    const auto late = try_run_with_plan(
        slow,
        [&](int&) {
          clock.advance(std::chrono::seconds(2));
          return Reply(HardToCopy());
        },
        {.clock = &clock});
    CHECK(late.report().last_cause()->kind() == CauseKind::timeout);
    CHECK(late.report().to_string() == "plan exhausted: step 0: timed out: too hard");
  }
  SECTION("a handler that copies it and throws is dropped, as any handler") {
    int told = 0;
    const auto result = try_run_with_plan(two_steps, fails_until(0),
                                          {.on_event = [&](const AttemptFailure& event) {
                                            ++told;
                                            HardToCopy::copies_left = 0;
                                            const AttemptFailure mine = event;
                                            ++told;
                                          }});
    CHECK(told == 3);
    CHECK(result.report().end == RunEnd::exhausted);
    CHECK(told_as(result.report(), 1) == "too hard");
  }
  HardToCopy::copies_left = 1000;
}

TEST_CASE("an expected-like whose own has_value() or error() throws ends the run as aborted") {
  struct Broken {
    bool asked_for_value = false;
    [[nodiscard]] bool has_value() const {
      if (asked_for_value) throw std::runtime_error("has_value");
      return false;
    }
    [[nodiscard]] int error() const { throw std::runtime_error("error"); }
    int operator*() const { return 0; }
  };
  for (const bool asked_for_value : {true, false}) {
    const std::string text = asked_for_value ? "has_value" : "error";
    int calls = 0;
    const auto broken = [&] {
      ++calls;
      return Broken{asked_for_value};
    };

    SECTION("returned by the callable: " + text) {
      const auto all = drivers::every(
          two_steps, [&](int&) { return broken(); }, [](auto&&) {});
      CHECK(calls == 4);
      for (const drivers::Made& made : all) {
        INFO(made.driver);
        CHECK(made.thrown == "aborted: " + text);
      }
      CHECK(try_run_with_plan(two_steps, [&](int&) { return broken(); }).error().end() == RunEnd::aborted);
      CHECK_THROWS_WITH(retry({.attempts = 2}, broken), text);
      CHECK_THROWS_WITH(run_with_plan(two_steps, [&](int&) { return broken(); }, {.failure = FailureStyle::original}),
                        text);
    }
    SECTION("returned by a factory: " + text) {
      const ExecutionPlan<int> plan{{.provide = broken, .attempts = 2}, {.provide = 2}};
      CHECK(try_run_with_plan(plan, [](int&) {}).error().end() == RunEnd::aborted);
      PlanRun<int> run(plan);
      ContextSlot<int> slot;
      REQUIRE(run.next() == RunPhase::attempt);
      CHECK_FALSE(run.provide(slot));
      CHECK(run.next() == RunPhase::over);
      CHECK(run.end() == RunEnd::aborted);
      REQUIRE(run.report().rule_error);
      CHECK(run.report().rule_error->message() == text);
      CHECK(calls == 2);
    }
    SECTION("as an element: " + text) {
      CHECK_THROWS_AS(
          push_with_plan(
              two_steps, [&](int&, auto& emit) { static_cast<void>(emit(broken())); }, [](const Broken&) {}),
          PlanAborted);
      auto pulled = stream_with_plan(two_steps, [&](int&) { return std::vector<Broken>{broken()}; });
      CHECK_THROWS_AS(pulled.begin(), PlanAborted);
      CHECK(calls == 2);
    }
    SECTION("as what a pulled source gives: " + text) {
      struct Opened {
        bool asked_for_value;
        std::vector<int> elements = {1};
        [[nodiscard]] bool has_value() const {
          if (asked_for_value) throw std::runtime_error("has_value");
          return false;
        }
        [[nodiscard]] int error() const { throw std::runtime_error("error"); }
        std::vector<int>& operator*() { return elements; }
      };
      auto pulled = stream_with_plan(two_steps, [&](int&) { return Opened{asked_for_value}; });
      CHECK_THROWS_AS(pulled.begin(), PlanAborted);
      CHECK(pulled.report().attempts == 1);
    }
  }
}

TEST_CASE("the value stays where an acceptance check throws: the cause has it, and the report what was thrown") {
  const auto check = [](const std::string&) -> bool { throw std::runtime_error("check"); };
  testing::AttemptLog log;
  const auto result =
      try_run_with_plan(two_steps, accepting([](int&) { return std::string("an answer"); }, check), {.on_event = log});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.report().end == RunEnd::aborted);
  REQUIRE(result.report().last_cause() != nullptr);
  REQUIRE(result.report().last_cause()->get_if<std::string>() != nullptr);
  CHECK(*result.report().last_cause()->get_if<std::string>() == "an answer");
  REQUIRE(result.report().rule_error);
  CHECK(result.report().rule_error->message() == "check");
  REQUIRE(log.of<AttemptFailure>().size() == 1);
  CHECK(log.of<AttemptFailure>()[0].cause.get_if<std::string>() != nullptr);

  struct Immovable {
    Immovable() = default;
    Immovable(const Immovable&) = delete;
    Immovable& operator=(const Immovable&) = delete;
  };
  Immovable there;
  const auto not_kept =
      try_run_with_plan(two_steps, accepting([&](int&) -> Immovable& { return there; },
                                             [](const Immovable&) -> bool { throw std::runtime_error("check"); }));
  CHECK(not_kept.report().last_cause()->message() == "check");
}

TEST_CASE("original style: what a rule threw leaves as itself, and the attempt's own error is nested where it can be") {
  struct Own : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  const auto thrown_by = [](auto error) {
    const RetryPolicy policy{.attempts = 2, .schedule = tap(delays({Duration()}), [error](const auto&) { throw error; })};
    return drivers::observed("retry", [&](const RunOptions& options) {
      retry(policy, [] { throw ProviderError(503, "busy"); }, options);
    });
  };
  CHECK(thrown_by(std::runtime_error("tap")).thrown == "tap");
  CHECK(thrown_by(std::runtime_error("tap")).nested == "busy");
  CHECK(thrown_by(std::invalid_argument("tap")).nested == "busy");
  CHECK(thrown_by(Own("own")).thrown == "own");
  CHECK(thrown_by(Own("own")).nested == "nothing");
  try {
    const auto check = [](int) -> bool { throw std::logic_error("check"); };
    run_with_plan(two_steps, accepting([](int& i) { return i; }, check), {.failure = FailureStyle::original});
    FAIL_CHECK("no exception");
  } catch (const std::logic_error& error) {
    CHECK(drivers::nested_text(error) == "value rejected: 1");
  }

  // Not within itself.
  const RetryPolicy rethrows{.classify = [](const Cause& cause) -> Verdict { cause.rethrow(); }};
  const auto itself = drivers::observed("retry", [&](const RunOptions& options) {
    retry(rethrows, [] { throw std::runtime_error("busy"); }, options);
  });
  CHECK(itself.thrown == "busy");
  CHECK(itself.nested == "nothing");
}

namespace {

// Its copies throw, from the given number on.
struct Text {
  inline static int copies_left = 1000;
  std::string text = "an answer";

  Text() = default;
  Text(const Text& other) : text(other.text) {
    if (copies_left-- <= 0) throw std::runtime_error("its copy");
  }
};

struct Model {
  Text text;
  inline static int calls = 0;

  const Text& ask() {
    ++calls;
    return text;
  }
};

// An expected-like whose value can only be copied.
struct Copied {
  [[nodiscard]] static bool has_value() noexcept { return true; }
  [[nodiscard]] static int error() noexcept { return 0; }
  Text operator*() const { return text; }
  Text text;
};

}  // namespace

TEST_CASE("an answer that cannot be copied from its context is no reason to ask again") {
  const ExecutionPlan<Model> plan{{.name = "first", .provide = [] { return Model(); }, .attempts = 2},
                                  {.name = "second", .provide = [] { return Model(); }}};
  const auto left = [&](auto run) {
    Model::calls = 0;
    Text::copies_left = 0;
    std::string thrown;
    try {
      run();
    } catch (const std::runtime_error& error) {
      thrown = error.what();
    }
    Text::copies_left = 1000;
    return thrown + ", " + std::to_string(Model::calls);
  };
  CHECK(left([&] { static_cast<void>(run_with_plan(plan, &Model::ask)); }) == "its copy, 1");
  CHECK(left([&] { static_cast<void>(run_with_plan(plan, &Model::ask, {.seed = 1})); }) == "its copy, 1");
  CHECK(left([&] { static_cast<void>(try_run_with_plan(plan, &Model::ask)); }) == "its copy, 1");
}

TEST_CASE("a value that its result cannot give for an acceptance check ends the run as aborted") {
  const ExecutionPlan<Model> plan{{.name = "first", .provide = [] { return Model(); }, .attempts = 2}};
  const auto ask = [](Model& model) {
    static_cast<void>(model.ask());
    Copied copied;
    Text::copies_left = 0;
    return copied;
  };
  Model::calls = 0;
  const auto result = try_run_with_plan(plan, accepting(ask, [](const Text&) { return true; }));
  Text::copies_left = 1000;
  CHECK(Model::calls == 1);
  CHECK(result.report().end == RunEnd::aborted);
  REQUIRE(result.report().rule_error);
  CHECK(result.report().rule_error->message() == "its copy");
}

TEST_CASE("accepting() over a const value that can only be moved") {
  const auto give = [](int& i) -> const std::unique_ptr<int> { return std::make_unique<int>(i); };
  const auto answer = run_with_plan(two_steps, accepting(give, [](const std::unique_ptr<int>& p) { return *p == 2; }));
  CHECK(*answer == 2);
}

namespace {

// Lets attempts pass unasked, until something worries it.
class UnaskedGate final : public Gate {
 public:
  std::vector<std::string> notes;
  std::function<void()> on_told;

  UnaskedGate() { pass_.store(7); }
  void worry() { pass_.store(0); }
  Admission admit(const GateRequest&) override {
    notes.emplace_back("asked");
    return Permit(*this, 8);
  }
  [[nodiscard]] TimePoint opens_at(const GateRequest& request) const override { return request.now; }

 private:
  void on_outcome(std::uint64_t ticket, const GateOutcome& outcome) override {
    notes.push_back((outcome.cause == nullptr ? "success " : "failure ") + std::to_string(ticket));
    if (on_told) on_told();
  }
  void on_dropped(std::uint64_t ticket, bool) noexcept override { notes.push_back("dropped " + std::to_string(ticket)); }
};

}  // namespace

TEST_CASE("a gate that let an attempt pass unasked hears of its success where something worried it meanwhile") {
  using Notes = std::vector<std::string>;
  const auto gate = std::make_shared<UnaskedGate>();
  const ExecutionPlan<int> plan{{.provide = 1, .attempts = 2, .gate = gate}, {.provide = 2}};
  int calls = 0;
  const auto worries = [&](int& step) {
    ++calls;
    gate->worry();
    return step;
  };
  CHECK(run_with_plan(plan, [](int& step) { return step; }) == 1);
  CHECK(gate->notes == Notes{});
  SECTION("it is told") { CHECK(run_with_plan(plan, worries) == 1); }
  SECTION("what it throws is dropped") {
    gate->on_told = [] { throw std::runtime_error("gate"); };
    CHECK(run_with_plan(plan, worries) == 1);
  }
  SECTION("but a defect leaves") {
    gate->on_told = [] { throw Defect("a gate's bug"); };
    CHECK_THROWS_AS(run_with_plan(plan, worries), Defect);
  }
  SECTION("where the answer was lost on its way, that leaves, whatever the gate throws") {
    gate->on_told = [] { throw Defect("a gate's bug"); };
    const auto fragile = [&](int& step) -> Fragile<int> {
      trap = Trap{.moved = 1};
      return Fragile<int>(worries(step));
    };
    CHECK_THROWS_WITH(run_with_plan(plan, fragile), "its move");
    trap = {};
  }
  CHECK(calls == 1);
  CHECK(gate->notes == Notes{"success 7"});
}
