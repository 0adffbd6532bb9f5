// SPDX-License-Identifier: MIT
// The definitions of event.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/error_traits.hpp>
#include <planb/report/detail/text.hpp>
#include <planb/report/event.hpp>

#include <memory>
#include <new>
#include <string>
#include <utility>

namespace planb::inline PLANB_ABI {

PLANB_DECL Event::Event(const Event& other) : kind_(other.kind_) {
  other.visit([this]<class E>(const E& event) { ::new (room()) E(event); });
}

PLANB_DECL Event::Event(Event&& other) noexcept : kind_(other.kind_) {
  other.visit([this]<class E>(const E& event) { ::new (room()) E(std::move(const_cast<E&>(event))); });
}

PLANB_DECL Event& Event::operator=(const Event& other) {
  if (this != std::addressof(other)) *this = Event(other);
  return *this;
}

PLANB_DECL Event& Event::operator=(Event&& other) noexcept {
  if (this != std::addressof(other)) {
    this->~Event();
    ::new (static_cast<void*>(this)) Event(std::move(other));
  }
  return *this;
}

PLANB_DECL Event::~Event() {
  visit([]<class E>(const E& event) { event.~E(); });
}

PLANB_DECL Cause detail::EventAccess::take_cause(Event& event) noexcept {
  return std::move(event.attempt_failure_.cause);
}

namespace detail {

template <class E>
[[nodiscard]] std::string attempt_line(const char* kind, const E& event) {
  std::string line = kind;
  line += " #" + detail::number_text(static_cast<long long>(event.attempt)) +
          " step=" + detail::number_text(static_cast<long long>(event.step_index));
  append_name(line, event.step_name);
  return line;
}

}  // namespace detail

PLANB_COLD PLANB_DECL std::string to_string(const AttemptStart& event) {
  return detail::attempt_line("AttemptStart", event);
}

PLANB_COLD PLANB_DECL std::string to_string(const AttemptSuccess& event) {
  return detail::attempt_line("AttemptSuccess", event);
}

PLANB_COLD PLANB_DECL std::string to_string(const AttemptFailure& event) {
  std::string line = detail::attempt_line("AttemptFailure", event);
  line += ' ';
  detail::append_clipped(line, detail::describe(event.cause));
  if (event.verdict && event.verdict->alert) line += " (alert)";
  switch (event.next.kind) {
    case NextMove::retry:
      line += ", retry";
      if (event.next.delay > Duration::zero()) line += " in " + detail::duration_text(event.next.delay);
      break;
    case NextMove::next_step:
      line += ", next step";
      if (detail::says_more(event.next.reason)) {
        line += std::string(": ") +
                (event.next.gate_reason ? to_string(*event.next.gate_reason) : to_string(event.next.reason));
      }
      break;
    case NextMove::end:
      line += std::string(", end: ") + to_string(event.next.run_end);
      if (event.next.reason == LeaveReason::partial_output) line += std::string(" ") + to_string(event.next.reason);
      break;
  }
  return line;
}

PLANB_COLD PLANB_DECL std::string to_string(const StepSkipped& event) {
  std::string line = "StepSkipped step=" + detail::number_text(static_cast<long long>(event.step_index));
  detail::append_name(line, event.step_name);
  line += ' ';
  line += event.gate_reason ? detail::gate_text(*event.gate_reason, event.gate_text) : to_string(event.reason);
  if (event.opens_at) line += detail::open_text(detail::between(event.at, *event.opens_at), *event.opens_at);
  return line;
}

PLANB_COLD PLANB_DECL std::string to_string(const FirstOutput& event) {
  return detail::attempt_line("FirstOutput", event) + " after " + detail::duration_text(event.after);
}

PLANB_COLD PLANB_DECL std::string to_string(const RunFinish& event) {
  std::string line = "RunFinish ";
  line += to_string(event.end);
  const std::string text = event.report.to_string();
  if (!text.empty()) line += ", " + text;
  return line;
}

PLANB_COLD PLANB_DECL std::string to_string(const Event& event) {
  return event.visit([](const auto& e) { return to_string(e); });
}

}  // namespace planb::inline PLANB_ABI
