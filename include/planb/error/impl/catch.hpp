// SPDX-License-Identifier: MIT
// The definitions of catch.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/detail/catch.hpp>

#include <exception>

namespace planb::inline PLANB_ABI::detail {

#if PLANB_HAS_EXCEPTIONS
#if PLANB_HAS_RTTI
PLANB_NOINLINE PLANB_DECL Cause caught_exception(const std::exception& e) noexcept {
  const bool defect = dynamic_cast<const Defect*>(&e) != nullptr;
  return CauseAccess::caught(e, defect ? CauseKind::defect : CauseKind::error);
}

#endif
#endif

#if PLANB_HAS_EXCEPTIONS
#if !PLANB_HAS_RTTI
PLANB_NOINLINE PLANB_DECL Cause caught_exception(const std::exception& e) noexcept { return CauseAccess::caught(e); }

#endif
#endif

}  // namespace planb::inline PLANB_ABI::detail
