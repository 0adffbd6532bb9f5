// What a run costs in throws. A program of its own, because it counts them: every throw and every rethrow of a held
// exception goes through _Unwind_RaiseException, with GCC and Clang, libstdc++ and libc++ alike.
#include "catch.hpp"

#include <planb/planb.hpp>

#include <dlfcn.h>
#include <unwind.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

int raised = 0;

}  // namespace

extern "C" _Unwind_Reason_Code _Unwind_RaiseException(_Unwind_Exception* exception) {
  using Raise = _Unwind_Reason_Code (*)(_Unwind_Exception*);
  static const Raise raise = reinterpret_cast<Raise>(dlsym(RTLD_NEXT, "_Unwind_RaiseException"));
  ++raised;
  return raise(exception);
}

namespace {

using planb::Cause;
using planb::Verdict;
using Steps = std::vector<planb::Step<int>>;

struct LlmError : std::runtime_error {
  explicit LlmError(int s) : std::runtime_error("llm failed"), status(s) {}
  int status;
};
struct DerivedLlmError : LlmError {
  using LlmError::LlmError;
};
struct Unrelated : std::runtime_error {
  using std::runtime_error::runtime_error;
  int status = 1;
};

// Not derived from std::exception.
struct Plain {
  int status = 503;
};
struct Other {
  int status = 504;
};

struct Fatal final {
  int status = 505;
};

struct Returned {
  int status = 503;
};

class Result {
 public:
  explicit Result(int value) : value_(value) {}
  explicit Result(Returned) {}
  [[nodiscard]] bool has_value() const { return value_ != 0; }
  [[nodiscard]] int operator*() const { return value_; }
  [[nodiscard]] static Returned error() { return {}; }

 private:
  int value_ = 0;
};

constexpr int failures = 4;

template <class F>
int throws_in(F&& f) {
  raised = 0;
  f();
  return raised;
}

// The throws of a run that fails four times with `error` and then succeeds, less the four of the callable's own.
template <class E>
int own_throws(Steps steps, const E& error, const planb::RunOptions* options = nullptr) {
  const planb::ExecutionPlan<int> plan(std::move(steps));
  int calls = 0;
  const auto call = [&](int&) {
    if (++calls <= failures) throw E(error);
    return 1;
  };
  const int all = throws_in([&] { options != nullptr ? run_with_plan(plan, call, *options) : run_with_plan(plan, call); });
  CHECK(calls == failures + 1);
  return all - failures;
}

planb::Step<int> step() { return {.provide = 1, .attempts = failures + 1}; }

planb::Step<int> asking(planb::detail::ErrorPredicate predicate) {
  planb::Step<int> asks = step();
  asks.retry_while = std::move(predicate);
  return asks;
}

const auto llm = [](const LlmError& e) { return e.status > 0; };
const auto unrelated = [](const Unrelated&) { return Verdict{}; };

}  // namespace

TEST_CASE("the count works", "[throws]") {
  CHECK(throws_in([] {}) == 0);
  CHECK(throws_in([] {
          try {
            throw 1;
          } catch (int) {
          }
        }) == 1);
  const std::exception_ptr held = std::make_exception_ptr(1);
  CHECK(throws_in([&] {
          try {
            std::rethrow_exception(held);
          } catch (int) {
          }
        }) == 1);
}

TEST_CASE("an error that derives from std::exception is never thrown again", "[throws]") {
  const LlmError error(503);
  CHECK(own_throws({step()}, error) == 0);
  CHECK(own_throws({asking(llm)}, error) == 0);
  CHECK(own_throws({asking(llm)}, DerivedLlmError(503)) == 0);
  CHECK(own_throws({asking([](const std::exception&) { return true; })}, error) == 0);
  CHECK(own_throws({asking([](const Cause&) { return true; })}, error) == 0);
  CHECK(own_throws({asking([](const Cause& c) { return c.message() == "llm failed" && !c.status() && c.code().empty(); })},
                   error) == 0);
  CHECK(own_throws({asking([](const Cause& c) { return c.get_if<LlmError>() != nullptr && !c.get_if<Unrelated>(); })},
                   error) == 0);
}

TEST_CASE("nor where other error types are asked about", "[throws]") {
  planb::Step<int> both = asking(llm);
  both.classify = unrelated;
  both.enter_when = [](const std::logic_error&) { return true; };
  CHECK(own_throws({asking(llm), both}, LlmError(503)) == 0);
  // What is no class, or a final one of another family, cannot be what was thrown.
  both.classify = [](int) { return Verdict{}; };
  CHECK(own_throws({asking(llm), both}, LlmError(503)) == 0);
  both.classify = [](const Fatal&) { return Verdict{}; };
  CHECK(own_throws({asking(llm), both}, LlmError(503)) == 0);
}

TEST_CASE("nor where the run is told and described", "[throws]") {
  std::string text;
  const planb::RunOptions options{.on_event = [&](const planb::Event& e) { text += to_string(e); }};
  CHECK(own_throws({asking(llm)}, LlmError(503), &options) == 0);
  CHECK(own_throws({step()}, planb::ProviderError(503, "down"), &options) == 0);
  CHECK_FALSE(text.empty());
}

TEST_CASE("an error of another kind is thrown again once for each type that is asked about", "[throws]") {
  CHECK(own_throws({asking([](const Plain&) { return true; })}, Plain{}) <= failures);
  CHECK(own_throws({asking([](const Cause& c) { return c.get_if<Plain>() != nullptr; })}, Plain{}) <= failures);
  CHECK(own_throws({step()}, Plain{}) <= failures);
  CHECK(own_throws({step()}, 42) <= failures);

  planb::Step<int> both = asking([](const Plain&) { return true; });
  both.classify = [](const Other&) { return Verdict{}; };
  CHECK(own_throws({both}, Plain{}) <= 2 * failures);

  planb::Step<int> other = step();
  other.classify = [](const Other&) { return Verdict{}; };
  CHECK(own_throws({other}, Plain{}) <= failures);
  CHECK(own_throws({other, other}, 42) <= failures);
}

TEST_CASE("a class without virtual functions may be a second base: one throw tells", "[throws]") {
  planb::Step<int> other = step();
  other.classify = [](const Other&) { return Verdict{}; };
  CHECK(own_throws({other}, LlmError(503)) <= failures);
  other.retry_while = llm;
  CHECK(own_throws({other}, LlmError(503)) <= failures);
  other.classify = [](const std::string&) { return Verdict{}; };
  CHECK(own_throws({other}, LlmError(503)) <= failures);
}

TEST_CASE("a returned error costs no throw at all", "[throws]") {
  const planb::ExecutionPlan<int> plan{asking([](const Returned& e) { return e.status == 503; })};
  int calls = 0;
  const auto call = [&](int&) { return ++calls <= failures ? Result(Returned{}) : Result(1); };
  CHECK(throws_in([&] { CHECK(*run_with_plan(plan, call) == 1); }) == 0);
  CHECK(calls == failures + 1);
  // Nor does a run that fails with it.
  CHECK(throws_in([&] {
          CHECK_FALSE(run_with_plan(plan, [](int&) { return Result(Returned{}); }).has_value());
          CHECK_FALSE(try_run_with_plan(plan, [](int&) { return Result(Returned{}); }).has_value());
        }) == 0);
}

TEST_CASE("a run that fails throws the last error once more to nest it, and its own", "[throws]") {
  const planb::ExecutionPlan<int> plan{asking(llm)};
  const int attempts = failures + 1;
  const auto fail = [](int&) -> int { throw LlmError(503); };
  const auto caught = [&](const planb::RunOptions& options) {
    return throws_in([&] {
             try {
               run_with_plan(plan, fail, options);
             } catch (const std::exception&) {
             }
           }) -
           attempts;
  };
  CHECK(caught({}) <= 2);
  CHECK(caught({.failure = planb::FailureStyle::original}) <= 1);
  CHECK(throws_in([&] { CHECK_FALSE(try_run_with_plan(plan, fail)); }) == attempts);
}
