// Durations and time points, with saturating arithmetic.
#pragma once

#include <planb/detail/config.hpp>

#include <chrono>
#include <ratio>

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

// Any chrono duration as Duration: saturated where it does not fit, and zero for a NaN.
template <class Rep, class Period>
[[nodiscard]] constexpr Duration to_duration(std::chrono::duration<Rep, Period> d) noexcept {
  using Wide = std::chrono::duration<long double, std::nano>;
  const long double ns = std::chrono::duration_cast<Wide>(d).count();
  if (ns != ns) return Duration::zero();
  if (ns >= static_cast<long double>((Duration::max)().count())) return (Duration::max)();
  if (ns <= static_cast<long double>((Duration::min)().count())) return (Duration::min)();
  if constexpr (std::chrono::treat_as_floating_point_v<Rep>) {
    return Duration{static_cast<Duration::rep>(ns)};
  } else {
    using Ratio = std::ratio_divide<Period, std::nano>;  // nanoseconds for each tick
    if constexpr (Ratio::den == 1) {
      return Duration{static_cast<Duration::rep>(d.count()) * Ratio::num};
    } else {  // divided first: the product might not fit
      const auto ticks = static_cast<Duration::rep>(d.count());
      return Duration{
          ticks / Ratio::den * Ratio::num +
          static_cast<Duration::rep>(static_cast<long double>(ticks % Ratio::den) * Ratio::num / Ratio::den)};
    }
  }
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
