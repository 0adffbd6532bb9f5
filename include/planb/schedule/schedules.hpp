// When to try again: all schedules and combinators.
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

#include <planb/time/clock.hpp>
#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/schedule/detail/args.hpp>
#include <planb/schedule/detail/combinators.hpp>
#include <planb/schedule/detail/leaves.hpp>
#include <planb/error/predicate.hpp>
#include <planb/schedule/schedule.hpp>  // IWYU pragma: export

#include <chrono>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI {

// The same delay each time (reference).
[[nodiscard]] inline Schedule spaced(detail::DurationArg delay) {
  return detail::leaf(detail::Spaced{detail::checked("spaced", "delay", delay)});
}

// base, base × factor, base × factor², ... (reference). A factor below one shrinks; without one it is two.
[[nodiscard]] inline Schedule exponential(detail::DurationArg base, double factor) {
  return detail::leaf(detail::Exponential{detail::checked("exponential", "base", base),
                                          detail::checked_factor("exponential", factor), true});
}
[[nodiscard]] inline Schedule exponential(detail::DurationArg base) {
  return detail::leaf(detail::Exponential{detail::checked("exponential", "base", base), 2, false});
}

// base × 1, 1, 2, 3, 5, 8, ... (reference).
[[nodiscard]] inline Schedule fibonacci(detail::DurationArg base) {
  return detail::leaf(detail::Fibonacci{detail::checked("fibonacci", "base", base)});
}

// base × 1, 2, 3, 4, ...
[[nodiscard]] inline Schedule linear(detail::DurationArg base) {
  return detail::leaf(detail::Linear{detail::checked("linear", "base", base)});
}

// Waits to the next point of a grid that starts when it is first asked, however long the attempts take. One that is
// behind by more than an interval goes at once (reference).
[[nodiscard]] inline Schedule fixed(detail::DurationArg interval) {
  return detail::leaf(detail::Fixed{detail::checked("fixed", "interval", interval)});
}

// Waits to the next multiple of the interval, counted from when it is first asked (reference).
[[nodiscard]] inline Schedule windowed(detail::DurationArg interval) {
  return detail::leaf(detail::Windowed{detail::checked("windowed", "interval", interval)});
}

// So many times, without delay (reference).
[[nodiscard]] inline Schedule recurs(int times) {
  return detail::leaf(detail::Recurs{detail::checked_count("recurs", times)});
}

// One time, without delay (reference).
[[nodiscard]] inline Schedule once() { return detail::leaf(detail::Once{}); }

// For ever, without delay (reference). Qt has a macro of this name.
#pragma push_macro("forever")
#undef forever
[[nodiscard]] inline Schedule forever() { return detail::leaf(detail::Forever{}); }
#pragma pop_macro("forever")

// Without delay, while no more than `time` has passed since it was first asked (reference).
[[nodiscard]] inline Schedule during(detail::DurationArg time) {
  return detail::leaf(detail::During{detail::checked("during", "time", time)});
}

// One time, after `delay` (reference).
[[nodiscard]] inline Schedule duration(detail::DurationArg delay) {
  return detail::leaf(detail::OnceAfter{detail::checked("duration", "delay", delay)});
}

// These delays, one after the other, then it ends.
[[nodiscard]] inline Schedule delays(std::initializer_list<detail::DurationArg> list) {
  detail::Delays rule;
  for (const detail::DurationArg& delay : list) rule.list.push_back(detail::checked("delays", "delay", delay));
  return detail::leaf(std::move(rule));
}
template <class Rep, class Period>
[[nodiscard]] Schedule delays(const std::vector<std::chrono::duration<Rep, Period>>& list) {
  detail::Delays rule;
  for (const auto& delay : list) rule.list.push_back(detail::checked("delays", "delay", delay));
  return detail::leaf(std::move(rule));
}

// Uniform between `base` and three times the previous delay, at most `cap`; at the cap it stays spread out
// ("decorrelated jitter", AWS Architecture Blog).
[[nodiscard]] inline Schedule decorrelated_jitter(detail::DurationArg base, detail::DurationArg cap) {
  const detail::Decorrelated rule{detail::checked("decorrelated_jitter", "base", base),
                                  detail::checked("decorrelated_jitter", "cap", cap)};
  if (rule.cap < rule.base) detail::refuse("decorrelated_jitter: the cap is below the base; give at least the base");
  return detail::leaf(rule);
}

// Your own: see Schedule::from in schedule_core.hpp.
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

// The first until it ends, then the second, which is first asked there (reference). Also of more than two.
[[nodiscard]] inline Schedule concat(const Schedule& first, const Schedule& second) {
  return detail::pair_up<detail::Concat>("concat", first, second);
}
template <class... More>
  requires detail::Schedules<More...>
[[nodiscard]] Schedule concat(const Schedule& a, const Schedule& b, const More&... more) {
  return concat(concat(a, b), more...);
}

// Recurs while all recur, and waits the longest (reference; `max` in text).
[[nodiscard]] inline Schedule both(const Schedule& a, const Schedule& b) {
  return detail::pair_up<detail::Both>("both", a, b);
}
template <class... More>
  requires detail::Schedules<More...>
[[nodiscard]] Schedule both(const Schedule& a, const Schedule& b, const More&... more) {
  return both(both(a, b), more...);
}

// Recurs while any recurs, and waits the shortest of those that do (reference; `min` in text).
[[nodiscard]] inline Schedule either(const Schedule& a, const Schedule& b) {
  return detail::pair_up<detail::Either>("either", a, b);
}
template <class... More>
  requires detail::Schedules<More...>
[[nodiscard]] Schedule either(const Schedule& a, const Schedule& b, const More&... more) {
  return either(either(a, b), more...);
}

// Ends after that many recurrences, or once more than `elapsed` has passed since it was first asked (reference).
[[nodiscard]] inline Schedule up_to(const Schedule& schedule, int times) {
  return detail::wrap(schedule, detail::UpToTimes{detail::checked_count("up_to", times)});
}
[[nodiscard]] inline Schedule up_to(const Schedule& schedule, detail::DurationArg elapsed) {
  return detail::wrap(schedule, detail::UpToElapsed{detail::checked("up_to", "time", elapsed)});
}

// Delays of at most `max`, before jitter and after it, whichever is nested in the other: a jitter draws within the
// permitted range, so that delays stay spread out once they have reached the cap (field report 6).
[[nodiscard]] inline Schedule capped(const Schedule& schedule, detail::DurationArg max) {
  return detail::wrap(schedule, detail::Capped{detail::checked("capped", "cap", max)});
}

// Each delay × a random factor of 0.8 to 1.2 (reference).
[[nodiscard]] inline Schedule jittered(const Schedule& schedule) {
  return detail::wrap(schedule, detail::Jitter<detail::ByAFifth>{});
}

// Each delay × a random factor of 0 to 1.
[[nodiscard]] inline Schedule full_jitter(const Schedule& schedule) {
  return detail::wrap(schedule, detail::Jitter<detail::DownToZero>{});
}

// Each delay × a random factor of 0.5 to 1.
[[nodiscard]] inline Schedule equal_jitter(const Schedule& schedule) {
  return detail::wrap(schedule, detail::Jitter<detail::DownToHalf>{});
}

// Adds to each delay: a duration, or what `fn()` or `fn(const ScheduleInput&)` gives, where a negative one counts as
// zero (reference). Lengthens a cap further in as well.
[[nodiscard]] inline Schedule add_delay(const Schedule& schedule, detail::DurationArg extra) {
  return detail::wrap(schedule, detail::AddDelay{detail::checked("add_delay", "delay", extra)});
}
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
[[nodiscard]] inline Schedule while_input(const Schedule& schedule, detail::ErrorPredicate predicate) {
  if (!predicate) detail::refuse("while_input: there is no predicate; give one");
  return detail::wrap(schedule, detail::WhileInput{std::move(predicate)});
}

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
