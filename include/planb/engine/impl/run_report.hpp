// SPDX-License-Identifier: MIT
// The report of a run, at any time.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/engine/detail/step_record.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/call_user.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/report/report.hpp>
#include <planb/time/clock.hpp>

namespace planb::inline PLANB_ABI::detail {

PLANB_COLD PLANB_DECL RunReport Engine::report() const {
  RunReport report;
  report.end = end();
  report.attempts = here_.attempt;
  report.delivered = delivered();
  report.label = label();
  if (report.end == RunEnd::succeeded) report.answered_step = step_;
  if (failed_ != nullptr) report.last_failed = static_cast<int>(failed_ - records_.data());
  if (began_ != no_deadline) {
    report.started_at = began_;
    report.duration = between(began_, latest_);
  }
  if (callback_error_) report.rule_error = copy_to_notify(*callback_error_);
  report.steps.reserve(records_.size());
  for (const StepRecord& record : records_) {
    const auto index = static_cast<int>(report.steps.size());
    StepReport& step = report.steps.emplace_back();
    step.name = plan_.steps[index].name;
    step.attempts = record.attempts;
    if (record.failed) {
      step.cause = copy_to_notify(notifying_ != nullptr && &record == record_ ? *notifying_ : record.cause);
    }
    if (record.skipped) step.skipped = record.skip_reason;
    step.left = record.left;
    step.alert = record.alert;
    if (record.judged) step.verdict = record.verdict;
    step.index = index;
    if (timed_) {
      // A running attempt, or wait, counts as far as it is known.
      step.attempt_time = record.attempt_time;
      step.wait_time = record.wait_time;
      if (&record == record_ && running()) step.attempt_time = add(*step.attempt_time, between(started_, latest_));
      if (&record == record_ && waits_since_ != no_deadline) {
        step.wait_time = add(*step.wait_time, between(waits_since_, latest_));
      }
      if (record.failed) step.failed_at = record.failed_at;
    }
    if (record.refused) {
      step.opens_at = record.opens_at;
      step.opens_in = record.opens_at == no_deadline ? (Duration::max)() : between(record.refused_at, record.opens_at);
      step.gate_reason = record.gate_reason;
      if (const RefusalWords* const words = words_of(record)) {
        step.gate_text = words->text;
        step.gate = words->gate;
      }
      if (step.gate.empty()) step.gate = plan_.steps[index].gate->name();
    }
  }
  return report;
}

PLANB_DECL RunReport Engine::success_report() {
  static_cast<void>(read_clock());
  const auto less = [this] {
    RunReport result;
    result.attempts = here_.attempt;
    return result;
  };
  RunReport result = detail::call_user([this] { return report(); }, less);
  result.end = RunEnd::succeeded;
  result.answered_step = step_;
  return result;
}

}  // namespace planb::inline PLANB_ABI::detail
