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

#include <chrono>
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
    const GateRequest request = next_request(now);
    if (step.gate->opens_at(request) > add(now(), delay)) {
      const GateRefusal refusal = step.gate->refusal(request);
      if (opens_too_late(refusal, delay, now)) return skip(SkipReason::gate_closed, now, &refusal), false;
    }
  }
  lacked_time_ = false;
  if (delay > Duration::zero()) {
    due_ = add(now(), delay);
    state_ = State::waiting;
    begin_wait(now);
  } else {
    state_ = State::ready;
  }
  return true;
}

PLANB_COLD PLANB_DECL void Engine::skip(SkipReason reason, Now& now, const GateRefusal* refusal) {
  lacked_time_ = reason == SkipReason::out_of_time;
  StepRecord& record = add_record();
  record.wait_time = waited_;
  waited_ = Duration();
  record.skipped = true;
  record.skip_reason = reason;
  if (refusal != nullptr) note_refusal(record, *refusal, now());
  if (wanted<StepSkipped>()) {
    StepSkipped skipped{.step_index = step_, .step_name = step_name(), .at = now(), .reason = reason, .label = label()};
    if (refusal != nullptr) {
      skipped.opens_at = refusal->opens_at;
      skipped.gate_reason = refusal->reason;
      skipped.gate_text = detail::text_to_notify(refusal->text);
      skipped.gate = detail::text_to_notify(refusal->gate.empty() ? policy().gate->name() : refusal->gate);
    }
    notify(Event(std::move(skipped)));
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
  Admission admission = gate->admit(next_request(now));
  if (admission.permit) {
    permit_.emplace(std::move(*admission.permit)).starts_at(now());
    return true;
  }
  GateRefusal refusal = std::move(admission.refusal).value_or(GateRefusal{});
  // One that refuses cannot mean that it is open now: it does not know.
  if (refusal.opens_at <= now()) refusal.opens_at = no_deadline;
  if (waits_for_gate(refusal, now)) return false;
  gate_since_ = no_deadline;
  if (record_ == nullptr) {
    skip(SkipReason::gate_closed, now, &refusal);
    go_to_next_step();
  } else {
    record_->left = LeaveReason::gate_closed;
    note_refusal(*record_, refusal, now());
    lacked_time_ = false;
    leave_for_next_step();
  }
  return false;
}

// The question to the step's gate about the attempt that would come next.
PLANB_DECL GateRequest Engine::next_request(Now& now) const {
  const auto next = [](int attempts) { return attempts == unlimited ? unlimited : attempts + 1; };
  return {now(), next(here_.attempt), next(record_ != nullptr ? record_->attempts : 0)};
}

// --- Patience --------------------------------------------------------------------------------------------------------

// How long the step waits for one admission.
PLANB_DECL Duration Engine::patience_of(const GateRefusal& refusal) const {
  const Duration patience = refusal.patience ? *refusal.patience : policy().gate->patience();
  const std::optional<Duration>& max_wait = policy().max_wait;
  return max_wait && *max_wait < patience ? *max_wait : patience;
}

// Whether the gate will refuse still when `wait` is over, and for longer than the step would wait for it.
PLANB_DECL bool Engine::opens_too_late(const GateRefusal& refusal, Duration wait, Now& now) const {
  const Duration patience = patience_of(refusal);
  if (patience > Duration::zero() && refusal.opens_at == no_deadline) return false;  // nobody knows
  return refusal.opens_at > add(now(), add(wait, patience));
}

// True: it is asked again at due_, and no permit is held meanwhile. Where nobody knows when it opens, soon.
PLANB_DECL bool Engine::waits_for_gate(const GateRefusal& refusal, Now& now) {
  constexpr Duration soon = std::chrono::milliseconds(10);
  const Duration patience = patience_of(refusal);
  if (patience <= Duration::zero()) return false;
  const TimePoint since = gate_since_ == no_deadline ? now() : gate_since_;
  const TimePoint end = add(since, patience);
  if (now() >= end) return false;
  TimePoint next = refusal.opens_at;
  if (next == no_deadline) next = add(now(), soon) < end ? add(now(), soon) : end;
  if (next > end) return false;  // in vain
  if (has_budget_ && between(now(), next) >= time_left(now)) return false;
  gate_since_ = since;
  due_ = next;
  state_ = State::waiting;
  begin_wait(now);
  return true;
}

// --- The attempt -----------------------------------------------------------------------------------------------------

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
  const StepPolicy& step = policy();
  first_due_ = streaming_ && step.first_timeout;
  if (step.timeout || first_due_ || timed_) static_cast<void>(now());  // before anything is taken or notified
  if (out_of_budget(now)) return finish(RunEnd::deadline), false;
  if (clock_threw()) return false;
  const Duration left = time_left(now);
  if (left <= Duration::zero()) {  // a wait that took longer than it should
    gate_since_ = no_deadline;
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
  if (waited_ != Duration()) note_waited();
  site_.clock = nullptr;
  drop_own_stop();  // of an attempt that was asked after its end
  attempt_end_ = no_deadline;
  if (has_budget_) {
    site_.clock = &clock();
    attempt_end_ = add(now(), left);
  }
  TimePoint timeout_end = no_deadline;
  if (const std::optional<Duration>& timeout = first_due_ ? step.first_timeout : step.timeout) {
    site_.clock = &clock();
    timeout_end = add(now(), *timeout);
  }
  limit_attempt(timeout_end);
  output_due_ = permit_.has_value() || wanted<FirstOutput>();
  watched_ = output_due_ || may_be_cut_short();
  site_.stop = &options_.stop();
  if (timed_) started_ = now();
  const Duration gate_wait = gate_since_ == no_deadline ? Duration() : between(gate_since_, now());
  gate_since_ = no_deadline;
  if (permit_) permit_->use();
  if (wanted<AttemptStart>()) {
    state_ = State::starting;
    notify(Event(AttemptStart{here_.attempt, here_.step_attempt, step_, step_name(), now(), gate_wait, label()}));
    state_ = State::attempting;
    if (stopped()) return fail(Cause()), false;
  }
  state_ = State::attempting;
  return true;
}

}  // namespace planb::inline PLANB_ABI::detail
