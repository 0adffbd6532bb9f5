// refuse(): the one way in which the library turns down arguments that make no sense.
#pragma once

#include <planb/detail/config.hpp>

#include <string>

#if PLANB_HAS_EXCEPTIONS
#include <stdexcept>
#else
#include <cstdio>
#include <cstdlib>
#endif

namespace planb::inline PLANB_ABI::detail {

// Throws std::invalid_argument with "planb: " and the message. Without exceptions: prints that and ends the program.
[[noreturn]] PLANB_COLD inline void refuse(const std::string& message) {
#if PLANB_HAS_EXCEPTIONS
  throw std::invalid_argument("planb: " + message);
#else
  std::fprintf(stderr, "planb: %s\n", message.c_str());
  std::abort();
#endif
}

}  // namespace planb::inline PLANB_ABI::detail
