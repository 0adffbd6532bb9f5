// SPDX-License-Identifier: MIT
// What a gate shows of itself, member by member.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/gate/circuit_breaker_options.hpp>
#include <planb/gate/snapshot.hpp>
#include <planb/observe/detail/tell.hpp>

#include <cstdint>

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

inline void tell(FieldSink& sink, const CircuitSnapshot& breaker) {
  const auto& [name, state, counts, openings, probes_running, probes_succeeded, open_until, forced, changed_at] =
      breaker;
  const auto& [consecutive_failures, calls, failures, slow] = counts;
  sink.text("name", name);
  sink.word("state", to_label(state));
  sink.begin("counts");
  sink.number("consecutive_failures", consecutive_failures);
  sink.number("calls", static_cast<std::int64_t>(calls));
  sink.number("failures", static_cast<std::int64_t>(failures));
  sink.number("slow", static_cast<std::int64_t>(slow));
  sink.end();
  sink.number("openings", openings);
  sink.number("probes_running", probes_running);
  sink.number("probes_succeeded", probes_succeeded);
  if (open_until) sink.time("open_until", *open_until);
  sink.flag("forced", forced);
  if (changed_at) sink.time("changed_at", *changed_at);
}

}  // namespace planb::inline PLANB_ABI::detail
