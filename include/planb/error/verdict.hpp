// SPDX-License-Identifier: MIT
// Verdict: what a classifier or an acceptance check makes of a failure, and what kind of failure it was.
#pragma once

#include <planb/detail/config.hpp>

#include <string_view>

namespace planb::inline PLANB_ABI {

// What is to be done about a cause.
enum class Action : unsigned char {
  retry,         // no objection: retry_while, attempts and the schedule decide
  next_step,     // leave this step
  next_guarded,  // leave this step for a later one whose enter_when accepts the cause; abort where none does
  abort,         // end the run
};

// One word for each value, for metrics, logs and settings: the value's own name. See parse_label.
[[nodiscard]] constexpr std::string_view to_label(Action value) noexcept {
  switch (value) {
    case Action::retry: return "retry";
    case Action::next_step: return "next_step";
    case Action::next_guarded: return "next_guarded";
    case Action::abort: return "abort";
  }
  return {};
}

// What a failure was, and so about whom: for metrics and rules. The table of http_classifier (docs/errors.md) says which
// statuses and codes are which.
enum class FailureClass : unsigned char {
  connection,        // the way there: refused, reset, unreachable
  timeout,           // no answer in time
  rate_limited,      // too many requests
  overloaded,        // busy or down for a while
  server_error,      // a fault of the provider's
  conflict,          // it met another request, or came too early
  quota,             // the account is empty
  auth,              // the key, or what it may do
  not_found,         // the model, or the address
  context_too_long,  // a larger window may take it
  content_refused,   // a policy forbids the content
  invalid_request,   // the request is wrong
  rejected_value,    // an acceptance check turned the value down, and nothing says why
  unknown,           // nothing that is read says what it was
};

[[nodiscard]] constexpr const char* to_string(FailureClass failure_class) noexcept {
  switch (failure_class) {
    case FailureClass::connection: return "connection";
    case FailureClass::timeout: return "timeout";
    case FailureClass::rate_limited: return "rate limited";
    case FailureClass::overloaded: return "overloaded";
    case FailureClass::server_error: return "server error";
    case FailureClass::conflict: return "conflict";
    case FailureClass::quota: return "quota";
    case FailureClass::auth: return "auth";
    case FailureClass::not_found: return "not found";
    case FailureClass::context_too_long: return "context too long";
    case FailureClass::content_refused: return "content refused";
    case FailureClass::invalid_request: return "invalid request";
    case FailureClass::rejected_value: return "rejected value";
    case FailureClass::unknown: return "unknown";
  }
  return "unknown";
}

[[nodiscard]] constexpr std::string_view to_label(FailureClass value) noexcept {
  switch (value) {
    case FailureClass::connection: return "connection";
    case FailureClass::timeout: return "timeout";
    case FailureClass::rate_limited: return "rate_limited";
    case FailureClass::overloaded: return "overloaded";
    case FailureClass::server_error: return "server_error";
    case FailureClass::conflict: return "conflict";
    case FailureClass::quota: return "quota";
    case FailureClass::auth: return "auth";
    case FailureClass::not_found: return "not_found";
    case FailureClass::context_too_long: return "context_too_long";
    case FailureClass::content_refused: return "content_refused";
    case FailureClass::invalid_request: return "invalid_request";
    case FailureClass::rejected_value: return "rejected_value";
    case FailureClass::unknown: return "unknown";
  }
  return {};
}

struct Verdict {
  Action action = Action::retry;
  bool alert = false;  // somebody should hear of it, whatever the run makes of it
  FailureClass failure_class = FailureClass::unknown;

  // Whether the same is to be done. What the failure was takes no part.
  friend constexpr bool operator==(Verdict a, Verdict b) noexcept { return a.action == b.action && a.alert == b.alert; }
};

}  // namespace planb::inline PLANB_ABI
