// How a run fails: what is thrown or given back for each end, and what it tells.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "results.hpp"
#include "two_steps.hpp"

#if __has_include(<tl/expected.hpp>)
#include <tl/expected.hpp>
#define HAS_EXPECTED 1
#else
#define HAS_EXPECTED 0
#endif

using namespace std::chrono_literals;
using planb::Cause;
using planb::CauseKind;
using planb::Defect;
using planb::ExecutionPlan;
using planb::FailureStyle;
using planb::PlanError;
using planb::run_with_plan;
using planb::RunEnd;
using planb::try_run_with_plan;
using results::Fault;
using two::Client;
using two::two_steps;

namespace {

// An error that can tell of a whole run.
struct Wide {
  explicit Wide(int i) : id(i) {}
  explicit Wide(const PlanError& error) : end(error.end()), steps(static_cast<int>(error.report().steps.size())) {}

  int id = 0;
  std::optional<RunEnd> end = std::nullopt;
  int steps = 0;
};

struct MoveOnly {
  explicit MoveOnly(int i) : id(std::make_unique<int>(i)) {}
  std::unique_ptr<int> id;
};

std::string text(const Fault& fault) { return "fault " + std::to_string(fault.id); }
[[maybe_unused]] std::string text(const MoveOnly& error) {  // without a std::expected nothing returns it
  return "fault " + std::to_string(*error.id);
}
std::string text(const results::Status& status) { return "fault " + std::to_string(status.status()); }
std::string text(const Wide& error) {
  return error.end ? std::string("made from ") + planb::to_string(*error.end) : "fault " + std::to_string(error.id);
}

// --- The ways in which a run may end. Two steps, one attempt each; the second failure ends it.
// -------------------------

enum class End { exhausted, aborted, by_rule, deadline, interrupted };

std::string name(End end) {
  constexpr const char* names[] = {"exhausted", "aborted", "aborted by a rule", "deadline", "interrupted"};
  return names[static_cast<int>(end)];
}

struct Scene {
  explicit Scene(End which, std::optional<FailureStyle> style) : end(which), plan(make_plan(which)) {
    options.failure = style;
    options.clock = &clock;
    if (end == End::deadline) options.budget = 1s;
#if PLANB_HAS_STOP_TOKEN
    options.stop = stop.get_token();
#endif
  }

  static ExecutionPlan<Client> make_plan(End end) {
    planb::Step<Client> second{.name = "two", .provide = Client{2}};
    if (end == End::aborted) second.classify = [](const Cause&) { return planb::Verdict{planb::Action::abort}; };
    if (end == End::by_rule) second.retry_while = [](const Cause&) -> bool { throw std::logic_error("a rule's own"); };
    return ExecutionPlan<Client>({{.name = "one", .provide = Client{1}}, second});
  }

  // To be called inside each attempt, before it fails.
  void on_attempt(const Client& client) {
    if (client.id != 2) return;
    if (end == End::deadline) clock.advance(1h);
#if PLANB_HAS_STOP_TOKEN
    if (end == End::interrupted) stop.request_stop();
#endif
  }

  End end;
  ExecutionPlan<Client> plan;
  planb::RunOptions options;
  planb::testing::VirtualClock clock;
#if PLANB_HAS_STOP_TOKEN
  std::stop_source stop;
#endif
};

// What comes out of a failing run, in words.
template <class Run>
std::string outcome(Run run) {
  std::string prefix = "throws ";
  std::exception_ptr error;
  try {
    if constexpr (std::is_void_v<decltype(run())> || std::is_same_v<decltype(run()), int>) {
      static_cast<void>(run());
      return "a value";
    } else {
      auto result = run();
      using Traits = planb::result_traits<decltype(result)>;
      return Traits::has_value(result) ? "a value" : "gives " + text(Traits::error(result));
    }
  } catch (...) {
    error = std::current_exception();
  }
  const std::function<std::string(const std::exception_ptr&)> describe =
      [&](const std::exception_ptr& e) -> std::string {
    const auto nested = [&](const PlanError& plan_error) -> std::string {
      const auto* const holder = dynamic_cast<const std::nested_exception*>(&plan_error);
      if (holder == nullptr) return "";
      return holder->nested_ptr() == nullptr ? " nesting nothing" : " nesting " + describe(holder->nested_ptr());
    };
    try {
      std::rethrow_exception(e);
    } catch (const planb::PlanExhausted& x) {
      return "PlanExhausted" + nested(x);
    } catch (const planb::PlanAborted& x) {
      return "PlanAborted" + nested(x);
    } catch (const planb::DeadlineExceeded& x) {
      return "DeadlineExceeded" + nested(x);
    } catch (const planb::PlanInterrupted& x) {
      return "PlanInterrupted" + nested(x);
    } catch (const Fault& x) {
      return text(x);
    } catch (const results::Status& x) {
      return text(x);
    } catch (const Wide& x) {
      return text(x);
    } catch (const planb::RejectedValue& x) {
      return std::string("RejectedValue ") + x.what();
    } catch (const std::exception& x) {
      return x.what();
    } catch (...) {
      return "something else";
    }
  };
  return prefix + describe(error);
}

// The four columns of a table: (aggregate, original) x (what each of the ends gives), in the order of End.
struct Expected {
  std::vector<std::string> aggregate;
  std::vector<std::string> original;
};

// `fail(id)` makes or throws the error of step `id`.
template <class R, class Fail>
void check_table(const Expected& expected, Fail fail) {
  constexpr std::size_t ends = PLANB_HAS_STOP_TOKEN ? 5 : 4;
  for (std::size_t i = 0; i != ends; ++i) {
    const auto end = static_cast<End>(i);
    for (const FailureStyle style : {FailureStyle::aggregate, FailureStyle::original}) {
      INFO(name(end) << (style == FailureStyle::aggregate ? ", aggregate" : ", original"));
      Scene scene(end, style);
      int calls = 0;
      const auto fn = [&](Client& client) -> R {
        ++calls;
        scene.on_attempt(client);
        return fail(client.id);
      };
      CHECK(outcome([&]() -> R { return run_with_plan(scene.plan, fn, scene.options); }) ==
            (style == FailureStyle::aggregate ? expected.aggregate[i] : expected.original[i]));
      CHECK(calls == 2);
    }
    INFO(name(end) << ", no style named");
    Scene scene(end, std::nullopt);
    const auto fn = [&](Client& client) -> R {
      scene.on_attempt(client);
      return fail(client.id);
    };
    CHECK(outcome([&]() -> R { return run_with_plan(scene.plan, fn, scene.options); }) == expected.aggregate[i]);
  }
}

[[noreturn]] void throw_fault(int id) { throw Fault{id}; }

}  // namespace

TEST_CASE("a callable that throws: the end's own type, or the last error in the original style", "[failure]") {
  const Expected expected{{"throws PlanExhausted nesting fault 2", "throws PlanAborted nesting fault 2",
                           "throws PlanAborted nesting a rule's own", "throws DeadlineExceeded nesting fault 2",
                           "throws PlanInterrupted nesting fault 2"},
                          {"throws fault 2", "throws fault 2", "throws a rule's own",
                           "throws DeadlineExceeded nesting fault 2", "throws PlanInterrupted nesting fault 2"}};
  check_table<int>(expected, [](int id) -> int { throw_fault(id); });
  check_table<void>(expected, [](int id) { throw_fault(id); });
}

TEST_CASE("a returned error that cannot be made from PlanError: the last one comes back", "[failure]") {
  const Expected expected{{"gives fault 2", "gives fault 2", "gives fault 2", "gives fault 2", "gives fault 2"},
                          {"gives fault 2", "gives fault 2", "throws a rule's own", "gives fault 2", "gives fault 2"}};
#if HAS_EXPECTED
  check_table<tl::expected<int, Fault>>(expected, [](int id) { return tl::unexpected(Fault{id}); });
  check_table<tl::expected<void, Fault>>(expected, [](int id) { return tl::unexpected(Fault{id}); });
  check_table<tl::expected<int, MoveOnly>>(expected, [](int id) { return tl::unexpected(MoveOnly(id)); });
#endif
  check_table<results::Outcome<int, Fault>>(expected, [](int id) { return Fault{id}; });
  check_table<results::StatusOr<int>>(expected, [](int id) { return results::Status(id, "no"); });
}

TEST_CASE("a returned error that can be made from PlanError tells of the whole run", "[failure]") {
  const Expected expected{{"gives made from exhausted", "gives made from aborted", "gives made from aborted",
                           "gives made from deadline exceeded", "gives made from interrupted"},
                          {"gives fault 2", "gives fault 2", "throws a rule's own", "gives made from deadline exceeded",
                           "gives made from interrupted"}};
#if HAS_EXPECTED
  check_table<tl::expected<int, Wide>>(expected, [](int id) { return tl::unexpected(Wide(id)); });
  check_table<tl::expected<void, Wide>>(expected, [](int id) { return tl::unexpected(Wide(id)); });
#endif
  check_table<results::Outcome<int, Wide>>(expected, [](int id) { return Wide(id); });
}

#if HAS_EXPECTED
TEST_CASE("an expected-like callable that throws", "[failure]") {
  SECTION("and whose error cannot be made from PlanError throws") {
    check_table<tl::expected<int, Fault>>(
        {{"throws PlanExhausted nesting fault 2", "throws PlanAborted nesting fault 2",
          "throws PlanAborted nesting a rule's own", "throws DeadlineExceeded nesting fault 2",
          "throws PlanInterrupted nesting fault 2"},
         {"throws fault 2", "throws fault 2", "throws a rule's own", "throws DeadlineExceeded nesting fault 2",
          "throws PlanInterrupted nesting fault 2"}},
        [](int id) -> tl::expected<int, Fault> { throw_fault(id); });
  }
  SECTION("and whose error can be made from PlanError gives that") {
    check_table<tl::expected<int, Wide>>(
        {{"gives made from exhausted", "gives made from aborted", "gives made from aborted",
          "gives made from deadline exceeded", "gives made from interrupted"},
         {"throws fault 2", "throws fault 2", "throws a rule's own", "gives made from deadline exceeded",
          "gives made from interrupted"}},
        [](int id) -> tl::expected<int, Wide> { throw_fault(id); });
  }
  SECTION("after it has returned an error: that one comes back") {
    check_table<tl::expected<int, Fault>>(
        {{"gives fault 1", "gives fault 1", "gives fault 1", "gives fault 1", "gives fault 1"},
         {"gives fault 1", "gives fault 1", "throws a rule's own", "gives fault 1", "gives fault 1"}},
        [](int id) -> tl::expected<int, Fault> {
          if (id == 2) throw std::runtime_error("thrown");
          return tl::unexpected(Fault{id});
        });
  }
}

TEST_CASE("a result that is only a reference cannot be made: the end's own type is thrown", "[failure]") {
  using R = tl::expected<int, Fault>;
  R bad = tl::unexpected(Fault{2});
  const auto fn = [&](Client&) -> R& { return bad; };
  CHECK(outcome([&]() -> R { return run_with_plan(two_steps(), fn); }) == "throws PlanExhausted nesting fault 2");
  CHECK(outcome([&]() -> R { return run_with_plan(two_steps(), fn, {.failure = FailureStyle::original}); }) ==
        "throws fault 2");
}
#endif

TEST_CASE("a returned error that cannot be copied is nested by its text", "[failure]") {
  struct Sealed {
    std::unique_ptr<int> key = std::make_unique<int>(1);
    std::string message = "sealed";
  };
  const auto fn = [](Client&) -> results::Outcome<int, Sealed> { return Sealed(); };
  const auto result = try_run_with_plan(two_steps(), fn);
  CHECK(outcome([&] { static_cast<void>(result.value()); }) == "throws PlanExhausted nesting sealed");
  CHECK(result.report().last_cause()->get_if<Sealed>() != nullptr);
}

TEST_CASE("a refused value is no error of the callable's", "[failure][field-54]") {
  const auto no = [](const auto&) { return false; };
  SECTION("of a callable that returns a value") {
    const auto fn = planb::accepting([](Client&) { return std::string("value"); }, no);
    CHECK_THROWS_AS(run_with_plan(two_steps(), fn), planb::PlanExhausted);
    try {
      run_with_plan(two_steps(), fn, {.failure = FailureStyle::original});
      FAIL("a value was given");
    } catch (const planb::RejectedValue& e) {
      CHECK(*e.cause().get_if<std::string>() == "value");
      CHECK(std::string(e.what()) == "value rejected: value");
    }
  }
#if HAS_EXPECTED
  SECTION("of an expected-like whose value and error are of one type") {
    using R = tl::expected<std::string, std::string>;
    const auto run = [&](planb::RunOptions options, auto before) {
      try {
        const R result = run_with_plan(two_steps(),
                                       planb::accepting(
                                           [&](Client&) -> R {
                                             before();
                                             return "value";
                                           },
                                           no),
                                       options);
        return result ? "value " + *result : "error " + result.error();
      } catch (const planb::RejectedValue&) {
        return std::string("RejectedValue");
      } catch (const PlanError& e) {
        const auto* const nested = dynamic_cast<const std::nested_exception*>(&e);
        return std::string(planb::to_string(e.end())) + (nested != nullptr ? ", nested" : "");
      }
    };
    CHECK(run({}, [] {}) == "exhausted, nested");
    CHECK(run({.failure = FailureStyle::original}, [] {}) == "RejectedValue");
    planb::testing::VirtualClock clock;
    CHECK(run({.budget = 1s, .clock = &clock}, [&] { clock.advance(2s); }) == "deadline exceeded, nested");
#if PLANB_HAS_STOP_TOKEN
    std::stop_source stop;
    CHECK(run({.stop = stop.get_token()}, [&] { stop.request_stop(); }) == "interrupted, nested");
#endif
  }
#endif
  SECTION("that cannot be kept") {
    struct Pinned {
      Pinned() = default;
      Pinned(const Pinned&) = delete;
    };
    Pinned pinned;
    const auto fn = planb::accepting([&](Client&) -> Pinned& { return pinned; }, no);
    CHECK(outcome([&] { static_cast<void>(run_with_plan(two_steps(), fn)); }) ==
          "throws PlanExhausted nesting RejectedValue value rejected");
    CHECK(outcome([&] { static_cast<void>(run_with_plan(two_steps(), fn, {.failure = FailureStyle::original})); }) ==
          "throws RejectedValue value rejected");
  }
}

TEST_CASE("an attempt's timeout and the run's deadline look different", "[failure][field-17][field-18]") {
  planb::testing::VirtualClock clock;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .timeout = 1s},
                                   {.name = "two", .provide = Client{2}, .timeout = 1s}};
  const auto slow = [&](Client& client) {
    clock.advance(2s);
    throw_fault(client.id);
  };
  SECTION("the attempts' time was up") {
    const auto result = try_run_with_plan(plan, slow, {.clock = &clock});
    CHECK(result.error().end() == RunEnd::exhausted);
    CHECK(result.report().last_cause()->kind() == CauseKind::timeout);
    CHECK(result.report().last_cause()->get_if<Fault>()->id == 2);
    CHECK_THROWS_AS(run_with_plan(plan, slow, {.clock = &clock}), planb::PlanExhausted);
    CHECK_THROWS_AS(run_with_plan(plan, slow, {.clock = &clock, .failure = FailureStyle::original}), Fault);
  }
  SECTION("the run's time was up") {
    const auto result = try_run_with_plan(plan, slow, {.budget = 1500ms, .clock = &clock});
    CHECK(result.error().end() == RunEnd::deadline);
    CHECK(result.report().steps.size() == 1);
    CHECK_THROWS_AS(run_with_plan(plan, slow, {.budget = 1500ms, .clock = &clock, .failure = FailureStyle::original}),
                    planb::DeadlineExceeded);
  }
}

// --- The exception itself
// ----------------------------------------------------------------------------------------------

TEST_CASE("every failure is a PlanError with its end and its report", "[failure]") {
  Scene scene(End::exhausted, std::nullopt);
  try {
    run_with_plan(scene.plan, [](Client& c) { throw_fault(c.id); });
    FAIL("nothing was thrown");
  } catch (const PlanError& e) {
    CHECK(e.end() == RunEnd::exhausted);
    REQUIRE(e.report().steps.size() == 2);
    CHECK(e.report().steps[0].name == "one");
    CHECK(e.report().steps[0].attempts == 1);
    CHECK(e.report().steps[0].cause->get_if<Fault>()->id == 1);
    CHECK(e.report().steps[1].cause->get_if<Fault>()->id == 2);
    CHECK(std::string(e.what()) == e.report().to_string());
  }
}

TEST_CASE("what a rule throws ends the run; the attempt's own error stays in the report", "[failure]") {
  planb::Step<Client> step{.name = "one", .provide = Client{1}, .attempts = 2};
  struct Row {
    const char* what;
    std::function<void(planb::Step<Client>&)> arm;
  };
  const auto row = GENERATE(
      Row{"predicate", [](auto& s) { s.retry_while = [](const Cause&) -> bool { throw std::logic_error("own"); }; }},
      Row{"predicate over the error's type",
          [](auto& s) { s.retry_while = [](const Fault&) -> bool { throw std::logic_error("own"); }; }},
      Row{"classifier",
          [](auto& s) { s.classify = [](const Cause&) -> planb::Verdict { throw std::logic_error("own"); }; }},
      Row{"schedule", [](auto& s) {
            s.schedule = planb::Schedule::from(
                "own",
                [](const planb::ScheduleInput&) -> std::optional<planb::Duration> { throw std::logic_error("own"); });
          }});
  INFO(row.what);
  row.arm(step);
  const ExecutionPlan<Client> plan{step, {.name = "two", .provide = Client{2}}};
  const planb::testing::AttemptLog log;
  const auto fn = [](Client& c) { throw_fault(c.id); };

  const auto result = try_run_with_plan(plan, fn, {.on_event = log});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().end() == RunEnd::aborted);
  REQUIRE(result.report().rule_error.has_value());
  CHECK(result.report().rule_error->message() == "own");
  CHECK(result.report().last_cause()->get_if<Fault>()->id == 1);
  CHECK(log.names() == std::vector{"one"});
  REQUIRE(log.of<planb::AttemptFailure>().size() == 1);
  const planb::AttemptFailure failure = log.of<planb::AttemptFailure>()[0];
  CHECK(failure.cause.get_if<Fault>() != nullptr);
  CHECK(failure.next.kind == planb::NextMove::end);
  CHECK(failure.next.run_end == RunEnd::aborted);
  const std::string what = result.error().what();
  CHECK(what.find("plan aborted: one: ") == 0);
  CHECK(what.find("; a rule of the plan threw: own") != std::string::npos);

  CHECK(outcome([&] { run_with_plan(plan, fn); }) == "throws PlanAborted nesting own");
  CHECK(outcome([&] { run_with_plan(plan, fn, {.failure = FailureStyle::original}); }) == "throws own");
}

TEST_CASE("a guard that throws ends the run", "[failure]") {
  const ExecutionPlan<Client> plan{
      {.name = "one", .provide = Client{1}},
      {.name = "two", .provide = Client{2}, .enter_when = [](const Cause&) -> bool { throw std::logic_error("own"); }},
      {.name = "three", .provide = Client{3}}};
  const planb::testing::AttemptLog log;
  const auto fn = [](Client& c) { throw_fault(c.id); };
  CHECK(outcome([&] { run_with_plan(plan, fn, {.on_event = log}); }) == "throws PlanAborted nesting own");
  CHECK(log.names() == std::vector{"one"});
  CHECK(outcome([&] { run_with_plan(plan, fn, {.failure = FailureStyle::original}); }) == "throws own");
}

TEST_CASE("an acceptance check that throws ends the run, for values and for results alike", "[failure]") {
  const planb::testing::AttemptLog log;
  const auto throws = [](int) -> bool { throw std::logic_error("own"); };
  const auto fn = planb::accepting([](Client& c) { return c.id; }, throws);
  CHECK(outcome([&] { static_cast<void>(run_with_plan(two_steps(), fn, {.on_event = log})); }) ==
        "throws PlanAborted nesting own");
  CHECK(log.events().size() == 2);
  CHECK(log.of<planb::AttemptFailure>().size() == 1);
  CHECK(outcome([&] { static_cast<void>(run_with_plan(two_steps(), fn)); }) == "throws PlanAborted nesting own");
  CHECK(outcome([&] { static_cast<void>(run_with_plan(two_steps(), fn, {.failure = FailureStyle::original})); }) ==
        "throws own");
#if HAS_EXPECTED
  using R = tl::expected<int, Wide>;
  const auto result = planb::accepting([](Client& c) -> R { return c.id; }, throws);
  CHECK(outcome([&] { return run_with_plan(two_steps(), result); }) == "gives made from aborted");
#endif
}

TEST_CASE("nothing is nested where no attempt failed, also inside a handler of the caller's", "[failure]") {
  planb::testing::VirtualClock clock;
  const auto fn = [](Client& c) { return c.id; };
  const auto check = [&] {
    CHECK(outcome([&] { return run_with_plan(two_steps(), fn, {.budget = 0s, .clock = &clock}); }) ==
          "throws DeadlineExceeded");
    CHECK(outcome([&] { return try_run_with_plan(two_steps(), fn, {.budget = 0s, .clock = &clock}).value(); }) ==
          "throws DeadlineExceeded");
    const ExecutionPlan<Client> guarded{
        {.name = "one", .provide = Client{1}, .enter_when = [](const Cause&) { return true; }}};
    CHECK(outcome([&] { return run_with_plan(guarded, fn); }) == "throws PlanExhausted");
#if PLANB_HAS_STOP_TOKEN
    std::stop_source stop;
    stop.request_stop();
    CHECK(outcome([&] { return run_with_plan(two_steps(), fn, {.stop = stop.get_token()}); }) ==
          "throws PlanInterrupted");
#endif
  };
  check();
  try {
    throw std::runtime_error("unrelated");
  } catch (...) {
    check();
    CHECK(outcome([&] { run_with_plan(two_steps(), [](Client& c) { throw_fault(c.id); }); }) ==
          "throws PlanExhausted nesting fault 2");
    CHECK(outcome([&] { throw; }) == "throws unrelated");
  }
}

TEST_CASE("a PlanError is copied without throwing", "[failure]") {
  STATIC_REQUIRE(std::is_nothrow_copy_constructible_v<PlanError>);
  STATIC_REQUIRE(std::is_nothrow_copy_assignable_v<PlanError>);
  STATIC_REQUIRE(std::is_nothrow_copy_constructible_v<planb::PlanExhausted>);
  STATIC_REQUIRE(std::is_nothrow_copy_constructible_v<planb::PlanAborted>);
  STATIC_REQUIRE(std::is_nothrow_copy_constructible_v<planb::DeadlineExceeded>);
  STATIC_REQUIRE(std::is_nothrow_copy_constructible_v<planb::PlanInterrupted>);
  STATIC_REQUIRE(std::is_nothrow_copy_constructible_v<planb::RejectedValue>);

  std::optional<PlanError> kept;
  {
    Scene scene(End::exhausted, std::nullopt);
    try {
      run_with_plan(scene.plan, [](Client& c) { throw_fault(c.id); });
    } catch (const PlanError& e) {
      kept = e;
    }
  }
  const PlanError moved = *std::move(kept);
  REQUIRE(kept.has_value());
  CHECK(kept->report().steps.size() == 2);  // what was moved from still says what it said
  CHECK(std::string(moved.what()) == "plan exhausted: one: unknown exception; two: unknown exception");
  CHECK(moved.report().last_cause()->get_if<Fault>()->id == 2);
}

TEST_CASE("what() is of bounded length and names each step", "[failure][field-50]") {
  const auto run = [](const std::vector<std::string>& names, const std::string& message) {
    std::vector<planb::Step<Client>> steps;
    for (const std::string& name : names) steps.push_back({.name = name, .provide = Client{}, .attempts = 2});
    const auto result = try_run_with_plan(ExecutionPlan<Client>(std::move(steps)),
                                          [&](Client&) -> int { throw std::runtime_error(message); });
    return std::string(result.error().what());
  };
  CHECK(run({"alpha", "", "gamma"}, "down") ==
        "plan exhausted: alpha: 2 attempts, last down; step 1: 2 attempts, last down; gamma: 2 attempts, last down");

  const std::string huge(1'000'000, 'x');
  const std::string one = run({"alpha"}, huge);
  CHECK(one.size() < 300);
  CHECK(one.find("alpha") != std::string::npos);
  CHECK(one.find("xxx...") != std::string::npos);
  CHECK(run({huge}, "down").size() < 300);

  const std::string long_text(1000, 'x');
  const std::string many = run(std::vector<std::string>(1000, long_text), long_text);
  CHECK(many.size() < 3000);
  CHECK(many.find("more steps") != std::string::npos);
}

TEST_CASE("an error's text cannot forge lines or hide what follows", "[failure]") {
  const ExecutionPlan<Client> plan{{.name = "al\npha", .provide = Client{}}};
  const std::string nasty = "down\r\nAttemptSuccess #1\x1b[2J\t\x7f";
  const planb::testing::AttemptLog log;
  const auto result =
      try_run_with_plan(plan, [&](Client&) -> int { throw planb::ProviderError(503, nasty); }, {.on_event = log});
  const std::string what = result.error().what();
  CHECK(what == "plan exhausted: al pha: 503 down  AttemptSuccess #1 [2J  ");
  REQUIRE(log.lines().size() == 2);
  for (const std::string& line : log.lines()) {
    CHECK(std::none_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20U; }));
  }

  const auto returned = try_run_with_plan(plan, [&](Client&) -> results::StatusOr<int> {
    return results::Status(503, std::string("down") + '\0' + "and out");
  });
  CHECK(std::string(returned.error().what()) == "plan exhausted: al pha: 503 down and out");
}

TEST_CASE("a text is not cut inside a character", "[failure]") {
  std::string message(199, 'x');
  message += "\xE2\x82\xAC\xE2\x82\xAC";  // two euro signs, across the limit
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{}}};
  const auto result = try_run_with_plan(plan, [&](Client&) -> int { throw std::runtime_error(message); });
  CHECK(std::string(result.error().what()) == "plan exhausted: alpha: " + std::string(199, 'x') + "...");
}

TEST_CASE("exhausted, aborted and declined are told apart", "[failure][field-53]") {
  const auto fn = [](Client&) -> int { throw planb::ProviderError(400, "bad request"); };
  const auto what = [&](planb::Step<Client> first) {
    return std::string(try_run_with_plan(ExecutionPlan<Client>({std::move(first)}), fn).error().what());
  };
  CHECK(what({.name = "a", .provide = Client{}, .attempts = 2}) ==
        "plan exhausted: a: 2 attempts, last 400 bad request");
  CHECK(what({.name = "a", .provide = Client{}, .attempts = 5, .retry_while = [](const Cause&) { return false; }}) ==
        "plan exhausted: a: 400 bad request, not worth retrying");
  CHECK(what({.name = "a", .provide = Client{}, .classify = [](const Cause&) {
                return planb::Verdict{planb::Action::abort, true};
              }}) == "plan aborted: a: 400 bad request (alert)");
  CHECK(what({.name = "a", .provide = Client{}, .enter_when = [](const Cause&) { return true; }}) ==
        "plan exhausted: a: skipped, declined");
}

// --- Defects
// -----------------------------------------------------------------------------------------------------------

namespace {

struct Bug : Defect {
  Bug() : Defect("a bug") {}
};

// Runs in every form, and checks that the Defect leaves each of them as it was thrown. Gives how often it was thrown.
template <class Fn>
void check_defect(const ExecutionPlan<Client>& plan, Fn fn, const std::vector<std::string>& starts,
                  std::size_t failures) {
  for (const std::optional<FailureStyle> style :
       {std::optional<FailureStyle>(), std::optional(FailureStyle::aggregate), std::optional(FailureStyle::original)}) {
    const planb::testing::AttemptLog log;
    CHECK_THROWS_AS(run_with_plan(plan, fn, {.on_event = log, .failure = style}), Bug);
    CHECK(log.names() == starts);
    CHECK(log.of<planb::AttemptFailure>().size() == failures);
    CHECK(log.of<planb::AttemptSuccess>().empty());
    CHECK_THROWS_AS(try_run_with_plan(plan, fn, {.on_event = log, .failure = style}), Bug);
  }
  CHECK_THROWS_AS(run_with_plan(plan, fn), Bug);
  CHECK_THROWS_AS(try_run_with_plan(plan, fn), Bug);
}

}  // namespace

TEST_CASE("a Defect is not retried, does not fall back, and leaves unchanged", "[failure]") {
  planb::Step<Client> first{.name = "one", .provide = Client{1}, .attempts = 3};
  planb::Step<Client> second{.name = "two", .provide = Client{2}, .attempts = 3};
  int asked = 0;
  const auto fails = [](Client& c) -> int { throw Fault{c.id}; };

  SECTION("from the callable") {
    first.retry_while = [&](const Cause&) { return ++asked > 0; };
    first.classify = [&](const Cause&) { return ++asked, planb::Verdict(); };
    check_defect(
        ExecutionPlan<Client>({first, second}), [](Client&) -> int { throw Bug(); }, {"one"}, 1);
    check_defect(
        ExecutionPlan<Client>({first, second}), [](Client&) { throw Bug(); }, {"one"}, 1);
    CHECK(asked == 0);
  }
  SECTION("from the callable in a later step, after returned errors") {
    const auto check = [&]<class R>(std::type_identity<R>, auto error) {
      check_defect(
          ExecutionPlan<Client>({first, second}),
          [&](Client& client) -> R {
            if (client.id == 2) throw Bug();
            return error();
          },
          {"one", "one", "one", "two"}, 4);
    };
    check(std::type_identity<results::Outcome<int, Fault>>(), [] { return Fault{7}; });
    check(std::type_identity<results::Outcome<int, Wide>>(), [] { return Wide(7); });
    check(std::type_identity<results::StatusOr<int>>(), [] { return results::Status(7, "no"); });
  }
  SECTION("from a factory") {
    first.provide = []() -> Client { throw Bug(); };
    check_defect(ExecutionPlan<Client>({first, second}), fails, {"one"}, 1);
  }
  SECTION("from a predicate") {
    first.retry_while = [](const Cause&) -> bool { throw Bug(); };
    check_defect(ExecutionPlan<Client>({first, second}), fails, {"one"}, 1);
  }
  SECTION("from a classifier") {
    first.classify = [](const Fault&) -> planb::Verdict { throw Bug(); };
    check_defect(ExecutionPlan<Client>({first, second}), fails, {"one"}, 1);
  }
  SECTION("from a schedule function") {
    first.schedule = planb::Schedule::from(
        "own", [](const planb::ScheduleInput&) -> std::optional<planb::Duration> { throw Bug(); });
    check_defect(ExecutionPlan<Client>({first, second}), fails, {"one"}, 1);
  }
  SECTION("from a guard") {
    second.enter_when = [](const Cause&) -> bool { throw Bug(); };
    check_defect(ExecutionPlan<Client>({first, second}), fails, {"one", "one", "one"}, 3);
  }
  SECTION("from an acceptance check") {
    check_defect(ExecutionPlan<Client>({first, second}),
                 planb::accepting([](Client& c) { return c.id; }, [](int) -> bool { throw Bug(); }), {"one"}, 1);
  }
}

TEST_CASE("a Defect's cause is of kind defect, and its end is told", "[failure]") {
  const planb::testing::AttemptLog log;
  CHECK_THROWS_AS(run_with_plan(two_steps(), [](Client&) -> int { throw Bug(); }, {.on_event = log}), Bug);
  const std::vector<planb::AttemptFailure> failures = log.of<planb::AttemptFailure>();
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].cause.kind() == CauseKind::defect);
  CHECK(failures[0].next.kind == planb::NextMove::end);
  CHECK(failures[0].next.run_end == RunEnd::defect);
  CHECK(log.lines().back() == "AttemptFailure #1 step=0 one a bug, end: defect");
}

TEST_CASE("a returned Defect is one too", "[failure]") {
  using R = results::Outcome<int, Defect>;
  const planb::testing::AttemptLog log;
  const auto fn = [](Client&) -> R { return Defect("a bug"); };
  const R result = run_with_plan(two_steps(), fn, {.on_event = log});
  REQUIRE_FALSE(result.has_value());
  CHECK(std::string(result.error().what()) == "a bug");
  CHECK(log.names() == std::vector{"one"});
  CHECK_THROWS_AS(try_run_with_plan(two_steps(), fn), Defect);
}

TEST_CASE("a Defect beats a requested stop and a spent budget", "[failure]") {
  planb::testing::VirtualClock clock;
  const auto late = [&](Client&) -> int {
    clock.advance(1h);
    throw Bug();
  };
  CHECK_THROWS_AS(run_with_plan(two_steps(), late, {.budget = 1s, .clock = &clock}), Bug);
#if PLANB_HAS_STOP_TOKEN
  std::stop_source stop;
  const auto stopping = [&](Client&) -> int {
    stop.request_stop();
    throw Bug();
  };
  CHECK_THROWS_AS(run_with_plan(two_steps(), stopping, {.stop = stop.get_token()}), Bug);
#endif
}

TEST_CASE("a handler's Defect is dropped like anything else that a handler throws", "[failure][field-51]") {
  const int answer = run_with_plan(two_steps(),
                                   [](Client& c) {
                                     if (c.id == 1) throw_fault(1);
                                     return c.id;
                                   },
                                   {.on_event = [](const planb::Event&) { throw Bug(); }});
  CHECK(answer == 2);
}
