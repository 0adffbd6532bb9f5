// SPDX-License-Identifier: MIT
// The definition of Gate::snapshot().
#pragma once

#include <planb/detail/config.hpp>
#include <planb/gate/gate.hpp>
#include <planb/gate/snapshot.hpp>

#include <string>

namespace planb::inline PLANB_ABI {

PLANB_DECL GateSnapshot Gate::snapshot() const {
  GateSnapshot snapshot{.name = std::string(name()), .kind = "gate"};
  describe(snapshot);
  return snapshot;
}

}  // namespace planb::inline PLANB_ABI
