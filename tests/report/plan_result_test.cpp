// try_run_with_plan, and what it gives.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "lives.hpp"
#include "results.hpp"
#include "two_steps.hpp"

#if __has_include(<tl/expected.hpp>)
#include <tl/expected.hpp>
#endif

using namespace std::chrono_literals;
using lives::Immovable;
using planb::ExecutionPlan;
using planb::PlanResult;
using planb::RunEnd;
using planb::try_run_with_plan;
using results::Fault;
using two::Client;
using two::two_steps;

namespace {

// Counts the objects that live.
struct Live {
  Live() { ++count; }
  Live(const Live&) { ++count; }
  Live(Live&&) noexcept { ++count; }
  Live& operator=(const Live&) = delete;
  ~Live() { --count; }
  static inline int count = 0;
};

template <class Fn>
using ResultOf = decltype(try_run_with_plan(std::declval<ExecutionPlan<Client>&>(), std::declval<Fn&>()));

template <class T>
using Fn = T (*)(Client&);

}  // namespace

TEST_CASE("a result holds what the callable returns, or the value inside an expected-like", "[plan_result]") {
  STATIC_REQUIRE(std::is_same_v<ResultOf<Fn<int>>, PlanResult<int>>);
  STATIC_REQUIRE(std::is_same_v<ResultOf<Fn<void>>, PlanResult<void>>);
  STATIC_REQUIRE(std::is_same_v<ResultOf<Fn<int&>>, PlanResult<int&>>);
  STATIC_REQUIRE(std::is_same_v<ResultOf<Fn<const int&>>, PlanResult<const int&>>);
  STATIC_REQUIRE(std::is_same_v<ResultOf<Fn<std::unique_ptr<int>>>, PlanResult<std::unique_ptr<int>>>);
  STATIC_REQUIRE(std::is_same_v<ResultOf<Fn<results::Outcome<int, Fault>>>, PlanResult<int>>);
  STATIC_REQUIRE(std::is_same_v<ResultOf<Fn<results::StatusOr<std::string>>>, PlanResult<std::string>>);
#if __has_include(<tl/expected.hpp>)
  STATIC_REQUIRE(std::is_same_v<ResultOf<Fn<tl::expected<int, Fault>>>, PlanResult<int>>);
  STATIC_REQUIRE(std::is_same_v<ResultOf<Fn<tl::expected<void, Fault>>>, PlanResult<void>>);
#endif
}

TEST_CASE("values of every kind, after failures too", "[plan_result]") {
  const auto fails = GENERATE(false, true);
  const auto run = [&](auto fn) {
    return try_run_with_plan(two_steps(), [&, fn](Client& client) -> decltype(auto) {
      if (fails && client.id == 1) throw std::runtime_error("down");
      return fn(client);
    });
  };
  const int answered = fails ? 1 : 0;
  int outside = 5;

  SECTION("a value") {
    auto result = run([](Client& c) { return std::string(40, static_cast<char>('0' + c.id)); });
    REQUIRE(result.has_value());
    CHECK(static_cast<bool>(result));
    CHECK(result.value() == std::string(40, fails ? '2' : '1'));
    CHECK(*result == result.value());
    CHECK(result->size() == 40);
    CHECK(result.report().answered_step == answered);
    const std::string taken = std::move(result).value();
    CHECK(taken.size() == 40);
  }
  SECTION("one that can only be moved") {
    auto result = run([](Client& c) { return std::make_unique<int>(c.id); });
    const std::unique_ptr<int> taken = *std::move(result);
    CHECK(*taken == answered + 1);
    CHECK(result.report().answered_step == answered);
  }
  SECTION("one that cannot be moved") {
    const auto result = run([](Client& c) { return Immovable(c.id); });
    CHECK(result->self == &*result);
    CHECK(result.value().id == answered + 1);
  }
  SECTION("void") {
    auto result = run([](Client&) {});
    CHECK(result.has_value());
    result.value();
    *result;
    STATIC_REQUIRE(std::is_void_v<decltype(result.value())>);
    CHECK(result.report().answered_step == answered);
  }
  SECTION("a reference") {
    auto result = run([&](Client&) -> int& { return outside; });
    CHECK(&result.value() == &outside);
    CHECK(&*result == &outside);
    CHECK(result.operator->() == &outside);
    CHECK(&std::as_const(result).value() == &outside);
    CHECK(&std::move(result).value() == &outside);
  }
  SECTION("a const reference") {
    const auto result = run([&](Client&) -> const int& { return outside; });
    CHECK(&result.value() == &outside);
  }
}

TEST_CASE("what a temporary result has outlives it", "[plan_result]") {
  const auto run = [] { return try_run_with_plan(two_steps(), [](Client&) { return std::string(40, 'x'); }); };
  const std::string& kept = *run();
  CHECK(kept == std::string(40, 'x'));
  const std::string& taken = run().value();
  CHECK(taken == kept);
  STATIC_REQUIRE(std::is_same_v<decltype(*std::declval<PlanResult<int>>()), int>);
  STATIC_REQUIRE(std::is_same_v<decltype(*std::declval<PlanResult<int&>>()), int&>);
  STATIC_REQUIRE(std::is_void_v<decltype(*std::declval<PlanResult<void>>())>);
  STATIC_REQUIRE(std::is_same_v<decltype(*std::declval<PlanResult<Immovable>>()), Immovable&&>);
  STATIC_REQUIRE(std::is_same_v<decltype(*std::declval<const PlanResult<int>&>()), const int&>);
}

TEST_CASE("a result is copied and moved like its value", "[plan_result]") {
  STATIC_REQUIRE(std::is_copy_constructible_v<PlanResult<int>>);
  STATIC_REQUIRE(std::is_copy_constructible_v<PlanResult<void>>);
  STATIC_REQUIRE(std::is_copy_constructible_v<PlanResult<int&>>);
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<PlanResult<std::unique_ptr<int>>>);
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<PlanResult<std::unique_ptr<int>>>);
  STATIC_REQUIRE_FALSE(std::is_move_constructible_v<PlanResult<Immovable>>);

  REQUIRE(Live::count == 0);
  {
    const auto good = try_run_with_plan(two_steps(), [](Client& c) {
      if (c.id == 1) throw std::runtime_error("down");
      return Live();
    });
    CHECK(Live::count == 1);
    PlanResult<Live> copy = good;
    CHECK(Live::count == 2);
    const PlanResult<Live> moved = std::move(copy);
    CHECK(Live::count == 3);
    CHECK(moved.report().to_string() == "one: down; two: answered");
    CHECK(good.report().to_string() == moved.report().to_string());

    const auto bad = try_run_with_plan(two_steps(), [](Client&) -> Live { throw std::runtime_error("down"); });
    PlanResult<Live> bad_copy = bad;
    const PlanResult<Live> bad_moved = std::move(bad_copy);
    CHECK(Live::count == 3);
    CHECK(bad_moved.error().report().to_string() == "plan exhausted: one: down; two: down");
  }
  CHECK(Live::count == 0);
}

TEST_CASE("a value whose copy throws leaves nothing behind", "[plan_result]") {
  struct Fragile {
    Fragile() = default;
    Fragile(const Fragile&) : live() { throw Fault{1}; }
    Fragile(Fragile&&) = default;
    Fragile& operator=(const Fragile&) = delete;
    Live live;
  };
  {
    const auto good = try_run_with_plan(two_steps(), [](Client&) { return Fragile(); });
    CHECK_THROWS_AS(PlanResult<Fragile>(good), Fault);
    CHECK(Live::count == 1);
  }
  CHECK(Live::count == 0);
}

TEST_CASE("a failed run is a value, with the report inside the error", "[plan_result]") {
  const auto result = try_run_with_plan(two_steps(), [](Client& c) -> int { throw Fault{c.id}; });
  REQUIRE_FALSE(result.has_value());
  CHECK_FALSE(static_cast<bool>(result));
  CHECK(result.error().end() == RunEnd::exhausted);
  CHECK(&result.report() == &result.error().report());
  CHECK(result.report().steps.size() == 2);
  CHECK(result.report().last_cause()->get_if<Fault>()->id == 2);
}

TEST_CASE("value() throws the type that the end says, with the last error nested", "[plan_result]") {
  planb::testing::VirtualClock clock;
  const auto fails = [&](Client& c) -> int {
    clock.advance(1s);
    throw Fault{c.id};
  };
  const auto nested_in = [](const planb::PlanError& e) -> int {
    try {
      std::rethrow_if_nested(e);
    } catch (const Fault& fault) {
      return fault.id;
    }
    return 0;
  };
  const auto check = [&](auto&& result, auto type) {
    using Type = typename decltype(type)::type;
    CHECK_THROWS_AS(result.value(), Type);
    CHECK_THROWS_AS(std::as_const(result).value(), Type);
    CHECK_THROWS_AS(std::move(result).value(), Type);
    try {
      result.value();
    } catch (const planb::PlanError& e) {
      CHECK(nested_in(e) != 0);
      CHECK(&e.report() == &result.report());
    }
  };
  check(try_run_with_plan(two_steps(), fails, {.clock = &clock}), std::type_identity<planb::PlanExhausted>());
  check(try_run_with_plan(two_steps(), fails, {.budget = 1s, .clock = &clock}),
        std::type_identity<planb::DeadlineExceeded>());
  const ExecutionPlan<Client> aborting{
      {.provide = Client{1}, .classify = [](const planb::Cause&) { return planb::Verdict{planb::Action::abort}; }}};
  check(try_run_with_plan(aborting, fails), std::type_identity<planb::PlanAborted>());
#if PLANB_HAS_STOP_TOKEN
  std::stop_source stop;
  const auto stops = [&](Client& c) -> int {
    stop.request_stop();
    throw Fault{c.id};
  };
  check(try_run_with_plan(two_steps(), stops, {.stop = stop.get_token()}),
        std::type_identity<planb::PlanInterrupted>());
#endif
  auto nothing = try_run_with_plan(two_steps(), [&](Client& c) { fails(c); });
  check(std::move(nothing), std::type_identity<planb::PlanExhausted>());
}

TEST_CASE("value() throws PlanExhausted for every end that has no type of its own", "[plan_result]") {
  for (const RunEnd end : {RunEnd::running, RunEnd::succeeded, RunEnd::exhausted, RunEnd::defect}) {
    const PlanResult<int> result(planb::PlanError(planb::RunReport{.end = end}));
    CHECK_THROWS_AS(result.value(), planb::PlanExhausted);
    CHECK(result.report().end == end);
  }
}

TEST_CASE("a report that throws takes the value with it", "[plan_result]") {
  REQUIRE(Live::count == 0);
  const auto make = [] { return Live(); };
  CHECK_THROWS_AS(PlanResult<Live>(std::in_place, make, []() -> planb::RunReport { throw std::bad_alloc(); }),
                  std::bad_alloc);
  CHECK(Live::count == 0);
}

TEST_CASE("value() of a result that another thread, or nobody, handles nests nothing unrelated", "[plan_result]") {
  planb::testing::VirtualClock clock;
  const auto result = try_run_with_plan(two_steps(), [](Client& c) { return c.id; }, {.budget = 0s, .clock = &clock});
  try {
    throw std::runtime_error("unrelated");
  } catch (const std::runtime_error&) {
    try {
      static_cast<void>(result.value());
      FAIL("a value was given");
    } catch (const planb::DeadlineExceeded& e) {
      CHECK(dynamic_cast<const std::nested_exception*>(&e) == nullptr);
    }
  }
}

TEST_CASE("the style of failure is no concern of try_run_with_plan", "[plan_result]") {
  const auto style = GENERATE(planb::FailureStyle::aggregate, planb::FailureStyle::original);
  const auto result = try_run_with_plan(two_steps(), [](Client& c) -> int { throw Fault{c.id}; }, {.failure = style});
  REQUIRE_FALSE(result.has_value());
  CHECK_THROWS_AS(result.value(), planb::PlanExhausted);
}

TEST_CASE("returned errors end in the report", "[plan_result]") {
  const auto result =
      try_run_with_plan(two_steps(), [](Client& c) -> results::Outcome<int, Fault> { return Fault{c.id}; });
  REQUIRE_FALSE(result.has_value());
  CHECK(result.report().steps[0].cause->get_if<Fault>()->id == 1);
  CHECK(result.report().steps[1].cause->get_if<Fault>()->id == 2);
}

TEST_CASE("options are honoured", "[plan_result]") {
  planb::testing::VirtualClock clock;
  const planb::testing::AttemptLog log;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .attempts = 3, .schedule = planb::spaced(1s)}};
  const auto result =
      try_run_with_plan(plan, [](Client& c) -> int { throw Fault{c.id}; }, {.on_event = log, .clock = &clock});
  CHECK_FALSE(result.has_value());
  CHECK(log.names().size() == 3);
  CHECK(clock.elapsed() == 2s);
}

TEST_CASE("a run that gives an rvalue reference gives it on", "[plan_result]") {
  static std::string text;
  text = "moved on";
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  const auto give = [](int&) -> std::string&& { return std::move(text); };
  auto result = planb::try_run_with_plan(plan, give);
  REQUIRE(result.has_value());
  CHECK(&*result == &text);
  CHECK(&result.value() == &text);
  const std::string taken = *std::move(result);
  CHECK(taken == "moved on");
  CHECK(text.empty());
  static_assert(std::is_same_v<decltype(planb::try_run_with_plan(plan, give).value()), std::string&&>);
}

namespace {

// Fills out-parameters by way of an operator& of its own.
struct Handle {
  inline static int asked = 0;
  std::unique_ptr<int> target;

  explicit Handle(int n) : target(std::make_unique<int>(n)) {}
  int** operator&() {
    ++asked;
    return nullptr;
  }
};

// Copies and moves throw when they are told to.
struct Moody {
  inline static bool throws = false;
  int id = 0;

  explicit Moody(int i) : id(i) {}
  Moody(const Moody& other) : id(other.id) { may_throw(); }
  Moody& operator=(const Moody& other) {
    may_throw();
    id = other.id;
    return *this;
  }
  static void may_throw() {
    if (throws) throw std::runtime_error("moody");
  }
};

template <class T>
PlanResult<T> made(bool good, T value) {
  return try_run_with_plan(two_steps(), [&](Client& client) -> T {
    if (!good) throw planb::ProviderError(500 + client.id, "busy");
    return std::move(value);
  });
}

}  // namespace

TEST_CASE("nobody's operator& is called for a value", "[plan_result]") {
  Handle::asked = 0;
  auto result = made(true, Handle(7));
  auto moved = std::move(result);
  CHECK(*moved->target == 7);
  result = std::move(moved);
  CHECK(*result->target == 7);
  CHECK(Handle::asked == 0);
}

TEST_CASE("a result of a const type is copied, moved and assigned", "[plan_result]") {
  const auto run = [](const char* text) {
    return try_run_with_plan(two_steps(), [text](Client&) -> const std::string { return text; });
  };
  auto result = run("an answer");
  STATIC_REQUIRE(std::is_same_v<decltype(result), PlanResult<const std::string>>);
  STATIC_REQUIRE(std::is_same_v<decltype(*result), const std::string&>);
  auto copy = result;
  const auto moved = std::move(copy);
  CHECK(*moved == "an answer");
  result = run("another");
  CHECK(*result == "another");
  result = moved;
  CHECK(result.value() == "an answer");
  CHECK(result.report().attempts == 1);
}

TEST_CASE("a result is assigned from and to each of its states", "[plan_result]") {
  const std::string long_one = "an answer that is too long to be held in place";
  for (const bool was_good : {true, false}) {
    for (const bool becomes_good : {true, false}) {
      for (const bool by_move : {true, false}) {
        INFO(was_good << becomes_good << by_move);
        auto result = made(was_good, long_one + " at first");
        auto other = made(becomes_good, long_one);
        if (by_move) {
          result = std::move(other);
        } else {
          result = other;
          CHECK(other.has_value() == becomes_good);
          CHECK(other.report().end == result.report().end);
        }
        REQUIRE(result.has_value() == becomes_good);
        if (becomes_good) CHECK(*result == long_one);
        if (!becomes_good) CHECK(result.error().end() == RunEnd::exhausted);
        CHECK(result.report().steps.size() == (becomes_good ? 1U : 2U));
      }
    }
  }
  auto result = made(true, long_one);
  auto& same = result;
  result = same;
  CHECK(*result == long_one);
  result = std::move(same);
  CHECK(*result == long_one);

  const auto nothing = [](bool good) {
    return try_run_with_plan(two_steps(), [good](Client&) {
      if (!good) throw planb::ProviderError(503, "busy");
    });
  };
  auto done = nothing(true);
  done = nothing(false);
  CHECK_FALSE(done.has_value());
  done = nothing(true);
  CHECK(done.has_value());

  int first = 1;
  int second = 2;
  auto reference = try_run_with_plan(two_steps(), [&](Client&) -> int& { return first; });
  reference = try_run_with_plan(two_steps(), [&](Client&) -> int& { return second; });
  CHECK(&*reference == &second);
  CHECK(first == 1);
  STATIC_REQUIRE_FALSE(std::is_move_assignable_v<PlanResult<Immovable>>);
}

TEST_CASE("an assignment whose value throws leaves a result in one of its states", "[plan_result]") {
  for (const bool was_good : {true, false}) {
    auto result = made(was_good, Moody(1));
    const auto other = made(true, Moody(2));
    Moody::throws = true;
    CHECK_THROWS_AS(result = other, std::runtime_error);
    Moody::throws = false;
    REQUIRE(result.has_value() == was_good);
    if (was_good) CHECK(result->id == 1);
    if (!was_good) CHECK(result.error().end() == RunEnd::exhausted);
    result = other;
    CHECK(result->id == 2);
    result = made(false, Moody(3));
    CHECK_FALSE(result.has_value());
    const planb::PlanError later{planb::RunReport{.end = RunEnd::deadline}};
    result = PlanResult<Moody>(later);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().end() == RunEnd::deadline);
    CHECK(&result.error().report() == &later.report());
  }
}
