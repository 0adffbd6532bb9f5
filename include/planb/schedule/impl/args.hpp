// SPDX-License-Identifier: MIT
// The definitions of args.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/schedule/detail/args.hpp>

#include <limits>
#include <string>

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL Duration checked(const char* schedule, const char* what, DurationArg arg) {
  if (!arg.ok) {
    refuse(std::string(schedule) + ": the " + what + " is negative or not a number; give zero or more, such as 10ms");
  }
  return arg.value;
}

PLANB_DECL int checked_count(const char* schedule, int times) {
  if (times < 0) {
    refuse(std::string(schedule) + ": the number of times is " + std::to_string(times) + "; give zero or more");
  }
  return times;
}

PLANB_DECL double checked_factor(const char* schedule, double factor) {
  if (!(factor >= 0) || factor > (std::numeric_limits<double>::max)()) {
    refuse(std::string(schedule) + ": the factor is negative or not finite; give zero or more, such as 2");
  }
  return factor;
}

}  // namespace planb::inline PLANB_ABI::detail
