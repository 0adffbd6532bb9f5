// result_traits: which return types carry errors, and what becomes of those in a run.
#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#include <version>

#include "results.hpp"

#if __has_include(<tl/expected.hpp>)
#include <tl/expected.hpp>
#define PLANB_TEST_TL_EXPECTED 1
#endif
#if defined(__cpp_lib_expected)
#include <expected>
#endif

namespace {

using planb::Cause;
using planb::ExecutionPlan;
using planb::FailureStyle;
using planb::PlanError;
using planb::PlanExhausted;
using planb::detail::BuildsFromError;
using planb::detail::ResultError;
using planb::detail::ResultType;
using planb::detail::ResultValue;
using results::Status;
using results::StatusOr;

struct Fault {
  int status = 503;
  std::string message = "unavailable";
};

// An error type that can say how a whole run failed.
struct RunFault {
  RunFault(std::string t) : message(std::move(t)) {}              // NOLINT(google-explicit-constructor)
  RunFault(const PlanError& e) : message(e.what()), whole(true) {}  // NOLINT(google-explicit-constructor)
  std::string message;
  bool whole = false;
};

// One whose constructor takes the error itself.
template <class T, class E>
using Either = results::Outcome<T, E>;

// As Outcome's result: value() alone.
template <class T, class E>
class Outcome {
 public:
  explicit Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  explicit Outcome(E error) : state_(std::in_place_index<1>, std::move(error)) {}
  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  [[nodiscard]] const E& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, E> state_;
};

// Nothing of it can be found without a specialisation.
struct Reply {
  std::string body;
  int http = 200;
  bool built = false;  // from_error made it
};

// One that looks like an expected, and means something else.
struct Contrary {
  bool failed = false;
  [[nodiscard]] bool has_value() const { return failed; }
  [[nodiscard]] std::string error() const { return "contrary"; }
  [[nodiscard]] int operator*() const { return 7; }
};

template <class T>
struct Boxed {
  std::optional<T> value;
};

struct NoErrorMember {
  [[nodiscard]] bool has_value() const { return false; }
  [[nodiscard]] int operator*() const { return 1; }
};
struct IntStatus {  // as an HTTP response: `status` is a number, not a Status
  [[nodiscard]] bool ok() const { return false; }
  [[nodiscard]] int status() const { return 500; }
  [[nodiscard]] int operator*() const { return 1; }
};

}  // namespace

template <>
struct planb::result_traits<Reply> {
  static bool has_value(const Reply& r) { return r.http < 400; }
  static int error(const Reply& r) { return r.http; }
  static std::string value(const Reply& r) { return r.body; }
  static Reply from_error(int http) { return {{}, http, true}; }
};

template <>
struct planb::result_traits<Contrary> {
  static bool has_value(const Contrary& r) { return !r.failed; }
  static std::string error(const Contrary& r) { return r.error(); }
  static int value(const Contrary& r) { return *r; }
};

template <class T>
struct planb::result_traits<Boxed<T>> {
  static bool has_value(const Boxed<T>& r) { return r.value.has_value(); }
  static std::monostate error(const Boxed<T>&) { return {}; }
  template <class Self>
  static decltype(auto) value(Self&& r) {
    return *std::forward<Self>(r).value;
  }
};

namespace {

static_assert(ResultType<StatusOr<int>>);
static_assert(ResultType<Either<int, Fault>>);
static_assert(ResultType<Outcome<int, Fault>>);
static_assert(ResultType<Reply>);
static_assert(ResultType<Boxed<int>>);
static_assert(ResultType<StatusOr<int>&> && ResultType<const Reply&>, "what is referred to counts");
static_assert(ResultType<planb::PlanResult<int>>, "the result of an inner run is one");
static_assert(!ResultType<void>);
static_assert(!ResultType<int> && !ResultType<int&>);
static_assert(!ResultType<std::string>);
static_assert(!ResultType<std::optional<int>>, "a plain value: nothing says that an empty one is an error");
static_assert(!ResultType<std::unique_ptr<int>>);
static_assert(!ResultType<std::variant<int, Fault>>);
static_assert(!ResultType<NoErrorMember>);
static_assert(!ResultType<IntStatus>);
static_assert(!ResultType<Status>, "nothing is returned with it");

static_assert(std::is_same_v<ResultError<StatusOr<int>>, Status>);
static_assert(std::is_same_v<ResultValue<StatusOr<std::string>>, std::string>);
static_assert(std::is_same_v<ResultError<Either<int, Fault>&>, Fault>);
static_assert(std::is_same_v<ResultValue<Outcome<std::string, Fault>>, std::string>);
static_assert(std::is_same_v<ResultValue<planb::PlanResult<void>>, void>);

static_assert(BuildsFromError<StatusOr<int>, Status>);
static_assert(BuildsFromError<Either<int, Fault>, Fault>);
static_assert(BuildsFromError<Outcome<int, Fault>, Fault>);
static_assert(BuildsFromError<Reply, int>);
static_assert(!BuildsFromError<Either<int, Fault>, std::string>);
static_assert(!BuildsFromError<Either<std::string, const char*>, const char*>, "it could mean the value");
static_assert(!BuildsFromError<Contrary, std::string> && !BuildsFromError<Boxed<int>, std::monostate>);

const ExecutionPlan<int>& two_steps() {
  static const ExecutionPlan<int> plan{{.name = "first", .provide = 1}, {.name = "second", .provide = 2}};
  return plan;
}

const planb::RunOptions original{.failure = FailureStyle::original};

#if defined(PLANB_TEST_TL_EXPECTED) || defined(__cpp_lib_expected)
// What std::expected and its like have in common. `Expected<T, E>` and a function that makes its unexpected.
template <template <class, class> class Expected, class Unexpect>
void check_expected(const Unexpect& unexpect) {
  using Text = Expected<std::string, Fault>;
  using Void = Expected<void, Fault>;
  static_assert(ResultType<Text> && ResultType<Void> && ResultType<Text&>);
  static_assert(std::is_same_v<ResultError<Text>, Fault> && std::is_same_v<ResultValue<Text>, std::string>);
  static_assert(std::is_void_v<ResultValue<Void>>);
  static_assert(BuildsFromError<Text, Fault> && BuildsFromError<Void, Fault>);
  static_assert(BuildsFromError<Expected<std::string, std::string>, std::string>, "unexpected_type tells it apart");
  static_assert(!BuildsFromError<Text, std::unique_ptr<int>>);

  {
    INFO("a value is a success, an error a failure that falls back");
    planb::testing::AttemptLog log;
    const auto second = [&](int& ctx) -> Text {
      if (ctx == 1) return unexpect(Fault{});
      return "from second";
    };
    const Text result = run_with_plan(two_steps(), second, {.on_event = log});
    REQUIRE(result.has_value());
    CHECK(*result == "from second");
    CHECK(log.lines() == std::vector<std::string>{"AttemptStart #1 step=0 first",
                                                  "AttemptFailure #1 step=0 first 503 unavailable, next step",
                                                  "AttemptStart #2 step=1 second", "AttemptSuccess #2 step=1 second"});
  }
  {
    INFO("a run that fails gives the last error in the callable's own type");
    const auto fail = [&](int& ctx) -> Text { return unexpect(Fault{500 + ctx, "failed"}); };
    for (const planb::RunOptions& options : {planb::RunOptions{}, original}) {
      const Text result = run_with_plan(two_steps(), fail, options);
      REQUIRE_FALSE(result.has_value());
      CHECK(result.error().status == 502);
    }
    const Text plain = run_with_plan(two_steps(), fail);
    REQUIRE_FALSE(plain.has_value());
    CHECK(plain.error().status == 502);
  }
  {
    INFO("void with an error");
    int calls = 0;
    const auto second = [&](int& ctx) -> Void {
      ++calls;
      if (ctx == 1) return unexpect(Fault{});
      return {};
    };
    CHECK(run_with_plan(two_steps(), second).has_value());
    CHECK(calls == 2);
    CHECK(run_with_plan(two_steps(), [&](int&) -> Void { return unexpect(Fault{418, ""}); }).error().status == 418);
    const planb::PlanResult<void> tried = try_run_with_plan(two_steps(), second);
    CHECK(tried.has_value());
    CHECK(tried.report().answered_by() == "second");
  }
  {
    INFO("an error type that can be made from a PlanError tells of the whole run, but in the original style");
    using Whole = Expected<int, RunFault>;
    const auto fail = [&](int&) -> Whole { return unexpect(RunFault(std::string("mine"))); };
    CHECK(run_with_plan(two_steps(), fail).error().whole);
    CHECK(run_with_plan(two_steps(), fail).error().message == "plan exhausted: first: mine; second: mine");
    CHECK_FALSE(run_with_plan(two_steps(), fail, original).error().whole);
    CHECK(run_with_plan(two_steps(), fail, original).error().message == "mine");
  }
  {
    INFO("PlanError itself as the error type");
    using Whole = Expected<int, PlanError>;
    const Whole result = run_with_plan(two_steps(), [](int&) -> Whole { throw Fault{}; });
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().end() == planb::RunEnd::exhausted);
    CHECK(result.error().report().steps.size() == 2);
  }
  {
    INFO("the last returned error is given where the last failure was thrown");
    const auto mixed = [&](int& ctx) -> Text {
      if (ctx == 2) throw Fault{418, "thrown"};
      return unexpect(Fault{501, "returned"});
    };
    CHECK(run_with_plan(two_steps(), mixed).error().status == 501);
    // The original style says so too: the last *returned* one comes first.
    CHECK(run_with_plan(two_steps(), mixed, original).error().status == 501);
  }
  {
    INFO("with no returned error at all, the exception remains");
    const auto thrower = [](int&) -> Text { throw Fault{418, "thrown"}; };
    CHECK_THROWS_AS(run_with_plan(two_steps(), thrower), PlanExhausted);
    CHECK_THROWS_AS(run_with_plan(two_steps(), thrower, original), Fault);
  }
  {
    INFO("an exception_ptr as the error type is the exception itself");
    using Held = Expected<int, std::exception_ptr>;
    const auto fail = [&](int& ctx) -> Held { return unexpect(std::make_exception_ptr(Fault{500 + ctx, ""})); };
    std::optional<int> seen;
    const ExecutionPlan<int> plan{
        {.provide = 1, .retry_while = [&](const Fault& e) { return seen = e.status, true; }}};
    for (const planb::RunOptions& options : {planb::RunOptions{}, original}) {
      const Held result = run_with_plan(plan, fail, options);
      REQUIRE_FALSE(result.has_value());
      CHECK_THROWS_AS(std::rethrow_exception(result.error()), Fault);
    }
    CHECK(seen == 501);
  }
  {
    INFO("a Cause as the error type");
    using Held = Expected<int, Cause>;
    const Held result = run_with_plan(two_steps(), [&](int&) -> Held { return unexpect(Cause::of(Fault{})); });
    REQUIRE_FALSE(result.has_value());
    REQUIRE(result.error().template get_if<Fault>() != nullptr);
  }
  {
    INFO("a literal as the error");
    using Literal = Expected<int, const char*>;
    const char* const text = "refused";
    const Literal result = run_with_plan(two_steps(), [&](int&) -> Literal { return unexpect(text); });
    REQUIRE_FALSE(result.has_value());
    CHECK(std::string(result.error()) == "refused");
  }
  {
    INFO("errors and values that can only be moved");
    using Moved = Expected<std::unique_ptr<int>, std::unique_ptr<std::string>>;
    Moved value = run_with_plan(two_steps(), [](int&) -> Moved { return std::make_unique<int>(5); });
    CHECK(**value == 5);
    const Moved error = run_with_plan(
        two_steps(), [&](int&) -> Moved { return unexpect(std::make_unique<std::string>("moved")); }, original);
    REQUIRE_FALSE(error.has_value());
    CHECK(*error.error() == "moved");
  }
  {
    INFO("a result that the callable only refers to");
    Text kept = std::string("kept");
    Text broken = unexpect(Fault{});
    CHECK(&run_with_plan(two_steps(), [&](int& ctx) -> Text& { return ctx == 1 ? broken : kept; }) == &kept);
    CHECK(broken.error().message == "unavailable");
    CHECK(*kept == "kept");
    CHECK_THROWS_AS(run_with_plan(two_steps(), [&](int&) -> Text& { return broken; }), PlanExhausted);
  }
  {
    INFO("try_run_with_plan opens it");
    const planb::PlanResult<std::string> value =
        try_run_with_plan(two_steps(), [](int&) -> Text { return std::string("inside"); });
    REQUIRE(value.has_value());
    CHECK(*value == "inside");
    const auto failed = try_run_with_plan(two_steps(), [&](int&) -> Text { return unexpect(Fault{}); });
    REQUIRE_FALSE(failed.has_value());
    REQUIRE(failed.report().last_cause() != nullptr);
    CHECK(failed.report().last_cause()->template get_if<Fault>() != nullptr);
  }
}
#endif

}  // namespace

#if defined(PLANB_TEST_TL_EXPECTED)
TEST_CASE("tl::expected carries errors", "[result]") {
  check_expected<tl::expected>([](auto error) { return tl::unexpected<decltype(error)>(std::move(error)); });
}
#endif

#if defined(__cpp_lib_expected)
TEST_CASE("std::expected carries errors", "[result]") {
  check_expected<std::expected>([](auto error) { return std::unexpected<decltype(error)>(std::move(error)); });
}
#endif

TEST_CASE("a StatusOr-like carries errors", "[result]") {
  const auto call = [](int& ctx) -> StatusOr<std::string> {
    if (ctx == 1) return Status(503, "unavailable");
    return std::string("from second");
  };
  planb::testing::AttemptLog log;
  StatusOr<std::string> result = run_with_plan(two_steps(), call, {.on_event = log});
  REQUIRE(result.ok());
  CHECK(*result == "from second");
  REQUIRE(log.of<planb::AttemptFailure>().size() == 1);
  CHECK(log.of<planb::AttemptFailure>()[0].cause.message() == "unavailable");
  CHECK(log.of<planb::AttemptFailure>()[0].cause.get_if<Status>() != nullptr);

  const auto fail = [](int&) -> StatusOr<int> { return Status(500, "mine"); };
  CHECK(run_with_plan(two_steps(), fail).status().message() == "mine");
  CHECK(run_with_plan(two_steps(), fail, original).status().message() == "mine");
  CHECK(try_run_with_plan(two_steps(), [](int&) -> StatusOr<int> { return 5; }).value() == 5);
}

TEST_CASE("a hand-made expected-like carries errors", "[result]") {
  const auto call = [](int& ctx) -> Either<std::string, Fault> {
    if (ctx == 1) return Fault{};
    return std::string("from second");
  };
  CHECK(*run_with_plan(two_steps(), call) == "from second");
  CHECK(run_with_plan(two_steps(), [](int&) -> Either<int, Fault> { return Fault{418, ""}; }).error().status == 418);
}

TEST_CASE("an expected-like without operator* is opened by value()", "[result]") {
  const auto call = [](int& ctx) {
    return ctx == 1 ? Outcome<std::string, Fault>(Fault{}) : Outcome<std::string, Fault>("from second");
  };
  CHECK(run_with_plan(two_steps(), call).value() == "from second");
  planb::PlanResult<std::string> tried = try_run_with_plan(two_steps(), call);
  REQUIRE(tried.has_value());
  CHECK(*tried == "from second");
  const ExecutionPlan<std::string> provided{{.provide = [] { return Outcome<std::string, Fault>("context"); }}};
  CHECK(run_with_plan(provided, [](std::string& ctx) { return ctx; }) == "context");
}

TEST_CASE("an error that could be taken for a value is not put into a result", "[result]") {
  using Ambiguous = Either<std::string, const char*>;
  const auto fail = [](int&) { return Ambiguous("mine"); };
  CHECK_THROWS_AS(run_with_plan(two_steps(), fail), PlanExhausted);
  CHECK_THROWS_AS(run_with_plan(two_steps(), fail, original), std::string);  // which owns the text
}

TEST_CASE("a type of one's own carries errors through result_traits", "[result]") {
  SECTION("one that nothing would be found in") {
    const auto call = [](int& ctx) { return ctx == 1 ? Reply{"down", 503} : Reply{"from second", 200}; };
    CHECK(run_with_plan(two_steps(), call).body == "from second");
    CHECK(*try_run_with_plan(two_steps(), call) == "from second");
    const Reply failed = run_with_plan(two_steps(), [](int& ctx) { return Reply{"down", 500 + ctx}; });
    CHECK(failed.built);
    CHECK(failed.http == 502);
  }
  SECTION("one that would be read otherwise") {
    int calls = 0;
    const auto call = [&](int& ctx) {
      ++calls;
      return Contrary{ctx == 1};
    };
    CHECK_FALSE(run_with_plan(two_steps(), call).failed);
    CHECK(calls == 2);
    CHECK_THROWS_AS(run_with_plan(two_steps(), [](int&) { return Contrary{true}; }), PlanExhausted);
    CHECK_THROWS_AS(run_with_plan(two_steps(), [](int&) { return Contrary{true}; }, original), std::string);
  }
  SECTION("a whole family") {
    const auto call = [](int& ctx) { return ctx == 1 ? Boxed<int>{} : Boxed<int>{5}; };
    CHECK(run_with_plan(two_steps(), call).value == 5);
    CHECK(*try_run_with_plan(two_steps(), call) == 5);
  }
}

TEST_CASE("an empty optional is a value like any other", "[result]") {
  int calls = 0;
  const std::optional<int> result = run_with_plan(two_steps(), [&](int&) {
    ++calls;
    return std::optional<int>();
  });
  CHECK_FALSE(result.has_value());
  CHECK(calls == 1);
}

TEST_CASE("the failed result of an inner run fails the outer attempt", "[result]") {
  const auto inner = [](int& ctx) {
    const int outer = ctx;
    return try_run_with_plan(two_steps(), [outer](int&) -> int {
      if (outer == 1) throw Fault{};
      return 7;
    });
  };
  CHECK(run_with_plan(two_steps(), inner).value() == 7);
  const planb::PlanResult<int> tried = try_run_with_plan(two_steps(), inner);
  CHECK(tried.value() == 7);
  REQUIRE(tried.report().steps.size() == 2);
  REQUIRE(tried.report().steps[0].cause.has_value());
  CHECK(tried.report().steps[0].cause->get_if<PlanError>() != nullptr);
}

namespace {

template <class Code>
Code code_of(std::errc code) {
  if constexpr (std::is_same_v<Code, std::error_code>) {
    return std::make_error_code(code);
  } else if constexpr (std::is_same_v<Code, std::error_condition>) {
    return std::make_error_condition(code);
  } else {
    return code;
  }
}

}  // namespace

TEMPLATE_TEST_CASE("an error code that is set is a failure, and comes back", "[result]", std::error_code,
                   std::error_condition, std::errc) {
  const TestType refused = code_of<TestType>(std::errc::connection_refused);
  const TestType reset = code_of<TestType>(std::errc::connection_reset);
  const planb::ExecutionPlan<int> plan{{.name = "first", .provide = 1}, {.name = "second", .provide = 2}};
  int calls = 0;
  const auto recovers = [&](int& step) { return ++calls, step == 1 ? refused : TestType(); };
  CHECK(run_with_plan(plan, recovers) == TestType());
  CHECK(calls == 2);
  const auto fails = [&](int& step) { return step == 1 ? refused : reset; };
  CHECK(run_with_plan(plan, fails) == reset);
  CHECK(run_with_plan(plan, fails, {.failure = planb::FailureStyle::original}) == reset);

  const planb::PlanResult<void> good = try_run_with_plan(plan, recovers);
  CHECK(good.has_value());
  CHECK(good.report().answered_by() == "second");
  const planb::PlanResult<void> bad = try_run_with_plan(plan, fails);
  REQUIRE_FALSE(bad.has_value());
  REQUIRE(bad.report().last_cause()->template get_if<TestType>() != nullptr);
  CHECK(*bad.report().last_cause()->template get_if<TestType>() == reset);

  calls = 0;
  const auto third_time = [&] { return ++calls < 3 ? refused : TestType(); };
  CHECK(planb::retry({.attempts = 3}, third_time) == TestType());
  CHECK(calls == 3);
  CHECK(planb::retry({.attempts = 2}, [&] { return refused; }) == refused);

  // Where none was returned there is none to give back.
  CHECK_THROWS_AS(run_with_plan(plan, [&](int&) -> TestType { throw std::runtime_error("no code"); }), PlanExhausted);

  static_assert(!planb::detail::ResultType<std::vector<int>> && !planb::detail::ResultType<std::optional<int>>);
}
