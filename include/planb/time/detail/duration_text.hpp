// SPDX-License-Identifier: MIT
// Durations as text: 10ms, 1.5s, 2min, 1h30min.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/decimal.hpp>
#include <planb/time/clock.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

struct DurationUnit {
  std::string_view name;
  Duration::rep ns;
};

// The largest first, as written; `d`, and `m` in schedules, are read as well.
inline constexpr DurationUnit duration_units[] = {
    {"h", 3'600'000'000'000},
    {"min", 60'000'000'000},
    {"s", 1'000'000'000},
    {"ms", 1'000'000},
    {"us", 1'000},
    {"ns", 1},
    {"m", 60'000'000'000},
    {"d", 86'400'000'000'000},
};

struct DurationText {
  Duration value{};
  std::size_t length = 0;          // of what was read; where it failed, up to there
  const char* expected = nullptr;  // null where it was read
};

// Reads a number and its unit, without space between them, from the start of a text. Digits below a nanosecond are cut
// off. What does not fit into a Duration is an error.
[[nodiscard]] DurationText read_duration_part(std::string_view text, const DurationUnit*& unit) noexcept;

// Reads one such part, or the sum of several, the larger unit first: 1h30min.
[[nodiscard]] DurationText read_duration(std::string_view text) noexcept;

// The exact duration in the largest unit that keeps it whole.
[[nodiscard]] std::string write_duration(Duration d);

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/time/impl/duration_text.hpp>  // IWYU pragma: export
#endif
