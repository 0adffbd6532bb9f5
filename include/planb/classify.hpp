// http_classifier: reads what a failure says, and about whom, and so what is to be done.
#pragma once

#include <planb/cause.hpp>
#include <planb/detail/config.hpp>
#include <planb/detail/fail.hpp>
#include <planb/error_traits.hpp>
#include <planb/predicate.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI {

// What a refusal means: the provider answers that its policy forbids the content. A decision of the caller's, so it has
// no default.
enum class Refusal : unsigned char {
  next_step = 1,  // another provider may answer
  next_guarded,   // only a later step whose enter_when accepts the refusal, such as a lenient model; none does: abort
  abort,
};

namespace detail {
struct HttpRules;
}

// The ready-made classifier, and a value: every on_...() gives a changed copy, so that one may be built on another. What
// is said later stands before what was said earlier, and all of it before the table (section "Errors" of the guide).
//
// It reads, and the first that says something answers:
//   1. the error's structured code: the patterns of on_code(), then the table's
//   2. its status: the phrases of on_text(status, ...), then on_status(), then the table
//   3. its kind: a timeout, or a connection that failed (std::system_error, std::error_code, std::errc; a ProviderError,
//      or an E that can have a status, with neither status nor code: nobody answered). Not of a refused value
//   4. its text: the phrases of on_text(). Not of a refused value, whose text is the model's
// Nothing of these: the error is unknown, and the step is left. So is one with a value that an acceptance check refused
// and that has no telling code or status, an empty completion for example; have the check return a Verdict for another.
//
// E are the caller's own error types, read through error_traits. Naming them here makes them readable in the whole plan.
template <class... E>
class HttpClassifier {
 public:
  // Refuses what is no Refusal, such as `Refusal{}`, with std::invalid_argument.
  explicit HttpClassifier(Refusal refusal);

  HttpClassifier(const HttpClassifier&) noexcept = default;  // and no move: a moved-from one could not answer
  HttpClassifier& operator=(const HttpClassifier&) noexcept = default;
  ~HttpClassifier() = default;

  Verdict operator()(const Cause& cause) const;

  // For a status, or for all from `first` to `last`. Refused with std::invalid_argument: a status below 1, an empty range.
  [[nodiscard]] HttpClassifier on_status(int status, Verdict verdict) const { return on_status(status, status, verdict); }
  [[nodiscard]] HttpClassifier on_status(int first, int last, Verdict verdict) const;

  // For a code, as a whole. In the pattern `*` stands for any characters, none included: "quota_*", "*_limit_reached".
  // Case does not count, nor do `_`, `-` and spaces: "content_filter" matches ContentFilter. Refused: an empty pattern.
  [[nodiscard]] HttpClassifier on_code(std::string pattern, Verdict verdict) const;

  // For an error that nothing else reads and whose message has `phrase` in it, as whole words, in any case: "reset by
  // peer". With a status: for an error of that status, in place of what the status alone would mean. Refused: a phrase
  // without a letter or digit.
  [[nodiscard]] HttpClassifier on_text(std::string phrase, Verdict verdict) const;
  [[nodiscard]] HttpClassifier on_text(int status, std::string phrase, Verdict verdict) const;

  // For a timeout whose error says nothing; for a connection that failed; for what nothing reads.
  [[nodiscard]] HttpClassifier on_timeout(Verdict verdict) const;
  [[nodiscard]] HttpClassifier on_connection(Verdict verdict) const;
  [[nodiscard]] HttpClassifier on_unknown(Verdict verdict) const;

  // The types that it makes readable.
  [[nodiscard]] static constexpr detail::NamedErrors named_errors() noexcept {
    if constexpr (sizeof...(E) == 0) {
      return {};
    } else {
      return {detail::error_ops_of<E...>, sizeof...(E)};
    }
  }

 private:
  template <class Change>
  [[nodiscard]] HttpClassifier with(Change change) const;

  std::shared_ptr<const detail::HttpRules> rules_;
};

// As in `.classify = http_classifier(Refusal::abort)`, or with the caller's own error types:
// `plan.with_classifier(http_classifier<LlmError, CurlError>(Refusal::next_step).on_status(404, {Action::abort}))`.
template <class... E>
[[nodiscard]] HttpClassifier<E...> http_classifier(Refusal refusal) {
  return HttpClassifier<E...>(refusal);
}

namespace detail {

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

  static constexpr Verdict passing{Action::retry, false};         // about the provider: it passes
  static constexpr Verdict at_fault{Action::next_step, true};     // about this step's account, key or settings
  static constexpr Verdict too_large{Action::next_guarded, false};  // a larger window may take it
  static constexpr Verdict bad_request{Action::abort, false};     // about the request: nobody takes it
  static constexpr Verdict unknown{Action::next_step, false};     // neither hammer nor stop

  static constexpr StatusRow statuses[] = {
      {400, bad_request}, {401, at_fault}, {402, at_fault}, {403, at_fault},    {404, at_fault},
      {405, bad_request}, {408, passing},  {409, passing},  {410, at_fault},    {413, too_large},
      {415, bad_request}, {422, bad_request}, {425, passing}, {429, passing},   {500, passing},
      {502, passing},     {503, passing},  {504, passing},  {529, passing},
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
      {"invalid_request_error", 400}, {"invalid_argument", 400},   {"authentication_error", 401},
      {"unauthenticated", 401},       {"permission_error", 403},   {"permission_denied", 403},
      {"not_found_error", 404},       {"request_too_large", 413},  {"rate_limit_error", 429},
      {"rate_limit_exceeded", 429},   {"resource_exhausted", 429}, {"too_many_requests", 429},
      {"api_error", 500},             {"server_error", 500},       {"internal_server_error", 500},
      {"unavailable", 503},           {"service_unavailable", 503}, {"timeout_error", 504},
      {"deadline_exceeded", 504},     {"overloaded_error", 529},   {"overloaded", 529},
  };
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

  Verdict refusal;
  Verdict timeout = HttpTable::passing;
  Verdict connection = HttpTable::passing;
  Verdict unknown = HttpTable::unknown;
  std::vector<StatusRule> statuses = {};
  std::vector<CodeRule> codes = {};
  std::vector<TextRule> texts = {};
};

[[nodiscard]] constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Letters, digits and what is not ASCII.
[[nodiscard]] constexpr bool is_word(char c) noexcept {
  return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || static_cast<unsigned char>(c) >= 0x80U;
}

[[nodiscard]] constexpr std::size_t skip_separators(std::string_view text, std::size_t at) noexcept {
  while (at != text.size() && (text[at] == '_' || text[at] == '-' || text[at] == ' ')) ++at;
  return at;
}

// As on_code() says. Looks back only to the last `*`, so that no pattern takes more than pattern × code steps.
[[nodiscard]] constexpr bool matches_code(std::string_view pattern, std::string_view code) noexcept {
  constexpr std::size_t none = std::string_view::npos;
  std::size_t p = 0;
  std::size_t c = 0;
  std::size_t star = none;       // after the last `*`
  std::size_t star_taken = 0;    // what that has taken of the code
  for (;;) {
    p = skip_separators(pattern, p);
    c = skip_separators(code, c);
    if (p != pattern.size() && pattern[p] == '*') {
      star = ++p;
      star_taken = c;
    } else if (c == code.size()) {
      return p == pattern.size();
    } else if (p != pattern.size() && lower(pattern[p]) == lower(code[c])) {
      ++p;
      ++c;
    } else if (star != none) {
      p = star;
      c = ++star_taken;
    } else {
      return false;
    }
  }
}

// As on_text() says.
[[nodiscard]] inline bool has_phrase(std::string_view text, std::string_view phrase) noexcept {
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

// For std::error_code, std::error_condition and std::errc: nobody could be reached, or nobody answered in time.
template <class Code>
[[nodiscard]] bool is_connection_error(const Code& code) {
  const std::error_condition known[] = {
      std::make_error_condition(std::errc::connection_refused),
      std::make_error_condition(std::errc::connection_reset),
      std::make_error_condition(std::errc::connection_aborted),
      std::make_error_condition(std::errc::not_connected),
      std::make_error_condition(std::errc::broken_pipe),
      std::make_error_condition(std::errc::timed_out),
      std::make_error_condition(std::errc::resource_unavailable_try_again),  // a receive timeout
      std::make_error_condition(std::errc::operation_would_block),           // the same
      std::make_error_condition(std::errc::host_unreachable),
      std::make_error_condition(std::errc::network_unreachable),
      std::make_error_condition(std::errc::network_down),
      std::make_error_condition(std::errc::network_reset),
#ifdef EHOSTDOWN
      std::error_condition(EHOSTDOWN, std::generic_category()),
#endif
  };
  return std::any_of(std::begin(known), std::end(known), [&](const std::error_condition& c) { return code == c; });
}

template <class T>
constexpr bool is_error_code =
    std::is_same_v<T, std::error_code> || std::is_same_v<T, std::error_condition> || std::is_same_v<T, std::errc>;

template <class E>
constexpr bool has_status = is_status<ReadValue<decltype(raw_status(std::declval<const E&>()))>>;
template <class E>
constexpr bool has_error_code = is_error_code<ReadValue<decltype(raw_code(std::declval<const E&>()))>>;
template <class E>
constexpr bool is_readable = has_status<E> || has_error_code<E> ||
                             is_text<ReadValue<decltype(raw_code(std::declval<const E&>()))>> ||
                             is_duration<ReadValue<decltype(raw_retry_after(std::declval<const E&>()))>> ||
                             is_text<ReadValue<decltype(raw_message(std::declval<const E&>()))>>;

// What was read from an error.
struct HttpReading {
  std::optional<int> status;
  std::string code;
  bool connection = false;

  [[nodiscard]] bool says() const noexcept { return status.has_value() || !code.empty(); }
};

// Reads the error as an E, if it is one. True: it has a status or a code.
template <class E>
bool read_as(const Cause& cause, HttpReading& reading) {
  const E* const error = cause.get_if<E>();
  if (error == nullptr) return false;
  reading.status = read_status(*error);
  reading.code = read_code(*error);
  bool silent = has_status<E> && !reading.says();
  if constexpr (has_error_code<E>) {
    with_value(raw_code(*error), [&](const auto& code) {
      if (code == std::remove_cvref_t<decltype(code)>{}) return;
      silent = false;
      reading.connection = reading.connection || is_connection_error(code);
    });
  }
  reading.connection = reading.connection || silent;
  return reading.says();
}

// A returned error that is a Code itself.
template <class Code>
void read_code_itself(const Cause& cause, HttpReading& reading) {
  if (const Code* const code = cause.get_if<Code>()) reading.connection = is_connection_error(*code);
}

[[nodiscard]] inline std::optional<Verdict> judge_status(const HttpRules& rules, int status, const Cause& cause) {
  if (cause.kind() != CauseKind::rejected) {
    for (auto rule = rules.texts.rbegin(); rule != rules.texts.rend(); ++rule) {
      if (rule->status == status && has_phrase(cause.message(), rule->phrase)) return rule->verdict;
    }
  }
  for (auto rule = rules.statuses.rbegin(); rule != rules.statuses.rend(); ++rule) {
    if (rule->first <= status && status <= rule->last) return rule->verdict;
  }
  for (const HttpTable::StatusRow& row : HttpTable::statuses) {
    if (row.status == status) return row.verdict;
  }
  return std::nullopt;
}

[[nodiscard]] inline Verdict judge(const HttpRules& rules, const Cause& cause, HttpReading&& reading) {
  if (!reading.code.empty()) {
    for (auto rule = rules.codes.rbegin(); rule != rules.codes.rend(); ++rule) {
      if (matches_code(rule->pattern, reading.code)) return rule->verdict;
    }
    const auto is = [&](const HttpTable::CodeRow& row) { return matches_code(row.pattern, reading.code); };
    const auto* const known = std::find_if(std::begin(HttpTable::codes), std::end(HttpTable::codes), is);
    if (known != std::end(HttpTable::codes)) {
      if (known->status == HttpTable::refusal) return rules.refusal;
      reading.status = known->status;
    } else if (!reading.status) {
      const auto* const row = std::find_if(std::begin(HttpTable::stand_ins), std::end(HttpTable::stand_ins), is);
      if (row != std::end(HttpTable::stand_ins)) reading.status = row->status;
    }
  }
  if (reading.status) {
    if (const std::optional<Verdict> verdict = judge_status(rules, *reading.status, cause)) return *verdict;
  }
  if (cause.kind() == CauseKind::rejected) return rules.unknown;
  if (cause.kind() == CauseKind::timeout) return rules.timeout;
  if (reading.connection && !reading.says()) return rules.connection;
  for (auto rule = rules.texts.rbegin(); rule != rules.texts.rend(); ++rule) {
    if (rule->status == 0 && has_phrase(cause.message(), rule->phrase)) return rule->verdict;
  }
  return rules.unknown;
}

[[nodiscard]] inline HttpRules rules_for(planb::Refusal refusal) {
  switch (refusal) {
    case planb::Refusal::next_step: return {.refusal = {Action::next_step}};
    case planb::Refusal::next_guarded: return {.refusal = {Action::next_guarded}};
    case planb::Refusal::abort: return {.refusal = {Action::abort}};
  }
  refuse("planb: http_classifier: what a refusal means must be said: Refusal::next_step, next_guarded or abort");
}

[[nodiscard]] inline std::string checked_phrase(std::string phrase) {
  if (std::none_of(phrase.begin(), phrase.end(), is_word)) {
    refuse("planb: http_classifier: on_text() needs a phrase with a letter or digit, not \"" + phrase + '"');
  }
  return phrase;
}

inline void check_statuses(int first, int last) {
  if (first >= 1 && first <= last) return;
  refuse("planb: http_classifier: no error has a status from " + std::to_string(first) + " to " + std::to_string(last));
}

}  // namespace detail

template <class... E>
HttpClassifier<E...>::HttpClassifier(Refusal refusal)
    : rules_(std::make_shared<const detail::HttpRules>(detail::rules_for(refusal))) {
  static_assert((std::is_same_v<E, std::remove_cvref_t<E>> && ...),
                "planb: http_classifier<E...> names error types without const or reference");
  static_assert((detail::is_readable<E> && ...),
                "planb: http_classifier<E...>: an error type here needs something to read: a member `status` (an integer), "
                "`code` or `message` (strings) or `retry_after` (a duration), or the same in planb::error_traits");
}

template <class... E>
Verdict HttpClassifier<E...>::operator()(const Cause& cause) const {
  if (cause.kind() == CauseKind::defect || cause.kind() == CauseKind::interrupted) return {Action::abort};
  detail::HttpReading reading{cause.status(), cause.code()};
  // What the plan knows of the error may be a base that says nothing, and outside a plan nothing is known of it.
  if (!reading.says()) {
    static_cast<void>((detail::read_as<E>(cause, reading) || ... || false) ||
                      detail::read_as<ProviderError>(cause, reading) ||
                      detail::read_as<std::system_error>(cause, reading));
    if (detail::CauseAccess::is_returned(cause)) {
      detail::read_code_itself<std::error_code>(cause, reading);
      detail::read_code_itself<std::error_condition>(cause, reading);
      detail::read_code_itself<std::errc>(cause, reading);
    }
  }
  return detail::judge(*rules_, cause, std::move(reading));
}

template <class... E>
template <class Change>
HttpClassifier<E...> HttpClassifier<E...>::with(Change change) const {
  detail::HttpRules rules = *rules_;
  change(rules);
  HttpClassifier changed = *this;
  changed.rules_ = std::make_shared<const detail::HttpRules>(std::move(rules));
  return changed;
}

template <class... E>
HttpClassifier<E...> HttpClassifier<E...>::on_status(int first, int last, Verdict verdict) const {
  detail::check_statuses(first, last);
  return with([&](detail::HttpRules& rules) { rules.statuses.push_back({first, last, verdict}); });
}

template <class... E>
HttpClassifier<E...> HttpClassifier<E...>::on_code(std::string pattern, Verdict verdict) const {
  if (detail::skip_separators(pattern, 0) == pattern.size()) {
    detail::refuse("planb: http_classifier: on_code() needs a pattern, not \"" + pattern + '"');
  }
  return with([&](detail::HttpRules& rules) { rules.codes.push_back({std::move(pattern), verdict}); });
}

template <class... E>
HttpClassifier<E...> HttpClassifier<E...>::on_text(std::string phrase, Verdict verdict) const {
  return with([&](detail::HttpRules& rules) {
    rules.texts.push_back({0, detail::checked_phrase(std::move(phrase)), verdict});
  });
}

template <class... E>
HttpClassifier<E...> HttpClassifier<E...>::on_text(int status, std::string phrase, Verdict verdict) const {
  detail::check_statuses(status, status);
  return with([&](detail::HttpRules& rules) {
    rules.texts.push_back({status, detail::checked_phrase(std::move(phrase)), verdict});
  });
}

template <class... E>
HttpClassifier<E...> HttpClassifier<E...>::on_timeout(Verdict verdict) const {
  return with([&](detail::HttpRules& rules) { rules.timeout = verdict; });
}

template <class... E>
HttpClassifier<E...> HttpClassifier<E...>::on_connection(Verdict verdict) const {
  return with([&](detail::HttpRules& rules) { rules.connection = verdict; });
}

template <class... E>
HttpClassifier<E...> HttpClassifier<E...>::on_unknown(Verdict verdict) const {
  return with([&](detail::HttpRules& rules) { rules.unknown = verdict; });
}

}  // namespace planb::inline PLANB_ABI
