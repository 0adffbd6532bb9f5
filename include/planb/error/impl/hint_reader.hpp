// SPDX-License-Identifier: MIT
// The definitions of hint_reader.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/detail/hint_reader.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL HintReader::HintReader(std::string_view text, std::chrono::system_clock::time_point now) noexcept
    : text_(text) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
  now_ = {whole.count(), std::chrono::duration_cast<Duration>(now.time_since_epoch() - whole).count()};
  if (now_.nanos < 0) now_ = {now_.seconds - 1, now_.nanos + second};
  constexpr std::string_view blank = " \t\r\n";
  const std::size_t first = text_.find_first_not_of(blank);
  text_ = first == std::string_view::npos ? std::string_view() : text_.substr(first);
  text_ = text_.substr(0, text_.find_last_not_of(blank) + 1);  // npos + 1 is 0: nothing is left
}

PLANB_DECL bool HintReader::same(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_letter);
}

PLANB_DECL std::size_t HintReader::find_part(std::string_view text, std::string_view part) noexcept {
  const auto found = std::search(text.begin(), text.end(), part.begin(), part.end(), same_letter);
  return static_cast<std::size_t>(found - text.begin());
}

PLANB_DECL bool HintReader::has_part(std::string_view text, std::string_view part) noexcept {
  return find_part(text, part) != text.size();
}

PLANB_DECL std::optional<Duration> HintReader::read(HintForm form) noexcept {
  if (text_.empty()) return std::nullopt;
  if (!is_digit(text_.front()) && text_.front() != '-') return until(http_date());
  if (text_.size() > 4 && text_.front() != '-' && text_[4] == '-') return until(rfc3339());
  const bool negative = take('-');
  const std::optional<Duration> wait = delay(form);
  if (!wait || !negative) return wait;
  return form.below_zero_is_never && *wait != Duration::zero() ? (Duration::max)() : Duration::zero();
}

PLANB_DECL bool HintReader::take(char c) noexcept { return take(std::string_view(&c, 1)); }

PLANB_DECL bool HintReader::take(std::string_view prefix) noexcept {
  if (text_.substr(0, prefix.size()) != prefix) return false;
  text_.remove_prefix(prefix.size());
  return true;
}

PLANB_DECL int HintReader::digits(std::size_t least, std::size_t most) noexcept {
  int value = 0;
  std::size_t count = 0;
  for (; count != most && !text_.empty() && is_digit(text_.front()); ++count) {
    value = value * 10 + (text_.front() - '0');
    text_.remove_prefix(1);
  }
  return count < least ? -1 : value;
}

PLANB_DECL std::int64_t HintReader::fraction() noexcept {
  std::int64_t value = 0;
  std::int64_t weight = second;
  bool more = false;
  for (; !text_.empty() && is_digit(text_.front()); text_.remove_prefix(1)) {
    weight /= 10;
    value += weight * (text_.front() - '0');
    more = more || (weight == 0 && text_.front() != '0');
  }
  return more ? value + 1 : value;
}

PLANB_DECL std::optional<HintReader::Amount> HintReader::amount() noexcept {
  if (text_.empty() || !is_digit(text_.front())) return std::nullopt;
  constexpr std::uint64_t most = (std::numeric_limits<std::uint64_t>::max)();
  Amount result{0, 0};
  for (; !text_.empty() && is_digit(text_.front()); text_.remove_prefix(1)) {
    const auto digit = static_cast<std::uint64_t>(text_.front() - '0');
    result.whole = result.whole > (most - digit) / 10 ? most : result.whole * 10 + digit;
  }
  if (take('.')) {
    if (text_.empty() || !is_digit(text_.front())) return std::nullopt;
    result.billionths = fraction();
  }
  return result;
}

PLANB_DECL Duration HintReader::times(Amount amount, std::int64_t unit) noexcept {
  const auto most = static_cast<std::uint64_t>((Duration::max)().count() / unit);
  if (amount.whole > most) return (Duration::max)();
  const std::int64_t part =
      unit >= second ? amount.billionths * (unit / second) : (amount.billionths * unit + second - 1) / second;
  return add(Duration(static_cast<std::int64_t>(amount.whole) * unit), Duration(part));
}

PLANB_DECL std::optional<Duration> HintReader::delay(HintForm form) noexcept {
  std::optional<Amount> number = amount();
  if (!number) return std::nullopt;
  if (text_.empty()) {
    if (form.epochs) {
      if (const std::optional<Instant> then = epoch(*number)) return until(then);
    }
    return times(*number, form.unit);
  }
  Duration sum{};
  for (std::int64_t last = (std::numeric_limits<std::int64_t>::max)(); number; number = amount()) {
    const auto* const found =
        std::find_if(std::begin(units), std::end(units), [&](const Unit& candidate) { return take(candidate.name); });
    if (found == std::end(units) || found->nanos >= last) return std::nullopt;
    last = found->nanos;
    sum = add(sum, times(*number, last));
    if (text_.empty()) return sum;
  }
  return std::nullopt;
}

PLANB_DECL std::optional<HintReader::Instant> HintReader::epoch(Amount number) const noexcept {
  constexpr std::int64_t decade = 3'653 * day;
  const auto within = [&](std::int64_t least) {
    return now_.seconds > 0 && std::cmp_greater_equal(number.whole, (std::max)(least, decade)) &&
           std::cmp_less_equal(number.whole, 2 * now_.seconds);
  };
  if (within(now_.seconds / 2)) return Instant{static_cast<std::int64_t>(number.whole), number.billionths};
  const auto millis = static_cast<std::int64_t>(number.whole % 1'000);
  number.billionths = (number.billionths + 999) / 1'000 + millis * 1'000'000;
  number.whole /= 1'000;
  // Less far back than in seconds: twelve nines are somebody's "never" rather than a day in 2001.
  if (within(now_.seconds - decade)) return Instant{static_cast<std::int64_t>(number.whole), number.billionths};
  return std::nullopt;
}

PLANB_DECL std::optional<Duration> HintReader::until(std::optional<Instant> then) const noexcept {
  if (!then) return std::nullopt;
  const std::int64_t seconds = then->seconds - now_.seconds;
  const std::int64_t nanos = then->nanos - now_.nanos;
  if (seconds < 0 || (seconds == 0 && nanos < 0)) return Duration::zero();
  if (seconds > (Duration::max)().count() / second) return (Duration::max)();
  return add(Duration(seconds * second), Duration(nanos));
}

PLANB_DECL std::optional<HintReader::Instant> HintReader::instant(int year, int month, int of_month, int time,
                                                                  std::int64_t nanos) noexcept {
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(of_month)}};
  if (month < 1 || of_month < 1 || time < 0 || !date.ok()) return std::nullopt;
  return Instant{std::chrono::sys_days(date).time_since_epoch().count() * day + time, nanos};
}

PLANB_DECL int HintReader::time_of_day() noexcept {
  const int hour = digits(2, 2);
  const int minute = take(':') ? digits(2, 2) : -1;
  const int seconds = take(':') ? digits(2, 2) : -1;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || seconds < 0 || seconds > 60) return -1;
  return (hour * 60 + minute) * 60 + seconds;
}

PLANB_DECL std::optional<int> HintReader::offset(bool colon) noexcept {
  const bool west = take('-');
  if (!west && !take('+')) return std::nullopt;
  const int hours = digits(2, 2);
  if (colon && !take(':')) return std::nullopt;
  const int minutes = digits(2, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  return (hours * 60 + minutes) * (west ? -60 : 60);
}

PLANB_DECL std::optional<HintReader::Instant> HintReader::rfc3339() noexcept {
  const int year = digits(4, 4);
  const int month = take('-') ? digits(2, 2) : -1;
  const int of_month = take('-') ? digits(2, 2) : -1;
  if (!take('T') && !take('t') && !take(' ')) return std::nullopt;
  const int time = time_of_day();
  std::int64_t nanos = 0;
  if (take('.')) {
    if (text_.empty() || !is_digit(text_.front())) return std::nullopt;
    nanos = fraction();
  }
  const std::optional<int> east = take('Z') || take('z') ? 0 : offset(true);
  std::optional<Instant> then = year < 0 ? std::nullopt : instant(year, month, of_month, time, nanos);
  if (!then || !east || !text_.empty()) return std::nullopt;
  then->seconds -= *east;
  return then;
}

PLANB_DECL bool HintReader::take_word(std::string_view name) noexcept {
  if (!same(text_.substr(0, name.size()), name)) return false;
  text_.remove_prefix(name.size());
  return true;
}

PLANB_DECL bool HintReader::take_weekday() noexcept {
  for (const std::string_view name : {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}) {
    if (take_word(name) || take_word(name.substr(0, 3))) return true;
  }
  return false;
}

PLANB_DECL int HintReader::month() noexcept {
  int number = 0;
  for (const std::string_view name :
       {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}) {
    ++number;
    if (take_word(name)) return number;
  }
  return -1;
}

PLANB_DECL int HintReader::full_year(int two_digits) const noexcept {
  const std::chrono::sys_days today{std::chrono::days{static_cast<int>(now_.seconds / day)}};
  const int this_year = static_cast<int>(std::chrono::year_month_day(today).year());
  const int candidate = this_year - this_year % 100 + two_digits;
  return candidate > this_year + 50 ? candidate - 100 : candidate < this_year - 50 ? candidate + 100 : candidate;
}

PLANB_DECL std::optional<HintReader::Instant> HintReader::http_date() noexcept {
  if (!take_weekday()) return std::nullopt;
  const bool comma = take(',');
  if (!take(' ')) return std::nullopt;
  int year = -1;
  int month_number = -1;
  int of_month = -1;
  int time = -1;
  int east = 0;
  if (comma) {
    of_month = digits(1, 2);
    const char separator = take('-') ? '-' : ' ';
    if (separator == ' ' && !take(' ')) return std::nullopt;
    month_number = month();
    if (!take(separator)) return std::nullopt;
    const std::size_t before = text_.size();
    year = digits(2, 4);
    if (before - text_.size() == 2) year = full_year(year);
    if (before - text_.size() == 3 || !take(' ')) return std::nullopt;
    time = time_of_day();
    if (!take(' ')) return std::nullopt;
    if (!take_word("gmt") && !take_word("utc")) {
      const std::optional<int> zone = offset(false);
      if (!zone) return std::nullopt;
      east = *zone;
    }
  } else {
    month_number = month();
    if (!take(' ')) return std::nullopt;
    of_month = take(' ') ? digits(1, 1) : digits(1, 2);
    if (!take(' ')) return std::nullopt;
    time = time_of_day();
    if (!take(' ')) return std::nullopt;
    year = digits(4, 4);
  }
  std::optional<Instant> then = year < 0 ? std::nullopt : instant(year, month_number, of_month, time, 0);
  if (!then || !text_.empty()) return std::nullopt;
  then->seconds -= east;
  return then;
}

}  // namespace planb::inline PLANB_ABI::detail
