// SPDX-License-Identifier: MIT
// How the values of knobs are read, by the type of the member that they fill.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/decimal.hpp>
#include <planb/error/parsed.hpp>
#include <planb/plan/step.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/schedule/text.hpp>
#include <planb/settings/detail/entry.hpp>
#include <planb/settings/detail/knob_form.hpp>
#include <planb/settings/detail/quote.hpp>
#include <planb/settings/detail/words.hpp>
#include <planb/settings/settings.hpp>
#include <planb/time/duration_text.hpp>
#include <planb/time/optional_duration.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

class KnobReader {
 public:
  void fault(Place place, std::string_view found, std::string expected, std::string suggestion = {}) {
    faults_.push_back({std::move(place), std::string(found), std::move(expected), std::move(suggestion)});
  }

  [[nodiscard]] std::vector<SettingsFault>& faults() noexcept { return faults_; }

  void read(OptionalDuration& out, KnobForm form, const SettingsEntry& entry);
  void read(std::optional<int>& out, KnobForm form, const SettingsEntry& entry);
  void read(std::optional<std::uint64_t>& out, KnobForm form, const SettingsEntry& entry);
  void read(std::optional<double>& out, KnobForm form, const SettingsEntry& entry);
  void read(std::string& out, KnobForm form, const SettingsEntry& entry);
  void read(std::optional<StatusRange>& out, KnobForm form, const SettingsEntry& entry);
  void read(std::optional<SettingsText>& out, KnobForm form, const SettingsEntry& entry);
  void read(std::vector<SettingsText>& out, KnobForm form, const SettingsEntry& entry);
  void read(std::vector<FailureMatch>& out, KnobForm form, const SettingsEntry& entry);

  template <class E>
  void read(std::optional<E>& out, KnobForm, const SettingsEntry& entry) {
    const std::vector<std::string_view> words = settings_words<E>();
    const std::string expected = one_of(words);
    const SettingsScalar* value = scalar(entry, expected);
    if (value == nullptr) return;
    if (const E* known = settings_value<E>(value->text())) {
      out = *known;
    } else {
      fault(value->place(), value->text(), expected, nearest(value->text(), words));
    }
  }

  // Whether it may be a name: in a line, of plain characters or in quotes. Tells what is wrong with it.
  bool check_name(const SettingsScalar& name, const std::string& what);

 private:
  [[nodiscard]] static std::optional<std::uint64_t> whole_number(std::string_view text) noexcept;
  [[nodiscard]] static std::optional<int> count(std::string_view text) noexcept;
  [[nodiscard]] static std::optional<StatusRange> status(std::string_view text, bool ranges) noexcept;

  const SettingsScalar* scalar(const SettingsEntry& entry, const std::string& expected);
  std::vector<SettingsScalar> list(const SettingsEntry& entry, const std::string& expected);
  void read_schedule(std::string& out, const SettingsScalar& value);
  void schedule_fault(const SettingsScalar& value, const ParseError& error);
  std::optional<FailureMatch> match(const SettingsScalar& item, const std::string& expected);

  std::vector<SettingsFault> faults_;
};

// The value, where it is a text of some length; else tells what was expected.
inline const SettingsScalar* KnobReader::scalar(const SettingsEntry& entry, const std::string& expected) {
  if (entry.kind == SettingsEntry::Kind::word) {
    fault(entry.key.place(), entry.key.text(), "a value behind it, " + entry.key.text() + "=...: " + expected);
  } else if (entry.kind != SettingsEntry::Kind::scalar || entry.value.absent()) {
    fault(entry.value.place(), entry.value.text(), expected);
  } else {
    return &entry.value;
  }
  return nullptr;
}

inline std::vector<SettingsScalar> KnobReader::list(const SettingsEntry& entry, const std::string& expected) {
  if (entry.kind == SettingsEntry::Kind::list && !entry.items.empty()) return entry.items;
  const SettingsScalar* value = scalar(entry, expected);
  return value != nullptr ? value->split(',') : std::vector<SettingsScalar>();
}

inline void KnobReader::read(OptionalDuration& out, KnobForm form, const SettingsEntry& entry) {
  const bool positive = form == KnobForm::positive;
  const std::string expected = positive ? "a duration above zero such as 30s" : "a duration such as 30s";
  const SettingsScalar* value = scalar(entry, expected);
  if (value == nullptr) return;
  const std::optional<Duration> read = parse_duration(value->text());
  if (read && (*read > Duration::zero() || !positive)) {
    out = *read;
    return;
  }
  const std::optional<Decimal> number = read ? std::nullopt : read_decimal(value->text());
  const bool bare = number && number->length == value->text().size();
  fault(value->place(), value->text(),
        bare   ? "a unit behind it: ns, us, ms, s, min, h or d"
        : read ? expected
               : expected + ", 200ms or 1h30min, with units of ns, us, ms, s, min, h or d");
}

inline std::optional<std::uint64_t> KnobReader::whole_number(std::string_view text) noexcept {
  constexpr std::uint64_t most = (std::numeric_limits<std::uint64_t>::max)();
  std::uint64_t number = 0;
  for (const char c : text) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (!is_digit(c) || number > (most - digit) / 10) return std::nullopt;
    number = number * 10 + digit;
  }
  return text.empty() ? std::nullopt : std::optional<std::uint64_t>(number);
}

inline std::optional<int> KnobReader::count(std::string_view text) noexcept {
  const std::optional<std::uint64_t> number = whole_number(text);
  if (!number || *number > static_cast<std::uint64_t>((std::numeric_limits<int>::max)())) return std::nullopt;
  return static_cast<int>(*number);
}

inline void KnobReader::read(std::optional<int>& out, KnobForm form, const SettingsEntry& entry) {
  std::string expected = "a whole number from 1 to 2147483647";
  if (form == KnobForm::tries) expected += ", or unlimited";
  const SettingsScalar* value = scalar(entry, expected);
  if (value == nullptr) return;
  if (form == KnobForm::tries && value->text() == "unlimited") {
    out = unlimited;
  } else if (const std::optional<int> number = count(value->text()); number && *number >= 1) {
    out = number;
  } else {
    fault(value->place(), value->text(), expected,
          form == KnobForm::tries ? nearest(value->text(), {"unlimited"}) : std::string());
  }
}

inline void KnobReader::read(std::optional<std::uint64_t>& out, KnobForm, const SettingsEntry& entry) {
  const std::string expected = "a whole number from 0 to 18446744073709551615";
  const SettingsScalar* value = scalar(entry, expected);
  if (value == nullptr) return;
  if (const std::optional<std::uint64_t> number = whole_number(value->text())) {
    out = number;
  } else {
    fault(value->place(), value->text(), expected);
  }
}

inline void KnobReader::read(std::optional<double>& out, KnobForm form, const SettingsEntry& entry) {
  const bool share = form == KnobForm::share;
  const std::string expected =
      share ? "a share above 0 and at most 1, such as 0.2 or 20%" : "a ratio such as 0.2 or 20%";
  const SettingsScalar* value = scalar(entry, expected);
  if (value == nullptr) return;
  std::string_view text = value->text();
  const bool percent = !text.empty() && text.back() == '%';
  if (percent) text.remove_suffix(1);
  const std::optional<Decimal> read = read_decimal(text);
  const double number = read ? (percent ? read->value / 100 : read->value) : -1;
  const bool fits = number <= (share ? 1 : (std::numeric_limits<double>::max)()) && (share ? number > 0 : number >= 0);
  if (read && read->length == text.size() && fits) {
    out = number;
  } else {
    fault(value->place(), value->text(), expected);
  }
}

inline void KnobReader::read_schedule(std::string& out, const SettingsScalar& value) {
  const Parsed<Schedule> parsed = parse_schedule(value.text());
  if (!parsed) return schedule_fault(value, parsed.error());
  out = to_string(*parsed);
}

PLANB_COLD inline void KnobReader::schedule_fault(const SettingsScalar& value, const ParseError& error) {
  const std::string& text = value.text();
  std::size_t at = 0;
  for (int line = 1; line != error.line; ++line) at = text.find('\n', at) + 1;
  at += static_cast<std::size_t>(error.column - 1);
  std::size_t end = at;
  while (end < text.size() && is_name_character(text[end])) ++end;
  if (end == at && end < text.size()) ++end;
  const std::string found = text.substr(at, end - at);
  fault(value.place_at(at), found, error.expected.substr(0, error.expected.find(", not \"")),  // which is `found`
        nearest(found, {"once",         "forever",
                        "spaced",       "exponential",
                        "fibonacci",    "linear",
                        "fixed",        "windowed",
                        "during",       "duration",
                        "jittered",     "full_jitter",
                        "equal_jitter", "capped",
                        "add_delay",    "up_to",
                        "concat",       "max",
                        "min",          "recurs",
                        "delays",       "decorrelated_jitter"}));
}

inline void KnobReader::read(std::string& out, KnobForm form, const SettingsEntry& entry) {
  const std::string expected = form == KnobForm::schedule  ? "a schedule such as jittered(exponential(20ms))"
                               : form == KnobForm::pattern ? "a code's pattern such as weekly_limit*"
                                                           : "a phrase with a letter or digit in it";
  const SettingsScalar* value = scalar(entry, expected);
  if (value == nullptr) return;
  if (form == KnobForm::schedule) return read_schedule(out, *value);
  const bool empty = form == KnobForm::pattern
                         ? value->text().empty()
                         : std::none_of(value->text().begin(), value->text().end(), HttpMatch::is_word);
  if (empty) return fault(value->place(), value->text(), expected);
  out = value->text();
}

// 503, 5xx; 520-523 where ranges are allowed.
inline std::optional<StatusRange> KnobReader::status(std::string_view text, bool ranges) noexcept {
  const auto one = [](std::string_view digits) -> int {
    const std::optional<int> number = digits.size() == 3 ? count(digits) : std::nullopt;
    return number && *number >= 100 ? *number : 0;
  };
  if (const int first = one(text); first != 0) return StatusRange{first, first};
  if (text.size() == 3 && text[0] >= '1' && text[0] <= '9' && (text.substr(1) == "xx" || text.substr(1) == "XX")) {
    const int hundred = (text[0] - '0') * 100;
    return StatusRange{hundred, hundred + 99};
  }
  if (ranges && text.size() == 7 && text[3] == '-') {
    const StatusRange range{one(text.substr(0, 3)), one(text.substr(4))};
    if (range.first != 0 && range.first <= range.last) return range;
  }
  return std::nullopt;
}

inline void KnobReader::read(std::optional<StatusRange>& out, KnobForm, const SettingsEntry& entry) {
  const std::string expected = "a status such as 503, 5xx or 520-523";
  const SettingsScalar* value = scalar(entry, expected);
  if (value == nullptr) return;
  out = status(value->text(), true);
  if (!out) fault(value->place(), value->text(), expected);
}

inline bool KnobReader::check_name(const SettingsScalar& name, const std::string& what) {
  if (name.text().empty()) {
    fault(name.place(), name.text(), what);
  } else if (!name.of_line() || name.in_quotes() || is_plain_name(name.text())) {
    return true;
  } else if (is_reserved_name(name.text())) {
    fault(name.place(), name.text(), what + "; " + name.text() + " is a reserved word, and a name only in quotes");
  } else {
    fault(name.place(), name.text(), what + " of letters, digits, _ . and -, or one in quotes");
  }
  return false;
}

inline void KnobReader::read(std::optional<SettingsText>& out, KnobForm, const SettingsEntry& entry) {
  const std::string expected = "the name of a provider";
  const SettingsScalar* value = scalar(entry, expected);
  if (value != nullptr && check_name(*value, expected)) out = value->kept();
}

inline void KnobReader::read(std::vector<SettingsText>& out, KnobForm, const SettingsEntry& entry) {
  const std::string expected = "the name of a gate";
  for (const SettingsScalar& item : list(entry, expected)) {
    if (!check_name(item, expected)) continue;
    if (std::find(out.begin(), out.end(), SettingsText(item.text())) != out.end()) {
      fault(item.place(), item.text(), "each gate once");
    } else {
      out.push_back(item.kept());
    }
  }
}

inline std::optional<FailureMatch> KnobReader::match(const SettingsScalar& item, const std::string& expected) {
  constexpr std::string_view code = "code:";
  const std::string_view text = item.text();
  if (text.substr(0, code.size()) == code) {
    if (text.size() != code.size()) return CodePattern{std::string(text.substr(code.size()))};
    fault(item.place_at(code.size()), "", "a code's pattern such as weekly_limit*");
    return std::nullopt;
  }
  if (const FailureClass* known = settings_value<FailureClass>(text)) return *known;
  if (const std::optional<StatusRange> range = status(text, false)) return *range;
  fault(item.place(), text, expected, nearest(text, settings_words<FailureClass>()));
  return std::nullopt;
}

inline void KnobReader::read(std::vector<FailureMatch>& out, KnobForm, const SettingsEntry& entry) {
  const std::string expected =
      "a status such as 503 or 5xx, code:PATTERN, or a class: " + one_of(settings_words<FailureClass>());
  for (const SettingsScalar& item : list(entry, expected)) {
    std::optional<FailureMatch> read = match(item, expected);
    if (!read) continue;
    if (std::find(out.begin(), out.end(), *read) != out.end()) {
      fault(item.place(), item.text(), "each of them once");
    } else {
      out.push_back(*std::move(read));
    }
  }
}

}  // namespace planb::inline PLANB_ABI::detail
