// What events and reports say, member by member: the one list under to_json and for_each_field.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/verdict.hpp>
#include <planb/report/event.hpp>
#include <planb/report/report.hpp>
#include <planb/time/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

// Told the members in order. An element of a list has its number as its name.
class FieldSink {
 public:
  FieldSink() = default;
  FieldSink(const FieldSink&) = delete;
  FieldSink& operator=(const FieldSink&) = delete;

  virtual void text(std::string_view name, std::string_view value) = 0;
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
  sink.text("kind", to_label(cause.kind()));
  if (const std::optional<int> status = cause.status()) sink.number("status", *status);
  if (const std::string code = cause.code(); !code.empty()) sink.text("code", code);
  if (const std::optional<Duration> hint = cause.retry_after()) sink.duration("retry_after", *hint);
  if (const std::optional<bool> retryable = cause.retryable()) sink.flag("retryable", *retryable);
  sink.text("message", cause.message());
  sink.end();
}

inline void tell(FieldSink& sink, std::string_view name, const Verdict& verdict) {
  sink.begin(name);
  sink.text("action", to_label(verdict.action));
  sink.flag("alert", verdict.alert);
  sink.text("failure_class", to_label(verdict.failure_class));
  sink.end();
}

inline void tell(FieldSink& sink, std::string_view name, const NextMove& next) {
  sink.begin(name);
  sink.text("kind", to_label(next.kind));
  if (next.kind == NextMove::retry) sink.duration("delay", next.delay);
  if (next.kind == NextMove::end) sink.text("run_end", to_label(next.run_end));
  if (next.kind != NextMove::retry) sink.text("reason", to_label(next.reason));
  sink.end();
}

inline void tell(FieldSink& sink, const StepReport& step) {
  sink.text("name", step.name);
  sink.number("attempts", step.attempts);
  if (step.cause) tell(sink, "cause", *step.cause);
  if (step.skipped) sink.text("skipped", to_label(*step.skipped));
  sink.text("left", to_label(step.left));
  sink.flag("alert", step.alert);
  sink.number("index", step.index);
  if (step.opens_at) sink.time("opens_at", *step.opens_at);
  if (step.opens_in) sink.duration("opens_in", *step.opens_in);
  if (step.verdict) tell(sink, "verdict", *step.verdict);
  if (step.attempt_time) sink.duration("attempt_time", *step.attempt_time);
  if (step.wait_time) sink.duration("wait_time", *step.wait_time);
  if (step.failed_at) sink.time("failed_at", *step.failed_at);
}

inline void tell(FieldSink& sink, const RunReport& report) {
  sink.text("end", to_label(report.end));
  sink.number("attempts", report.attempts);
  constexpr auto most = static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)());
  const std::uint64_t delivered = report.delivered;
  sink.number("delivered", static_cast<std::int64_t>(delivered < most ? delivered : most));
  if (report.answered_step) {
    sink.number("answered_step", *report.answered_step);
    sink.text("answered_by", report.answered_by());
  }
  sink.flag("fell_back", report.fell_back());
  sink.begin_list("steps");
  for (std::size_t i = 0; i != report.steps.size(); ++i) {
    sink.begin_element(i);
    tell(sink, report.steps[i]);
    sink.end();
  }
  sink.end_list();
  if (report.last_failed) sink.number("last_failed", *report.last_failed);
  if (report.rule_error) tell(sink, "rule_error", *report.rule_error);
  if (const std::optional<TimePoint> at = report.retry_at()) sink.time("retry_at", *at);
  sink.text("label", report.label);
  if (report.started_at) sink.time("started_at", *report.started_at);
  if (report.duration) sink.duration("duration", *report.duration);
}

template <class E>
void tell_place(FieldSink& sink, const E& event) {
  sink.number("attempt", event.attempt);
  sink.number("step_attempt", event.step_attempt);
  sink.number("step_index", event.step_index);
  sink.text("step_name", event.step_name);
  sink.time("at", event.at);
}

inline void tell(FieldSink& sink, const AttemptStart& event) {
  tell_place(sink, event);
  sink.duration("gate_wait", event.gate_wait);
  sink.text("label", event.label);
}

inline void tell(FieldSink& sink, const FirstOutput& event) {
  tell_place(sink, event);
  sink.duration("after", event.after);
  sink.text("label", event.label);
}

inline void tell(FieldSink& sink, const AttemptSuccess& event) {
  tell_place(sink, event);
  sink.duration("duration", event.duration);
  sink.text("label", event.label);
}

inline void tell(FieldSink& sink, const AttemptFailure& event) {
  tell_place(sink, event);
  sink.duration("duration", event.duration);
  tell(sink, "cause", event.cause);
  if (event.verdict) tell(sink, "verdict", *event.verdict);
  tell(sink, "next", event.next);
  sink.text("label", event.label);
}

inline void tell(FieldSink& sink, const StepSkipped& event) {
  sink.number("step_index", event.step_index);
  sink.text("step_name", event.step_name);
  sink.time("at", event.at);
  sink.text("reason", to_label(event.reason));
  if (event.opens_at) sink.time("opens_at", *event.opens_at);
  sink.text("label", event.label);
}

inline void tell(FieldSink& sink, const RunFinish& event) {
  sink.text("end", to_label(event.end));
  sink.begin("report");
  tell(sink, event.report);
  sink.end();
  sink.time("at", event.at);
  sink.duration("duration", event.duration);
  sink.text("label", event.label);
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
