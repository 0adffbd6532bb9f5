// SPDX-License-Identifier: MIT
// What the engine asks on the way to an attempt: on entering a step, and before each attempt.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/engine/detail/step_record.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/call_user.hpp>
#include <planb/gate/gate.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/report/event.hpp>
#include <planb/time/clock.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// --- Entering a step -------------------------------------------------------------------------------------------------

PLANB_DECL void Engine::enter() {
  state_ = State::deciding;
  Now now(*this);
  if (stopped()) return finish(RunEnd::interrupted);
  if (step_ == plan_.size) return finish_without_steps();
  if (out_of_budget(now)) return finish(RunEnd::deadline);
  detail::call_user(
      [&] {
        if (!try_enter(now)) go_to_next_step();
      },
      [&] { finish(end_by_caught_callback()); });
}

// False: the step is passed over. Otherwise the state is what follows: ready, waiting or over.
PLANB_DECL bool Engine::try_enter(Now& now) {
  const StepPolicy& step = policy();
  const Cause* const previous = last_cause();
  if (guarded_ && step.enter_when == nullptr) return skip(SkipReason::declined, now), false;
  if (step.enter_when != nullptr && (previous == nullptr || !(*step.enter_when)(*previous))) {
    return skip(SkipReason::declined, now), false;
  }
  guard_accepted_ = guarded_;
  Duration delay{};
  if (options_.entry() == StepEntry::scheduled && previous != nullptr) {
    if (step.retry_while != nullptr && !(*step.retry_while)(*previous)) return skip(SkipReason::declined, now), false;
    if (step.schedule != nullptr) {
      const std::optional<Duration> wait = ask_schedule(*previous, now);
      if (!wait || (step.max_wait && *wait > *step.max_wait)) return skip(SkipReason::declined, now), false;
      delay = *wait;
    }
  }
  if (has_budget_) {
    const Duration left = time_left(now);
    if (left <= Duration::zero() || delay >= left) return skip(SkipReason::out_of_time, now), false;
  }
  if (delay > Duration::zero() && step.gate != nullptr) {
    const TimePoint opens_at = step.gate->opens_at(now());
    if (opens_at > add(now(), delay)) return skip(SkipReason::gate_closed, now, opens_at), false;
  }
  lacked_time_ = false;
  if (delay > Duration::zero()) {
    due_ = add(now(), delay);
    state_ = State::waiting;
  } else {
    state_ = State::ready;
  }
  return true;
}

PLANB_COLD PLANB_DECL void Engine::skip(SkipReason reason, Now& now, std::optional<TimePoint> opens_at) {
  lacked_time_ = reason == SkipReason::out_of_time;
  StepRecord& record = add_record();
  record.skipped = true;
  record.skip_reason = reason;
  if (opens_at) record.refuse(*opens_at, now());
  if (wanted<StepSkipped>()) {
    notify(Event(StepSkipped{step_, step_name(), now(), reason, opens_at, label()}));
  }
}

// --- Before an attempt -----------------------------------------------------------------------------------------------

// Asks the gate. False: the step is passed over or left, and the state says what follows.
PLANB_DECL bool Engine::admit(Now& now) {
  Gate* const gate = policy().gate;
  if (gate == nullptr) return true;
  if (const std::uint64_t pass = gate->pass(); pass != 0) {
    permit_.emplace(*gate, pass);
    return true;
  }
  Admission admission = gate->admit(now());
  if (admission.permit) {
    permit_.emplace(std::move(*admission.permit));
    return true;
  }
  // One that refuses cannot mean that it is open now: it does not know.
  const TimePoint opens_at = admission.opens_at > now() ? admission.opens_at : no_deadline;
  if (record_ == nullptr) {
    skip(SkipReason::gate_closed, now, opens_at);
    go_to_next_step();
  } else {
    record_->left = LeaveReason::gate_closed;
    record_->refuse(opens_at, now());
    lacked_time_ = false;
    leave_for_next_step();
  }
  return false;
}

// Where a step that was tried is left without another failure.
PLANB_DECL void Engine::leave_for_next_step() noexcept {
  if (fallback_prevented()) return finish_without_steps();
  go_to_next_step();
}

// Starts an attempt. False: the state says what follows instead.
PLANB_DECL bool Engine::start() {
  Now now(*this);
  state_ = State::deciding;
  if (stopped()) return finish(RunEnd::interrupted), false;
  if (policy().timeout || handled_) static_cast<void>(now());  // before anything is taken or told
  if (out_of_budget(now)) return finish(RunEnd::deadline), false;
  if (clock_threw()) return false;
  const Duration left = time_left(now);
  if (left <= Duration::zero()) {  // a wait that took longer than it should
    if (record_ != nullptr) {
      record_->left = LeaveReason::out_of_time;
      lacked_time_ = true;
      leave_for_next_step();
    } else {
      skip(SkipReason::out_of_time, now);
      go_to_next_step();
    }
    return false;
  }
  const bool admitted =
      detail::call_user([&] { return admit(now); }, [&] { return finish(end_by_caught_callback()), false; });
  if (!admitted || clock_threw()) return false;
  guarded_ = guard_accepted_ = false;
  if (record_ != nullptr) record_->refused = false;  // the gate has opened since
  begin_attempt();
  const StepPolicy& step = policy();
  site_.clock = nullptr;
  drop_own_stop();  // of an attempt that was asked after its end
  attempt_end_ = no_deadline;
  if (has_budget_) {
    site_.clock = &clock();
    attempt_end_ = add(now(), left);
  }
  TimePoint timeout_end = no_deadline;
  if (step.timeout) {
    site_.clock = &clock();
    timeout_end = add(now(), *step.timeout);
  }
  limit_attempt(timeout_end);
  output_due_ = permit_.has_value();
  watched_ = output_due_ || may_be_cut_short();
  site_.stop = &options_.stop();
  if (handled_) started_ = now();
  if (wanted<AttemptStart>()) {
    state_ = State::starting;
    notify(Event(AttemptStart{here_.attempt, here_.step_attempt, step_, step_name(), now(), Duration(), label()}));
    state_ = State::attempting;
    if (stopped()) return fail(Cause()), false;
  }
  state_ = State::attempting;
  return true;
}

}  // namespace planb::inline PLANB_ABI::detail
