// Thrown or returned, by the callable or the factory, in whatever driver: an error says the same.
#include "catch.hpp"

#include <planb/coro.hpp>
#include <planb/planb.hpp>

#include "by_hand.hpp"

#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::AttemptFailure;
using planb::Cause;
using planb::Duration;
using planb::ExecutionPlan;
using planb::ProviderError;

// --- The kinds of errors: what is made, as what the plan names it, and what it is expected to say
// -----------------------

// What a run learnt of its errors. Two attempts: the predicate, which is true, was asked.
struct Said {
  std::optional<int> status = std::nullopt;
  std::string code = {};
  std::optional<Duration> retry_after = std::nullopt;
  std::optional<bool> retryable = std::nullopt;
  std::string message = {};
  bool found = true;  // by get_if<Named>()
  int failures = 2;

  friend bool operator==(const Said&, const Said&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Said& s) {
    return out << s.status.value_or(-1) << " \"" << s.code << "\" " << s.retry_after.value_or(Duration(-1)).count()
               << " \"" << s.message << "\" found " << s.found << ", retryable "
               << (s.retryable ? static_cast<int>(*s.retryable) : -1) << ", failures " << s.failures;
  }
};

struct Struct {
  static constexpr const char* name = "a struct";
  struct Error {
    int status = 503;
    std::string code = "overloaded";
    std::optional<std::chrono::milliseconds> retry_after = 0ms;
    std::optional<bool> retryable = true;
    const char* message = "try later";
  };
  using Named = Error;
  static Error make() { return {}; }
  static Said says() { return {503, "overloaded", Duration(0), true, "try later"}; }
};

struct Large {
  static constexpr const char* name = "a struct of more than 64 bytes";
  struct Error {
    int status = 503;
    char text[100] = "try later";
    [[nodiscard]] std::string_view message() const { return text; }
  };
  using Named = Error;
  static Error make() { return {}; }
  static Said says() { return {.status = 503, .message = "try later"}; }
};

struct MoveOnly {
  static constexpr const char* name = "one that can only be moved";
  struct Error {
    int status = 503;
    std::unique_ptr<std::string> body = std::make_unique<std::string>("try later");
    [[nodiscard]] std::string message() const { return *body; }
  };
  using Named = Error;
  static Error make() { return {}; }
  static Said says() { return {.status = 503, .message = "try later"}; }
};

struct Standard {
  static constexpr const char* name = "a std::exception";
  struct Error : std::runtime_error {
    Error() : std::runtime_error("try later") {}
    int status = 503;
  };
  using Named = Error;
  static Error make() { return {}; }
  static Said says() { return {.status = 503, .message = "try later"}; }
};

struct ApiError {
  int status = 503;
  bool again = true;
};
struct Derived {
  static constexpr const char* name = "a derived struct, by its base";
  struct Error : ApiError {};
  using Named = ApiError;
  static Error make() { return {}; }
  static Said says() { return {.status = 503}; }
};

struct Foreign {
  int http = 503;
};
struct ByTraits {
  static constexpr const char* name = "a derived struct, by a base that error_traits read";
  struct Error : Foreign {};
  using Named = Foreign;
  static Error make() { return {}; }
  static Said says() { return {503, {}, Duration(0), true, "try later"}; }
};

struct FarBase {
  static constexpr const char* name = "a derived class, by its second base";
  struct First {
    virtual ~First() = default;
    int padding = 1;
  };
  struct Error : First, ApiError {};
  using Named = ApiError;
  static Error make() { return {}; }
  static Said says() { return {.status = 503}; }
};

struct VirtualBase {
  static constexpr const char* name = "a derived class, by a virtual base";
  struct Base : ApiError {};
  struct Left : virtual Base {};
  struct Right : virtual Base {};
  struct Error : Left, Right {};
  using Named = Base;
  static Error make() { return {}; }
  static Said says() { return {.status = 503}; }
};

struct DerivedStandard {
  static constexpr const char* name = "a derived std::exception, by its base";
  struct Error : Standard::Error {};
  using Named = Standard::Error;
  static Error make() { return {}; }
  static Said says() { return {.status = 503, .message = "try later"}; }
};

struct ByStandardBase {
  static constexpr const char* name = "a derived ProviderError, by std::exception";
  struct Error : ProviderError {
    Error() : ProviderError(503, "try later", "overloaded", 0s) {}
  };
  using Named = std::exception;
  static Error make() { return {}; }
  static Said says() { return {503, "overloaded", Duration(0), std::nullopt, "try later"}; }
};

struct Enum {
  static constexpr const char* name = "an enumeration";
  enum class Error { busy = 5 };
  using Named = Error;
  static Error make() { return Error::busy; }
  static Said says() { return {.message = "error 5"}; }
};

struct Errc {
  static constexpr const char* name = "a std::errc";
  using Error = std::errc;
  using Named = Error;
  static Error make() { return std::errc::connection_refused; }
  static Said says() { return {.message = std::make_error_code(std::errc::connection_refused).message()}; }
};

struct ErrorCode {
  static constexpr const char* name = "a std::error_code";
  using Error = std::error_code;
  using Named = Error;
  static Error make() { return std::make_error_code(std::errc::connection_refused); }
  static Said says() { return {.message = make().message()}; }
};

struct SystemError {
  static constexpr const char* name = "a std::system_error";
  using Error = std::system_error;
  using Named = std::runtime_error;
  static Error make() { return Error(ErrorCode::make(), "connect"); }
  static Said says() { return {.message = make().what()}; }
};

struct Text {
  static constexpr const char* name = "a std::string";
  using Error = std::string;
  using Named = Error;
  static Error make() { return "try later"; }
  static Said says() { return {.message = "try later"}; }
};

struct Pointer {
  static constexpr const char* name = "a const char*";
  using Error = const char*;
  using Named = std::string;
  static Error make() { return "try later"; }
  static Said says() { return {.message = "try later"}; }
};

struct View {
  static constexpr const char* name = "a std::string_view";
  using Error = std::string_view;
  using Named = std::string;
  static Error make() { return "try later"; }
  static Said says() { return {.message = "try later"}; }
};

struct Number {
  static constexpr const char* name = "an int";
  using Error = int;
  using Named = Error;
  static Error make() { return 42; }
  static Said says() { return {.message = "42"}; }
};

struct NestedError : std::runtime_error, std::nested_exception {
  NestedError() : std::runtime_error("request failed") {}
};
struct Nested {
  static constexpr const char* name = "one that nests another";
  using Error = NestedError;
  using Named = std::runtime_error;
  static Error make() {
    try {
      throw ProviderError(503, "try later", "overloaded", 0s);
    } catch (...) {
      return {};
    }
  }
  static Said says() { return {503, "overloaded", Duration(0), std::nullopt, "request failed"}; }
};

struct PlainNesting : std::nested_exception {
  std::string message = "request failed";
};
struct NestedNamed {
  static constexpr const char* name = "one that is no std::exception and nests one that the plan names";
  using Error = PlainNesting;
  using Named = PlainNesting;
  static Error make() {
    try {
      throw Standard::Error();
    } catch (...) {
      try {
        throw PlainNesting();
      } catch (...) {
        return {};
      }
    }
  }
  static Said says() { return {.message = "request failed"}; }
};

struct InnerPlan {
  static constexpr const char* name = "an inner run's PlanError";
  using Error = planb::PlanError;
  using Named = planb::PlanError;
  static Error make() {
    const ExecutionPlan<int> plan{{.name = "inner", .provide = 1}};
    return try_run_with_plan(plan, [](int&) -> int { throw ProviderError(503, "try later", "overloaded", 0s); })
        .error();
  }
  static Said says() { return {503, "overloaded", Duration(0), std::nullopt, "plan exhausted: inner: 503 try later"}; }
};

}  // namespace

template <>
struct planb::error_traits<Foreign> {
  static int status(const Foreign& e) { return e.http; }
  static std::optional<std::chrono::seconds> retry_after(const Foreign&) { return std::chrono::seconds(0); }
  static bool retryable(const Foreign&) { return true; }
  static std::string message(const Foreign&) { return "try later"; }
};

namespace {

// --- The ways to fail
// --------------------------------------------------------------------------------------------------

template <class E>
class Result {
 public:
  using unexpected_type = E;
  using value_type = int;
  explicit Result(E error) : error_(std::move(error)) {}
  [[nodiscard]] bool has_value() const { return !error_.has_value(); }
  [[nodiscard]] int operator*() const { return 0; }
  [[nodiscard]] const E& error() const& { return *error_; }
  [[nodiscard]] E&& error() && { return *std::move(error_); }

 private:
  std::optional<E> error_;
};

template <class Kind>
class Ways {
 public:
  using Error = typename Kind::Error;
  using Named = typename Kind::Named;
  using Returned = Result<Error>;

  Said thrown() {
    return seen([&] {
      return try_run_with_plan(
          plan(), [](int&) -> int { throw Kind::make(); }, options());
    });
  }
  Said returned() {
    return seen([&] {
      return try_run_with_plan(
          plan(), [](int&) { return Returned(Kind::make()); }, options());
    });
  }
  Said run_thrown() {
    return seen([&] {
      return run_with_plan(
          plan(), [](int&) -> int { throw Kind::make(); }, options());
    });
  }
  Said run_returned() {
    return seen([&] {
      return run_with_plan(
          plan(), [](int&) { return Returned(Kind::make()); }, options());
    });
  }
  Said made_thrown() {
    return seen([&] {
      return try_run_with_plan(
          plan([]() -> int { throw Kind::make(); }), [](int&) { return 1; }, options());
    });
  }
  Said made_returned() {
    return seen([&] {
      return try_run_with_plan(
          plan([] { return Returned(Kind::make()); }), [](int&) { return 1; }, options());
    });
  }
  Said retry_thrown() {
    return seen([&] {
      return planb::retry(
          policy(), []() -> int { throw Kind::make(); }, options());
    });
  }
  Said retry_returned() {
    return seen([&] {
      return planb::retry(
          policy(), [] { return Returned(Kind::make()); }, options());
    });
  }
  Said pulled_thrown() {
    return seen([&] {
      auto stream = planb::stream_with_plan(
          plan(), [](int&) -> std::vector<int> { throw Kind::make(); }, planb::StreamOptions{.on_event = handler()});
      for (const int element : stream) static_cast<void>(element);
    });
  }
  Said by_hand_thrown() {
    return seen([&] {
      planb::PlanRun<int> run(plan(), options());
      run_by_hand(run, options(), [](int&, const planb::Attempt&) -> std::optional<Cause> { throw Kind::make(); });
    });
  }
  Said by_hand_returned() {
    return seen([&] {
      planb::PlanRun<int> run(plan(), options());
      run_by_hand(run, options(),
                  [](int&, const planb::Attempt&) -> std::optional<Cause> { return Cause::of(Kind::make()); });
    });
  }
  Said by_hand_caught() {
    return seen([&] {
      planb::PlanRun<int> run(plan(), options());
      run_by_hand(run, options(), [](int&, const planb::Attempt&) -> std::optional<Cause> {
        try {
          throw Kind::make();
        } catch (const Named& e) {
          if constexpr (std::is_copy_constructible_v<Named>) {
            return Cause::of(e);
          } else {
            return Cause::current();
          }
        }
        // A thrown const char* is no std::string before a Cause has it.
      });
    });
  }
  Said awaited_thrown() {
    return seen([&] {
      const auto call = [](int&) -> planb::Task<int> {
        throw Kind::make();
        co_return 1;
      };
      planb::sync_wait(planb::co_run_with_plan<planb::Task<int>>(plan(), call, sleep, options()));
    });
  }
  Said awaited_returned() {
    return seen([&] {
      const auto call = [](int&) -> planb::Task<Returned> { co_return Returned(Kind::make()); };
      planb::sync_wait(planb::co_run_with_plan<planb::Task<Returned>>(plan(), call, sleep, options()));
    });
  }

 private:
  static planb::Task<> sleep(Duration, const planb::StopToken&) { co_return; }

  static bool again(const Named&) { return true; }
  template <class Provide = int>
  static ExecutionPlan<int> plan(Provide provide = 1) {
    return {{.name = "only", .provide = provide, .attempts = 2, .retry_while = again}};
  }
  static planb::RetryPolicy policy() { return {.attempts = 2, .retry_while = again}; }

  auto handler() {
    return [this](const AttemptFailure& f) {
      said_ = {f.cause.status(),    f.cause.code(),    f.cause.retry_after(),
               f.cause.retryable(), f.cause.message(), f.cause.get_if<Named>() != nullptr,
               said_.failures + 1};
    };
  }
  planb::RunOptions options() { return {.on_event = handler()}; }

  template <class Run>
  Said seen(Run run) {
    said_ = {.failures = 0};
    try {
      static_cast<void>(run());
    } catch (...) {  // as it may: what is asked is what the events said
    }
    return said_;
  }
  template <class Run>
  requires std::is_void_v<std::invoke_result_t<Run>> Said seen(Run run) {
    return seen([&] { return run(), 0; });
  }

  Said said_;
};

}  // namespace

TEMPLATE_TEST_CASE("an error says the same in whatever way an attempt fails with it", "[alike]", Struct, Large,
                   MoveOnly, Standard, Derived, ByTraits, FarBase, VirtualBase, DerivedStandard, ByStandardBase, Enum,
                   Errc, ErrorCode, SystemError, Text, Pointer, View, Number, Nested, NestedNamed, InnerPlan) {
  CAPTURE(TestType::name);
  const Said says = TestType::says();
  Ways<TestType> ways;
  if constexpr (!PLANB_STABLE_EXCEPTIONS && std::is_same_v<TestType, MoveOnly>) {
    CHECK(ways.returned() == says);  // thrown it cannot be found: nothing can copy it
    return;
  }
  CHECK(ways.thrown() == says);
  CHECK(ways.returned() == says);
  CHECK(ways.run_thrown() == says);
  CHECK(ways.run_returned() == says);
  CHECK(ways.made_thrown() == says);
  CHECK(ways.made_returned() == says);
  CHECK(ways.retry_thrown() == says);
  CHECK(ways.retry_returned() == says);
  CHECK(ways.pulled_thrown() == says);
  CHECK(ways.by_hand_thrown() == says);
  CHECK(ways.by_hand_returned() == says);
  if constexpr (!std::is_same_v<TestType, Pointer> && !std::is_same_v<TestType, View>) {
    CHECK(ways.by_hand_caught() == says);  // a handler for std::string takes no other text
  }
  CHECK(ways.awaited_thrown() == says);
  CHECK(ways.awaited_returned() == says);
}

TEST_CASE("errors that are no classes of anybody's need not be named to say what they are", "[alike]") {
  const auto thrown = [](auto error) {
    try {
      throw error;
    } catch (...) {
      return Cause::current();
    }
  };
  const auto same = [&](auto error) {
    const Cause one = thrown(error);
    const Cause other = Cause::of(error);
    const auto* const found = one.get_if<decltype(error)>();
    return found != nullptr && *found == error && one.message() == other.message() && !one.message().empty();
  };
  CHECK(same(std::errc::timed_out));
  CHECK(same(std::make_error_code(std::errc::timed_out)));
  CHECK(same(std::make_error_condition(std::errc::timed_out)));
  CHECK(same(std::string("text")));
  CHECK(same(1));
  CHECK(same(2U));
  CHECK(same(3L));
  CHECK(same(4UL));
  CHECK(same(5LL));
  CHECK(same(6ULL));
  CHECK(same(0.5));
  CHECK(same(true));
  CHECK(thrown(1).get_if<long>() == nullptr);
  CHECK(thrown(std::make_error_code(std::errc::timed_out)).get_if<std::errc>() == nullptr);
}

TEST_CASE("a base that a handler would not take is none", "[alike]") {
  struct Private : private ApiError {};
  struct Left : ApiError {};
  struct Right : ApiError {};
  struct Twice : Left, Right {};
  struct Unrelated {
    int status = 503;
    bool again = true;
  };
  for (int i = 0; i != 3; ++i) {  // the first time the runtime is asked, then it is known
    CHECK(Cause::of(Private()).get_if<ApiError>() == nullptr);
    CHECK(Cause::of(Twice()).get_if<ApiError>() == nullptr);
    CHECK(Cause::of(Twice()).get_if<Left>() != nullptr);
    CHECK(Cause::of(Unrelated()).get_if<ApiError>() == nullptr);
    CHECK(Cause::of(ApiError()).get_if<Left>() == nullptr);
    CHECK(Cause::of(503).get_if<ApiError>() == nullptr);
    CHECK(Cause::of(std::runtime_error("no")).get_if<ApiError>() == nullptr);
    CHECK(Cause::of(std::runtime_error("no")).get_if<std::logic_error>() == nullptr);
    CHECK(Cause::of(std::runtime_error("no")).get_if<std::exception>() != nullptr);
  }
  // A refused value is no error: it matches by its own type.
  struct Value : ApiError {};
  const auto refuse = planb::accepting([](int&) { return Value(); }, [](const Value&) { return false; });
  const auto result = try_run_with_plan(ExecutionPlan<int>{{.provide = 1}}, refuse);
  CHECK(result.report().last_cause()->get_if<Value>() != nullptr);
  CHECK(result.report().last_cause()->get_if<ApiError>() == nullptr);
}

TEST_CASE("bases of many types are found, and with one's own members", "[alike]") {
  struct Tag {
    int tag = 7;
  };
  struct A : std::runtime_error, Tag {
    A() : std::runtime_error("a") {}
  };
  struct B : ApiError, Tag {};
  struct C : Tag {};
  struct D : ApiError, C {};
  struct E : D {
    int more = 1;
  };
  struct F : E {
    F() { tag = 8; }
  };
  for (int i = 0; i != 2; ++i) {
    const Cause causes[] = {Cause::of(A()), Cause::of(B()), Cause::of(C()),
                            Cause::of(D()), Cause::of(E()), Cause::of(F())};
    for (const Cause& cause : causes) {
      REQUIRE(cause.get_if<Tag>() != nullptr);
      CHECK(cause.get_if<Tag>()->tag == (cause.get_if<F>() != nullptr ? 8 : 7));
    }
    CHECK(causes[5].get_if<D>() != nullptr);
    CHECK(causes[2].get_if<D>() == nullptr);
  }
}
