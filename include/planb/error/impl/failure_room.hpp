// SPDX-License-Identifier: MIT
// The definitions of failure_room.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/detail/failure_room.hpp>

#include <optional>

namespace planb::inline PLANB_ABI::detail {

#if PLANB_HAS_EXCEPTIONS
PLANB_COLD PLANB_DECL void FailureRoom::build_by_callback() {
  const Cause thrown = Cause::current();
  Held<Failure>::build([&] { return Failure{thrown, std::nullopt, thrown}; });
}

#endif

}  // namespace planb::inline PLANB_ABI::detail
