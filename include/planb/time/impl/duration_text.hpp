// SPDX-License-Identifier: MIT
// The definitions of duration_text.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/time/detail/duration_text.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL DurationText read_duration_part(std::string_view text, const DurationUnit*& unit) noexcept {
  const auto digit_at = [&](std::size_t i) { return i < text.size() && is_digit(text[i]); };
  std::size_t at = 0;
  while (digit_at(at)) ++at;
  const std::string_view whole = text.substr(0, at);
  if (whole.empty()) return {{}, 0, "a duration such as 10ms"};
  std::string_view fraction;
  if (at < text.size() && text[at] == '.' && digit_at(at + 1)) {
    const std::size_t start = ++at;
    while (digit_at(at)) ++at;
    fraction = text.substr(start, at - start);
  }

  std::size_t end = at;
  while (end < text.size() && ((text[end] >= 'a' && text[end] <= 'z') || (text[end] >= 'A' && text[end] <= 'Z'))) ++end;
  const std::string_view name = text.substr(at, end - at);
  unit = nullptr;
  for (const DurationUnit& candidate : duration_units) {
    if (candidate.name == name) unit = &candidate;
  }
  if (unit == nullptr) return {{}, at, "a unit of time: ns, us, ms, s, min, h or d"};

  constexpr Duration::rep most = (Duration::max)().count();
  Duration::rep below_one = 0;  // in nanoseconds; read from the right, so that what is cut off is exact
  for (std::size_t i = fraction.size(); i-- != 0;) below_one = (below_one + (fraction[i] - '0') * unit->ns) / 10;
  Duration::rep total = 0;
  for (const char c : whole) {
    if (total > (most - (c - '0')) / 10) return {{}, 0, "a duration of at most 9223372036854775807ns"};
    total = total * 10 + (c - '0');
  }
  if (total > (most - below_one) / unit->ns) return {{}, 0, "a duration of at most 9223372036854775807ns"};
  return {Duration{total * unit->ns + below_one}, end, nullptr};
}

PLANB_DECL DurationText read_duration(std::string_view text) noexcept {
  const DurationUnit* unit = nullptr;
  DurationText sum = read_duration_part(text, unit);
  while (sum.expected == nullptr && sum.length != text.size() && is_digit(text[sum.length])) {
    const Duration::rep larger = unit->ns;
    DurationText part = read_duration_part(text.substr(sum.length), unit);
    if (part.expected == nullptr && unit->ns >= larger) part = {{}, 0, "a smaller unit of time after a larger one"};
    if (part.expected == nullptr && part.value > (Duration::max)() - sum.value) {
      part = {{}, 0, "a duration of at most 9223372036854775807ns"};
    }
    sum = {sum.value + part.value, sum.length + part.length, part.expected};
  }
  return sum;
}

PLANB_DECL std::string write_duration(Duration d) {
  if (d == Duration::zero()) return "0s";
  const DurationUnit* unit = duration_units;
  while (d.count() % unit->ns != 0) ++unit;
  return std::to_string(d.count() / unit->ns) + std::string(unit->name);
}

}  // namespace planb::inline PLANB_ABI::detail
