// misuse(): what becomes of a caller that breaks a protocol, such as that of a run by hand or of a Task.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/cause.hpp>

#include <string>

namespace planb::inline PLANB_ABI::detail {

// Throws a Defect with "planb: " and the message. Without exceptions: prints that and ends the program.
[[noreturn]] PLANB_COLD inline void misuse(const std::string& what) {
#if PLANB_HAS_EXCEPTIONS
  throw Defect("planb: " + what);
#else
  refuse(what);
#endif
}

}  // namespace planb::inline PLANB_ABI::detail
