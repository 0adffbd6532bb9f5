// The definitions of failure_room.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/detail/failure_room.hpp>

#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

#if PLANB_HAS_EXCEPTIONS
PLANB_COLD PLANB_DECL void FailureRoom::build_by_rule() {
  const Cause thrown = Cause::current();
  ::new (static_cast<void*>(std::addressof(failure))) Failure{thrown, std::nullopt, thrown};
}

#endif

PLANB_DECL void FailureKeeper::keep(Cause&& cause) {
  room_.build([&] { return std::move(cause); });
  stage_ = Stage::failed;
}

}  // namespace planb::inline PLANB_ABI::detail
