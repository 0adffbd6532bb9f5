// SPDX-License-Identifier: MIT
// Schedules as text: to_string and parse_schedule.
//
//   spaced(10ms)  exponential(10ms, 1.5)  up_to(jittered(capped(exponential(100ms), 5s)), 4)
//
// The text is the call that makes the schedule, with the names of schedule.hpp, but that `both` is written max and
// `either` min (either name is read). Durations are a number and a unit of ns, us, ms, s, min (or m), h and d, such as
// 10ms or 1.5s, or a sum such as 1h30min; digits below a nanosecond are cut off. Space is allowed between tokens.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/parsed.hpp>
#include <planb/schedule/schedule.hpp>

#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI {

// The text that parse_schedule reads as the same schedule. One that holds a function cannot be read back: it prints as
// `modify_delay(spaced(10ms), ...)`, one made by Schedule::from as its name, no schedule at all as "none".
[[nodiscard]] std::string to_string(const Schedule& schedule);

// Reads a whole text. Any text gives a schedule or an error; nothing is thrown but std::bad_alloc. Numbers and
// durations that do not fit are errors, and so are schedules nested more than 128 deep.
[[nodiscard]] Parsed<Schedule> parse_schedule(std::string_view text);

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/schedule/impl/text.hpp>  // IWYU pragma: export
#endif
