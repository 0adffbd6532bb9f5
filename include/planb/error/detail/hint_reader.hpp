// SPDX-License-Identifier: MIT
// One wait hint as text, in all of its forms.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/decimal.hpp>
#include <planb/time/duration.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

// How a bare number is read.
struct HintForm {
  std::int64_t unit = 1'000'000'000;  // in nanoseconds
  bool epochs = false;                // one that can only be an epoch is one
  bool below_zero_is_never = false;   // and otherwise no wait
};

// Reads a hint from left to right, without the locale.
class HintReader {
 public:
  HintReader(std::string_view text, std::chrono::system_clock::time_point now) noexcept;

  [[nodiscard]] static bool same_letter(char a, char b) noexcept {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return lower(a) == lower(b);
  }

  // Whether they are the same, in any case.
  [[nodiscard]] static bool same(std::string_view a, std::string_view b) noexcept;

  // Where `text` has `part` in it, in any case; its size where it has not.
  [[nodiscard]] static std::size_t find_part(std::string_view text, std::string_view part) noexcept;
  [[nodiscard]] static bool has_part(std::string_view text, std::string_view part) noexcept;

  // Calls `use` with what each member of a list gives, as where a header came twice and the two were joined by a comma.
  template <class Use>
  static void for_each(std::string_view list, std::chrono::system_clock::time_point now, HintForm form, Use use) {
    while (!list.empty()) {
      std::size_t end = (std::min)(list.find(','), list.size());
      HintReader weekday(list.substr(0, end), now);
      if (weekday.take_weekday() && weekday.text_.empty()) end = (std::min)(list.find(',', end + 1), list.size());
      use(HintReader(list.substr(0, end), now).read(form));
      list.remove_prefix((std::min)(end + 1, list.size()));
    }
  }

  [[nodiscard]] std::optional<Duration> read(HintForm form) noexcept;

 private:
  static constexpr std::int64_t second = 1'000'000'000;
  static constexpr std::int64_t day = 86'400;

  // Seconds and nanoseconds since 1970.
  struct Instant {
    std::int64_t seconds;
    std::int64_t nanos;
  };

  // A number of units, in whole ones and billionths, rounded up; the whole ones saturate.
  struct Amount {
    std::uint64_t whole;
    std::int64_t billionths;
  };

  struct Unit {
    std::string_view name;
    std::int64_t nanos;
  };

  // Names that begin another one come after it.
  static constexpr Unit units[] = {{"d", day * second},   {"h", 3'600 * second}, {"ms", 1'000'000},
                                   {"m", 60 * second},   {"s", second},         {"us", 1'000},
                                   {"\xC2\xB5s", 1'000}, {"\xCE\xBCs", 1'000},  {"ns", 1}};  // micro, and mu

  [[nodiscard]] bool take(char c) noexcept;
  [[nodiscard]] bool take(std::string_view prefix) noexcept;

  // A number of `least` to `most` digits, or -1.
  [[nodiscard]] int digits(std::size_t least, std::size_t most) noexcept;

  // The billionths of a fraction's digits, rounded up.
  [[nodiscard]] std::int64_t fraction() noexcept;

  [[nodiscard]] std::optional<Amount> amount() noexcept;

  [[nodiscard]] static Duration times(Amount amount, std::int64_t unit) noexcept;

  [[nodiscard]] std::optional<Duration> delay(HintForm form) noexcept;

  [[nodiscard]] std::optional<Instant> epoch(Amount number) const noexcept;

  // From now to then; nothing where there is no `then`.
  [[nodiscard]] std::optional<Duration> until(std::optional<Instant> then) const noexcept;

  [[nodiscard]] static std::optional<Instant> instant(int year, int month, int of_month, int time,
                                                      std::int64_t nanos) noexcept;

  // hh:mm:ss in seconds, or -1. A leap second counts as the first of the next minute.
  [[nodiscard]] int time_of_day() noexcept;

  // +hh:mm in seconds; with or without the colon.
  [[nodiscard]] std::optional<int> offset(bool colon) noexcept;

  [[nodiscard]] std::optional<Instant> rfc3339() noexcept;

  // A `name` at the start of the text, in any case.
  [[nodiscard]] bool take_word(std::string_view name) noexcept;

  // The name of a day, whole or its first three letters. Which one it is does not matter: the date says it.
  [[nodiscard]] bool take_weekday() noexcept;

  // 1 to 12, or -1.
  [[nodiscard]] int month() noexcept;

  // Two digits mean the year of that ending that is no more than fifty years away.
  [[nodiscard]] int full_year(int two_digits) const noexcept;

  // Sun, 06 Nov 1994 08:49:37 GMT; Sunday, 06-Nov-94 08:49:37 GMT; Sun Nov  6 08:49:37 1994.
  [[nodiscard]] std::optional<Instant> http_date() noexcept;

  std::string_view text_;
  Instant now_{};
};

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/error/impl/hint_reader.hpp>  // IWYU pragma: export
#endif
