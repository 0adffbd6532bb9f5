// SPDX-License-Identifier: MIT
// GateSnapshot: what any gate shows of itself, for lists and dashboards.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/gate/gate.hpp>  // IWYU pragma: keep ; Gate::snapshot()
#include <planb/time/clock.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace planb::inline PLANB_ABI {

struct GateSnapshot {
  std::string name = {};
  std::string kind = {};   // "circuit_breaker", "rate_limit", ...; "gate": one of your own that says nothing else
  std::string state = {};  // of a circuit breaker, the label of its CircuitState: "closed", "open" or "half_open"

  // Of a limit: how many attempts it would let pass now (for a rate: at the time when it was last asked), of how many.
  std::optional<std::int64_t> available = std::nullopt;
  std::optional<std::int64_t> limit = std::nullopt;

  // Of an open circuit breaker; TimePoint's maximum: until reset().
  std::optional<TimePoint> open_until = std::nullopt;
};

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/gate/impl/snapshot.hpp>  // IWYU pragma: export
#endif
