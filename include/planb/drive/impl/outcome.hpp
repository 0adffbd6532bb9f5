// SPDX-License-Identifier: MIT
// The definitions of outcome.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/drive/detail/outcome.hpp>

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL bool leaves_with_own_error(const Engine& run, FailureStyle otherwise) {
  const RunEnd end = run.end();
  return end == RunEnd::defect || ((end == RunEnd::exhausted || end == RunEnd::aborted) &&
                                   run.options().failure().value_or(otherwise) == FailureStyle::original);
}

PLANB_COLD PLANB_DECL void throw_failure(Engine& run, [[maybe_unused]] FailureStyle otherwise) {
#if PLANB_HAS_EXCEPTIONS
  if (detail::leaves_with_own_error(run, otherwise)) {
    if (run.callback_error() != nullptr) detail::throw_rule_error(*run.callback_error(), run.last_cause());
    if (Cause* const cause = run.last_cause(); cause != nullptr) cause->rethrow();
  }
#endif
  detail::throw_plan_error(PlanError(run.report()));
}

}  // namespace planb::inline PLANB_ABI::detail
