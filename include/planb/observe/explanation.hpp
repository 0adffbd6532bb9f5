// SPDX-License-Identifier: MIT
// Explanation: what explain() says, as data and as text.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/report/detail/text.hpp>
#include <planb/time/clock.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace planb::inline PLANB_ABI {

// What cannot work as it is written.
enum class FindingKind : unsigned char {
  never_entered,          // the step gets no attempt, whatever happens
  no_budget,              // the run's budget is zero or less: it is over before its first attempt
  reserves_above_budget,  // the budget cannot give what steps reserve
  timeout_above_budget,   // the timeout never ends an attempt: the step's share of the budget ends it before
  wait_above_max_wait,    // a wait of the schedule's that `max_wait` forbids: further attempts are never made
  wait_above_budget,      // a wait of the schedule's that the budget has no room for: the same
  schedule_ends_early,    // the schedule ends before `attempts` are made, or before there is any retry
  schedule_unused,        // it is never asked
  retry_while_unused,     // its answer changes nothing
  max_wait_unused,        // there is no wait that it could forbid
  reserve_unused,         // it keeps nothing back
};

// Something that cannot work as it is written, whatever the providers do.
struct Finding {
  FindingKind kind = FindingKind::never_entered;
  std::optional<int> step = std::nullopt;  // the index of the step that it is about; none: the whole run
  std::string step_name = {};
  std::string text = {};  // what is wrong, and what to do about it
};

// Never exceeded where attempts end by their deadlines. None: without bound.
struct WorstCase {
  std::optional<long long> calls = 0;          // attempts
  std::optional<Duration> waits = Duration();  // before retries and, in scheduled entry, before the step; together
  std::optional<Duration> time = Duration();   // attempts and waits together
};

struct StepExplanation {
  int index = 0;
  std::string name = {};
  std::string text = {};  // its rules in words
  bool reachable = true;  // false: it gets no attempt, whatever happens
  WorstCase worst = {};   // of this step alone, with all the time that the budget may leave to it
};

struct Explanation {
  std::string text = {};  // the run in words
  WorstCase worst = {};   // of the whole run
  std::vector<StepExplanation> steps = {};
  std::vector<Finding> findings = {};  // of the run, then by step
};

[[nodiscard]] constexpr std::string_view to_label(FindingKind value) noexcept {
  switch (value) {
    case FindingKind::never_entered: return "never_entered";
    case FindingKind::no_budget: return "no_budget";
    case FindingKind::reserves_above_budget: return "reserves_above_budget";
    case FindingKind::timeout_above_budget: return "timeout_above_budget";
    case FindingKind::wait_above_max_wait: return "wait_above_max_wait";
    case FindingKind::wait_above_budget: return "wait_above_budget";
    case FindingKind::schedule_ends_early: return "schedule_ends_early";
    case FindingKind::schedule_unused: return "schedule_unused";
    case FindingKind::retry_while_unused: return "retry_while_unused";
    case FindingKind::max_wait_unused: return "max_wait_unused";
    case FindingKind::reserve_unused: return "reserve_unused";
  }
  return {};
}

[[nodiscard]] const char* to_string(FindingKind kind) noexcept;

// Several lines: the run, each step, and what cannot work as written, if there is such.
[[nodiscard]] std::string to_string(const Explanation& explanation);

inline const char* to_string(FindingKind kind) noexcept {
  switch (kind) {
    case FindingKind::never_entered: return "never entered";
    case FindingKind::no_budget: return "no budget";
    case FindingKind::reserves_above_budget: return "reserves above the budget";
    case FindingKind::timeout_above_budget: return "timeout above the budget";
    case FindingKind::wait_above_max_wait: return "wait above max_wait";
    case FindingKind::wait_above_budget: return "wait above the budget";
    case FindingKind::schedule_ends_early: return "schedule ends early";
    case FindingKind::schedule_unused: return "schedule unused";
    case FindingKind::retry_while_unused: return "retry_while unused";
    case FindingKind::max_wait_unused: return "max_wait unused";
    case FindingKind::reserve_unused: return "reserve unused";
  }
  return "unknown";
}

namespace detail {

[[nodiscard]] inline std::string counted(long long count, const char* one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

[[nodiscard]] inline std::string worst_words(const WorstCase& worst) {
  std::string text = worst.calls ? detail::counted(*worst.calls, "call") : "calls without bound";
  if (worst.waits != Duration()) {
    text +=
        worst.waits ? ", " + detail::duration_text(*worst.waits) + " of waits" : std::string(", waits without bound");
  }
  return text + (worst.time ? ", " + detail::duration_text(*worst.time) + " in all" : ", time without bound");
}

}  // namespace detail

inline std::string to_string(const Explanation& explanation) {
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
