// SPDX-License-Identifier: MIT
// When to try again: schedules that stand by themselves. combinators.hpp makes others of them, jitter.hpp spreads them.
//
//   exponential(20ms)                             20ms, 40ms, 80ms, ... for ever
//   jittered(capped(exponential(100ms), 5s))      doubling, spread by 20 %, never above five seconds
//   up_to(spaced(1s), 3)                          a second, three times
//   concat(up_to(spaced(1s), 3), spaced(1min))    and then every minute
//
// Delays are never negative and saturate at Duration::max(). A duration may be any std::chrono duration. Arguments that
// make no sense (negative durations and counts, a factor that is not finite, an empty schedule inside another) are
// refused with std::invalid_argument, or, in a build without exceptions, end the program with the same message.
// What is marked (reference) means what it means in Effect 4.1.0.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/schedule/detail/args.hpp>
#include <planb/schedule/detail/leaves.hpp>
#include <planb/schedule/schedule.hpp>

#include <chrono>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI {

// The same delay each time (reference).
[[nodiscard]] Schedule spaced(detail::DurationArg delay);

// base, base × factor, base × factor², ... (reference). A factor below one shrinks; without one it is two.
[[nodiscard]] Schedule exponential(detail::DurationArg base, double factor);
[[nodiscard]] Schedule exponential(detail::DurationArg base);

// base × 1, 1, 2, 3, 5, 8, ... (reference).
[[nodiscard]] Schedule fibonacci(detail::DurationArg base);

// base × 1, 2, 3, 4, ...
[[nodiscard]] Schedule linear(detail::DurationArg base);

// Waits to the next point of a grid that starts when it is first asked, however long the attempts take. One that is
// behind by more than an interval goes at once (reference).
[[nodiscard]] Schedule fixed(detail::DurationArg interval);

// Waits to the next multiple of the interval, counted from when it is first asked (reference).
[[nodiscard]] Schedule windowed(detail::DurationArg interval);

// So many times, without delay (reference).
[[nodiscard]] Schedule recurs(int times);

// One time, without delay (reference).
[[nodiscard]] Schedule once();

// For ever, without delay (reference). Qt has a macro of this name.
#pragma push_macro("forever")
#undef forever
[[nodiscard]] Schedule forever();
#pragma pop_macro("forever")

// Without delay, while no more than `time` has passed since it was first asked (reference).
[[nodiscard]] Schedule during(detail::DurationArg time);

// One time, after `delay` (reference).
[[nodiscard]] Schedule duration(detail::DurationArg delay);

namespace detail {
[[nodiscard]] Schedule all_delays(std::vector<Duration> list);
}  // namespace detail

// These delays, one after the other, then it ends.
[[nodiscard]] Schedule delays(std::initializer_list<detail::DurationArg> list);
template <class Rep, class Period>
[[nodiscard]] Schedule delays(const std::vector<std::chrono::duration<Rep, Period>>& list) {
  std::vector<Duration> all;
  all.reserve(list.size());
  for (const auto& delay : list) all.push_back(detail::checked("delays", "delay", delay));
  return detail::all_delays(std::move(all));
}

// Your own: see Schedule::from in schedule.hpp.
template <class F>
Schedule Schedule::from(std::string name, F fn) {
  static_assert(std::is_copy_constructible_v<F>, "planb: a schedule's function must be copyable");
  static_assert(detail::TakesInput<F>,
                "planb: a schedule's function takes `const planb::ScheduleInput&` and is not `mutable`");
  if constexpr (detail::TakesInput<F>) {
    if (name.empty()) name = "custom";
    return detail::leaf(detail::Custom<F>{std::move(name), std::move(fn)});
  } else {
    return {};
  }
}

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/schedule/impl/leaves.hpp>  // IWYU pragma: export
#endif
