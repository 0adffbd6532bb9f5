// SPDX-License-Identifier: MIT
// The definitions of leaves.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/schedule/detail/leaves.hpp>

#include <algorithm>
#include <limits>

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL Duration Stopwatch::elapsed(TimePoint now) noexcept {
  if (!started) {
    start = now;
    started = true;
  }
  return (std::max)(between(start, now), Duration::zero());
}

PLANB_DECL ScheduleInput InputState::input(const ScheduleAsk& ask) noexcept {
  if (attempt < (std::numeric_limits<int>::max)()) ++attempt;
  return {attempt, watch.elapsed(ask.now), previous_delay, ask.now, ask.cause};
}

}  // namespace planb::inline PLANB_ABI::detail
