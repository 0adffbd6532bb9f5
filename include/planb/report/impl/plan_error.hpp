// SPDX-License-Identifier: MIT
// The definitions of plan_error.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/report/plan_error.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <typeinfo>
#include <utility>

namespace planb::inline PLANB_ABI {

PLANB_COLD PLANB_DECL PlanError::PlanError(RunReport report)
    : state_(std::make_shared<const State>(std::move(report))) {}

PLANB_DECL const char* PlanError::what() const noexcept { return state_->text.c_str(); }

PLANB_DECL const Cause* PlanError::carried() const noexcept { return state_->report.last_cause(); }

}  // namespace planb::inline PLANB_ABI

namespace planb::inline PLANB_ABI::detail {

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
// What a callback threw, with the error that is being handled nested.
template <class E>
class PLANB_VISIBLE RuleError final : public E, public std::nested_exception {
 public:
  explicit RuleError(const E& error) : E(error) {}
};

// Returns where `thrown` is no E, but perhaps of a type that nobody here can derive from.
template <class E>
void throw_nesting_current(const std::exception& thrown) {
  if (typeid(thrown) == typeid(E)) throw RuleError<E>(static_cast<const E&>(thrown));
}
#endif

PLANB_COLD PLANB_DECL void throw_rule_error(const Cause& rule, [[maybe_unused]] const Cause* own) {
#if PLANB_HAS_RTTI
  if (own != nullptr && CauseAccess::tells(*own) && own->exception() != rule.exception()) {
    try {
      rule.rethrow();
    } catch (const std::exception& thrown) {  // of its own type, also where what a Cause holds is a copy of the base
      try {
        own->rethrow();
      } catch (...) {
        throw_nesting_current<std::runtime_error>(thrown);
        throw_nesting_current<std::logic_error>(thrown);
        throw_nesting_current<std::invalid_argument>(thrown);
        throw_nesting_current<std::out_of_range>(thrown);
      }
    }
  }
#endif
  rule.rethrow();
}

#endif

PLANB_COLD PLANB_DECL void throw_plan_error(const PlanError& error) {
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

}  // namespace planb::inline PLANB_ABI::detail
