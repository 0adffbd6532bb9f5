// RunReport: who answered, and for every step that the run came to, what became of it.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/inline_vector.hpp>
#include <planb/error/cause.hpp>
#include <planb/gate/reason.hpp>
#include <planb/report/detail/text.hpp>
#include <planb/report/reasons.hpp>
#include <planb/time/clock.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace planb::inline PLANB_ABI {

// What became of one step.
struct StepReport {
  std::string name;
  int attempts = 0;
  std::optional<Cause> cause = std::nullopt;  // the last failure in this step
  std::optional<SkipReason> skipped = std::nullopt;  // why it was passed over without an attempt
  LeaveReason left = LeaveReason::none;  // why it was left after its last failure
  bool alert = false;                 // a classifier raised an alert over one of its failures
  int index = 0;                      // its place in the plan
  std::optional<TimePoint> opens_at = std::nullopt;  // of a closed gate: when it may be tried again; max(): not known
  std::optional<Duration> opens_in = std::nullopt;  // the same, from the moment when it was found closed
  // What a classifier or an acceptance check made of the last failure, its class included; none: nobody was asked.
  std::optional<Verdict> verdict = std::nullopt;
  // How long its attempts took, and the waits between them and for its gate; none: nobody asked for times.
  std::optional<Duration> attempt_time = std::nullopt;
  std::optional<Duration> wait_time = std::nullopt;
  // Of a closed gate: why it refused, in its own words where it has some, and its name.
  std::optional<GateReason> gate_reason = std::nullopt;
  std::string gate_text = {};
  std::string gate = {};
};

// Steps in the order of the plan, up to the last one that the run came to. Memory is bounded by the number of steps.
struct RunReport {
  RunEnd end = RunEnd::succeeded;
  int attempts = 0;                  // in all steps together
  std::size_t delivered = 0;         // of a stream: how many elements the consumer got
  std::optional<int> answered_step = std::nullopt;  // the index in the plan of the step that answered
  // A contiguous container with room for one step in place: a run that succeeds at once allocates nothing for it.
  detail::InlineVector<StepReport, 1> steps = {};
  std::optional<int> last_failed = std::nullopt;  // the position in `steps` of the step that failed last
  std::optional<Cause> rule_error =
      std::nullopt;  // what a predicate, classifier, schedule or guard threw, where that ended the run
  std::string label = {};  // RunOptions::label
  // When the run began and how long it has taken; none: nobody asked for times.
  std::optional<TimePoint> started_at = std::nullopt;
  std::optional<Duration> duration = std::nullopt;

  // The name of the step that answered, or "step N" where it has none; empty where none answered.
  [[nodiscard]] std::string answered_by() const {
    if (!answered_step || steps.empty()) return {};
    return detail::step_label(steps.back().name, *answered_step);
  }

  // The last failure of the run, or null. Of a temporary report: a copy, or nothing.
  [[nodiscard]] const Cause* last_cause() const& noexcept {
    if (!last_failed) return nullptr;
    const std::optional<Cause>& cause = steps[static_cast<std::size_t>(*last_failed)].cause;
    return cause ? &*cause : nullptr;
  }
  [[nodiscard]] std::optional<Cause> last_cause() const&& {
    const Cause* const cause = last_cause();
    return cause != nullptr ? std::optional<Cause>(*cause) : std::nullopt;
  }

  // The earliest time at which a gate may open that was found closed, or that the step's last failure has shut; where
  // it is known.
  [[nodiscard]] std::optional<TimePoint> opens_at() const noexcept {
    std::optional<TimePoint> earliest;
    for (const StepReport& step : steps) {
      if (!step.opens_at || *step.opens_at == (TimePoint::max)()) continue;
      if (!earliest || *step.opens_at < *earliest) earliest = step.opens_at;
    }
    return earliest;
  }

  // One entry for each step, of bounded length in all, such as
  //   plan exhausted: alpha: 2 attempts, last 503 service unavailable; beta: skipped, circuit open for 4.2 s
  // A stream that failed after output says "plan exhausted after partial output (3 elements): ...".
  [[nodiscard]] std::string to_string() const;
};

namespace detail {

// Why and for how long its gate refuses: "rate limited for 4.2 s".
[[nodiscard]] inline std::string closed_text(const StepReport& step) {
  std::string text = gate_text(step.gate_reason.value_or(GateReason::other), step.gate_text);
  if (step.opens_in && step.opens_at) text += open_text(*step.opens_in, *step.opens_at);
  return text;
}

[[nodiscard]] inline std::string step_line(const StepReport& step, bool answered) {
  std::string line = step_label(step.name, step.index) + ": ";
  if (step.skipped) {
    return line + "skipped, " +
           (*step.skipped == SkipReason::gate_closed ? closed_text(step) : planb::to_string(*step.skipped));
  }
  if (!step.cause) return line + (answered ? "answered" : "no failure");
  const int failures = answered ? step.attempts - 1 : step.attempts;
  if (answered) line += "answered, after ";
  if (failures != 1) line += std::to_string(failures) + " attempts, last ";
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

}  // namespace detail

inline std::string RunReport::to_string() const {
  std::string text;
  if (end != RunEnd::succeeded) {
    text = std::string("plan ") + planb::to_string(end);
    if (delivered != 0 && end != RunEnd::running) {
      text += " after partial output (" + std::to_string(delivered) + (delivered == 1 ? " element)" : " elements)");
    }
  }
  const char* separator = end == RunEnd::succeeded ? "" : ": ";
  std::size_t shown = 0;
  for (const StepReport& step : steps) {
    if (text.size() > detail::report_limit) {
      const std::size_t rest = steps.size() - shown;
      text += "; and " + std::to_string(rest) + (rest == 1 ? " more step" : " more steps");
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
