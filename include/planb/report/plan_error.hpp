// What a run throws when it fails: one type for each end, all with the report.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/report/report.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <utility>

namespace planb::inline PLANB_ABI {

// Base of the four below. What a run throws also derives from std::nested_exception, holding the last error, where an
// attempt failed or a rule of the plan threw. Copying does not throw.
class PLANB_VISIBLE PlanError : public detail::CauseCarrier {
 public:
  explicit PlanError(RunReport report) : state_(std::make_shared<const State>(std::move(report))) {}
  PlanError(const PlanError&) noexcept = default;  // and no move: a moved-from error could say nothing
  PlanError& operator=(const PlanError&) noexcept = default;
  ~PlanError() override = default;

  [[nodiscard]] RunEnd end() const noexcept { return state_->report.end; }
  // Of a temporary error: a copy.
  [[nodiscard]] const RunReport& report() const& noexcept { return state_->report; }
  [[nodiscard]] RunReport report() const&& { return state_->report; }

  // report().to_string()
  [[nodiscard]] const char* what() const noexcept override { return state_->text.c_str(); }

 private:
  struct State {
    explicit State(RunReport&& r) : report(std::move(r)), text(report.to_string()) {}

    RunReport report;
    std::string text;
  };

  // What a plan around this one reads through it.
  [[nodiscard]] const Cause* carried() const noexcept final { return state_->report.last_cause(); }

  std::shared_ptr<const State> state_;
};

// No step is left.
class PLANB_VISIBLE PlanExhausted : public PlanError {
 public:
  explicit PlanExhausted(const PlanError& error) noexcept : PlanError(error) {}
};

// A classifier said abort, or a rule of the caller's threw.
class PLANB_VISIBLE PlanAborted : public PlanError {
 public:
  explicit PlanAborted(const PlanError& error) noexcept : PlanError(error) {}
};

// The budget is gone, or no step was left for lack of time.
class PLANB_VISIBLE DeadlineExceeded : public PlanError {
 public:
  explicit DeadlineExceeded(const PlanError& error) noexcept : PlanError(error) {}
};

// The caller asked to stop.
class PLANB_VISIBLE PlanInterrupted : public PlanError {
 public:
  explicit PlanInterrupted(const PlanError& error) noexcept : PlanError(error) {}
};

namespace detail {

#if PLANB_HAS_EXCEPTIONS
template <class E>
class PLANB_VISIBLE Nesting final : public E, public std::nested_exception {
 public:
  explicit Nesting(const PlanError& error) : E(error) {}  // nests the exception that is being handled
};

template <class E>
[[noreturn]] void throw_nesting(const PlanError& error, const Cause* cause) {
  if (cause != nullptr && CauseAccess::tells(*cause)) {
    try {
      cause->rethrow();
    } catch (...) {
      throw Nesting<E>(error);
    }
  }
  throw E(error);  // not a nested_exception: that would capture an unrelated exception of the caller's
}

#if PLANB_HAS_RTTI
// What a rule threw, with the error that is being handled nested.
template <class E>
class PLANB_VISIBLE RuleError final : public E, public std::nested_exception {
 public:
  explicit RuleError(const E& error) : E(error) {}
};

// Returns where `thrown` is none of these, but of a type that nobody here can derive from.
template <class... E>
void throw_nesting_current(const std::exception& thrown) {
  const auto is = [&]<class T>(const T*) {
    if (typeid(thrown) == typeid(T)) throw RuleError<T>(static_cast<const T&>(thrown));
  };
  (is(static_cast<const E*>(nullptr)), ...);
}
#endif

// Throws what a rule of the plan threw, as itself. The attempt's own error is not lost where it can be nested in that:
// in the standard library's common exceptions.
[[noreturn]] PLANB_COLD inline void throw_rule_error(const Cause& rule, [[maybe_unused]] const Cause* own) {
#if PLANB_HAS_RTTI
  const std::exception* const thrown = rule.get_if<std::exception>();
  if (thrown != nullptr && own != nullptr && CauseAccess::tells(*own) && own->exception() != rule.exception()) {
    try {
      own->rethrow();
    } catch (...) {
      throw_nesting_current<std::runtime_error, std::logic_error, std::invalid_argument, std::out_of_range>(*thrown);
    }
  }
#endif
  rule.rethrow();
}
#endif

// Throws the error as the type that its end says, with the last error nested. Ends the program without exceptions.
[[noreturn]] PLANB_COLD inline void throw_plan_error(const PlanError& error) {
#if PLANB_HAS_EXCEPTIONS
  const RunReport& report = error.report();
  const Cause* const cause = report.rule_error ? &*report.rule_error : report.last_cause();
  switch (error.end()) {
    case RunEnd::aborted: throw_nesting<PlanAborted>(error, cause);
    case RunEnd::deadline: throw_nesting<DeadlineExceeded>(error, cause);
    case RunEnd::interrupted: throw_nesting<PlanInterrupted>(error, cause);
    case RunEnd::running:
    case RunEnd::succeeded:
    case RunEnd::exhausted:
    case RunEnd::defect: break;
  }
  throw_nesting<PlanExhausted>(error, cause);
#else
  std::fprintf(stderr, "planb: %s\n", error.what());
  std::abort();
#endif
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
