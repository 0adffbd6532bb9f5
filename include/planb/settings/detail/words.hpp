// SPDX-License-Identifier: MIT
// The words of settings: one for each value of the enumerations that they have, and the nearest to a misspelt one.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/error/http_classifier.hpp>
#include <planb/error/verdict.hpp>
#include <planb/settings/settings.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

template <class E>
struct SettingsWord {
  std::string_view word;
  E value;
};

template <class E>
struct SettingsWords;

template <>
struct SettingsWords<Action> {
  static constexpr SettingsWord<Action> all[] = {{"retry", Action::retry},
                                                 {"next_step", Action::next_step},
                                                 {"next_guarded", Action::next_guarded},
                                                 {"abort", Action::abort}};
};

template <>
struct SettingsWords<ContentRefusal> {
  static constexpr SettingsWord<ContentRefusal> all[] = {
      {"next_step", ContentRefusal::next_step}, {"next_guarded", ContentRefusal::next_guarded}, {"abort", ContentRefusal::abort}};
};

template <>
struct SettingsWords<PartialStream> {
  static constexpr SettingsWord<PartialStream> all[] = {{"allow", PartialStream::allow},
                                                        {"prevent_fallback", PartialStream::prevent_fallback},
                                                        {"prevent_retry", PartialStream::prevent_retry}};
};

template <>
struct SettingsWords<StepEntry> {
  static constexpr SettingsWord<StepEntry> all[] = {{"immediate", StepEntry::immediate},
                                                    {"scheduled", StepEntry::scheduled}};
};

template <>
struct SettingsWords<FailureStyle> {
  static constexpr SettingsWord<FailureStyle> all[] = {{"aggregate", FailureStyle::aggregate},
                                                       {"original", FailureStyle::original}};
};

template <>
struct SettingsWords<RuleKind> {
  static constexpr SettingsWord<RuleKind> all[] = {
      {"timeout", RuleKind::timeout}, {"connection", RuleKind::connection}, {"unknown", RuleKind::unknown}};
};

template <>
struct SettingsWords<bool> {
  static constexpr SettingsWord<bool> all[] = {{"true", true}, {"false", false}};
};

template <>
struct SettingsWords<FailureClass> {
  static constexpr SettingsWord<FailureClass> all[] = {
      {"connection", FailureClass::connection},
      {"timeout", FailureClass::timeout},
      {"rate_limited", FailureClass::rate_limited},
      {"overloaded", FailureClass::overloaded},
      {"server_error", FailureClass::server_error},
      {"conflict", FailureClass::conflict},
      {"quota", FailureClass::quota},
      {"auth", FailureClass::auth},
      {"not_found", FailureClass::not_found},
      {"context_too_long", FailureClass::context_too_long},
      {"content_refused", FailureClass::content_refused},
      {"invalid_request", FailureClass::invalid_request},
      {"rejected_value", FailureClass::rejected_value},
      {"unknown", FailureClass::unknown},
  };
  static_assert(std::size(all) == static_cast<std::size_t>(FailureClass::unknown) + 1);
};

// Null where there is no such word.
template <class E>
[[nodiscard]] const E* settings_value(std::string_view word) noexcept {
  for (const auto& entry : SettingsWords<E>::all) {
    if (entry.word == word) return &entry.value;
  }
  return nullptr;
}

template <class E>
[[nodiscard]] std::string_view settings_word(E value) noexcept {
  for (const auto& entry : SettingsWords<E>::all) {
    if (entry.value == value) return entry.word;
  }
  return "unknown";
}

template <class E>
[[nodiscard]] std::vector<std::string_view> settings_words() {
  std::vector<std::string_view> words;
  for (const auto& entry : SettingsWords<E>::all) words.push_back(entry.word);
  return words;
}

// "a, b or c".
[[nodiscard]] inline std::string one_of(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i != words.size(); ++i) {
    if (i != 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

// How many letters one is to insert, drop, replace or swap with the next to make `b` of `a`. Case does not count, and
// `-` is `_`.
[[nodiscard]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [](char c) { return c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool equal = same(a[i - 1]) == same(b[j - 1]);
      row[j] = (std::min)((std::min)(last[j], row[j - 1]) + 1, last[j - 1] + (equal ? 0 : 1));
      if (i > 1 && j > 1 && same(a[i - 1]) == same(b[j - 2]) && same(a[i - 2]) == same(b[j - 1])) {
        row[j] = (std::min)(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

// The known word that `word` may be, misspelt; or an empty one.
[[nodiscard]] inline std::string nearest(std::string_view word, const std::vector<std::string_view>& known) {
  std::string_view best;
  std::size_t least = (std::max)(word.size() / 3, std::size_t{1}) + 1;
  if (word.size() < 2 || word.size() > 64) return {};
  for (const std::string_view candidate : known) {
    if (candidate == word || candidate.size() > 64) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= least || distance >= candidate.size()) continue;
    least = distance;
    best = candidate;
  }
  return std::string(best);
}

}  // namespace planb::inline PLANB_ABI::detail
