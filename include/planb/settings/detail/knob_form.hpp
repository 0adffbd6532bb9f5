// SPDX-License-Identifier: MIT
// What the value of a knob may be, beyond what its member's type says.
#pragma once

#include <planb/detail/config.hpp>

namespace planb::inline PLANB_ABI::detail {

enum class KnobForm : unsigned char {
  any,       // whatever the type has; a duration or a number from zero
  positive,  // a duration above zero, a count from 1
  tries,     // a count from 1, or `unlimited`
  share,     // a number above 0 and at most 1
  schedule,  // a text: a schedule
  pattern,   // a text: that of a code
  phrase,    // a text: a part of a message
};

}  // namespace planb::inline PLANB_ABI::detail
