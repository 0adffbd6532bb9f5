// SPDX-License-Identifier: MIT
// VerdictReason: why http_classifier judges a failure as it does.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/verdict.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI {

// What of a failure has decided.
enum class VerdictSource : unsigned char {
  nothing,            // none of it: it is unknown, or a stop or a defect, which nothing is read of
  code,               // its structured code
  status,             // its status, or the one that its code is read as
  timed_out,          // it was a timeout
  connection_failed,  // nobody answered
  text,               // its message
  value,              // it is a value that an acceptance check refused
};

[[nodiscard]] constexpr std::string_view to_label(VerdictSource value) noexcept {
  switch (value) {
    case VerdictSource::nothing: return "nothing";
    case VerdictSource::code: return "code";
    case VerdictSource::status: return "status";
    case VerdictSource::timed_out: return "timed_out";
    case VerdictSource::connection_failed: return "connection_failed";
    case VerdictSource::text: return "text";
    case VerdictSource::value: return "value";
  }
  return {};
}

struct VerdictReason {
  Verdict verdict = {};
  VerdictSource by = VerdictSource::nothing;
  bool own_rule = false;  // a rule that was added with on_...(), and not a row of the table
  std::string row = {};   // which: a code's pattern, "429", "500 to 599", a phrase
  // What the error says, itself or through what it wraps.
  std::optional<int> status = std::nullopt;
  std::string code = {};
  std::optional<int> read_as = std::nullopt;     // the status that the code means
  std::optional<bool> retryable = std::nullopt;  // the error's own word, where it was heard
};

// For people: "retry, rate_limited: status 429", or
//   "next_step, quota: code insufficient_quota, read as 402; the error has status 429".
[[nodiscard]] inline std::string to_string(const VerdictReason& reason) {
  std::string text(to_label(reason.verdict.action));
  text.append(", ").append(to_label(reason.verdict.failure_class)).append(": ");
  switch (reason.by) {
    case VerdictSource::nothing: text += "nothing that is read says what it was"; break;
    case VerdictSource::code: text += "code " + reason.row; break;
    case VerdictSource::status: text += "status " + reason.row; break;
    case VerdictSource::timed_out: text += "it timed out"; break;
    case VerdictSource::connection_failed: text += "the connection failed"; break;
    case VerdictSource::text: text += "text \"" + reason.row + "\""; break;
    case VerdictSource::value: text += "the value was refused"; break;
  }
  if (reason.read_as) text += ", read as " + std::to_string(*reason.read_as);
  if (reason.own_rule) text += ", by a rule of yours";
  if (reason.retryable) text += std::string(", and the error says retryable=") + (*reason.retryable ? "true" : "false");
  const bool shows_status = reason.status && reason.row != std::to_string(*reason.status);
  const bool shows_code = !reason.code.empty() && reason.row != reason.code;
  if (shows_status || shows_code) text += "; the error has";
  if (shows_status) text += " status " + std::to_string(*reason.status);
  if (shows_status && shows_code) text += " and";
  if (shows_code) text += " code " + reason.code;
  return text;
}

}  // namespace planb::inline PLANB_ABI
