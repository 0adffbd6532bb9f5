// SPDX-License-Identifier: MIT
// Explanation: what explain() says, as data and as text.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/time/clock.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace planb::inline PLANB_ABI {

// What cannot work as it is written.
enum class FindingKind : unsigned char {
  never_entered,               // the step gets no attempt, whatever happens
  no_budget,                   // the run's budget is zero or less: it is over before its first attempt
  reserves_above_budget,       // the budget cannot give what steps reserve
  timeout_above_budget,        // the timeout never ends an attempt: the step's share of the budget ends it before
  first_timeout_above_budget,  // the same, of a stream's `first_timeout`
  wait_above_max_wait,         // a wait of the schedule's that `max_wait` forbids: further attempts are never made
  wait_above_budget,           // a wait of the schedule's that the budget has no room for: the same
  schedule_ends_early,         // the schedule ends before `attempts` are made, or before there is any retry
  schedule_unused,             // it is never asked
  retry_while_unused,          // its answer changes nothing
  max_wait_unused,             // there is no wait that it could forbid
  reserve_unused,              // it keeps nothing back
  first_timeout_unused,        // of a call: it has no output before its end
};

// Something that cannot work as it is written, whatever the providers do.
struct Finding {
  FindingKind kind = FindingKind::never_entered;
  std::optional<int> step = std::nullopt;  // the index of the step that it is about; none: the whole run
  std::string step_name = {};
  std::string text = {};  // what is wrong, and what to do about it
};

// Never exceeded where attempts end by their deadlines. None: without bound.
struct WorstCase {
  std::optional<long long> calls = 0;          // attempts
  std::optional<Duration> waits = Duration();  // before retries, for gates and, in scheduled entry, before the step
  std::optional<Duration> time = Duration();   // attempts and waits together
};

struct StepExplanation {
  int index = 0;
  std::string name = {};
  std::string text = {};  // its rules in words
  bool reachable = true;  // false: it gets no attempt, whatever happens
  WorstCase worst = {};   // of this step alone, with all the time that the budget may leave to it
};

struct Explanation {
  std::string text = {};  // the run in words
  WorstCase worst = {};   // of the whole run
  std::vector<StepExplanation> steps = {};
  std::vector<Finding> findings = {};  // of the run, then by step
};

[[nodiscard]] constexpr std::string_view to_label(FindingKind value) noexcept {
  switch (value) {
    case FindingKind::never_entered: return "never_entered";
    case FindingKind::no_budget: return "no_budget";
    case FindingKind::reserves_above_budget: return "reserves_above_budget";
    case FindingKind::timeout_above_budget: return "timeout_above_budget";
    case FindingKind::first_timeout_above_budget: return "first_timeout_above_budget";
    case FindingKind::wait_above_max_wait: return "wait_above_max_wait";
    case FindingKind::wait_above_budget: return "wait_above_budget";
    case FindingKind::schedule_ends_early: return "schedule_ends_early";
    case FindingKind::schedule_unused: return "schedule_unused";
    case FindingKind::retry_while_unused: return "retry_while_unused";
    case FindingKind::max_wait_unused: return "max_wait_unused";
    case FindingKind::reserve_unused: return "reserve_unused";
    case FindingKind::first_timeout_unused: return "first_timeout_unused";
  }
  return {};
}

[[nodiscard]] const char* to_string(FindingKind kind) noexcept;

// Several lines: the run, each step, and what cannot work as written, if there is such.
[[nodiscard]] std::string to_string(const Explanation& explanation);

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/observe/impl/explanation.hpp>  // IWYU pragma: export
#endif
