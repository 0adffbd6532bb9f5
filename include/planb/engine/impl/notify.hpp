// SPDX-License-Identifier: MIT
// Whom the engine notifies of an attempt: the handler of events, and the gate of its step.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/engine/detail/step_record.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/call_user.hpp>
#include <planb/error/detail/error_ops.hpp>
#include <planb/gate/gate.hpp>
#include <planb/plan/metadata.hpp>
#include <planb/report/event.hpp>
#include <planb/time/clock.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// --- Events ----------------------------------------------------------------------------------------------------------

PLANB_DECL std::string text_to_notify(std::string_view text) noexcept {
  return detail::call_user([&] { return std::string(text); }, [&] { return std::string(text.substr(0, 15)); });
}

PLANB_DECL std::string Engine::step_name() const noexcept { return detail::text_to_notify(policy().name); }
PLANB_DECL std::string Engine::label() const noexcept { return detail::text_to_notify(options_.label()); }

// A handler changes nothing.
PLANB_DECL void Engine::notify(const Event& event) {
  const auto call = [&] {
    if (event.get_if<StepSkipped>() != nullptr || event.get_if<RunFinish>() != nullptr) {  // of no attempt
      options_.on_event()(event);
    } else {
      const CurrentMetadata::Scope scope(metadata());
      options_.on_event()(event);
    }
  };
  const auto dropped = [] {};
  const auto unwound = [this] { abandon(); };
  detail::call_user(call, dropped, unwound);
}

PLANB_DECL void Engine::notify_failure(Move move, std::optional<Verdict> verdict, Now& now) {
  if (timed_) {
    record_->attempt_time = add(record_->attempt_time, between(started_, now()));
    record_->failed_at = now();
  }
  if (!wanted<AttemptFailure>()) return;
  NextMove next{move.kind, move.kind == NextMove::retry ? delay_ : Duration(), move.run_end, move.reason};
  if (move.reason == LeaveReason::gate_closed) next.gate_reason = record_->gate_reason;
  Event event(AttemptFailure{here_.attempt, here_.step_attempt, step_, step_name(), now(), between(started_, now()),
                             std::move(record_->cause), verdict, next, label()});
  notifying_ = &event.get_if<AttemptFailure>()->cause;
  struct Back {  // also where a handler's thread is unwound
    Engine& engine;
    Event& event;
    ~Back() {
      engine.notifying_ = nullptr;
      engine.record_->cause = EventAccess::take_cause(event);
    }
  } const back{*this, event};
  notify(event);
}

PLANB_DECL void Engine::notify_success() {
  Now now(*this);
  // The answer is there, and a gate's callable cannot take it back. But a defect leaves, and so does an unwind, which
  // must not be caught for good.
#if PLANB_HAS_EXCEPTIONS
  std::exception_ptr defect = callback_error_ ? callback_error_->exception() : nullptr;
#endif
  const auto tell_gate = [&] {
    if (permit_) permit_->succeeded(now);
  };
  const auto caught = [&] {
#if PLANB_HAS_EXCEPTIONS
    if (Cause thrown = Cause::current(); thrown.kind() == CauseKind::defect) defect = thrown.exception();
#endif
  };
  const auto unwound = [&] {
    permit_.reset();
    notify_success();
  };
  detail::call_user(tell_gate, caught, unwound);
  permit_.reset();
  if (timed_) record_->attempt_time = add(record_->attempt_time, between(started_, now()));
  if (wanted<AttemptSuccess>()) {
    notify(Event(AttemptSuccess{here_.attempt, here_.step_attempt, step_, step_name(), now(), between(started_, now()),
                                label()}));
  }
  finish_if_over(now);
#if PLANB_HAS_EXCEPTIONS
  if (defect != nullptr) std::rethrow_exception(defect);
  if (clock_threw()) std::rethrow_exception(std::exchange(clock_error_, nullptr));
#endif
}

// --- The run ---------------------------------------------------------------------------------------------------------

PLANB_COLD PLANB_DECL void Engine::begin_run() noexcept {
  begun_ = true;
  if (has_budget_) began_ = latest_;
}

PLANB_COLD PLANB_DECL void Engine::end_wait(Now& now) {
  if (waits_since_ == no_deadline) return;
  waited_ = add(waited_, between(waits_since_, now()));
  waits_since_ = no_deadline;
  if (record_ != nullptr) note_waited();
}

PLANB_COLD PLANB_DECL void Engine::note_waited() noexcept {
  record_->wait_time = add(record_->wait_time, waited_);
  waited_ = Duration();
}

PLANB_COLD PLANB_DECL void Engine::notify_finish(Now& now) {
  if (std::exchange(finish_notified_, true) || !wanted<RunFinish>()) return;
  const TimePoint at = now();
  const auto less = [this] {
    RunReport result;
    result.attempts = here_.attempt;
    return result;
  };
  RunFinish finished{.end = end_, .at = at, .label = label()};
  finished.report = detail::call_user([this] { return report(); }, less);
  finished.report.end = end_;
  if (began_ != no_deadline) finished.duration = between(began_, at);
  notify(Event(std::move(finished)));
}

// --- The gate --------------------------------------------------------------------------------------------------------

// Whether the gate was notified of a failure. What ended for the run's lack of time says nothing about the provider.
PLANB_DECL bool Engine::notify_permit(Now& now) {
  Permit permit = std::move(*permit_);
  permit_.reset();
  const Cause& cause = record_->cause;
  if (cause.kind() == CauseKind::defect || cause.kind() == CauseKind::interrupted) return false;
  if (cause.kind() == CauseKind::timeout && budget_ends_first_ && now() >= attempt_end_) return false;
  permit.failed(cause, now());
  return true;
}

// The failure may have shut the step's gate: the report says until when, also where the step is not left for that.
PLANB_DECL void Engine::note_opening(Now& now) {
  const GateRequest request = next_request(now);
  if (policy().gate->opens_at(request) > now()) note_refusal(*record_, policy().gate->refusal(request), now());
}

// Where there is no memory for a refusal's words, they are left out.
PLANB_DECL void Engine::note_refusal(StepRecord& record, const GateRefusal& refusal, TimePoint now) noexcept {
  record.refuse(refusal, now);
  RefusalWords* words = words_of(record);
  if (words == nullptr && refusal.text.empty() && refusal.gate.empty()) return;
#if PLANB_HAS_EXCEPTIONS
  try {
#endif
    if (words == nullptr) {
      auto more = std::make_unique<RefusalWords>();
      more->step = static_cast<std::size_t>(&record - records_.data());
      more->before = std::move(words_);
      words_ = std::move(more);
      words = words_.get();
    }
    words->text = refusal.text;
    words->gate = refusal.gate;
#if PLANB_HAS_EXCEPTIONS
  } catch (const std::bad_alloc&) {
  }
#endif
}

// Of a step, or null.
PLANB_DECL RefusalWords* Engine::words_of(const StepRecord& record) const noexcept {
  const auto step = static_cast<std::size_t>(&record - records_.data());
  RefusalWords* words = words_.get();
  while (words != nullptr && words->step != step) words = words->before.get();
  return words;
}

// The place for all notifications of an attempt's first output, before the consumer has it: output_due_ says that
// somebody wants to hear of it. What the gate throws takes no output away, as with a success. But a defect ends the
// attempt, which it is the cause of.
PLANB_COLD PLANB_DECL bool Engine::notify_first_output(Now& now) {
  output_due_ = false;
  watched_ = may_be_cut_short();
  begin_factory();
  const auto caught = [this] {
    if (Cause thrown = Cause::current(); thrown.kind() == CauseKind::defect) callback_error_.emplace(std::move(thrown));
  };
  const auto tell_gate = [&] {
    if (permit_) permit_->first_output(now);
  };
  detail::call_user(tell_gate, caught);
  if (!callback_error_ && wanted<FirstOutput>()) {
    notify(Event(
        FirstOutput{here_.attempt, here_.step_attempt, step_, step_name(), now(), between(started_, now()), label()}));
  }
  end_factory();
  return !callback_error_ && !clock_threw() && !stopped();
}

// --- Causes that leave the engine ------------------------------------------------------------------------------------

// An error whose copy throws is passed on as its text, or where that cannot be had either, as an unknown one.
PLANB_COLD PLANB_DECL Cause Engine::copy_to_notify(const Cause& cause) {
  const auto text_of_it = [&] {
    Cause text = detail::call_user([&] { return Cause::of(UncopyableError(cause.message())); }, [] { return Cause(); });
    CauseAccess::set_kind(text, cause.kind());
    return text;
  };
  return detail::call_user([&] { return Cause(cause); }, text_of_it);
}

}  // namespace planb::inline PLANB_ABI::detail
