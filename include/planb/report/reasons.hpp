// SPDX-License-Identifier: MIT
// How a run ends, and why a step is passed over or left.
#pragma once

#include <planb/detail/config.hpp>

#include <string_view>

namespace planb::inline PLANB_ABI {

// How a run ended.
enum class RunEnd : unsigned char {
  running,      // it has not
  succeeded,
  exhausted,    // no step left
  aborted,      // a classifier said so, or a callback of the plan threw
  deadline,     // the budget is gone, or no step was left for lack of time
  interrupted,  // a stop was requested
  defect,       // a Defect was thrown
};

// Why a step was passed over without an attempt.
enum class SkipReason : unsigned char {
  declined,     // its enter_when (in scheduled entry: its predicate or schedule) did not accept the cause before it
  gate_closed,  // its gate refused
  out_of_time,  // the reserves of later steps left it no time
};

// Why a step was left, or the run ended, after a failed attempt.
enum class LeaveReason : unsigned char {
  none,
  classified,      // the classifier sent the error on
  not_retryable,   // retry_while said no
  attempts_spent,  // all attempts of the step are used up
  schedule_ended,
  wait_too_long,   // longer than max_wait, or a wait hint above a minute without one
  out_of_time,     // the wait would not end within the time left to the step
  gate_closed,     // the step's gate refuses further attempts
  partial_output,  // of a stream: StreamOptions::partial allows no further attempt after output
};

[[nodiscard]] constexpr const char* to_string(RunEnd end) noexcept {
  switch (end) {
    case RunEnd::running: return "running";
    case RunEnd::succeeded: return "succeeded";
    case RunEnd::exhausted: return "exhausted";
    case RunEnd::aborted: return "aborted";
    case RunEnd::deadline: return "deadline exceeded";
    case RunEnd::interrupted: return "interrupted";
    case RunEnd::defect: return "defect";
  }
  return "unknown";
}

[[nodiscard]] constexpr const char* to_string(SkipReason reason) noexcept {
  switch (reason) {
    case SkipReason::declined: return "declined";
    case SkipReason::gate_closed: return "gate closed";
    case SkipReason::out_of_time: return "out of time";
  }
  return "unknown";
}

[[nodiscard]] constexpr const char* to_string(LeaveReason reason) noexcept {
  switch (reason) {
    case LeaveReason::none: return "none";
    case LeaveReason::classified: return "not worth retrying here";
    case LeaveReason::not_retryable: return "not worth retrying";
    case LeaveReason::attempts_spent: return "attempts used up";
    case LeaveReason::schedule_ended: return "schedule ended";
    case LeaveReason::wait_too_long: return "wait too long";
    case LeaveReason::out_of_time: return "out of time";
    case LeaveReason::gate_closed: return "gate closed";
    case LeaveReason::partial_output: return "after partial output";
  }
  return "unknown";
}

// One word for each value, for metrics, logs and settings. See parse_label.
[[nodiscard]] constexpr std::string_view to_label(RunEnd value) noexcept {
  switch (value) {
    case RunEnd::running: return "running";
    case RunEnd::succeeded: return "succeeded";
    case RunEnd::exhausted: return "exhausted";
    case RunEnd::aborted: return "aborted";
    case RunEnd::deadline: return "deadline";
    case RunEnd::interrupted: return "interrupted";
    case RunEnd::defect: return "defect";
  }
  return {};
}

[[nodiscard]] constexpr std::string_view to_label(SkipReason value) noexcept {
  switch (value) {
    case SkipReason::declined: return "declined";
    case SkipReason::gate_closed: return "gate_closed";
    case SkipReason::out_of_time: return "out_of_time";
  }
  return {};
}

[[nodiscard]] constexpr std::string_view to_label(LeaveReason value) noexcept {
  switch (value) {
    case LeaveReason::none: return "none";
    case LeaveReason::classified: return "classified";
    case LeaveReason::not_retryable: return "not_retryable";
    case LeaveReason::attempts_spent: return "attempts_spent";
    case LeaveReason::schedule_ended: return "schedule_ended";
    case LeaveReason::wait_too_long: return "wait_too_long";
    case LeaveReason::out_of_time: return "out_of_time";
    case LeaveReason::gate_closed: return "gate_closed";
    case LeaveReason::partial_output: return "partial_output";
  }
  return {};
}

namespace detail {

// Whether the reason is more than what everybody takes for granted of a step that is left.
[[nodiscard]] constexpr bool says_more(LeaveReason reason) noexcept {
  switch (reason) {
    case LeaveReason::none:
    case LeaveReason::classified:
    case LeaveReason::not_retryable:
    case LeaveReason::attempts_spent: return false;
    case LeaveReason::schedule_ended:
    case LeaveReason::wait_too_long:
    case LeaveReason::out_of_time:
    case LeaveReason::gate_closed:
    case LeaveReason::partial_output: return true;
  }
  return false;
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
