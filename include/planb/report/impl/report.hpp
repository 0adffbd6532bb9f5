// SPDX-License-Identifier: MIT
// The definitions of report.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/error_traits.hpp>
#include <planb/report/detail/text.hpp>
#include <planb/report/report.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace planb::inline PLANB_ABI {

PLANB_COLD PLANB_DECL std::string RunReport::answered_by() const {
  if (!answered_step || steps.empty()) return {};
  return detail::step_label(steps.back().name, *answered_step);
}

PLANB_DECL const Cause* RunReport::last_cause() const& noexcept {
  if (!last_failed) return nullptr;
  const std::optional<Cause>& cause = steps[static_cast<std::size_t>(*last_failed)].cause;
  return cause ? &*cause : nullptr;
}

PLANB_DECL std::optional<Cause> RunReport::last_cause() const&& {
  const Cause* const cause = last_cause();
  return cause != nullptr ? std::optional<Cause>(*cause) : std::nullopt;
}

PLANB_COLD PLANB_DECL std::optional<TimePoint> RunReport::opens_at() const noexcept {
  std::optional<TimePoint> earliest;
  for (const StepReport& step : steps) {
    if (!step.opens_at || *step.opens_at == (TimePoint::max)()) continue;
    if (!earliest || *step.opens_at < *earliest) earliest = step.opens_at;
  }
  return earliest;
}

}  // namespace planb::inline PLANB_ABI

namespace planb::inline PLANB_ABI::detail {

// Why and for how long its gate refuses: "rate limited for 4.2 s".
[[nodiscard]] PLANB_COLD inline std::string closed_text(const StepReport& step) {
  std::string text = gate_text(step.gate_reason.value_or(GateReason::other), step.gate_text);
  if (step.opens_in && step.opens_at) text += open_text(*step.opens_in, *step.opens_at);
  return text;
}

[[nodiscard]] PLANB_COLD inline std::string step_line(const StepReport& step, bool answered) {
  std::string line = step_label(step.name, step.index) + ": ";
  if (step.skipped) {
    return line + "skipped, " +
           (*step.skipped == SkipReason::gate_closed ? closed_text(step) : planb::to_string(*step.skipped));
  }
  if (!step.cause) return line + (answered ? "answered" : "no failure");
  const int failures = answered ? step.attempts - 1 : step.attempts;
  if (answered) line += "answered, after ";
  if (failures != 1) line += detail::number_text(static_cast<long long>(failures)) + " attempts, last ";
  append_clipped(line, describe(*step.cause));
  if (step.alert) line += " (alert)";
  if (answered) return line;
  switch (step.left) {
    case LeaveReason::none:
    case LeaveReason::classified:
    case LeaveReason::attempts_spent:
    case LeaveReason::schedule_ended: break;  // the number of attempts and the error say as much
    case LeaveReason::gate_closed: line += ", " + closed_text(step); break;
    case LeaveReason::not_retryable:
    case LeaveReason::wait_too_long:
    case LeaveReason::out_of_time:
    case LeaveReason::partial_output: line += std::string(", ") + planb::to_string(step.left); break;
  }
  return line;
}

inline constexpr std::size_t report_limit = 2000;

}  // namespace planb::inline PLANB_ABI::detail

namespace planb::inline PLANB_ABI {

PLANB_COLD PLANB_DECL std::optional<TimePoint> RunReport::retry_at() const {
  if (end == RunEnd::succeeded) return std::nullopt;
  constexpr TimePoint unknown = (TimePoint::max)();
  std::optional<TimePoint> earliest;
  for (const StepReport& step : steps) {
    std::optional<TimePoint> ready = step.opens_at;
    if (ready == unknown) ready.reset();
    if (step.cause && step.failed_at) {
      if (const std::optional<Duration> hint = step.cause->retry_after()) {
        const TimePoint hinted = detail::add(*step.failed_at, *hint);
        if (hinted != unknown && (!ready || hinted > *ready)) ready = hinted;
      }
    }
    if (ready && (!earliest || *ready < *earliest)) earliest = ready;
  }
  return earliest;
}

PLANB_COLD PLANB_DECL std::string RunReport::to_string() const {
  std::string text;
  if (end != RunEnd::succeeded) {
    text = std::string("plan ") + planb::to_string(end);
    if (delivered != 0 && end != RunEnd::running) {
      text += " after partial output (" + detail::number_text(static_cast<long long>(delivered)) +
              (delivered == 1 ? " element)" : " elements)");
    }
  }
  const char* separator = end == RunEnd::succeeded ? "" : ": ";
  std::size_t shown = 0;
  for (const StepReport& step : steps) {
    if (text.size() > detail::report_limit) {
      const std::size_t rest = steps.size() - shown;
      text += "; and " + detail::number_text(static_cast<long long>(rest)) + (rest == 1 ? " more step" : " more steps");
      break;
    }
    text += separator + detail::step_line(step, answered_step == step.index);
    separator = "; ";
    ++shown;
  }
  if (rule_error) {
    text += std::string(separator) + "a rule of the plan threw: ";
    detail::append_clipped(text, detail::describe(*rule_error));
  }
  return text;
}

}  // namespace planb::inline PLANB_ABI
