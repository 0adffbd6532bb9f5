// SPDX-License-Identifier: MIT
// What a run remembers of its steps, and what it decides after a failure.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/verdict.hpp>
#include <planb/gate/gate.hpp>
#include <planb/report/event.hpp>
#include <planb/time/clock.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace planb::inline PLANB_ABI::detail {

// Of a step that the run came to. Every step gets one when it is passed over or first tried, so the n-th is the n-th
// step's. In little room: a run in flight has four of these in place.
struct StepRecord {
  StepRecord() noexcept {}  // NOLINT(modernize-use-equals-default): which would first fill the cause's room with zeros

  int attempts = 0;
  bool failed : 1 = false;
  bool alert : 1 = false;
  bool skipped : 1 = false;
  bool refused : 1 = false;  // by the gate: opens_at is known
  bool judged : 1 = false;   // a verdict was given of the last failure
  SkipReason skip_reason = SkipReason::declined;
  LeaveReason left = LeaveReason::none;
  GateReason gate_reason = GateReason::other;  // why it refused
  Verdict verdict;
  Cause cause;         // the last failure
  TimePoint opens_at;  // of a gate, as learnt at refused_at
  TimePoint refused_at;
  // Of a run with times: what its attempts took, and its waits; and when it failed last.
  Duration attempt_time{};
  Duration wait_time{};
  TimePoint failed_at;

  void refuse(const GateRefusal& refusal, TimePoint now) noexcept {
    refused = true;
    opens_at = refusal.opens_at;
    refused_at = now;
    gate_reason = refusal.reason;
  }
};

// What a gate that refused says of itself, where it says more than its reason: few do.
struct RefusalWords {
  std::size_t step = 0;
  std::string text = {};
  std::string gate = {};
  std::unique_ptr<RefusalWords> before = nullptr;
};

// What follows a failed attempt. A retry comes after the engine's delay_.
struct Move {
  NextMove::Kind kind = NextMove::end;
  RunEnd run_end = RunEnd::exhausted;
  LeaveReason reason = LeaveReason::none;
};

// That a first attempt was made before there was an engine.
struct FirstAttemptMade {};

}  // namespace planb::inline PLANB_ABI::detail
