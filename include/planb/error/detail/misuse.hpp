// SPDX-License-Identifier: MIT
// misuse(): what becomes of a caller that breaks a protocol, such as that of a run by hand or of a Task.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/cause.hpp>

#include <string>

namespace planb::inline PLANB_ABI::detail {

// Throws a Defect with "planb: " and the message. Without exceptions: prints that and ends the program.
[[noreturn]] PLANB_COLD_DECL void misuse(const std::string& what);

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/error/impl/misuse.hpp>  // IWYU pragma: export
#endif
