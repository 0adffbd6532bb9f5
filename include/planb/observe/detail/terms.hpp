// SPDX-License-Identifier: MIT
// What explain() knows of a run, and of a step in it.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/time/clock.hpp>

#include <optional>

namespace planb::inline PLANB_ABI::detail {

struct RunTerms {
  std::optional<Duration> budget = std::nullopt;
  StepEntry entry = StepEntry::immediate;
  std::optional<PartialStream> partial = std::nullopt;  // of a stream
  bool known = false;                                   // the options were given

  [[nodiscard]] bool stream() const noexcept { return partial.has_value(); }
};

// The time that the budget may leave to a step at most; without a budget, everything.
[[nodiscard]] inline Duration share_of(const RunTerms& terms, const StepPolicy& step) noexcept {
  return terms.budget ? add(*terms.budget, -step.reserved_after) : (Duration::max)();
}

struct ExplainedStep {
  const StepPolicy& step;
  int index;
  Duration reserve;
  Duration share;

  // Whether the schedule may be asked, and the predicate decide, before the step's first attempt.
  [[nodiscard]] bool asked_at_entry(const RunTerms& terms) const noexcept {
    return terms.entry == StepEntry::scheduled && index != 0;
  }
};

}  // namespace planb::inline PLANB_ABI::detail
