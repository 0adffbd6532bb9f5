// SPDX-License-Identifier: MIT
// A duration as decimal seconds, exact to the nanosecond.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/time/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace planb::inline PLANB_ABI::detail {

// "0.02", "12", "-1.5": no exponent, and no zero at the end that says nothing.
inline void append_seconds(std::string& out, bool negative, std::uint64_t ns) {
  constexpr std::uint64_t second = 1'000'000'000;
  if (negative) out += '-';
  out += std::to_string(ns / second);
  std::uint64_t rest = ns % second;
  if (rest == 0) return;
  out += '.';
  for (std::uint64_t place = second / 10; rest != 0; place /= 10) {
    out += static_cast<char>('0' + rest / place);
    rest %= place;
  }
}

inline void append_seconds(std::string& out, Duration d) {
  const auto bits = static_cast<std::uint64_t>(d.count());
  const bool negative = d < Duration::zero();
  append_seconds(out, negative, negative ? 0 - bits : bits);
}

}  // namespace planb::inline PLANB_ABI::detail
