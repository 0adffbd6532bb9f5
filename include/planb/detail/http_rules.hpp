// What http_classifier knows and was told: its table, how it reads errors, and how it compares codes and messages.
#pragma once

#include <planb/cause.hpp>
#include <planb/detail/config.hpp>
#include <planb/detail/fail.hpp>
#include <planb/error_traits.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

// The table. Statuses that stand in none of its rows are unknown.
struct HttpTable {
  struct StatusRow {
    int status;
    Verdict verdict;
  };

  // A code is read as the status that it means, and so follows whatever is decided for that status.
  struct CodeRow {
    std::string_view pattern;
    int status;
  };

  static constexpr Verdict passing{Action::retry, false};           // about the provider: it passes
  static constexpr Verdict at_fault{Action::next_step, true};       // about this step's account, key or settings
  static constexpr Verdict too_large{Action::next_guarded, false};  // a larger window may take it
  static constexpr Verdict bad_request{Action::abort, false};       // about the request: nobody takes it
  static constexpr Verdict unknown{Action::next_step, false};       // neither hammer nor stop

  static constexpr StatusRow statuses[] = {
      {400, bad_request}, {401, at_fault},    {402, at_fault}, {403, at_fault}, {404, at_fault},
      {405, bad_request}, {408, passing},     {409, passing},  {410, at_fault}, {413, too_large},
      {415, bad_request}, {422, bad_request}, {425, passing},  {429, passing},  {500, passing},
      {502, passing},     {503, passing},     {504, passing},  {529, passing},
  };

  static constexpr int refusal = 0;  // in place of a status

  // Each says more than the status that it comes with, and stands before it.
  static constexpr CodeRow codes[] = {
      // The account is empty: waiting does not help.
      {"insufficient_quota", 402},
      {"quota_exceeded", 402},
      {"quota_exhausted", 402},
      {"*billing*", 402},
      {"*credit*", 402},
      {"*spend_limit*", 402},
      {"*spending_limit*", 402},
      // The key, the model.
      {"invalid_api_key", 401},
      {"api_key_invalid", 401},
      {"model_not_found", 404},
      {"deployment_not_found", 404},
      // The window.
      {"context_length_exceeded", 413},
      {"*context_window_exceeded", 413},
      // Policy, as an error's code or as a finish reason.
      {"content_filter", refusal},
      {"content_filtered", refusal},
      {"content_policy_violation", refusal},
      {"responsible_ai_policy_violation", refusal},
      {"guardrail_intervened", refusal},
      {"moderation_blocked", refusal},
      {"prohibited_content", refusal},
      {"refusal", refusal},
      {"safety", refusal},
  };

  // Each says no more than a status, and stands in where there is none, as for an error inside an open stream.
  static constexpr CodeRow stand_ins[] = {
      {"invalid_request_error", 400},
      {"invalid_argument", 400},
      {"authentication_error", 401},
      {"unauthenticated", 401},
      {"permission_error", 403},
      {"permission_denied", 403},
      {"not_found_error", 404},
      {"request_too_large", 413},
      {"rate_limit_error", 429},
      {"rate_limit_exceeded", 429},
      {"resource_exhausted", 429},
      {"too_many_requests", 429},
      {"api_error", 500},
      {"server_error", 500},
      {"internal_server_error", 500},
      {"unavailable", 503},
      {"service_unavailable", 503},
      {"timeout_error", 504},
      {"deadline_exceeded", 504},
      {"overloaded_error", 529},
      {"overloaded", 529},
  };
};

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
  [[nodiscard]] static bool phrase(std::string_view phrase, std::string_view text) noexcept {
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
};

// What an error says.
struct HttpReading {
  std::optional<int> status;
  std::string code;
  bool connection = false;  // nobody could be reached, or nobody answered

  [[nodiscard]] bool says() const noexcept { return status.has_value() || !code.empty(); }

  template <class T>
  static constexpr bool is_system_code =
      std::is_same_v<T, std::error_code> || std::is_same_v<T, std::error_condition> || std::is_same_v<T, std::errc>;
  template <class E>
  static constexpr bool has_system_code =
      is_system_code<ReadValue<decltype(detail::raw_code(std::declval<const E&>()))>>;
  template <class E>
  static constexpr bool can_read =
      reads_status<E> || reads_code<E> || reads_retry_after<E> || reads_message<E> || has_system_code<E>;

  // Reads the error as an E, if it is one. True: it has a status or a code.
  template <class E>
  bool read_as(const Cause& cause) {
    const E* const error = cause.get_if<E>();
    if (error == nullptr) return false;
    status = detail::read_status(*error);
    code = detail::read_code(*error);
    bool silent = reads_status<E> && !says();
    if constexpr (has_system_code<E>) {
      detail::with_value(detail::raw_code(*error), [&](const auto& system_code) {
        if (system_code == std::remove_cvref_t<decltype(system_code)>{}) return;
        silent = false;
        connection = connection || is_connection_error(system_code);
      });
    }
    connection = connection || silent;
    return says();
  }

  // Reads a returned error that is such a code itself.
  template <class Code>
  void read_system_code(const Cause& cause) {
    if (const Code* const system_code = cause.get_if<Code>()) connection = is_connection_error(*system_code);
  }

 private:
  template <class Code>
  [[nodiscard]] static bool is_connection_error(const Code& system_code) {
    constexpr std::errc known[] = {
        std::errc::connection_refused,    std::errc::connection_reset,
        std::errc::connection_aborted,    std::errc::not_connected,
        std::errc::broken_pipe,           std::errc::timed_out,
        std::errc::host_unreachable,      std::errc::network_unreachable,
        std::errc::network_down,          std::errc::network_reset,
        std::errc::operation_would_block, std::errc::resource_unavailable_try_again,  // receive timeouts
    };
#ifdef EHOSTDOWN  // which has no std::errc, and no place in every system category
    if (system_code == std::error_code(EHOSTDOWN, std::system_category())) return true;
    if (system_code == std::error_condition(EHOSTDOWN, std::generic_category())) return true;
#endif
    return std::any_of(std::begin(known), std::end(known),
                       [&](std::errc c) { return system_code == std::make_error_condition(c); });
  }
};

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

  void add_status(int first, int last, Verdict verdict) {
    check_status(first <= last ? first : 0);
    statuses.push_back({first, last, verdict});
  }

  void add_code(std::string&& pattern, Verdict verdict) {
    if (HttpMatch::skip_separators(pattern, 0) == pattern.size()) {
      refuse("http_classifier: on_code() needs a pattern with something in it");
    }
    codes.push_back({std::move(pattern), verdict});
  }

  void add_text(int status, std::string&& phrase, Verdict verdict) {
    if (std::none_of(phrase.begin(), phrase.end(), HttpMatch::is_word)) {
      refuse("http_classifier: on_text() needs a phrase with a letter or digit in it");
    }
    texts.push_back({status, std::move(phrase), verdict});
  }

  static void check_status(int first) {
    if (first < 1) refuse("http_classifier: a status is 1 or more, and the last of a range not below the first");
  }

  [[nodiscard]] Verdict judge(const Cause& cause, HttpReading&& reading) const {
    if (!reading.code.empty()) {
      for (auto rule = codes.rbegin(); rule != codes.rend(); ++rule) {
        if (HttpMatch::code(rule->pattern, reading.code)) return rule->verdict;
      }
      if (const std::optional<int> meant = status_of(HttpTable::codes, reading.code)) {
        if (*meant == HttpTable::refusal) return refusal;
        reading.status = meant;
      } else if (!reading.status) {
        reading.status = status_of(HttpTable::stand_ins, reading.code);
      }
    }
    if (reading.status) {
      if (const std::optional<Verdict> verdict = judge_status(cause, *reading.status)) return *verdict;
    }
    if (cause.kind() == CauseKind::rejected) return unknown;
    if (cause.kind() == CauseKind::timeout) return timeout;
    if (reading.connection && !reading.says()) return connection;
    return judge_text(cause, 0).value_or(unknown);
  }

  Verdict refusal;
  Verdict timeout = HttpTable::passing;
  Verdict connection = HttpTable::passing;
  Verdict unknown = HttpTable::unknown;
  std::vector<StatusRule> statuses;
  std::vector<CodeRule> codes;
  std::vector<TextRule> texts;

 private:
  template <std::size_t N>
  [[nodiscard]] static std::optional<int> status_of(const HttpTable::CodeRow (&rows)[N], std::string_view code) {
    for (const HttpTable::CodeRow& row : rows) {
      if (HttpMatch::code(row.pattern, code)) return row.status;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Verdict> judge_status(const Cause& cause, int status) const {
    if (const std::optional<Verdict> verdict = judge_text(cause, status)) return verdict;
    for (auto rule = statuses.rbegin(); rule != statuses.rend(); ++rule) {
      if (rule->first <= status && status <= rule->last) return rule->verdict;
    }
    for (const HttpTable::StatusRow& row : HttpTable::statuses) {
      if (row.status == status) return row.verdict;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Verdict> judge_text(const Cause& cause, int status) const {
    if (texts.empty() || cause.kind() == CauseKind::rejected) return std::nullopt;
    const std::string message = cause.message();
    for (auto rule = texts.rbegin(); rule != texts.rend(); ++rule) {
      if (rule->status == status && HttpMatch::phrase(rule->phrase, message)) return rule->verdict;
    }
    return std::nullopt;
  }
};

}  // namespace planb::inline PLANB_ABI::detail
