// SPDX-License-Identifier: MIT
// The definitions of misuse.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/detail/misuse.hpp>

#include <string>

namespace planb::inline PLANB_ABI::detail {

PLANB_COLD PLANB_DECL void misuse(const std::string& what) {
#if PLANB_HAS_EXCEPTIONS
  throw Defect("planb: " + what);
#else
  refuse(what);
#endif
}

}  // namespace planb::inline PLANB_ABI::detail
