// SPDX-License-Identifier: MIT
// What the engine decides after a failed attempt.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/engine/detail/step_record.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/call_user.hpp>
#include <planb/error/detail/failure_room.hpp>
#include <planb/error/verdict.hpp>
#include <planb/gate/gate.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/report/event.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/time/clock.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL_INLINE bool Engine::fail_quickly(Cause&& cause) {
  state_ = State::deciding;
  remember(std::move(cause));
  delay_ = Duration();
  const auto ask = [this]() PLANB_INLINE_LAMBDA {
    const LeaveReason reason = spent(record_->cause);
    return reason != LeaveReason::none ? reason : heed_hint(record_->cause, delay_);
  };
  const auto caught = [this] {
    end_by_caught_callback();
    return LeaveReason::none;
  };
  const LeaveReason reason = detail::call_user(ask, caught, [this] { finish(RunEnd::interrupted); });
  record_->left = reason;
  if (reason != LeaveReason::none) {
    if (at_last_step()) return finish(RunEnd::exhausted), false;
    go_to_next_step();
    return policy().kind <= StepKind::plain;
  }
  if (delay_ == Duration() && !callback_error_) {
    state_ = State::ready;
    return true;
  }
  wait_or_abort();
  return false;
}

// What else may follow a failure that was decided quickly: the wait that its error asks for, or a callback failed.
PLANB_COLD PLANB_DECL void Engine::wait_or_abort() {
  if (callback_error_) return finish(end_by_callback_error());
  Now now(*this);
  follow({.kind = NextMove::retry}, now);
  leave_if_clock_threw();
}

PLANB_DECL void Engine::fail_and_decide(Cause&& cause, std::optional<Verdict> accepted) {
  Now now(*this);
  if (callback_error_) {  // a gate's defect at the first output
    cause = std::move(*callback_error_);
    callback_error_.reset();
  }
  if (timed_) static_cast<void>(now());  // before its rules, which may take their time
  if (!quiet_ || site_.clock != nullptr) look_at_time(cause, now);
  close_attempt();
  remember(std::move(cause));
  std::optional<Verdict> verdict;
  Move move{.run_end = RunEnd::interrupted};
  if (!clock_threw()) {
    const auto ask = [&] {
      const bool notified = permit_ && notify_permit(now);
      move = decide(verdict, accepted, now);
      if (notified && move.kind != NextMove::retry && !record_->refused) note_opening(now);
    };
    const auto unwound = [&] {
      notify_failure({.run_end = RunEnd::interrupted}, verdict, now);
      finish(RunEnd::interrupted);
    };
    detail::call_user(
        ask, [&] { move = {.run_end = end_by_caught_callback()}; }, unwound);
    if (clock_threw()) move = {.run_end = RunEnd::interrupted};
  }
  if (record_->left == LeaveReason::none) record_->left = move.reason;
  if (verdict) {
    record_->judged = true;
    record_->verdict = *verdict;
    if (verdict->alert) record_->alert = true;
  }
  if (!quiet_) notify_failure(move, verdict, now);
  follow(move, now);
  leave_if_clock_threw();
  finish_if_over(now);
  leave_if_clock_threw();
}

// Out of the way of what is quick.
PLANB_COLD PLANB_DECL void Engine::fail_slowly(FailureRoom& room) {
  struct Empty {
    FailureRoom& room;
    ~Empty() { room.destroy(); }
  } const empty{room};
  Failure& failure = room.get();
  if (failure.callback_error) {
    fail_by_callback(std::move(failure.cause), std::move(*failure.callback_error));
  } else {
    fail(std::move(failure.cause), failure.verdict);
  }
}

PLANB_COLD PLANB_DECL void Engine::fail_by_callback(Cause&& cause, Cause&& error) {
  if (error.kind() == CauseKind::defect) return fail_and_decide(std::move(error), std::nullopt);
  if (callback_error_ || stopped()) return fail_and_decide(std::move(cause), std::nullopt);
  close_attempt();
  permit_.reset();
  Now now(*this);
  remember(std::move(cause));
  const RunEnd end = end_by_callback(std::move(error));
  notify_failure({.run_end = end}, std::nullopt, now);
  finish_after(end);
  leave_if_clock_threw();
  finish_if_over(now);
  leave_if_clock_threw();
}

// A failure after a stop was requested, or after its time, is that.
PLANB_DECL void Engine::look_at_time(Cause& cause, Now& now) const {
  if (cause.kind() == CauseKind::defect) return;
  if (stopped()) {
    CauseAccess::set_kind(cause, CauseKind::interrupted);
  } else if (cause.kind() == CauseKind::error && time_was_up(now)) {
    CauseAccess::set_kind(cause, CauseKind::timeout);
  }
}

// The order of the questions is the contract's: the first that answers wins.
PLANB_DECL Move Engine::decide(std::optional<Verdict>& verdict, std::optional<Verdict> accepted, Now& now) {
  const Cause& cause = record_->cause;
  if (cause.kind() == CauseKind::defect) return {.run_end = RunEnd::defect};
  if (cause.kind() == CauseKind::interrupted) return {.run_end = RunEnd::interrupted};
  if (out_of_budget(now)) return {.run_end = RunEnd::deadline};
  if (accepted) {
    verdict = accepted;
  } else if (policy().classify != nullptr) {
    verdict = (*policy().classify)(cause);
  }
  const Action action = verdict ? verdict->action : Action::retry;
  if (partial_ == PartialStream::prevent_retry && delivered() != 0 && action != Action::abort) {
    return {.reason = LeaveReason::partial_output};
  }
  if (action != Action::retry) return obey(action);
  const LeaveReason reason = objection(now);
  return reason == LeaveReason::none ? Move{.kind = NextMove::retry} : leave(reason);
}

// What a classifier asks for, other than a retry.
PLANB_DECL Move Engine::obey(Action action) noexcept {
  if (action == Action::abort) return {.run_end = RunEnd::aborted};
  if (action == Action::next_guarded) {
    guarded_ = true;
    bool guard_follows = false;
    for (int i = step_ + 1; i != plan_.size; ++i) guard_follows = guard_follows || plan_.steps[i].enter_when != nullptr;
    if (!guard_follows) {
      return {.run_end = RunEnd::aborted};
    }
  }
  return leave(LeaveReason::classified);
}

// Why there is no retry; where there is one, delay_ is set.
PLANB_DECL LeaveReason Engine::objection(Now& now) {
  const Cause& cause = record_->cause;
  const StepPolicy& step = policy();
  if (const LeaveReason reason = spent(cause); reason != LeaveReason::none) return reason;
  delay_ = Duration();
  if (step.schedule != nullptr) {
    const std::optional<Duration> wait = ask_schedule(cause, now);
    if (!wait) return LeaveReason::schedule_ended;
    delay_ = *wait;
  }
  const Duration own = delay_;
  if (const LeaveReason reason = heed_hint(cause, delay_); reason != LeaveReason::none) return reason;
  if (delay_ > own && step.schedule != nullptr) spread_hint(now);
  if (has_budget_ && delay_ >= time_left(now)) return LeaveReason::out_of_time;
  if (step.gate != nullptr) {
    const GateRequest request = next_request(now);
    if (step.gate->opens_at(request) > now()) {
      const GateRefusal refusal = step.gate->refusal(request);
      note_refusal(*record_, refusal, now());
      if (opens_too_late(refusal, delay_, now)) return LeaveReason::gate_closed;
    }
  }
  return LeaveReason::none;
}

// Why the step has no further attempt, or none.
PLANB_INLINE LeaveReason Engine::spent(const Cause& cause) const {
  const StepPolicy& step = policy();
  if (step.classify == nullptr && CauseAccess::may_tell_retryable(cause) && cause.retryable() == false) {
    return LeaveReason::not_retryable;
  }
  if (step.retry_while != nullptr && !(*step.retry_while)(cause)) return LeaveReason::not_retryable;
  if (step.max_attempts != unlimited && record_->attempts >= step.max_attempts) return LeaveReason::attempts_spent;
  return LeaveReason::none;
}

// The same, for the wait before it: what the error asks for where that is longer, if the step allows it.
PLANB_DECL LeaveReason Engine::heed_hint(const Cause& cause, Duration& wait) const {
  constexpr Duration longest_hint = std::chrono::minutes(1);
  const std::optional<Duration>& max_wait = policy().max_wait;
  if (const std::optional<Duration> hint = cause.retry_after(); hint && *hint > wait) {
    wait = *hint;
    if (!max_wait && wait > longest_hint) return LeaveReason::wait_too_long;
  }
  return max_wait && wait > *max_wait ? LeaveReason::wait_too_long : LeaveReason::none;
}

// Where the schedule has a jitter, a hint is spread too, so that not all who got the same come back at the same moment:
// never earlier, and still within the bounds.
PLANB_COLD PLANB_DECL void Engine::spread_hint(Now& now) {
  if (!detail::has_jitter(*policy().schedule)) return;
  Duration most = policy().max_wait.value_or((Duration::max)());
  if (has_budget_) {
    const Duration left = add(time_left(now), Duration(-1));
    if (left < most) most = left;
  }
  const Duration spread = schedule_->spread(delay_);
  if (most > delay_) delay_ = spread < most ? spread : most;
}

PLANB_DECL std::optional<Duration> Engine::ask_schedule(const Cause& cause, Now& now) {
  if (!schedule_) {
    std::optional<std::uint64_t> seed = options_.seed();
    if (seed) *seed += static_cast<std::uint64_t>(step_) * 0x9e3779b97f4a7c15U;  // each step draws its own sequence
    schedule_.emplace(*policy().schedule, seed);
  }
  return schedule_->next(now(), cause);
}

PLANB_DECL Move Engine::leave(LeaveReason reason) noexcept {
  lacked_time_ = reason == LeaveReason::out_of_time;
  const bool last = at_last_step();
  if (!last && !fallback_prevented()) return {.kind = NextMove::next_step, .reason = reason};
  if (lacked_time_) return {.run_end = RunEnd::deadline, .reason = reason};
  if (last) return {.reason = reason};
  record_->left = reason;  // the report has both
  return {.reason = LeaveReason::partial_output};
}

PLANB_DECL void Engine::follow(const Move& move, Now& now) {
  switch (move.kind) {
    case NextMove::retry:
      state_ = State::ready;
      if (delay_ > Duration::zero()) {
        due_ = add(now(), delay_);
        state_ = State::waiting;
        begin_wait(now);
      }
      break;
    case NextMove::next_step: go_to_next_step(); break;
    case NextMove::end: finish_after(move.run_end); break;
  }
}

}  // namespace planb::inline PLANB_ABI::detail
