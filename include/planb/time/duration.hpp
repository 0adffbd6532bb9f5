// SPDX-License-Identifier: MIT
// Durations and time points, with saturating arithmetic.
#pragma once

#include <planb/detail/config.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>

namespace planb::inline PLANB_ABI {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

namespace detail {

[[nodiscard]] constexpr Duration add(Duration a, Duration b) noexcept {
  if (b.count() > 0 && a > (Duration::max)() - b) return (Duration::max)();
  if (b.count() < 0 && a < (Duration::min)() - b) return (Duration::min)();
  return a + b;
}

[[nodiscard]] constexpr TimePoint add(TimePoint at, Duration d) noexcept {
  return TimePoint{add(at.time_since_epoch(), d)};
}

// The time from `from` to `to`, saturated.
[[nodiscard]] constexpr Duration between(TimePoint from, TimePoint to) noexcept {
  const Duration a = to.time_since_epoch();
  const Duration b = from.time_since_epoch();
  if (b.count() < 0 && a > (Duration::max)() + b) return (Duration::max)();
  if (b.count() > 0 && a < (Duration::min)() + b) return (Duration::min)();
  return a - b;
}

// Any chrono duration as Duration, rounded towards zero: saturated where it does not fit, and zero for a NaN. Without
// floating point where it has none: there, a long double may be no more than a double.
template <class Rep, class Period>
[[nodiscard]] constexpr Duration to_duration(std::chrono::duration<Rep, Period> d) noexcept {
  using Whole = std::uint64_t;
  // A tick is Period::num * Scale::num / Scale::den nanoseconds, in lowest terms.
  using Scale = std::ratio<std::nano::den, Period::den>;
  constexpr bool fits = Period::num <= (std::numeric_limits<std::intmax_t>::max)() / Scale::num;
  if constexpr (std::is_integral_v<Rep> && sizeof(Rep) <= sizeof(Whole) && fits) {
    constexpr auto num = static_cast<Whole>(Period::num * Scale::num);
    constexpr auto den = static_cast<Whole>(Scale::den);
    const bool negative = d.count() < Rep(0);
    const Whole most = static_cast<Whole>((Duration::max)().count()) + (negative ? 1 : 0);
    const Whole ticks = negative ? Whole(0) - static_cast<Whole>(d.count()) : static_cast<Whole>(d.count());
    const Whole rest = ticks % den;
    Whole ns = most;
    if (ticks / den <= most / num) {  // divided first: the product might not fit
      ns = ticks / den * num;
      if constexpr (num <= (std::numeric_limits<Whole>::max)() / den) {
        ns += rest * num / den;
      } else {
        ns += static_cast<Whole>(static_cast<long double>(rest) * num / den);
      }
    }
    if (ns >= most) return negative ? (Duration::min)() : (Duration::max)();
    const auto count = static_cast<Duration::rep>(ns);
    return Duration(negative ? -count : count);
  } else {
    constexpr long double limit = 9223372036854775808.0L;  // 2^63
    const long double ns = static_cast<long double>(d.count()) * static_cast<long double>(Period::num) *
                           static_cast<long double>(Scale::num) / static_cast<long double>(Scale::den);
    if (!(ns <= 0 || ns > 0)) return Duration::zero();
    if (ns >= limit) return (Duration::max)();
    if (ns <= -limit) return (Duration::min)();
    return Duration(static_cast<Duration::rep>(ns));
  }
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
