// SPDX-License-Identifier: MIT
// A time of day as text (RFC 3339).
#pragma once

#include <planb/detail/config.hpp>
#include <planb/observe/detail/tell.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace planb::inline PLANB_ABI::detail {

using WallMillis = std::chrono::sys_time<std::chrono::milliseconds>;

// "2026-02-03T04:05:06.789Z". The years that RFC 3339 has are 0 to 9999: others become the nearest time that it has.
[[nodiscard]] inline std::string wall_text(WallMillis at) {
  using namespace std::chrono;
  constexpr WallMillis first = sys_days{year{0} / January / 1};
  constexpr WallMillis last = sys_days{year{10000} / January / 1} - milliseconds{1};
  if (at < first) at = first;
  if (at > last) at = last;
  const sys_days day = floor<days>(at);
  const year_month_day date{day};
  const hh_mm_ss<milliseconds> time{at - day};
  std::string text;
  const auto put = [&](long long value, unsigned digits, char after) {
    const std::string number = std::to_string(value);
    text.append(digits - number.size(), '0');
    text += number;
    text += after;
  };
  put(static_cast<int>(date.year()), 4, '-');
  put(static_cast<unsigned>(date.month()), 2, '-');
  put(static_cast<unsigned>(date.day()), 2, 'T');
  put(time.hours().count(), 2, ':');
  put(time.minutes().count(), 2, ':');
  put(time.seconds().count(), 2, '.');
  put(time.subseconds().count(), 3, 'Z');
  return text;
}

inline void tell_wall(FieldSink& sink, std::optional<WallMillis> wall) {
  if (wall) sink.word("time", wall_text(*wall));
}

}  // namespace planb::inline PLANB_ABI::detail
