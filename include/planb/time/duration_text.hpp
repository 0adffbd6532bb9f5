// SPDX-License-Identifier: MIT
// Durations as text: to_string and parse_duration.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/time/detail/duration_text.hpp>
#include <planb/time/duration.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI {

// The exact duration in the largest of ns, us, ms, s, min and h that keeps it whole: "30s", "90min", "1500ms". Zero is
// "0s". From zero up, parse_duration reads it as the same duration.
[[nodiscard]] inline std::string to_string(Duration duration) { return detail::write_duration(duration); }

// Reads a whole text: a number with a unit of ns, us, ms, s, min, h or d, or a sum of these with the larger unit first,
// such as 20ms, 1.5s or 1h30min. Digits below a nanosecond are cut off. A number needs its unit, but for 0. None where
// it is anything else, negative, or longer than the longest Duration.
[[nodiscard]] inline std::optional<Duration> parse_duration(std::string_view text) noexcept {
  if (text == "0") return Duration::zero();
  const detail::DurationText read = detail::read_duration(text);
  if (read.expected != nullptr || read.length != text.size()) return std::nullopt;
  // In schedules `m` is a minute; here, where nothing says so, it might be meant as anything.
  for (std::size_t at = text.find('m'); at != std::string_view::npos; at = text.find('m', at + 1)) {
    if (at + 1 == text.size() || detail::is_digit(text[at + 1])) return std::nullopt;
  }
  return read.value;
}

}  // namespace planb::inline PLANB_ABI
