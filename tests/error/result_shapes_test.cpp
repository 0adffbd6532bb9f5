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
  bool good = false;
  explicit Base(bool g) : good(g) {}
};

struct HasValueReference : Base {
  using Base::Base;
  const bool& has_value() const { return good; }
  Fault error() const { return {}; }
  int operator*() const { return 7; }
};
struct HasValueInt : Base {
  using Base::Base;
  int has_value() const { return good ? 2 : 0; }
  Fault error() const { return {}; }
  int operator*() const { return 7; }
};
struct RvaluesOnly : Base {
  using Base::Base;
  bool has_value() const { return good; }
  Fault error() && { return {}; }
  int operator*() && { return 7; }
};
struct LvaluesOnly : Base {
  using Base::Base;
  int held = 7;
  bool has_value() const { return good; }
  Fault error() & { return {}; }
  int& operator*() & { return held; }
};
struct NoValue : Base {
  using Base::Base;
  bool has_value() const { return good; }
  Fault error() const { return {}; }
};
struct VoidValue : Base {
  using Base::Base;
  using value_type = void;
  bool has_value() const { return good; }
  Fault error() const { return {}; }
  void value() const {}
};
struct StatusOrRvalues : Base {
  using Base::Base;
  bool ok() const { return good; }
  Fault status() && { return {}; }
  int operator*() && { return 7; }
};
struct StatusOrValue : Base {
  using Base::Base;
  bool ok() const { return good; }
  Fault status() const { return {}; }
  int value() const { return 7; }
};
struct OkError : Base {
  using Base::Base;
  bool ok() const { return good; }
  Fault error() const { return {}; }
  int operator*() const { return 7; }
};
struct HasError : Base {
  using Base::Base;
  bool has_error() const { return !good; }
  Fault error() const { return {}; }
  int value() const { return 7; }
};
struct BoolError : Base {
  using Base::Base;
  explicit operator bool() const { return good; }
  Fault error() const { return {}; }
  int operator*() const { return 7; }
};
struct MoveOnly : Base {
  using Base::Base;
  MoveOnly(MoveOnly&&) = default;
  MoveOnly& operator=(MoveOnly&&) = default;
  bool has_value() const { return good; }
  Fault error() && { return {}; }
  std::unique_ptr<int> operator*() && { return std::make_unique<int>(7); }
};

// As cpp-httplib's: the error is an enumeration, and the value is there or not.
enum class Transport { success = 0, connection = 2 };
struct HttpResult {
  std::unique_ptr<int> response;
  explicit HttpResult(bool good) : response(good ? std::make_unique<int>(7) : nullptr) {}
  explicit operator bool() const { return response != nullptr; }
  Transport error() const { return response ? Transport::success : Transport::connection; }
  const int& value() const { return *response; }
  int& value() { return *response; }
  const int& operator*() const { return *response; }
  int& operator*() { return *response; }
};

// One that is more than its error: it has its value under a name of its own.
struct Response : Base {
  using Base::Base;
  std::string body = "hello";
  bool ok() const { return good; }
  std::string error() const { return "refused"; }
};

// Errors themselves.
enum class Number { fine, unavailable = 14 };
struct AbslStatus : Base {
  using Base::Base;
  bool ok() const { return good; }
  Number code() const { return good ? Number::fine : Number::unavailable; }
  std::string_view message() const { return good ? "" : "no channel"; }
};
struct IntStatus : Base {
  using Base::Base;
  bool ok() const { return good; }
  int code() const { return good ? 0 : 14; }
  std::string message() const { return good ? "" : "no channel"; }
};
struct GrpcStatus : Base {
  using Base::Base;
  bool ok() const { return good; }
  Number error_code() const { return good ? Number::fine : Number::unavailable; }
  std::string error_message() const { return good ? "" : "no channel"; }
};
struct DatabaseStatus : Base {
  using Base::Base;
  bool ok() const { return good; }
  Number code() const { return good ? Number::fine : Number::unavailable; }
  std::string ToString() const { return good ? "OK" : "no channel"; }
};

enum class CodeEnum { fine, bad = 3 };
enum class ConditionEnum { fine, bad = 3 };

struct Converts : Base {
  using Base::Base;
  operator std::error_code() const {  // NOLINT(google-explicit-constructor)
    return good ? std::error_code() : make_error_code(std::errc::connection_refused);
  }
};

// Plain values.
struct HttpReply {
  bool ok = false;
  int status = 500;
  std::string body;
};
struct HttpMembers {
  bool ok() const { return false; }
  int status() const { return 500; }
  std::string body() const { return {}; }
};
struct Empty {
  bool has_value() const { return false; }
  int operator*() const { return 1; }
};
struct ToAnything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};
struct Client {
  void error(const std::string&) const {}
  explicit operator bool() const { return false; }
};

}  // namespace shapes

template <>
struct std::is_error_code_enum<shapes::CodeEnum> : std::true_type {};
template <>
struct std::is_error_condition_enum<shapes::ConditionEnum> : std::true_type {};

namespace shapes {
inline std::error_code make_error_code(CodeEnum e) { return {static_cast<int>(e), std::generic_category()}; }
inline std::error_condition make_error_condition(ConditionEnum e) {
  return {static_cast<int>(e), std::generic_category()};
}
}  // namespace shapes

namespace {

using namespace shapes;
using planb::Cause;
using planb::ExecutionPlan;
using planb::FailureStyle;
using planb::PlanExhausted;
using planb::detail::BuildsFromError;
using planb::detail::ResultError;
using planb::detail::ResultType;
using planb::detail::ResultValue;

static_assert(!ResultType<HttpReply> && !ResultType<HttpMembers> && !ResultType<Empty> && !ResultType<ToAnything>);
static_assert(!ResultType<Client> && !ResultType<bool> && !ResultType<int*> && !ResultType<Transport>);
static_assert(!ResultType<std::variant<int, Fault>> && !ResultType<std::optional<Fault>>);
static_assert(!ResultType<std::shared_ptr<int>> && !ResultType<std::string> && !ResultType<std::vector<bool>>);

template <class R, class Value>
constexpr bool holds = std::is_same_v<ResultValue<R>, Value>;
static_assert(holds<HasValueReference, int> && holds<HasValueInt, int> && holds<RvaluesOnly, int>);
static_assert(holds<NoValue, void> && holds<VoidValue, void> && holds<HasError, int> && holds<BoolError, int>);
static_assert(holds<StatusOrRvalues, int> && holds<StatusOrValue, int> && holds<OkError, int>);
static_assert(holds<HttpResult, int> && holds<Response, Response> && holds<Converts, Converts>);
static_assert(holds<AbslStatus, void> && holds<GrpcStatus, void> && holds<CodeEnum, void>);
static_assert(holds<std::exception_ptr, void> && holds<MoveOnly, std::unique_ptr<int>>);

const ExecutionPlan<int>& two_steps() {
  static const ExecutionPlan<int> plan{{.name = "first", .provide = 1}, {.name = "second", .provide = 2}};
  return plan;
}

// A failure or a success of that type.
template <class R>
R make(bool good) {
  if constexpr (std::is_same_v<R, std::exception_ptr>) {
    return good ? nullptr : std::make_exception_ptr(Fault{});
  } else if constexpr (std::is_enum_v<R>) {
    return good ? R() : static_cast<R>(3);
  } else {
    return R(good);
  }
}
template <class R>
bool is_good(const R& r) {
  return planb::result_traits<R>::has_value(r);
}

template <class R>
void check_shape() {
  static_assert(ResultType<R>);
  int calls = 0;
  const auto second = [&](int& ctx) { return ++calls, make<R>(ctx == 2); };
  const auto never = [&](int&) { return ++calls, make<R>(false); };

  // Each driver goes on to the second step, and its success comes back.
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
  planb::push_with_plan(
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
