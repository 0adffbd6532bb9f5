// SPDX-License-Identifier: MIT
// The definitions of refuse.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace planb::inline PLANB_ABI::detail {

PLANB_COLD PLANB_DECL void refuse(const std::string& message) {
#if PLANB_HAS_EXCEPTIONS
  throw std::invalid_argument("planb: " + message);
#else
  std::fprintf(stderr, "planb: %s\n", message.c_str());
  std::abort();
#endif
}

}  // namespace planb::inline PLANB_ABI::detail
