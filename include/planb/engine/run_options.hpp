// SPDX-License-Identifier: MIT
// RunOptions: what one run is given besides its plan.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/report/event.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/optional_duration.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI {

// How a step after the first is entered.
enum class StepEntry : unsigned char {
  immediate,  // at once; its schedule and predicate see only its own failures
  scheduled,  // as Effect 4.1.0 does: its predicate and its schedule are asked with the previous step's error before
              // its first attempt, so the one can decline the entry and the other delays it
};

// What a run throws that was exhausted or aborted.
enum class FailureStyle : unsigned char {
  aggregate,  // PlanExhausted or PlanAborted: every step with its last error
  original,   // the last error, unchanged
};

[[nodiscard]] constexpr std::string_view to_label(StepEntry value) noexcept {
  switch (value) {
    case StepEntry::immediate: return "immediate";
    case StepEntry::scheduled: return "scheduled";
  }
  return {};
}

[[nodiscard]] constexpr std::string_view to_label(FailureStyle value) noexcept {
  switch (value) {
    case FailureStyle::aggregate: return "aggregate";
    case FailureStyle::original: return "original";
  }
  return {};
}

// May be shared between runs and threads where its handler may.
struct RunOptions {
  EventHandler on_event = {};
  OptionalDuration budget = std::nullopt;  // the time for the whole run; its end is DeadlineExceeded. The longest
                                           // Duration is none
  StopToken stop = {};
  Clock* clock = nullptr;  // null: SteadyClock
  StepEntry entry = StepEntry::immediate;
  std::optional<FailureStyle> failure = std::nullopt;  // none: aggregate for a plan, original for retry()
  std::optional<std::uint64_t> seed = std::nullopt;    // of the jitter; none: every run draws another sequence
  std::string label = {};                              // the id of a request, say: in every event and in the report
};

}  // namespace planb::inline PLANB_ABI
