// SPDX-License-Identifier: MIT
// The states of the engine: how a run begins, goes from one to the next, and ends.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/engine/detail/options_view.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/engine/run_phase.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/misuse.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/report/event.hpp>
#include <planb/time/clock.hpp>

#include <optional>
#include <string>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL Engine::Engine(const PlanView& plan, OptionsView options, PartialStream partial)
    : plan_(plan),
      policy_(plan.steps),
      quiet_(!options.on_event() && !options.budget() && !options.stop().stop_possible() &&
             options.entry() == StepEntry::immediate && partial == PartialStream::allow),
      handled_(static_cast<bool>(options.on_event())),
      timed_(handled_),
      has_budget_(options.budget().has_value()),
      partial_(partial),
      options_(options) {
  here_.entry_asks_ = options.entry() == StepEntry::scheduled;
  here_.output_ends_plan_ = partial != PartialStream::allow;
  here_.output_ends_step_ = partial == PartialStream::prevent_retry;
  if (has_budget_) {
    const Duration budget = *options.budget();
    const TimePoint start = latest_ = clock().now();
    budget_end_ = budget > Duration::zero() ? add(start, budget) : start;
  }
}

PLANB_DECL_INLINE Engine::Engine(const PlanView& plan, const RunOptions& none, FirstAttemptMade)
    : plan_(plan), policy_(plan.steps), state_(State::attempting), quiet_(true), options_(none) {
  begin_attempt();
}

PLANB_NOINLINE PLANB_DECL RunPhase Engine::proceed() {
  if (timed_ && !begun_) [[unlikely]]
    begin_run();
  for (;;) {
    switch (state_) {
      case State::attempting: misuse("next() was called while an attempt is running; say succeed() or fail() first");
      case State::starting:
      case State::deciding: misuse_from_within("next()");
      case State::over: {
        Now now(*this);
        finish_if_over(now);
        leave_if_clock_threw();
        return RunPhase::over;
      }
      case State::entering:
        enter();
        leave_if_clock_threw();
        break;
      case State::waiting: {
        Now now(*this);
        if (stopped()) {
          finish(RunEnd::interrupted);
        } else if (now() < due_) {
          leave_if_clock_threw();
          return RunPhase::wait;
        } else {
          state_ = State::ready;
        }
        end_wait(now);
        leave_if_clock_threw();
        break;
      }
      case State::ready:
        if (start()) return RunPhase::attempt;
        leave_if_clock_threw();
        break;
    }
    if (goes_quietly()) {
      begin_quietly();
      return RunPhase::attempt;
    }
  }
}

PLANB_COLD PLANB_DECL RunEnd Engine::end_by_callback(Cause&& error) noexcept {
  CauseAccess::name(error, plan_.named.first, plan_.named.count);
  callback_error_.emplace(std::move(error));
  return end_by_callback_error();
}

PLANB_COLD PLANB_DECL RunEnd Engine::end_by_caught_callback() noexcept { return end_by_callback(Cause::current()); }

PLANB_COLD PLANB_DECL void Engine::abandon() {
  if (!running()) return;
  close_attempt();
  permit_.reset();
  Now now(*this);
  Cause cause;
  CauseAccess::set_kind(cause, CauseKind::interrupted);
  remember(std::move(cause));
  notify_failure({.run_end = RunEnd::interrupted}, std::nullopt, now);
  finish(RunEnd::interrupted);
  finish_if_over(now);
#if PLANB_HAS_EXCEPTIONS
  clock_error_ = nullptr;  // what is on its way is more important, and a destructor lets nothing out
#endif
}

PLANB_COLD PLANB_DECL void Engine::misuse_outside(const char* call) const {
  if (state_ == State::starting || state_ == State::deciding) misuse_from_within(call);
  misuse(std::string(call) + " was called without an attempt that is running; " +
         (state_ == State::over ? "the run is over" : "ask next() first, until it says attempt"));
}

PLANB_COLD PLANB_DECL void Engine::misuse_from_within(const char* call) {
  misuse(std::string(call) +
         " was called from an event handler, a rule or a factory of the plan; drive the run when they have returned");
}

}  // namespace planb::inline PLANB_ABI::detail

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL Engine::~Engine() noexcept(false) {
  if (running()) abandon();
  if (begun_ && !finish_notified_) [[unlikely]] {  // between two attempts, or its thread goes away
    if (state_ != State::over) finish(RunEnd::interrupted);
    Now now(*this);
    notify_finish(now);
  }
}

PLANB_DECL void Engine::succeed() {
  close_attempt();
  finish(RunEnd::succeeded);
  if (permit_ || timed_) notify_success();
}

PLANB_DECL void Engine::finish_without_steps() noexcept {
  finish(guarded_ && !guard_accepted_ ? RunEnd::aborted : lacked_time_ ? RunEnd::deadline : RunEnd::exhausted);
}

}  // namespace planb::inline PLANB_ABI::detail
