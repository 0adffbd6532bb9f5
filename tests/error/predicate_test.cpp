// The forms in which retry_while, enter_when and classify ask about an error.
#include "catch.hpp"

#include <planb/planb.hpp>

#include <array>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using planb::Action;
using planb::Cause;
using planb::Classifier;
using planb::ExecutionPlan;
using planb::Verdict;
using Predicate = planb::detail::ErrorPredicate;

struct LlmError : std::runtime_error {
  explicit LlmError(bool r) : std::runtime_error("llm failed"), again(r) {}
  [[nodiscard]] bool retryable() const { return again; }
  [[nodiscard]] bool retryable_noexcept() const noexcept { return again; }
  [[nodiscard]] Verdict verdict() const { return {again ? Action::retry : Action::abort, !again}; }
  bool again;
  Verdict advice{Action::next_step};
};

struct Specific : LlmError {
  using LlmError::LlmError;
};

struct Unrelated {
  bool again = true;
};

bool by_cause(const Cause& cause) { return cause.message() == "llm failed"; }
bool by_error(const LlmError& e) { return e.again; }
bool by_error_noexcept(const LlmError& e) noexcept { return e.again; }
bool by_value(LlmError e) { return e.again; }  // NOLINT(performance-unnecessary-value-param)

struct Functor {
  bool operator()(const LlmError& e) const { return e.again; }
};
struct RefQualified {
  bool operator()(const LlmError& e) const& noexcept { return e.again; }
};
struct CauseFunctor {
  bool operator()(const Cause& cause) const noexcept { return cause.message() == "llm failed"; }
};
// Overloaded, so that the error type cannot be told: asked with the Cause.
struct Overloaded {
  bool operator()(const Cause& cause) const { return cause.message() == "llm failed"; }
  bool operator()(const LlmError&) const { return false; }
};

template <class E>
Cause thrown(const E& error) {
  return Cause::of(std::make_exception_ptr(error));
}

struct Form {
  std::string name;
  Predicate predicate;
};

// All of them ask whether an LlmError is to be tried again.
std::vector<Form> error_forms() {
  const auto lambda = [](const LlmError& e) { return e.again; };
  return {
      {"lambda over const E&", lambda},
      {"noexcept lambda", [](const LlmError& e) noexcept { return e.again; }},
      {"lambda over E", [](LlmError e) { return e.again; }},  // NOLINT(performance-unnecessary-value-param)
      {"lambda over const E", [](const LlmError e) { return e.again; }},  // NOLINT
      {"lambda that gives what converts to bool", [](const LlmError& e) -> int { return e.again ? 2 : 0; }},
      {"function", by_error},
      {"pointer to function", &by_error},
      {"noexcept function", by_error_noexcept},
      {"function over E", by_value},
      {"functor", Functor{}},
      {"functor, ref-qualified", RefQualified{}},
      {"member function", &LlmError::retryable},
      {"noexcept member function", &LlmError::retryable_noexcept},
      {"data member", &LlmError::again},
      {"std::function", std::function<bool(const LlmError&)>(lambda)},
      {"large lambda", [lambda, ballast = std::array<char, 200>{}](const LlmError& e) {
         return lambda(e) && ballast[0] == 0;
       }},
  };
}

std::vector<Form> cause_forms() {
  return {
      {"lambda over const Cause&", [](const Cause& cause) { return by_cause(cause); }},
      {"lambda over Cause", [](Cause cause) { return by_cause(cause); }},  // NOLINT
      {"generic lambda", [](const auto& cause) { return cause.message() == "llm failed"; }},
      {"function", by_cause},
      {"functor", CauseFunctor{}},
      {"overloaded functor", Overloaded{}},
      {"std::function", std::function<bool(const Cause&)>(by_cause)},
  };
}

}  // namespace

TEST_CASE("a predicate over one error type answers for that type", "[predicate]") {
  for (const Form& form : error_forms()) {
    CAPTURE(form.name);
    CHECK(form.predicate);
    CHECK(form.predicate(thrown(LlmError(true))));
    CHECK_FALSE(form.predicate(thrown(LlmError(false))));
    CHECK(form.predicate(Cause::of(LlmError(true))));
    CHECK_FALSE(form.predicate(Cause::of(LlmError(false))));
  }
}

TEST_CASE("a predicate over one error type answers for a derived type", "[predicate]") {
  for (const Form& form : error_forms()) {
    CAPTURE(form.name);
    CHECK(form.predicate(thrown(Specific(true))));
    CHECK_FALSE(form.predicate(thrown(Specific(false))));
    CHECK(form.predicate(Cause::of(Specific(true))));
    CHECK_FALSE(form.predicate(Cause::of(Specific(false))));
  }
}

TEST_CASE("a predicate over one error type answers false for any other error", "[predicate]") {
  const std::vector<std::pair<std::string, Cause>> others{
      {"unknown", Cause()},
      {"timeout", Cause::timed_out()},
      {"thrown, of another std::exception", thrown(std::runtime_error("llm failed"))},
      {"thrown, no exception class", thrown(Unrelated{})},
      {"thrown int", thrown(1)},
      {"returned, of another type", Cause::of(Unrelated{})},
  };
  for (const Form& form : error_forms()) {
    for (const auto& [what, cause] : others) {
      CAPTURE(form.name, what);
      CHECK_FALSE(form.predicate(cause));
    }
  }
}

TEST_CASE("a predicate over a Cause is asked with every error", "[predicate]") {
  for (const Form& form : cause_forms()) {
    CAPTURE(form.name);
    CHECK(form.predicate(thrown(LlmError(false))));
    CHECK(form.predicate(thrown(std::runtime_error("llm failed"))));
    CHECK(form.predicate(Cause::of(LlmError(false))));
    CHECK_FALSE(form.predicate(thrown(std::runtime_error("other"))));
    CHECK_FALSE(form.predicate(Cause::timed_out()));
  }
}

TEST_CASE("a predicate may take an error type that is no class", "[predicate]") {
  const Predicate small = [](int number) { return number < 10; };
  CHECK(small(thrown(5)));
  CHECK_FALSE(small(thrown(50)));
  CHECK(small(Cause::of(5)));
  CHECK_FALSE(small(thrown(5L)));
  CHECK_FALSE(small(thrown(LlmError(true))));

  const Predicate text = [](const std::string& error) { return error == "again"; };
  CHECK(text(thrown(std::string("again"))));
  CHECK(text(Cause::of(std::string("again"))));
  CHECK_FALSE(text(thrown(std::runtime_error("again"))));
}

TEST_CASE("a predicate may take an interface that errors have besides their class", "[predicate]") {
  class Retryable {
   public:
    [[nodiscard]] virtual bool retryable() const = 0;

   protected:
    ~Retryable() = default;
  };
  struct Error : std::runtime_error, Retryable {
    Error() : std::runtime_error("error") {}
    [[nodiscard]] bool retryable() const override { return true; }
  };
  struct Polymorphic {  // not to be deleted through, and so without a virtual destructor
    [[nodiscard]] virtual bool retryable() const { return false; }
  };
  struct NoException final : Retryable, Polymorphic {
    [[nodiscard]] bool retryable() const override { return true; }
  };

  const Predicate lambda = [](const Retryable& e) { return e.retryable(); };
  const Predicate member = &Retryable::retryable;
  const Predicate polymorphic = [](const Polymorphic& e) { return e.retryable(); };
  if constexpr (PLANB_STABLE_EXCEPTIONS) {  // elsewhere an abstract class is not found, and a base is a copy of that alone
    CHECK(lambda(thrown(Error())));
    CHECK(member(thrown(Error())));
    CHECK(lambda(thrown(NoException())));
    CHECK(member(thrown(NoException())));
    CHECK(polymorphic(thrown(NoException())));
  }
  CHECK_FALSE(lambda(thrown(LlmError(true))));
  CHECK_FALSE(polymorphic(thrown(Error())));
}

TEST_CASE("a predicate over a base answers for all that derive from it", "[predicate]") {
  const Predicate any = [](const std::exception& e) { return std::string(e.what()) == "llm failed"; };
  CHECK(any(thrown(LlmError(false))));
  CHECK(any(thrown(std::runtime_error("llm failed"))));
  CHECK_FALSE(any(thrown(Unrelated{})));
  CHECK_FALSE(any(Cause::timed_out()));
}

TEST_CASE("a classifier takes the same forms, and has no objection to other errors", "[predicate]") {
  struct Judge {
    static Verdict of_cause(const Cause& cause) {
      return cause.message() == "llm failed" ? Verdict{Action::abort, true} : Verdict{};
    }
  };
  const std::vector<std::pair<std::string, Classifier>> forms{
      {"lambda over const E&", [](const LlmError& e) { return e.verdict(); }},
      {"lambda over E", [](LlmError e) { return e.verdict(); }},  // NOLINT(performance-unnecessary-value-param)
      {"member function", &LlmError::verdict},
      {"lambda over const Cause&", [](const Cause& cause) { return Judge::of_cause(cause); }},
      {"function", &Judge::of_cause},
      {"std::function", std::function<Verdict(const Cause&)>(&Judge::of_cause)},
  };
  for (const auto& [name, classify] : forms) {
    CAPTURE(name);
    CHECK(classify(thrown(LlmError(false))) == Verdict{Action::abort, true});
    CHECK(classify(Cause::of(LlmError(false))) == Verdict{Action::abort, true});
    CHECK(classify(thrown(std::runtime_error("other"))) == Verdict{});
    CHECK(classify(Cause::timed_out()) == Verdict{});
  }
  const Classifier data = &LlmError::advice;
  CHECK(data(thrown(LlmError(true))) == Verdict{Action::next_step, false});
  CHECK(data(thrown(1)) == Verdict{Action::retry, false});
}

TEST_CASE("a predicate that is not given is told apart from one that is", "[predicate]") {
  CHECK_FALSE(Predicate());
  CHECK_FALSE(Classifier());
  CHECK(Predicate([](const Cause&) { return false; }));
}

TEST_CASE("a predicate names the type that it asks about", "[predicate]") {
  const auto named = [](const Predicate& predicate) {
    std::vector<planb::detail::TypeId> types;
    for (std::size_t i = 0; i != predicate.named().count; ++i) types.push_back(predicate.named().first[i]->type);
    return types;
  };
  for (const Form& form : error_forms()) {
    CAPTURE(form.name);
    REQUIRE(named(form.predicate).size() == 1);
    CHECK(planb::detail::same_type(named(form.predicate)[0], planb::detail::type_id<LlmError>()));
  }
  for (const Form& form : cause_forms()) CHECK(named(form.predicate).empty());
  CHECK(named(Predicate()).empty());
}

TEST_CASE("an overload set may list the types that it asks about", "[predicate]") {
  struct Listing {
    static planb::detail::NamedErrors named_errors() {
      return {planb::detail::error_ops_of<LlmError, Unrelated>, 2};
    }
    bool operator()(const Cause& cause) const { return cause.get_if<LlmError>() != nullptr; }
  };
  const Predicate predicate = Listing{};
  CHECK(predicate.named().count == 2);
  CHECK(predicate(thrown(LlmError(true))));
}

TEST_CASE("the same predicates are copied with the plan, and shared by its runs", "[predicate]") {
  struct Counting {
    std::shared_ptr<int> copies = std::make_shared<int>(0);
    int asked_through = 0;

    Counting() = default;
    Counting(const Counting& other) : copies(other.copies) { ++*copies; }
    Counting(Counting&&) noexcept = default;
    Counting& operator=(const Counting&) = delete;
    bool operator()(const Cause&) const { return true; }
  };
  const Counting counting;
  const ExecutionPlan<int> plan{{.provide = 1, .attempts = 3, .retry_while = counting}};
  const int made = *counting.copies;
  CHECK(made >= 1);
  const ExecutionPlan<int> copy = plan;
  for (int run = 0; run != 3; ++run) {
    CHECK_FALSE(try_run_with_plan(copy, [](int&) { throw LlmError(true); }));
  }
  CHECK(*counting.copies == made);
}

TEST_CASE("a predicate over a std::exception_ptr is asked about every error", "[predicate]") {
  const auto says_again = [](const std::exception_ptr& e) {
    try {
      std::rethrow_exception(e);
    } catch (const LlmError& error) {
      return error.retryable();
    } catch (...) {
      return true;
    }
  };
  const Predicate predicate = says_again;
  CHECK(predicate(Cause::of(LlmError(true))));
  CHECK_FALSE(predicate(Cause::of(LlmError(false))));
  CHECK_FALSE(predicate(Cause::of(std::make_exception_ptr(LlmError(false)))));
  CHECK(predicate(Cause::of(std::make_exception_ptr(1))));
  CHECK(predicate.named().count == 0);
  int calls = 0;
  const ExecutionPlan<int> plan{{.provide = 1, .attempts = 3, .retry_while = says_again}};
  CHECK_FALSE(try_run_with_plan(plan, [&](int&) -> int { throw LlmError(++calls < 2); }));
  CHECK(calls == 2);
}

TEST_CASE("in a plan, each form of retry_while decides how often a step is tried", "[predicate]") {
  const auto calls = [](const Predicate& predicate, bool again) {
    int count = 0;
    const ExecutionPlan<int> plan{{.provide = 1, .attempts = 4, .retry_while = predicate}};
    CHECK_FALSE(try_run_with_plan(plan, [&](int&) {
      ++count;
      throw LlmError(again);
    }));
    return count;
  };
  for (const Form& form : error_forms()) {
    CAPTURE(form.name);
    CHECK(calls(form.predicate, true) == 4);
    CHECK(calls(form.predicate, false) == 1);
  }
  for (const Form& form : cause_forms()) {
    CAPTURE(form.name);
    CHECK(calls(form.predicate, false) == 4);
  }
}
