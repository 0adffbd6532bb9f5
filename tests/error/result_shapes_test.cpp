// Return types that nobody has described: those that tell a failure are read, in whichever way they tell it.
#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/run.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "../every_driver.hpp"

namespace shapes {

struct Fault {
  int status = 503;
  friend bool operator==(const Fault&, const Fault&) = default;
};

// Each has `good`, by which a test tells which one came back.
struct Base {
  int answers = 0;
  const auto answered = [&](const R& result) {
    ++answers;
    CHECK(is_good(result));
    CHECK(std::exchange(calls, 0) == 2);
  };
  for (const drivers::Made& made : drivers::every(two_steps(), second, answered)) {
    INFO(made.driver);
    CHECK(made.thrown.empty());
  }
  CHECK(answers == 4);
  const auto tried = try_run_with_plan(two_steps(), second);
  CHECK(tried.has_value());
  CHECK(std::exchange(calls, 0) == 2);
  const auto failed = try_run_with_plan(two_steps(), never);
  CHECK_FALSE(failed.has_value());
  CHECK(failed.report().end == planb::RunEnd::exhausted);
  CHECK(std::exchange(calls, 0) == 2);
  CHECK(is_good(planb::retry({.attempts = 3}, [&] { return make<R>(++calls == 3); })));
  CHECK(std::exchange(calls, 0) == 3);

  // As an element of a stream.
  int given = 0;
  planb::stream_with_plan(
      two_steps(), [&](int& ctx, auto& emit) { static_cast<void>(emit(second(ctx))); }, [&](R&&) { ++given; });
  CHECK(given == 1);
  CHECK(std::exchange(calls, 0) == 2);

  // A run that fails gives it back where that can be built, in both styles; otherwise it says so.
  for (const FailureStyle style : {FailureStyle::aggregate, FailureStyle::original}) {
    const planb::RunOptions options{.failure = style};
    if constexpr (BuildsFromError<R, ResultError<R>>) {
      CHECK_FALSE(is_good(run_with_plan(two_steps(), never, options)));
    } else if (style == FailureStyle::aggregate) {
      CHECK_THROWS_AS(run_with_plan(two_steps(), never, options), PlanExhausted);
    } else {
      CHECK_THROWS_AS(run_with_plan(two_steps(), never, options), ResultError<R>);
    }
    CHECK(std::exchange(calls, 0) == 2);
  }

  // An acceptance check is asked with what is inside.
  if constexpr (!std::is_void_v<ResultValue<R>>) {
    int asked = 0;
    const auto accepts = [&](const ResultValue<R>&) { return ++asked, true; };
    if constexpr (std::is_copy_constructible_v<R> || !std::is_same_v<R, MoveOnly>) {
      CHECK(is_good(run_with_plan(two_steps(), planb::accepting(second, accepts))));
      CHECK(asked == 1);
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("a returned failure is one, whichever way its type tells it", "[result]", HasValueReference,
                   HasValueInt, RvaluesOnly, LvaluesOnly, NoValue, VoidValue, StatusOrRvalues, StatusOrValue, OkError,
                   HasError, BoolError, MoveOnly, HttpResult, Response) {
  check_shape<TestType>();
}

TEMPLATE_TEST_CASE("a returned type that is the error itself is a failure where it is one", "[result]", AbslStatus,
                   IntStatus, GrpcStatus, DatabaseStatus, CodeEnum, ConditionEnum, Converts, std::exception_ptr) {
  static_assert(BuildsFromError<TestType, TestType>);
  check_shape<TestType>();
}

TEMPLATE_TEST_CASE("what only an rvalue gives is had of an lvalue, too", "[result]", RvaluesOnly, StatusOrRvalues,
                   LvaluesOnly) {
  TestType kept(true);
  TestType broken(false);
  const TestType& got =
      run_with_plan(two_steps(), [&](int& ctx) -> TestType& { return ctx == 1 ? broken : kept; });
  CHECK(&got == &kept);
  const auto tried =
      try_run_with_plan(two_steps(), [&](int& ctx) -> const TestType& { return ctx == 1 ? broken : kept; });
  CHECK(*tried == 7);
  CHECK(tried.report().steps[0].cause->template get_if<Fault>() != nullptr);
}

TEMPLATE_TEST_CASE("the number of a status is its code, and no HTTP status", "[result]", AbslStatus, IntStatus,
                   GrpcStatus, DatabaseStatus) {
  const auto failed = try_run_with_plan(two_steps(), [](int&) { return TestType(false); });
  REQUIRE(failed.report().last_cause() != nullptr);
  const Cause& cause = *failed.report().last_cause();
  CHECK(cause.code() == "14");
  CHECK_FALSE(cause.status().has_value());
  CHECK(cause.message() == "no channel");
  CHECK(cause.get_if<TestType>() != nullptr);
}

TEST_CASE("an aggregate is built from its error only where that is all it has", "[result]") {
  struct One {
    std::string text;
    bool has_value() const { return text.empty(); }
    const std::string& error() const { return text; }
  };
  struct Two {
    std::string text;
    bool good = true;
    bool has_value() const { return good; }
    const std::string& error() const { return text; }
  };
  static_assert(!BuildsFromError<Two, std::string>, "it would be a success");
  CHECK_THROWS_AS(run_with_plan(two_steps(), [](int&) { return Two{"refused", false}; }), PlanExhausted);
  if constexpr (BuildsFromError<One, std::string>) {
    CHECK(run_with_plan(two_steps(), [](int&) { return One{"refused"}; }).error() == "refused");
  }
}

TEST_CASE("what a returned exception_ptr points to is the error", "[result]") {
  const auto fail = [](int& ctx) { return std::make_exception_ptr(Fault{500 + ctx}); };
  int seen = 0;
  const ExecutionPlan<int> plan{{.provide = 1, .retry_while = [&](const Fault& e) { return seen = e.status, true; }}};
  CHECK_THROWS_AS(std::rethrow_exception(run_with_plan(plan, fail)), Fault);
  CHECK(seen == 501);
  // A defect leaves as it is.
  const auto defect = [](int&) { return std::make_exception_ptr(planb::Defect("a bug")); };
  CHECK_THROWS_AS(try_run_with_plan(two_steps(), defect), planb::Defect);
}
