// SPDX-License-Identifier: MIT
// How the values of knobs are written, by the type of the member that holds them; what is not given is left out.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/decimal.hpp>
#include <planb/error/parsed.hpp>
#include <planb/plan/step.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/schedule/text.hpp>
#include <planb/settings/detail/knob_form.hpp>
#include <planb/settings/detail/quote.hpp>
#include <planb/settings/detail/words.hpp>
#include <planb/settings/settings.hpp>
#include <planb/time/duration_text.hpp>
#include <planb/time/optional_duration.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

class KnobWriter {
 public:
  [[nodiscard]] std::string take() { return std::move(text_); }

  // Words of a line, and its end.
  void word(std::string_view text) {
    if (!text_.empty() && text_.back() != '\n') text_ += ' ';
    text_ += text;
  }
  void indented(std::string_view text) {
    text_ += "  ";
    text_ += text;
  }
  void end_line() { text_ += '\n'; }

  // The name of the knob that is written next.
  void name(std::string_view name) noexcept { name_ = name; }

  void write(const OptionalDuration& value, KnobForm) {
    if (value) key_and(to_string(*value));
  }

  void write(const std::optional<int>& value, KnobForm form) {
    if (value) key_and(form == KnobForm::tries && *value == unlimited ? "unlimited" : std::to_string(*value));
  }

  void write(const std::optional<std::uint64_t>& value, KnobForm) {
    if (value) key_and(std::to_string(*value));
  }

  void write(const std::optional<double>& value, KnobForm) {
    if (value) key_and(write_decimal(*value));
  }

  template <class E>
  void write(const std::optional<E>& value, KnobForm) {
    if (value) key_and(settings_word(*value));
  }

  void write(const std::string& value, KnobForm form) {
    if (value.empty()) return;
    if (form != KnobForm::schedule) return key_and(written_value(value, false));
    const Parsed<Schedule> schedule = parse_schedule(value);
    key_and(schedule ? to_string(*schedule) : detail::quoted(value));
  }

  void write(const std::optional<StatusRange>& value, KnobForm) {
    if (value) key_and(status(*value));
  }

  void write(const std::optional<SettingsText>& value, KnobForm) {
    if (value) key_and(written_name(value->text));
  }

  void write(const std::vector<SettingsText>& value, KnobForm) {
    std::string list;
    for (const SettingsText& item : value) append(list, written_name(item.text));
    if (!list.empty()) key_and(list);
  }

  void write(const std::vector<FailureMatch>& value, KnobForm) {
    std::string list;
    for (const FailureMatch& item : value) {
      if (const auto* failure_class = std::get_if<FailureClass>(&item)) append(list, settings_word(*failure_class));
      if (const auto* range = std::get_if<StatusRange>(&item)) append(list, status(*range));
      if (const auto* code = std::get_if<CodePattern>(&item))
        append(list, "code:" + written_value(code->pattern, true));
    }
    if (!list.empty()) key_and(list);
  }

 private:
  void key_and(std::string_view value) {
    word(name_);
    text_ += '=';
    text_ += value;
  }

  static void append(std::string& list, std::string_view item) {
    if (!list.empty()) list += ',';
    list += item;
  }

  [[nodiscard]] static std::string status(StatusRange range) {
    if (range.first == range.last) return std::to_string(range.first);
    if (range.first % 100 == 0 && range.last == range.first + 99) return std::to_string(range.first / 100) + "xx";
    return std::to_string(range.first) + '-' + std::to_string(range.last);
  }

  std::string text_;
  std::string_view name_;
};

}  // namespace planb::inline PLANB_ABI::detail
