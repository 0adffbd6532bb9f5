// SPDX-License-Identifier: MIT
// http_classifier: reads what a failure says, and about whom, and so what is to be done.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/http_rules.hpp>
#include <planb/error/error_traits.hpp>
#include <planb/error/predicate.hpp>
#include <planb/error/verdict_reason.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

// What a refusal means: the provider answers that its policy forbids the content. A decision of the caller's, so it has
// no default.
enum class ContentRefusal : unsigned char {
  next_step = 1,  // another provider may answer
  next_guarded,   // only a later step whose enter_when accepts the refusal, such as a lenient model; none does: abort
  abort,
};

[[nodiscard]] constexpr std::string_view to_label(ContentRefusal value) noexcept {
  switch (value) {
    case ContentRefusal::next_step: return "next_step";
    case ContentRefusal::next_guarded: return "next_guarded";
    case ContentRefusal::abort: return "abort";
  }
  return {};
}

// The ready-made classifier, and a value: every on_...() gives a changed copy, so one may be built on another. What is
// said later stands before what was said earlier, and all of it before the table.
//
// It reads, and the first that says something answers:
//   1. the error's structured code: the patterns of on_code(), then the table, where a code is a refusal or is read as
//      the status that it means. Codes that say more than a status beat one that came with them, insufficient_quota as
//      402, rate_limit_exceeded as 429; others stand in where there is none, server_error as 500
//   2. its status: the phrases of on_text(status, ...), then on_status(), then the table
//   3. its kind, unless it is a refused value: a timeout, or a connection that failed. That is a std::system_error,
//      std::error_code, std::errc or other enumeration of error codes that says so, and a ProviderError, or an
//      error of a named or returned type that can have a status, with neither status nor code: nobody answered
//   4. its text, unless it is a refused value, whose text is the model's: the phrases of on_text()
// All but the text is read through what wraps the error, the outermost first. At last the error's own word is heard
// (error_traits::retryable): false makes next_step of retry, and true the reverse.
//
// Its verdicts have a class. A rule's verdict whose class is unknown is given that which the table has.
//
// What none of these reads is unknown, and leaves the step. So does a value that an acceptance check refused without a
// telling code or status, such as an empty completion; a check that wants something else of it returns a Verdict.
//
// E are the caller's own error types, read through error_traits; naming them makes them readable in the whole plan.
template <class... E>
class HttpClassifier {
 public:
  // Refuses what is no ContentRefusal, such as `ContentRefusal{}`, with std::invalid_argument.
  explicit HttpClassifier(ContentRefusal refusal);

  HttpClassifier(const HttpClassifier&) noexcept = default;  // and no move: a moved-from one could not answer
  HttpClassifier& operator=(const HttpClassifier&) noexcept = default;
  ~HttpClassifier() = default;

  Verdict operator()(const Cause& cause) const { return judge(cause, nullptr); }

  // The same verdict, with the row that decides and what it was read from: for logs, and to find the row to change.
  [[nodiscard]] VerdictReason explain(const Cause& cause) const {
    VerdictReason reason;
    reason.verdict = judge(cause, &reason);
    return reason;
  }

  // For a status, or all from `first` to `last`. Refused with std::invalid_argument: a status below 1, an empty range.
  [[nodiscard]] HttpClassifier on_status(int status, Verdict verdict) const {
    return on_status(status, status, verdict);
  }
  [[nodiscard]] HttpClassifier on_status(int first, int last, Verdict verdict) const;

  // For a code, as a whole. In the pattern `*` stands for any characters, none included: "quota_*", "*_limit_reached".
  // Case does not count, nor do `_`, `-` and spaces: "content_filter" matches ContentFilter. Refused: an empty pattern.
  [[nodiscard]] HttpClassifier on_code(std::string pattern, Verdict verdict) const;

  // For an error that nothing else reads and whose message has `phrase` in it, as whole words, in any case: "reset by
  // peer". With a status: for an error of that status, in place of what the status alone would mean. Refused: a phrase
  // without a letter or digit.
  [[nodiscard]] HttpClassifier on_text(std::string phrase, Verdict verdict) const;
  [[nodiscard]] HttpClassifier on_text(int status, std::string phrase, Verdict verdict) const;

  // For a timeout whose error says nothing; for a connection that failed, or a system error that says "timed out"; for
  // what nothing reads.
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
  [[nodiscard]] Verdict judge(const Cause& cause, VerdictReason* reason) const;

  template <class Change>
  [[nodiscard]] HttpClassifier with(Change change) const;

  std::shared_ptr<const detail::HttpRules> rules_;
};

// As in `.classify = http_classifier(ContentRefusal::abort)`, or with the caller's own error types:
// `plan.with_classifier(http_classifier<LlmError, CurlError>(ContentRefusal::next_step).on_status(404,
// {Action::abort}))`.
template <class... E>
[[nodiscard]] HttpClassifier<E...> http_classifier(ContentRefusal refusal) {
  return HttpClassifier<E...>(refusal);
}

namespace detail {

[[nodiscard]] Verdict verdict_of(planb::ContentRefusal refusal);

}  // namespace detail

template <class... E>
HttpClassifier<E...>::HttpClassifier(ContentRefusal refusal)
    : rules_(std::make_shared<const detail::HttpRules>(detail::verdict_of(refusal))) {
  static_assert((std::is_same_v<E, std::remove_cvref_t<E>> && ...),
                "planb: http_classifier<E...> names error types without const or reference");
  static_assert(
      (detail::HttpReading::can_read<E> && ...),
      "planb: http_classifier<E...>: an error type here needs something to read: a member `status` (an integer), "
      "`code` or `message` (strings) or `retry_after` (a duration), or the same in planb::error_traits");
}

template <class... E>
Verdict HttpClassifier<E...>::judge(const Cause& cause, VerdictReason* reason) const {
  if (cause.kind() == CauseKind::defect || cause.kind() == CauseKind::interrupted) return {Action::abort};
  detail::HttpReading reading;
  if (!reading.read<E...>(cause, false)) {
    detail::CauseAccess::any_wrapped(cause, [&](const Cause& inner) { return reading.read<E...>(inner, true); });
  }
  if (reason != nullptr) {
    reason->status = reading.status;
    reason->code = reading.code;
  }
  Verdict verdict = rules_->judge(cause, std::move(reading), reason);
  if (verdict.action == Action::retry || verdict.action == Action::next_step) {
    if (const std::optional<bool> retryable = detail::own_word<E...>(cause)) {
      verdict.action = *retryable ? Action::retry : Action::next_step;
      if (reason != nullptr) reason->retryable = retryable;
    }
  }
  return verdict;
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
  return with([&](detail::HttpRules& rules) { rules.add_status(first, last, verdict); });
}

template <class... E>
HttpClassifier<E...> HttpClassifier<E...>::on_code(std::string pattern, Verdict verdict) const {
  return with([&](detail::HttpRules& rules) { rules.add_code(std::move(pattern), verdict); });
}

template <class... E>
HttpClassifier<E...> HttpClassifier<E...>::on_text(std::string phrase, Verdict verdict) const {
  return with([&](detail::HttpRules& rules) { rules.add_text(0, std::move(phrase), verdict); });
}

template <class... E>
HttpClassifier<E...> HttpClassifier<E...>::on_text(int status, std::string phrase, Verdict verdict) const {
  return with([&](detail::HttpRules& rules) {
    detail::HttpRules::check_status(status);
    rules.add_text(status, std::move(phrase), verdict);
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

#if !PLANB_SEPARATE_COMPILATION
#include <planb/error/impl/http_classifier.hpp>  // IWYU pragma: export
#endif
