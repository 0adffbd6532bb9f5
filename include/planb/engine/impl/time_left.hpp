// SPDX-License-Identifier: MIT
// The engine's time: its clock, what the budget leaves, the end of an attempt, and what may come between two elements
// of a stream.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/error/detail/call_user.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/report/event.hpp>
#include <planb/time/clock.hpp>

#include <exception>
#include <optional>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// --- Between two elements of a stream --------------------------------------------------------------------------------

// A stop and the budget end the attempt, and the silence that a timeout bounds is the source's alone.
PLANB_DECL bool Engine::watch(bool source_has_the_floor) {
  if (stopped()) return false;
  Now now(*this);
  if (out_of_budget(now)) return false;
  const std::optional<Duration>& timeout = policy().timeout;
  // After output no other step may need the time that is reserved for it.
  const bool all_of_it = has_budget_ && attempt_end_ != budget_end_ && fallback_prevented();
  // Until the first output its deadline stands, whatever comes before, and ends the attempt; then the silence counts.
  if (first_due_ && source_has_the_floor) return !time_was_up(now) && !clock_threw();
  const bool was_first = std::exchange(first_due_, false);
  if (timeout || all_of_it || was_first) {
    if (all_of_it) attempt_end_ = budget_end_;
    [[maybe_unused]] const TimePoint due =
        limit_attempt(timeout && source_has_the_floor ? add(now(), *timeout) : no_deadline);
#if PLANB_HAS_STOP_TOKEN
    if (site_.own_stop != nullptr) move_own_stop(due);
#endif
  }
  if (clock_threw()) return false;  // the attempt's end lets that out
  return source_has_the_floor || !output_due_ || notify_first_output(now);
}

// --- Time ------------------------------------------------------------------------------------------------------------

PLANB_DECL Duration Engine::time_left(Now& now) const {
  if (!has_budget_) return (Duration::max)();
  return add(between(now(), budget_end_), -policy().reserved_after);
}

// The running attempt ends with its share of the budget, or with the step's timeout where that is over no later.
PLANB_DECL TimePoint Engine::limit_attempt(TimePoint timeout_end) noexcept {
  budget_ends_first_ = attempt_end_ < timeout_end;
  const TimePoint due = budget_ends_first_ ? attempt_end_ : timeout_end;
  set_deadline(due);
  return due;
}

// Whether an attempt that fails now failed for lack of time: its own token may have fired before a late element.
PLANB_DECL bool Engine::time_was_up(Now& now) const {
  if (deadline() != no_deadline && now() >= deadline()) return true;
#if PLANB_HAS_STOP_TOKEN
  return site_.own_stop != nullptr && site_.own_stop->token().stop_requested();
#else
  return false;
#endif
}

PLANB_DECL TimePoint Engine::read_clock() {
  detail::call_user([this] { latest_ = clock().now(); }, [this] { keep_clock_error(); });
  if (timed_ && began_ == no_deadline) began_ = latest_;
  return latest_;
}

// Within a handler.
PLANB_COLD PLANB_DECL void Engine::keep_clock_error() noexcept {
#if PLANB_HAS_EXCEPTIONS
  clock_error_ = std::current_exception();
#endif
}

#if PLANB_HAS_STOP_TOKEN
// A timer is the clock's, too.
PLANB_COLD PLANB_DECL void Engine::move_own_stop(TimePoint due) {
  detail::call_user([&] { site_.own_stop->move_to(clock(), due); }, [this] { keep_clock_error(); });
}
#endif

#if PLANB_HAS_EXCEPTIONS
PLANB_COLD PLANB_DECL void Engine::leave_with_clock_error() {
  finish(RunEnd::interrupted);
  permit_.reset();
  std::exception_ptr error = std::exchange(clock_error_, nullptr);
  Now now(*this);
  finish_if_over(now);
  std::rethrow_exception(error);
}
#endif

}  // namespace planb::inline PLANB_ABI::detail
