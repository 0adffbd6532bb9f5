// SPDX-License-Identifier: MIT
// What schedules take as arguments, and how nonsense is turned down.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/time/clock.hpp>

#include <chrono>
#include <optional>
#include <type_traits>

namespace planb::inline PLANB_ABI::detail {

// A duration argument: any std::chrono duration, saturated; not `ok` where it is negative or NaN.
struct DurationArg {
  template <class Rep, class Period>
  constexpr DurationArg(std::chrono::duration<Rep, Period> d) noexcept  // NOLINT(google-explicit-constructor)
      : value(to_duration(d)), ok(d >= std::chrono::duration<Rep, Period>::zero()) {}

  Duration value;
  bool ok;
};

[[nodiscard]] Duration checked(const char* schedule, const char* what, DurationArg arg);

[[nodiscard]] int checked_count(const char* schedule, int times);

[[nodiscard]] double checked_factor(const char* schedule, double factor);

// The forms of the functions that schedules take. Each is asked for only where the ones before it do not apply, so a
// generic lambda is not tried with an argument that its body cannot take.
template <class F>
concept TakesDelayAndInput = std::is_invocable_v<const F&, Duration, const ScheduleInput&>;
template <class F>
concept TakesDelay = std::is_invocable_v<const F&, Duration>;
template <class F>
concept TakesInput = std::is_invocable_v<const F&, const ScheduleInput&>;
template <class F>
concept TakesNothing = std::is_invocable_v<const F&>;
template <class F>
concept ModifiesDelay = TakesDelayAndInput<F> || TakesDelay<F>;
template <class F>
concept AddsDelay = TakesNothing<F> || TakesInput<F>;
template <class F>
concept TapsDelay = TakesDelayAndInput<F> || TakesDelay<F> || TakesInput<F>;

// What a function of the caller's gave: a duration of any kind, or an optional of one.
template <class R>
[[nodiscard]] std::optional<Duration> to_optional_duration(const R& result) {
  if constexpr (requires { to_duration(result); }) {
    return to_duration(result);
  } else if constexpr (requires { to_duration(*result); }) {
    return result ? std::optional<Duration>(to_duration(*result)) : std::nullopt;
  } else {
    static_assert(std::is_convertible_v<const R&, std::optional<Duration>>,
                  "planb: a schedule's function must give a std::chrono duration, or a std::optional of one");
    return result;
  }
}

template <class R>
[[nodiscard]] Duration to_plain_duration(const R& result) {
  static_assert(requires { to_duration(result); }, "planb: this function must give a std::chrono duration");
  return to_duration(result);
}

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/schedule/impl/args.hpp>  // IWYU pragma: export
#endif
