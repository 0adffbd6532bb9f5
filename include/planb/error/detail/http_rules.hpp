// SPDX-License-Identifier: MIT
// What http_classifier knows and was told: its table, how it reads errors, and how it compares codes and messages.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/error_traits.hpp>
#include <planb/error/verdict_reason.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

// How codes and messages are compared.
struct HttpMatch {
  [[nodiscard]] static constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }

  // Letters, digits and what is not ASCII.
  [[nodiscard]] static constexpr bool is_word(char c) noexcept {
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || static_cast<unsigned char>(c) >= 0x80U;
  }

  [[nodiscard]] static constexpr std::size_t skip_separators(std::string_view text, std::size_t at) noexcept {
    while (at != text.size() && (text[at] == '_' || text[at] == '-' || text[at] == ' ')) ++at;
    return at;
  }

  // As on_code() says. Looks back only to the last `*`, so that no pattern takes more than pattern times code steps.
  [[nodiscard]] static constexpr bool code(std::string_view pattern, std::string_view code) noexcept {
    constexpr std::size_t none = std::string_view::npos;
    std::size_t p = 0;
    std::size_t c = 0;
    std::size_t after_star = none;  // in the pattern
    std::size_t star_end = 0;       // of what that star has taken of the code
    for (;;) {
      p = skip_separators(pattern, p);
      c = skip_separators(code, c);
      if (p != pattern.size() && pattern[p] == '*') {
        after_star = ++p;
        star_end = c;
      } else if (c == code.size()) {
        return p == pattern.size();
      } else if (p != pattern.size() && lower(pattern[p]) == lower(code[c])) {
        ++p;
        ++c;
      } else if (after_star != none) {
        p = after_star;
        c = ++star_end;
      } else {
        return false;
      }
    }
  }

  // As on_text() says.
  [[nodiscard]] static bool phrase(std::string_view phrase, std::string_view text) noexcept;
};

// The table (docs/reference/http_classifier.md), row by row. Statuses and codes change: this is the place to change them.
struct HttpTable {
  struct StatusRow {
    int first;
    int last;
    Verdict verdict;
  };

  // A code is read as the status that it means, and so follows whatever is decided for that status.
  struct CodeRow {
    std::string_view pattern;
    int status;
    bool beats_status;  // it says more than a status that comes with it; otherwise it stands in where there is none
  };

  using enum Action;
  using enum FailureClass;

  // The first row that has the status. What no row has is unknown.
  static constexpr StatusRow statuses[] = {
      // About the provider or the way there, and it passes.
      {520, 523, {retry, false, connection}},
      {525, 526, {retry, false, connection}},
      {530, 530, {retry, false, connection}},
      {408, 408, {retry, false, timeout}},
      {504, 504, {retry, false, timeout}},
      {524, 524, {retry, false, timeout}},
      {429, 429, {retry, false, rate_limited}},
      {503, 503, {retry, false, overloaded}},
      {529, 529, {retry, false, overloaded}},
      {409, 409, {retry, false, conflict}},
      {425, 425, {retry, false, conflict}},
      // About this step's account, key or settings: somebody should hear of it.
      {402, 402, {next_step, true, quota}},
      {401, 401, {next_step, true, auth}},
      {403, 403, {next_step, true, auth}},
      {404, 404, {next_step, true, not_found}},
      {410, 410, {next_step, true, not_found}},
      // This provider cannot do it, another may.
      {501, 501, {next_step, false, server_error}},
      {505, 505, {next_step, false, server_error}},
      // A larger window may take it.
      {413, 413, {next_guarded, false, context_too_long}},
      // About the request: nobody takes it.
      {400, 400, {abort, false, invalid_request}},
      {405, 405, {abort, false, invalid_request}},
      {415, 415, {abort, false, invalid_request}},
      {422, 422, {abort, false, invalid_request}},
      // Whatever stands above in no row.
      {500, 599, {retry, false, server_error}},
  };

  // What says no more than its kind.
  static constexpr Verdict connection_failed{retry, false, connection};
  static constexpr Verdict timed_out{retry, false, timeout};
  static constexpr Verdict value_rejected{next_step, false, rejected_value};
  static constexpr Verdict not_read{next_step, false, unknown};  // neither hammer nor stop

  static constexpr int refusal = 0;  // in place of a status

  static constexpr CodeRow codes[] = {
      {"timeout_error", 504, false},
      {"deadline_exceeded", 504, false},
      // Many say "too many requests" with a 400 or a 403.
      {"rate_limit*", 429, true},
      {"too_many_requests", 429, true},
      {"*throttl*", 429, true},
      {"request_limit_exceeded", 429, true},
      {"slow_down", 429, true},
      {"resource_exhausted", 429, false},
      {"overloaded*", 529, true},
      {"*_overloaded", 529, true},
      {"service_unavailable", 503, true},
      {"unavailable", 503, true},
      {"server_busy", 503, true},
      {"server_error", 500, false},
      {"internal_*", 500, false},
      {"api_error", 500, false},
      // The account is empty: waiting does not help.
      {"insufficient_quota", 402, true},
      {"quota_exceeded", 402, true},
      {"quota_exhausted", 402, true},
      {"billing_hard_limit_reached", 402, true},
      {"credit_balance_exhausted", 402, true},
      {"*billing*", 402, true},
      {"*credit*", 402, true},
      {"*spend_limit*", 402, true},
      {"*spending_limit*", 402, true},
      // The key, the model.
      {"invalid_api_key", 401, true},
      {"api_key_invalid", 401, true},
      {"authentication_*", 401, false},
      {"unauthenticated", 401, false},
      {"permission_*", 403, false},
      {"model_not_found", 404, true},
      {"deployment_not_found", 404, true},
      {"not_found_error", 404, false},
      // The window.
      {"context_length_exceeded", 413, true},
      {"*context_window_exceeded", 413, true},
      {"request_too_large", 413, false},
      // Policy, as an error's code or as a finish reason.
      {"content_filter", refusal, true},
      {"content_filtered", refusal, true},
      {"content_policy_violation", refusal, true},
      {"responsible_ai_policy_violation", refusal, true},
      {"guardrail_intervened", refusal, true},
      {"moderation_blocked", refusal, true},
      {"prohibited_content", refusal, true},
      {"refusal", refusal, true},
      {"safety", refusal, true},
      // The request.
      {"invalid_request_error", 400, false},
      {"invalid_argument", 400, false},
  };

  // Rows are told by their index, or -1 for none: with -fsanitize=undefined GCC does not take the comparison of a
  // row's address with null for a constant.
  [[nodiscard]] static constexpr int of_status(int status) noexcept {
    for (int i = 0; i != static_cast<int>(std::size(statuses)); ++i) {
      if (statuses[i].first <= status && status <= statuses[i].last) return i;
    }
    return -1;
  }

  // Exact codes before patterns, and then the top row.
  [[nodiscard]] static constexpr int of_code(std::string_view code, bool has_status) noexcept {
    for (const bool exact : {true, false}) {
      for (int i = 0; i != static_cast<int>(std::size(codes)); ++i) {
        if (has_status && !codes[i].beats_status) continue;
        if (is_exact(codes[i]) == exact && HttpMatch::code(codes[i].pattern, code)) return i;
      }
    }
    return -1;
  }

  [[nodiscard]] static constexpr bool is_exact(const CodeRow& row) noexcept {
    return row.pattern.find('*') == std::string_view::npos;
  }
};

// Whether each row of the table answers for what it names, and none hides another.
[[nodiscard]] constexpr bool is_consistent_http_table() noexcept {
  for (int i = 0; i != static_cast<int>(std::size(HttpTable::statuses)); ++i) {
    const HttpTable::StatusRow& row = HttpTable::statuses[i];
    if (row.first > row.last || row.first < 400 || row.last > 599) return false;
    if (HttpTable::of_status(row.first) != i || HttpTable::of_status(row.last) != i) return false;
  }
  for (int i = 0; i != static_cast<int>(std::size(HttpTable::codes)); ++i) {
    const HttpTable::CodeRow& row = HttpTable::codes[i];
    if (row.status != HttpTable::refusal && HttpTable::of_status(row.status) < 0) return false;
    // A pattern stands for what it is without its stars; another row for the same may be asked first.
    const std::size_t from = row.pattern.find_first_not_of('*');
    const std::string_view code = row.pattern.substr(from, row.pattern.find_last_not_of('*') + 1 - from);
    const int found = HttpTable::of_code(code, row.beats_status);
    if (found < 0) return false;
    if (HttpTable::is_exact(row) ? found != i : HttpTable::codes[found].status != row.status) return false;
  }
  return true;
}
static_assert(is_consistent_http_table(), "planb: a row of http_classifier's table hides another one");

// What an error says, itself or through what it wraps.
struct HttpReading {
  std::optional<int> status;
  std::string code;
  // Of an error that has neither:
  bool timed_out = false;                     // the last attempt of a run within ran out of time
  FailureClass kind = FailureClass::unknown;  // connection or timeout
  bool silent = false;                        // nobody answered: one that can have a status, and has none

  [[nodiscard]] bool says() const noexcept { return status.has_value() || !code.empty(); }

  template <class E>
  static constexpr bool can_read = reads_status<E> || reads_code<E> || reads_retry_after<E> || reads_message<E> ||
                                   reads_retryable<E> || reads_system_code<E> || is_system_code<E>;

  // Reads an error, or one that it wraps, and nothing inside it. True: it has a status or a code.
  template <class... E>
  bool read(const Cause& cause, bool is_inner) {
    status = CauseAccess::own_status(cause);
    code = CauseAccess::own_code(cause);
    if (says()) return true;
    if (is_inner && cause.kind() == CauseKind::timeout) note_timeout();
    CauseAccess::any_type(cause, Reads::status | Reads::system_code, [&](const ErrorOps& type, const void* error) {
      const auto is = [&](std::errc what) {
        return detail::read_or(what == std::errc(), [&] { return type.says_errc(error, what); });
      };
      if (type.says_errc != nullptr && !is(std::errc())) {
        note(kind_of(is));
      } else if ((type.reads & Reads::status) != 0) {
        silent = true;
      }
      return false;
    });
    // Outside a plan nothing is known of a thrown error.
    if ((read_as<E>(cause) || ... || read_as<ProviderError>(cause)) || read_as<std::system_error>(cause)) return true;
    if (cause.get_if<AttemptTimeout>() != nullptr) note_timeout();
    return false;
  }

  // What it says of another try as an E, if it is one. True: it says something.
  template <class E>
  static bool read_retryable_as(const Cause& cause, std::optional<bool>& retryable) {
    if constexpr (reads_retryable<E>) {
      if (const E* const error = cause.get_if<E>()) {
        retryable = detail::read_or(std::optional<bool>(), [&] { return detail::read_retryable(*error); });
      }
    }
    return retryable.has_value();
  }

 private:
  // Reads the error as an E, if it is one. A reader that throws has said nothing.
  template <class E>
  bool read_as(const Cause& cause) {
    const E* const error = cause.get_if<E>();
    if (error == nullptr) return false;
    status = detail::read_or(std::optional<int>(), [&] { return detail::read_status(*error); });
    code = detail::read_or(std::string(), [&] { return detail::read_code(*error); });
    const auto is = [&](std::errc what) {
      return detail::read_or(what == std::errc(), [&] { return detail::says_errc(*error, what); });
    };
    bool has_code = false;
    if constexpr (is_system_code<E> || reads_system_code<E>) has_code = !is(std::errc());
    if (has_code) {
      note(kind_of(is));
    } else if (reads_status<E> && !says()) {
      silent = true;
    }
    return says();
  }

  void note(FailureClass what) noexcept {
    if (kind == FailureClass::unknown) kind = what;
  }

  void note_timeout() noexcept;

  template <class Is>
  [[nodiscard]] static FailureClass kind_of(Is is) {
    constexpr std::errc connections[] = {
        std::errc::connection_refused,  std::errc::connection_reset, std::errc::connection_aborted,
        std::errc::not_connected,       std::errc::broken_pipe,      std::errc::host_unreachable,
        std::errc::network_unreachable, std::errc::network_down,     std::errc::network_reset,
#ifdef EHOSTDOWN  // which has no std::errc
        static_cast<std::errc>(EHOSTDOWN),
#endif
    };
    constexpr std::errc timeouts[] = {
        std::errc::timed_out,
        std::errc::operation_would_block,  // this one and the next of a receive timeout
        std::errc::resource_unavailable_try_again,
    };
    if (std::any_of(std::begin(connections), std::end(connections), is)) return FailureClass::connection;
    if (std::any_of(std::begin(timeouts), std::end(timeouts), is)) return FailureClass::timeout;
    return FailureClass::unknown;
  }
};

// The error's own word on whether another try makes sense.
template <class... E>
[[nodiscard]] std::optional<bool> own_word(const Cause& cause) {
  std::optional<bool> retryable = cause.retryable();
  // Outside a plan a thrown error is known by the types that are named here alone.
  if (!retryable) static_cast<void>((HttpReading::read_retryable_as<E>(cause, retryable) || ...));
  return retryable;
}

// What a caller decided.
struct HttpRules {
  struct StatusRule {
    int first;
    int last;
    Verdict verdict;
  };
  struct CodeRule {
    std::string pattern;
    Verdict verdict;
  };
  struct TextRule {
    int status;  // 0: any error that nothing else reads
    std::string phrase;
    Verdict verdict;
  };

  explicit HttpRules(Verdict of_refusal) noexcept : refusal(of_refusal) {}

  void add_status(int first, int last, Verdict verdict);

  void add_code(std::string&& pattern, Verdict verdict);

  void add_text(int status, std::string&& phrase, Verdict verdict);

  static void check_status(int first);

  // Notes in `reason`, where it is asked for, what has decided.
  [[nodiscard]] Verdict judge(const Cause& cause, HttpReading&& reading, VerdictReason* reason = nullptr) const;

  Verdict refusal;
  std::optional<Verdict> timeout;
  std::optional<Verdict> connection;
  std::optional<Verdict> unknown;
  std::vector<StatusRule> statuses;
  std::vector<CodeRule> codes;
  std::vector<TextRule> texts;

 private:
  static void note(VerdictReason* reason, VerdictSource by, bool own_rule, std::string row = {});
  static void note_range(VerdictReason* reason, bool own_rule, int first, int last);
  static void note_code(VerdictReason& reason, const HttpTable::CodeRow& row);

  [[nodiscard]] Verdict read_table(const Cause& cause, const HttpReading& reading, bool says,
                                   VerdictReason* reason) const;

  [[nodiscard]] std::optional<Verdict> judge_code(std::string_view code, VerdictReason* reason) const;

  // What the rules say of everything but the code, where they say something before the table does.
  [[nodiscard]] std::optional<Verdict> judge_reading(const Cause& cause, const HttpReading& reading, bool says,
                                                     VerdictReason* reason) const;

  [[nodiscard]] std::optional<Verdict> judge_text(const Cause& cause, int status, VerdictReason* reason) const;
};

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/error/impl/http_rules.hpp>  // IWYU pragma: export
#endif
