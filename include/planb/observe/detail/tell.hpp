// SPDX-License-Identifier: MIT
// What events and reports say, member by member: the one list under to_json and for_each_field.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/verdict.hpp>
#include <planb/report/event.hpp>
#include <planb/report/report.hpp>
#include <planb/time/clock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

// Told the members in order. An element of a list has its number as its name.
class FieldSink {
 public:
  FieldSink() = default;
  FieldSink(const FieldSink&) = delete;
  FieldSink& operator=(const FieldSink&) = delete;

  virtual void text(std::string_view name, std::string_view value) = 0;
  virtual void word(std::string_view name, std::string_view value) = 0;  // one of ours: short, and whole
  virtual void number(std::string_view name, std::int64_t value) = 0;
  virtual void flag(std::string_view name, bool value) = 0;
  virtual void duration(std::string_view name, Duration value) = 0;
  virtual void time(std::string_view name, TimePoint value) = 0;
  virtual void nothing(std::string_view name) = 0;  // there, but without a value: no limit
  virtual void begin(std::string_view name) = 0;
  virtual void end() = 0;
  virtual void begin_list(std::string_view name) = 0;
  virtual void begin_element(std::size_t number) = 0;
  virtual void end_list() = 0;

 protected:
  ~FieldSink() = default;
};

inline void tell(FieldSink& sink, std::string_view name, const Cause& cause) {
  sink.begin(name);
  sink.word("kind", to_label(cause.kind()));
  if (const std::optional<int> status = cause.status()) sink.number("status", *status);
  if (const std::string code = cause.code(); !code.empty()) sink.text("code", code);
  if (const std::optional<Duration> hint = cause.retry_after()) sink.duration("retry_after", *hint);
  if (const std::optional<bool> retryable = cause.retryable()) sink.flag("retryable", *retryable);
  sink.text("message", cause.message());
  sink.end();
}

// Each takes its value apart into all its members: one that is new does not compile until it is told.

inline void tell(FieldSink& sink, std::string_view name, const Verdict& verdict) {
  const auto& [action, alert, failure_class] = verdict;
  sink.begin(name);
  sink.word("action", to_label(action));
  sink.flag("alert", alert);
  sink.word("failure_class", to_label(failure_class));
  sink.end();
}

inline void tell(FieldSink& sink, std::string_view name, const NextMove& next) {
  const auto& [kind, delay, run_end, reason, gate_reason] = next;
  sink.begin(name);
  sink.word("kind", to_label(kind));
  if (kind == NextMove::retry) sink.duration("delay", delay);
  if (kind == NextMove::end) sink.word("run_end", to_label(run_end));
  if (kind != NextMove::retry) sink.word("reason", to_label(reason));
  if (gate_reason) sink.word("gate_reason", to_label(*gate_reason));
  sink.end();
}

inline void tell_gate(FieldSink& sink, const std::optional<GateReason>& reason, std::string_view text,
                      std::string_view name) {
  if (reason) sink.word("gate_reason", to_label(*reason));
  if (!text.empty()) sink.text("gate_text", text);
  if (!name.empty()) sink.text("gate", name);
}

inline void tell(FieldSink& sink, const StepReport& step) {
  const auto& [name, attempts, cause, skipped, left, alert, index, opens_at, opens_in, verdict, attempt_time, wait_time,
               failed_at, gate_reason, gate_text, gate] = step;
  sink.text("name", name);
  sink.number("attempts", attempts);
  if (cause) tell(sink, "cause", *cause);
  if (skipped) sink.word("skipped", to_label(*skipped));
  sink.word("left", to_label(left));
  sink.flag("alert", alert);
  sink.number("index", index);
  if (opens_at) sink.time("opens_at", *opens_at);
  if (opens_in) sink.duration("opens_in", *opens_in);
  if (verdict) tell(sink, "verdict", *verdict);
  if (attempt_time) sink.duration("attempt_time", *attempt_time);
  if (wait_time) sink.duration("wait_time", *wait_time);
  if (failed_at) sink.time("failed_at", *failed_at);
  tell_gate(sink, gate_reason, gate_text, gate);
}

inline void tell(FieldSink& sink, const RunReport& report) {
  const auto& [end, attempts, delivered, answered_step, steps, last_failed, rule_error, label, started_at, duration] =
      report;
  sink.word("end", to_label(end));
  sink.number("attempts", attempts);
  constexpr auto most = static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)());
  sink.number("delivered", static_cast<std::int64_t>((std::min)(std::uint64_t{delivered}, most)));
  if (answered_step) {
    sink.number("answered_step", *answered_step);
    sink.text("answered_by", report.answered_by());
  }
  sink.flag("fell_back", report.fell_back());
  sink.begin_list("steps");
  for (std::size_t i = 0; i != steps.size(); ++i) {
    sink.begin_element(i);
    tell(sink, steps[i]);
    sink.end();
  }
  sink.end_list();
  if (last_failed) sink.number("last_failed", *last_failed);
  if (rule_error) tell(sink, "rule_error", *rule_error);
  if (const std::optional<TimePoint> at = report.retry_at()) sink.time("retry_at", *at);
  sink.text("label", label);
  if (started_at) sink.time("started_at", *started_at);
  if (duration) sink.duration("duration", *duration);
}

inline void tell_place(FieldSink& sink, int attempt, int step_attempt, int step_index, std::string_view step_name,
                       TimePoint at) {
  sink.number("attempt", attempt);
  sink.number("step_attempt", step_attempt);
  sink.number("step_index", step_index);
  sink.text("step_name", step_name);
  sink.time("at", at);
}

inline void tell(FieldSink& sink, const AttemptStart& event) {
  const auto& [attempt, step_attempt, step_index, step_name, at, gate_wait, label] = event;
  tell_place(sink, attempt, step_attempt, step_index, step_name, at);
  sink.duration("gate_wait", gate_wait);
  sink.text("label", label);
}

inline void tell(FieldSink& sink, const FirstOutput& event) {
  const auto& [attempt, step_attempt, step_index, step_name, at, after, label] = event;
  tell_place(sink, attempt, step_attempt, step_index, step_name, at);
  sink.duration("after", after);
  sink.text("label", label);
}

inline void tell(FieldSink& sink, const AttemptSuccess& event) {
  const auto& [attempt, step_attempt, step_index, step_name, at, duration, label] = event;
  tell_place(sink, attempt, step_attempt, step_index, step_name, at);
  sink.duration("duration", duration);
  sink.text("label", label);
}

inline void tell(FieldSink& sink, const AttemptFailure& event) {
  const auto& [attempt, step_attempt, step_index, step_name, at, duration, cause, verdict, next, label] = event;
  tell_place(sink, attempt, step_attempt, step_index, step_name, at);
  sink.duration("duration", duration);
  tell(sink, "cause", cause);
  if (verdict) tell(sink, "verdict", *verdict);
  tell(sink, "next", next);
  sink.text("label", label);
}

inline void tell(FieldSink& sink, const StepSkipped& event) {
  const auto& [step_index, step_name, at, reason, opens_at, gate_reason, gate_text, gate, label] = event;
  sink.number("step_index", step_index);
  sink.text("step_name", step_name);
  sink.time("at", at);
  sink.word("reason", to_label(reason));
  if (opens_at) sink.time("opens_at", *opens_at);
  tell_gate(sink, gate_reason, gate_text, gate);
  sink.text("label", label);
}

inline void tell(FieldSink& sink, const RunFinish& event) {
  const auto& [end, report, at, duration, label] = event;
  sink.word("end", to_label(end));
  sink.begin("report");
  tell(sink, report);
  sink.end();
  sink.time("at", at);
  sink.duration("duration", duration);
  sink.text("label", label);
}

template <class E>
inline constexpr std::string_view event_word = "";
template <>
inline constexpr std::string_view event_word<AttemptStart> = "attempt_start";
template <>
inline constexpr std::string_view event_word<FirstOutput> = "first_output";
template <>
inline constexpr std::string_view event_word<AttemptSuccess> = "attempt_success";
template <>
inline constexpr std::string_view event_word<AttemptFailure> = "attempt_failure";
template <>
inline constexpr std::string_view event_word<StepSkipped> = "step_skipped";
template <>
inline constexpr std::string_view event_word<RunFinish> = "run_finish";

}  // namespace planb::inline PLANB_ABI::detail
