// SPDX-License-Identifier: MIT
// RunPhase: what a run asks of its driver.
#pragma once

#include <planb/detail/config.hpp>

namespace planb::inline PLANB_ABI {

enum class RunPhase : unsigned char {
  attempt,  // make the attempt now, then say succeed() or fail()
  wait,     // come back at due()
  over,
};

}  // namespace planb::inline PLANB_ABI
