// An error within an error: what std::nested_exception nests, and what an inner run failed with.
#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;
using planb::Cause;
using planb::Duration;
using planb::ExecutionPlan;
using planb::LeaveReason;
using planb::PlanError;
using planb::ProviderError;
using planb::testing::VirtualClock;

// The cause of `error`, wrapped as often as there are others, the last one outermost.
template <class E, class... Outer>
Cause wrapped(const E& error, const Outer&... outer) {
  std::exception_ptr all = std::make_exception_ptr(error);
  [[maybe_unused]] const auto wrap = [&all](const auto& wrapper) {
    try {
      try {
        std::rethrow_exception(all);
      } catch (...) {
        std::throw_with_nested(wrapper);
      }
    } catch (...) {
      all = std::current_exception();
    }
  };
  (wrap(outer), ...);
  return Cause::of(all);
}

const ProviderError busy(429, "slow down", "rate_limit", 2s);
const std::runtime_error text("request failed");

struct Named {
  int status = 503;
  std::optional<bool> retryable = false;
};

struct ReturnedNesting : std::nested_exception {
  std::string message = "returned";
};

struct Client {
  using error_type = Named;
};
struct OfNothing {
  using error_type = void;
};
struct OfPointer {
  using error_type = const Named*;
};
struct Result {  // an expected-like: that is the type of the error that it holds
  using error_type = Named;
  [[nodiscard]] static bool has_value() { return true; }
  [[nodiscard]] static Named error() { return {}; }
  int operator*() const { return 1; }
};

const ExecutionPlan<int> one_step{{.name = "inner", .provide = 1}};

struct OtherA : std::exception {
  int status = 400;
};
struct OtherB {
  int status = 401;
};
struct OtherC {
  std::string code = "c";
};
struct Fourth {
  int status = 503;
  std::chrono::seconds retry_after{5};
};
// Nothing of it can be read, but as a Fourth.
struct Second {
  int status = 0;
};
struct Ambiguous : Fourth, Second {};

// What a call gives that fails: any of several errors.
class Answer {
 public:
  Answer(ReturnedNesting error) : error_(std::make_exception_ptr(error)) {}  // NOLINT
  Answer(const PlanError& error) : plan_error_(error) {}                     // NOLINT

  static constexpr bool has_value() { return false; }
  int operator*() const { return 0; }
  [[nodiscard]] Cause error() const { return plan_error_ ? Cause::of(*plan_error_) : returned(error_); }

 private:
  static Cause returned(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const ReturnedNesting& e) {
      return Cause::of(ReturnedNesting(e));
    }
  }

  std::exception_ptr error_;
  std::optional<PlanError> plan_error_;
};

template <class F>
Answer nest(F wrap) {
  try {
    throw Fourth();
  } catch (...) {
    return wrap();
  }
}

PlanError failed_within() {
  return try_run_with_plan(one_step, [](int&) -> int { throw Fourth(); }).error();
}

PlanError failed_within_by_value() {
  struct Reply {
    static bool has_value() { return false; }
    static Ambiguous error() { return {}; }
    int operator*() const { return 0; }
  };
  return try_run_with_plan(one_step, [](int&) { return Reply(); }).error();
}

}  // namespace

TEST_CASE("where an error is silent, what it nests is read", "[wrapped]") {
  const Cause cause = wrapped(busy, text);
  CHECK(cause.status() == 429);
  CHECK(cause.code() == "rate_limit");
  CHECK(cause.retry_after() == Duration(2s));
  CHECK(cause.message() == "request failed");
  CHECK(cause.get_if<ProviderError>() == nullptr);
  CHECK(planb::detail::describe(cause) == "429 request failed");
}

TEST_CASE("the outermost error that says something is read", "[wrapped]") {
  const Cause outer = wrapped(busy, ProviderError(503, "unavailable"));
  CHECK(outer.status() == 503);
  CHECK(outer.code().empty());  // status and code come from one error
  CHECK(outer.retry_after() == Duration(2s));

  const Cause middle = wrapped(busy, ProviderError(0, "no status", "overloaded"), text);
  CHECK(middle.status() == std::nullopt);
  CHECK(middle.code() == "overloaded");
  CHECK(middle.retry_after() == Duration(2s));

  const Cause own_code = wrapped(busy, ProviderError(0, "no status", "overloaded"));
  CHECK(own_code.status() == std::nullopt);
  CHECK(own_code.code() == "overloaded");

  const Cause layer = wrapped(busy, ProviderError(503, "no code"), text);
  CHECK(layer.status() == 503);
  CHECK(layer.code().empty());

  const Cause no_more = wrapped(busy, ProviderError(0, {}, {}, 1s), text);
  CHECK(no_more.status() == 429);
  CHECK(no_more.retry_after() == Duration(1s));
}

TEST_CASE("at most eight errors deep", "[wrapped]") {
  const std::runtime_error t("text");
  CHECK(wrapped(busy, t, t, t, t, t, t, t, t).status() == 429);
  CHECK(wrapped(busy, t, t, t, t, t, t, t, t, t).status() == std::nullopt);
}

TEST_CASE("a wrapper need be no std::exception, and may be returned", "[wrapped]") {
  struct Own {
    std::string message = "own";
  };
  const Cause own = wrapped(busy, Own{});
  CHECK(own.status() == 429);
  CHECK(wrapped(Own{}, text).status() == std::nullopt);

  const auto nest = [] {
    try {
      throw busy;
    } catch (...) {
      return ReturnedNesting();
    }
  };
  CHECK(Cause::of(nest()).status() == 429);
  CHECK(Cause::of(nest()).message() == "returned");
  CHECK(Cause::of(ReturnedNesting()).status() == std::nullopt);  // nests nothing
  try {
    throw ReturnedNesting();
  } catch (...) {
    CHECK(Cause::current().status() == std::nullopt);
    CHECK(Cause::current().retry_after() == std::nullopt);
  }
}

TEST_CASE("what the plan names is read within a wrapper, too", "[wrapped]") {
  const auto names = [](const Named&) { return true; };
  std::optional<Cause> seen;
  const auto keep = [&](const planb::AttemptFailure& f) { seen = f.cause; };
  const ExecutionPlan<int> plan{{.provide = 1, .attempts = 2, .retry_while = names},
                                {.provide = 2, .enter_when = [](const Cause& c) { return c.status() == 503; }}};
  const auto result = try_run_with_plan(
      plan, [](int& step) { return step == 2 ? 2 : throw wrapped(Named{}, text).exception(); }, {.on_event = keep});
  CHECK_FALSE(result.has_value());  // an exception_ptr is no wrapper
  int calls = 0;
  const auto wrapping = [&](int& step) {
    ++calls;
    if (step == 1) wrapped(Named{}, text).rethrow();
    return step;
  };
  const auto through = try_run_with_plan(plan, wrapping, {.on_event = keep});
  REQUIRE(through.has_value());
  CHECK(*through == 2);
  CHECK(calls == 2);  // the predicate sees the outer error alone
  CHECK(seen->status() == 503);
  CHECK(seen->get_if<Named>() == nullptr);
  CHECK(seen->retryable() == false);
}

TEST_CASE("each type that the plan names is read within each wrapper, thrown or returned", "[wrapped]") {
  struct Wrapping {
    const char* name;
    Answer (*call)();
  };
  const Wrapping wrappings[] = {
      {"thrown exception", [] { return nest([]() -> Answer { std::throw_with_nested(text); }); }},
      {"thrown, no exception", [] { return nest([]() -> Answer { throw ReturnedNesting(); }); }},
      {"thrown text", [] { return nest([]() -> Answer { std::throw_with_nested(std::string("text")); }); }},
      {"returned", [] { return nest([]() -> Answer { return ReturnedNesting(); }); }},
      {"thrown PlanError", []() -> Answer { throw failed_within(); }},
      {"returned PlanError", []() -> Answer { return failed_within(); }},
      {"returned PlanError that holds a returned base", []() -> Answer { return failed_within_by_value(); }},
  };
  const auto planned = planb::http_classifier<OtherA, OtherB, OtherC, Fourth>(planb::ContentRefusal::abort);
  for (const Wrapping& wrapping : wrappings) {
    CAPTURE(wrapping.name);
    std::optional<Cause> seen;
    const auto keep = [&](const planb::AttemptFailure& f) { seen = f.cause; };
    {
      const ExecutionPlan<int> plan{{.provide = 1, .attempts = 2, .classify = planned}};
      VirtualClock clock;
      const auto result =
          try_run_with_plan(plan, [&](int&) { return wrapping.call(); }, {.on_event = keep, .clock = &clock});
      CHECK(result.report().attempts == 2);
      CHECK(clock.elapsed() == Duration(5s));
    }
    // The cause outlives the plan.
    CHECK(seen->status() == 503);
    CHECK(seen->retry_after() == Duration(5s));
    CHECK(Cause(*seen).status() == 503);
    // Nothing of it is known where nothing was named.
    const ExecutionPlan<int> silent{{.provide = 1}};
    CHECK_FALSE(try_run_with_plan(silent, [&](int&) { return wrapping.call(); }, {.on_event = keep}));
    CHECK(seen->get_if<Fourth>() == nullptr);
  }
}

TEST_CASE("the error that an inner run failed with is read", "[wrapped]") {
  const auto inner = [](int&) -> int { throw busy; };
  const auto thrown = [&] {
    try {
      run_with_plan(one_step, inner);
    } catch (...) {
      return Cause::current();
    }
    return Cause();
  };
  const PlanError value = try_run_with_plan(one_step, inner).error();
  const std::pair<const char*, Cause> ways[] = {
      {"thrown", thrown()},
      {"thrown as the base", wrapped(value)},
      {"returned", Cause::of(value)},
      {"returned as what it is", Cause::of(planb::PlanExhausted(value))},
      {"nested", wrapped(value, text)},
  };
  for (const auto& [way, cause] : ways) {
    CAPTURE(way);
    CHECK(cause.status() == 429);
    CHECK(cause.code() == "rate_limit");
    CHECK(cause.retry_after() == Duration(2s));
    CHECK(cause.get_if<ProviderError>() == nullptr);
  }

  // The report's last failure, and not what is nested: here the rule that threw.
  const ExecutionPlan<int> rule{
      {.provide = 1, .retry_while = [](const Cause&) -> bool { throw ProviderError(400, "a rule"); }}};
  try {
    run_with_plan(rule, inner);
    FAIL();
  } catch (const PlanError&) {
    CHECK(Cause::current().status() == 429);
  }

  // One in which no attempt failed has nothing to say.
  const PlanError stopped = try_run_with_plan(one_step, inner, {.budget = Duration(0)}).error();
  CHECK(Cause::of(stopped).status() == std::nullopt);

  // A run in a run in a run.
  const auto two = try_run_with_plan(one_step, [&](int&) { return run_with_plan(one_step, inner); });
  const auto three = try_run_with_plan(one_step, [&](int&) -> int { throw two.error(); });
  CHECK(Cause::of(three.error()).status() == 429);
}

TEST_CASE("what only holds a PlanError is no wrapper", "[wrapped]") {
  struct Holds {
    explicit Holds(const PlanError& e) : error(e) {}
    PlanError error;
  };
  const PlanError error = try_run_with_plan(one_step, [](int&) -> int { throw busy; }).error();
  CHECK(Cause::of(Holds(error)).status() == std::nullopt);
}

TEST_CASE("a wait hint within a wrapper is waited for", "[wrapped]") {
  VirtualClock clock;
  const ExecutionPlan<int> plan{{.provide = 1, .attempts = 2}};
  const auto call = [](int&, const planb::Attempt& a) {
    if (a.attempt == 1) wrapped(busy, text).rethrow();
    return 1;
  };
  CHECK(run_with_plan(plan, call, {.clock = &clock}) == 1);
  CHECK(clock.elapsed() == Duration(2s));
}

TEST_CASE("an error that says that no other try helps ends the step", "[retryable]") {
  struct Case {
    const char* what;
    std::optional<bool> word;
    int attempts;
  };
  for (const Case& c : {Case{"no", false, 1}, Case{"yes", true, 3}, Case{"nothing", std::nullopt, 3}}) {
    CAPTURE(c.what);
    int asked = 0;
    const auto ask = [&asked](const Cause&) { return ++asked, true; };
    const ExecutionPlan<int> plan{{.provide = 1, .attempts = 3, .retry_while = ask}};
    const auto names = [](const Named&) { return true; };
    const ExecutionPlan<int> naming{{.provide = 1, .attempts = 3, .retry_while = names}};
    struct Reply {
      Named failure;
      [[nodiscard]] static bool has_value() { return false; }
      [[nodiscard]] const Named& error() const { return failure; }
      int operator*() const { return 1; }
    };
    const auto returned = try_run_with_plan(plan, [&](int&) { return Reply{{503, c.word}}; });
    CHECK(returned.report().attempts == c.attempts);
    CHECK(asked == (c.attempts == 1 ? 0 : 3));  // before retry_while
    CHECK((returned.report().steps[0].left == LeaveReason::not_retryable) == (c.attempts == 1));
    const auto thrown = try_run_with_plan(naming, [&](int&) -> int { throw Named{503, c.word}; });
    CHECK(thrown.report().attempts == c.attempts);
    int calls = 0;
    const auto quiet = [&](int&) -> int {
      ++calls;
      throw Named{503, c.word};
    };
    CHECK_THROWS(run_with_plan(naming, quiet));
    CHECK(calls == c.attempts);
    calls = 0;
    CHECK_THROWS(planb::retry({.attempts = 3, .retry_while = names}, [&]() -> int { return quiet(calls); }));
    CHECK(calls == c.attempts);
    // A classifier has the say where there is one.
    const ExecutionPlan<int> classified{
        {.provide = 1, .attempts = 3, .classify = [](const Cause&) { return planb::Verdict{}; }}};
    CHECK(try_run_with_plan(classified, [&](int&) { return Reply{{503, c.word}}; }).report().attempts == 3);
  }
}

TEST_CASE("a context class may name the error that its calls throw", "[error_type]") {
  static Client client;
  const auto status = [](const auto& plan) {
    const auto result = try_run_with_plan(plan, [](auto&) -> int { throw Named{}; });
    return result.report().last_cause()->status();
  };
  CHECK(status(ExecutionPlan<Client>{{.provide = Client{}}}) == 503);
  CHECK(status(ExecutionPlan<Client&>{{.provide = client}}) == 503);
  CHECK(status(ExecutionPlan<const Client&>{{.provide = client}}) == 503);
  CHECK(status(ExecutionPlan<Client*>{{.provide = &client}}) == std::nullopt);
  CHECK(status(ExecutionPlan<int>{{.provide = 1}}) == std::nullopt);

  CHECK(status(ExecutionPlan<OfNothing>{{.provide = OfNothing{}}}) == std::nullopt);
  CHECK(status(ExecutionPlan<OfPointer>{{.provide = OfPointer{}}}) == std::nullopt);

  CHECK(status(ExecutionPlan<Result>{{.provide = Result{}}}) == std::nullopt);
}
