// SPDX-License-Identifier: MIT
// The definitions of http_rules.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/detail/http_rules.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL bool HttpMatch::phrase(std::string_view phrase, std::string_view text) noexcept {
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  for (auto from = text.begin();; ++from) {
    from = std::search(from, text.end(), phrase.begin(), phrase.end(), same);
    if (from == text.end()) return false;
    const auto to = from + static_cast<std::ptrdiff_t>(phrase.size());
    const bool begins = from == text.begin() || !is_word(from[-1]) || !is_word(phrase.front());
    const bool ends = to == text.end() || !is_word(*to) || !is_word(phrase.back());
    if (begins && ends) return true;
  }
}

PLANB_DECL void HttpReading::note_timeout() noexcept {
  if (kind == FailureClass::unknown) timed_out = true;
  note(FailureClass::timeout);
}

PLANB_DECL void HttpRules::add_status(int first, int last, Verdict verdict) {
  check_status(first <= last ? first : 0);
  statuses.push_back({first, last, verdict});
}

PLANB_DECL void HttpRules::add_code(std::string&& pattern, Verdict verdict) {
  if (HttpMatch::skip_separators(pattern, 0) == pattern.size()) {
    refuse("http_classifier: on_code() needs a pattern with something in it");
  }
  codes.push_back({std::move(pattern), verdict});
}

PLANB_DECL void HttpRules::add_text(int status, std::string&& phrase, Verdict verdict) {
  if (std::none_of(phrase.begin(), phrase.end(), HttpMatch::is_word)) {
    refuse("http_classifier: on_text() needs a phrase with a letter or digit in it");
  }
  texts.push_back({status, std::move(phrase), verdict});
}

PLANB_DECL void HttpRules::check_status(int first) {
  if (first < 1) refuse("http_classifier: a status is 1 or more, and the last of a range not below the first");
}

PLANB_DECL Verdict HttpRules::judge(const Cause& cause, HttpReading&& reading, VerdictReason* reason) const {
  const int code = reading.code.empty() ? -1 : HttpTable::of_code(reading.code, reading.status.has_value());
  const bool says = reading.says();
  if (code >= 0) reading.status = HttpTable::codes[code].status;
  const Verdict by_table = read_table(cause, reading, says, reason);
  if (reason != nullptr && code >= 0) note_code(*reason, HttpTable::codes[code]);
  // The rules stand before it: they are asked for the code itself, and then for the status that it means.
  std::optional<Verdict> said = judge_code(reading.code, reason);
  if (!said) said = judge_reading(cause, reading, says, reason);
  Verdict verdict = said.value_or(by_table);
  if (verdict.failure_class == FailureClass::unknown) verdict.failure_class = by_table.failure_class;
  return verdict;
}

PLANB_DECL void HttpRules::note(VerdictReason* reason, VerdictSource by, bool own_rule, std::string row) {
  if (reason == nullptr) return;
  reason->by = by;
  reason->own_rule = own_rule;
  reason->row = std::move(row);
}

PLANB_DECL void HttpRules::note_range(VerdictReason* reason, bool own_rule, int first, int last) {
  if (reason == nullptr) return;
  std::string row = std::to_string(first);
  if (last != first) row += " to " + std::to_string(last);
  note(reason, VerdictSource::status, own_rule, std::move(row));
}

PLANB_DECL void HttpRules::note_code(VerdictReason& reason, const HttpTable::CodeRow& row) {
  note(&reason, VerdictSource::code, false, std::string(row.pattern));
  if (row.status != HttpTable::refusal) reason.read_as = row.status;
}

PLANB_DECL Verdict HttpRules::read_table(const Cause& cause, const HttpReading& reading, bool says,
                                         VerdictReason* reason) const {
  using enum VerdictSource;
  if (reading.status == HttpTable::refusal) return refusal;
  if (reading.status) {
    if (const int row = HttpTable::of_status(*reading.status); row >= 0) {
      note_range(reason, false, HttpTable::statuses[row].first, HttpTable::statuses[row].last);
      return HttpTable::statuses[row].verdict;
    }
  }
  const auto by = [&](VerdictSource source, const Verdict& verdict) {
    note(reason, source, false);
    return verdict;
  };
  if (cause.kind() == CauseKind::rejected) return by(value, HttpTable::value_rejected);
  if (cause.kind() == CauseKind::timeout) return by(timed_out, HttpTable::timed_out);
  if (says) return by(nothing, HttpTable::not_read);
  if (reading.kind == FailureClass::timeout) return by(timed_out, HttpTable::timed_out);
  return reading.kind == FailureClass::connection || reading.silent
             ? by(connection_failed, HttpTable::connection_failed)
             : by(nothing, HttpTable::not_read);
}

PLANB_DECL std::optional<Verdict> HttpRules::judge_code(std::string_view code, VerdictReason* reason) const {
  if (code.empty()) return std::nullopt;
  for (auto rule = codes.rbegin(); rule != codes.rend(); ++rule) {
    if (!HttpMatch::code(rule->pattern, code)) continue;
    if (reason != nullptr) note(reason, VerdictSource::code, true, rule->pattern);
    return rule->verdict;
  }
  return std::nullopt;
}

PLANB_DECL std::optional<Verdict> HttpRules::judge_reading(const Cause& cause, const HttpReading& reading, bool says,
                                                           VerdictReason* reason) const {
  using enum VerdictSource;
  if (reading.status == HttpTable::refusal) return std::nullopt;
  if (reading.status) {
    if (const std::optional<Verdict> verdict = judge_text(cause, *reading.status, reason)) return verdict;
    for (auto rule = statuses.rbegin(); rule != statuses.rend(); ++rule) {
      if (*reading.status < rule->first || rule->last < *reading.status) continue;
      note_range(reason, true, rule->first, rule->last);
      return rule->verdict;
    }
    if (HttpTable::of_status(*reading.status) >= 0) return std::nullopt;
  }
  const auto by = [&](VerdictSource source, const std::optional<Verdict>& rule) {
    if (rule) note(reason, source, true);
    return rule;
  };
  if (cause.kind() == CauseKind::rejected) return by(value, unknown);
  if (cause.kind() == CauseKind::timeout || (!says && reading.timed_out)) return by(timed_out, timeout);
  if (!says && (reading.kind != FailureClass::unknown || reading.silent)) return by(connection_failed, connection);
  const std::optional<Verdict> verdict = judge_text(cause, 0, reason);
  return verdict ? verdict : by(nothing, unknown);
}

PLANB_DECL std::optional<Verdict> HttpRules::judge_text(const Cause& cause, int status, VerdictReason* reason) const {
  if (texts.empty() || cause.kind() == CauseKind::rejected) return std::nullopt;
  const std::string message = cause.message();
  for (auto rule = texts.rbegin(); rule != texts.rend(); ++rule) {
    if (rule->status != status || !HttpMatch::phrase(rule->phrase, message)) continue;
    if (reason != nullptr) note(reason, VerdictSource::text, true, rule->phrase);
    return rule->verdict;
  }
  return std::nullopt;
}

}  // namespace planb::inline PLANB_ABI::detail
