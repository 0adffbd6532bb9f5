// SPDX-License-Identifier: MIT
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
[[nodiscard]] Schedule jittered(const Schedule& schedule);

// Each delay × a random factor of 0 to 1.
[[nodiscard]] Schedule full_jitter(const Schedule& schedule);

// Each delay × a random factor of 0.5 to 1.
[[nodiscard]] Schedule equal_jitter(const Schedule& schedule);

// Uniform between `base` and three times the previous delay, at most `cap`; at the cap it stays spread out
// ("decorrelated jitter", AWS Architecture Blog).
[[nodiscard]] Schedule decorrelated_jitter(detail::DurationArg base, detail::DurationArg cap);

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/schedule/impl/jitter.hpp>  // IWYU pragma: export
#endif
