// SPDX-License-Identifier: MIT
// What a gate shows of itself, member by member.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/gate/snapshot.hpp>
#include <planb/observe/detail/tell.hpp>

namespace planb::inline PLANB_ABI::detail {

inline void tell(FieldSink& sink, const GateSnapshot& gate) {
  const auto& [name, kind, state, available, limit, open_until] = gate;
  sink.text("name", name);
  sink.text("kind", kind);
  if (!state.empty()) sink.text("state", state);
  if (available) sink.number("available", *available);
  if (limit) sink.number("limit", *limit);
  if (open_until) sink.time("open_until", *open_until);
}

}  // namespace planb::inline PLANB_ABI::detail
