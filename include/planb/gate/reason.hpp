// SPDX-License-Identifier: MIT
// GateReason: why a gate refuses an attempt.
#pragma once

#include <planb/detail/config.hpp>

#include <string_view>

namespace planb::inline PLANB_ABI {

enum class GateReason : unsigned char {
  circuit_open,         // a circuit breaker is open
  probe_running,        // it is half-open, and all its probes are out
  rate_limited,         // too many attempts in the last period
  concurrency_limited,  // too many attempts at once
  retry_budget_spent,   // too many retries for so few successes
  other,                // a gate of one's own; GateRefusal::text says more
};

[[nodiscard]] constexpr std::string_view to_label(GateReason value) noexcept {
  switch (value) {
    case GateReason::circuit_open: return "circuit_open";
    case GateReason::probe_running: return "probe_running";
    case GateReason::rate_limited: return "rate_limited";
    case GateReason::concurrency_limited: return "concurrency_limited";
    case GateReason::retry_budget_spent: return "retry_budget_spent";
    case GateReason::other: return "other";
  }
  return {};
}

[[nodiscard]] constexpr const char* to_string(GateReason reason) noexcept {
  switch (reason) {
    case GateReason::circuit_open: return "circuit open";
    case GateReason::probe_running: return "probe running";
    case GateReason::rate_limited: return "rate limited";
    case GateReason::concurrency_limited: return "concurrency limited";
    case GateReason::retry_budget_spent: return "retry budget spent";
    case GateReason::other: return "gate closed";
  }
  return "unknown";
}

}  // namespace planb::inline PLANB_ABI
