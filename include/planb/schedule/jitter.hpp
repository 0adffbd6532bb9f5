// Delays that are spread at random, so that clients do not come back all at once.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/schedule/detail/args.hpp>
#include <planb/schedule/detail/combinators.hpp>
#include <planb/schedule/detail/leaves.hpp>
#include <planb/schedule/schedule.hpp>

namespace planb::inline PLANB_ABI {

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

// Uniform between `base` and three times the previous delay, at most `cap`; at the cap it stays spread out
// ("decorrelated jitter", AWS Architecture Blog).
[[nodiscard]] inline Schedule decorrelated_jitter(detail::DurationArg base, detail::DurationArg cap) {
  const detail::Decorrelated rule{detail::checked("decorrelated_jitter", "base", base),
                                  detail::checked("decorrelated_jitter", "cap", cap)};
  if (rule.cap < rule.base) detail::refuse("decorrelated_jitter: the cap is below the base; give at least the base");
  return detail::leaf(rule);
}

}  // namespace planb::inline PLANB_ABI
