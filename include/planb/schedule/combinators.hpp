// SPDX-License-Identifier: MIT
// Schedules made of schedules. What is marked (reference) means what it means in Effect 4.1.0.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/predicate.hpp>
#include <planb/schedule/detail/args.hpp>
#include <planb/schedule/detail/combinators.hpp>
#include <planb/schedule/schedule.hpp>

#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

// The first until it ends, then the second, which is first asked there (reference). Also of more than two.
[[nodiscard]] Schedule concat(const Schedule& first, const Schedule& second);
template <class... More>
  requires detail::Schedules<More...>
[[nodiscard]] Schedule concat(const Schedule& a, const Schedule& b, const More&... more) {
  return concat(concat(a, b), more...);
}

// Recurs while all recur, and waits the longest (reference; `max` in text).
[[nodiscard]] Schedule both(const Schedule& a, const Schedule& b);
template <class... More>
  requires detail::Schedules<More...>
[[nodiscard]] Schedule both(const Schedule& a, const Schedule& b, const More&... more) {
  return both(both(a, b), more...);
}

// Recurs while any recurs, and waits the shortest of those that do (reference; `min` in text).
[[nodiscard]] Schedule either(const Schedule& a, const Schedule& b);
template <class... More>
  requires detail::Schedules<More...>
[[nodiscard]] Schedule either(const Schedule& a, const Schedule& b, const More&... more) {
  return either(either(a, b), more...);
}

// Ends after that many recurrences, or once more than `elapsed` has passed since it was first asked (reference).
[[nodiscard]] Schedule up_to(const Schedule& schedule, int times);
[[nodiscard]] Schedule up_to(const Schedule& schedule, detail::DurationArg elapsed);

// Delays of at most `max`, before jitter and after it, whichever is nested in the other: a jitter draws within the
// permitted range, so that delays stay spread out once they have reached the cap (field report 6).
[[nodiscard]] Schedule capped(const Schedule& schedule, detail::DurationArg max);

// Adds to each delay: a duration, or what `fn()` or `fn(const ScheduleInput&)` gives, where a negative one counts as
// zero (reference). Lengthens a cap further in as well.
[[nodiscard]] Schedule add_delay(const Schedule& schedule, detail::DurationArg extra);
template <class F>
  requires(!std::is_convertible_v<F, detail::DurationArg>)
[[nodiscard]] Schedule add_delay(const Schedule& schedule, F fn) {
  static_assert(std::is_copy_constructible_v<F>, "planb: add_delay's function must be copyable");
  static_assert(detail::AddsDelay<F>,
                "planb: add_delay takes a duration, or a function of nothing or of `const planb::ScheduleInput&` that "
                "is not `mutable`");
  if constexpr (detail::AddsDelay<F>) {
    return detail::wrap(schedule, detail::AddDelayBy<F>{std::move(fn)});
  } else {
    return {};
  }
}

// Replaces each delay by what `fn(delay)` or `fn(delay, const ScheduleInput&)` gives; a negative result counts as zero
// (reference).
template <class F>
[[nodiscard]] Schedule modify_delay(const Schedule& schedule, F fn) {
  static_assert(std::is_copy_constructible_v<F>, "planb: modify_delay's function must be copyable");
  static_assert(detail::ModifiesDelay<F>,
                "planb: modify_delay takes a function of `planb::Duration` or of `planb::Duration, const "
                "planb::ScheduleInput&` that is not `mutable`");
  if constexpr (detail::ModifiesDelay<F>) {
    return detail::wrap(schedule, detail::ModifyDelay<F>{std::move(fn)});
  } else {
    return {};
  }
}

// Ends at the first failure that the predicate declines. It takes the forms of Step::retry_while: const Cause&, one
// error type, or a member such as &LlmError::retryable (reference).
[[nodiscard]] Schedule while_input(const Schedule& schedule, detail::ErrorPredicate predicate);

// Calls `fn(delay)`, `fn(delay, const ScheduleInput&)` or `fn(const ScheduleInput&)` at each recurrence, and changes
// nothing (reference).
template <class F>
[[nodiscard]] Schedule tap(const Schedule& schedule, F fn) {
  static_assert(std::is_copy_constructible_v<F>, "planb: tap's function must be copyable");
  static_assert(detail::TapsDelay<F>,
                "planb: tap takes a function of `planb::Duration`, of `planb::Duration, const planb::ScheduleInput&`, "
                "or of `const planb::ScheduleInput&`, that is not `mutable`");
  if constexpr (detail::TapsDelay<F>) {
    return detail::wrap(schedule, detail::Tap<F>{std::move(fn)});
  } else {
    return {};
  }
}

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/schedule/impl/combinators.hpp>  // IWYU pragma: export
#endif
