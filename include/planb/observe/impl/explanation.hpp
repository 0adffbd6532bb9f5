// SPDX-License-Identifier: MIT
// The definitions of explanation.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/observe/detail/counted.hpp>
#include <planb/observe/explanation.hpp>
#include <planb/report/detail/text.hpp>
#include <planb/time/clock.hpp>

#include <string>

namespace planb::inline PLANB_ABI {

PLANB_DECL const char* to_string(FindingKind kind) noexcept {
  switch (kind) {
    case FindingKind::never_entered: return "never entered";
    case FindingKind::no_budget: return "no budget";
    case FindingKind::reserves_above_budget: return "reserves above the budget";
    case FindingKind::timeout_above_budget: return "timeout above the budget";
    case FindingKind::first_timeout_above_budget: return "first_timeout above the budget";
    case FindingKind::wait_above_max_wait: return "wait above max_wait";
    case FindingKind::wait_above_budget: return "wait above the budget";
    case FindingKind::schedule_ends_early: return "schedule ends early";
    case FindingKind::schedule_unused: return "schedule unused";
    case FindingKind::retry_while_unused: return "retry_while unused";
    case FindingKind::max_wait_unused: return "max_wait unused";
    case FindingKind::reserve_unused: return "reserve unused";
    case FindingKind::first_timeout_unused: return "first_timeout unused";
  }
  return "unknown";
}

namespace detail {

[[nodiscard]] inline std::string worst_words(const WorstCase& worst) {
  std::string text = worst.calls ? detail::counted(*worst.calls, "call") : "calls without bound";
  if (worst.waits != Duration()) {
    text +=
        worst.waits ? ", " + detail::duration_text(*worst.waits) + " of waits" : std::string(", waits without bound");
  }
  return text + (worst.time ? ", " + detail::duration_text(*worst.time) + " in all" : ", time without bound");
}

}  // namespace detail

PLANB_DECL std::string to_string(const Explanation& explanation) {
  std::string text = explanation.text + "\nat worst " + detail::worst_words(explanation.worst) + "\n";
  for (const StepExplanation& step : explanation.steps) {
    const std::string label = detail::step_label(step.name, step.index);
    text += "  " + label + ": " + step.text + "\n  " + std::string(label.size() + 2, ' ');
    text += step.reachable ? "at worst " + detail::worst_words(step.worst) + "\n" : "never entered\n";
  }
  if (explanation.findings.empty()) return text;
  text += "cannot work as written\n";
  for (const Finding& finding : explanation.findings) {
    text += "  ";
    if (finding.step) text += detail::step_label(finding.step_name, *finding.step) + ": ";
    text += finding.text + "\n";
  }
  return text;
}

}  // namespace planb::inline PLANB_ABI
