// SPDX-License-Identifier: MIT
// RunReport: who answered, and for every step that the run came to, what became of it.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/inline_vector.hpp>
#include <planb/error/cause.hpp>
#include <planb/gate/reason.hpp>
#include <planb/report/reasons.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/duration.hpp>

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
  std::optional<TimePoint> failed_at = std::nullopt;  // when its last failure was seen; none: nobody read a clock
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
  [[nodiscard]] std::string answered_by() const;

  // Whether a step after the plan's first has answered, whatever became of the first: it failed, or was passed over.
  [[nodiscard]] bool fell_back() const noexcept { return answered_step.value_or(0) > 0; }

  // The earliest time at which it makes sense for the caller to ask again: the first step's that is ready again. A step
  // is ready when its closed gate opens and the wait hint of its last failure, counted from that failure, is over.
  // None where the run has succeeded, or nothing is known of any step: then it is the caller's to choose.
  [[nodiscard]] std::optional<TimePoint> retry_at() const;

  // The last failure of the run, or null. Of a temporary report: a copy, or nothing.
  [[nodiscard]] const Cause* last_cause() const& noexcept;
  [[nodiscard]] std::optional<Cause> last_cause() const&&;

  // The earliest time at which a gate may open that was found closed, or that the step's last failure has shut; where
  // it is known.
  [[nodiscard]] std::optional<TimePoint> opens_at() const noexcept;

  // One entry for each step, of bounded length in all, such as
  //   plan exhausted: alpha: 2 attempts, last 503 service unavailable; beta: skipped, circuit open for 4.2 s
  // A stream that failed after output says "plan exhausted after partial output (3 elements): ...".
  [[nodiscard]] std::string to_string() const;
};

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/report/impl/report.hpp>  // IWYU pragma: export
#endif
