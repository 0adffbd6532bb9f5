// SPDX-License-Identifier: MIT
// A step as the engine sees it: its rules without its context type. Views into a Step that lives elsewhere.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/predicate.hpp>
#include <planb/gate/gate.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/optional_duration.hpp>

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI {

// For `attempts`: no limit is meant.
inline constexpr int unlimited = (std::numeric_limits<int>::max)();

namespace detail {

// What an attempt of a step has to ask.
enum class StepKind : unsigned char {
  quick,  // nobody; and of a failure only its attempts and retry_while make something
  plain,  // nobody, but a schedule or a classifier makes something of a failure
  gated,  // only a gate
  full,   // a guard before the first, or a timeout limits them
};

// What follows a step in its plan.
enum class Later : unsigned char { nothing, guarded_steps, steps };

struct StepPolicy {
  std::string_view name;
  StepKind kind = StepKind::quick;
  Later later = Later::nothing;
  Later later_if_asked = Later::nothing;  // where a step's schedule and retry_while guard it too: StepEntry::scheduled
  int max_attempts = 1;
  const Schedule* schedule = nullptr;
  const ErrorPredicate* retry_while = nullptr;
  const ErrorFunction<Verdict>* classify = nullptr;
  const ErrorPredicate* enter_when = nullptr;
  std::optional<Duration> max_wait;
  std::optional<Duration> timeout;
  std::optional<Duration> first_timeout;  // of streams
  Duration reserved_after{};              // for the steps behind this one
  Gate* gate = nullptr;
};

// What the engine reads: the steps, and the error types that the plan names.
struct PlanView {
  const StepPolicy* steps = nullptr;
  int size = 0;
  NamedErrors named;
};

// The rules that Step and RetryPolicy share, and what Step alone has, without their types. All must outlive this.
struct RulesView {
  std::optional<int> attempts;
  const Schedule* schedule;
  const ErrorPredicate* retry_while;
  const ErrorFunction<Verdict>* classify;
  std::optional<Duration> max_wait;
  std::optional<Duration> timeout;
  Gate* gate;
  // Of a Step:
  std::string_view name = {};
  const ErrorPredicate* enter_when = nullptr;
  std::optional<Duration> first_timeout = std::nullopt;
  Duration reserve{};
};

template <class Rules>
[[nodiscard]] RulesView view_of(const Rules& rules) {
  RulesView view{rules.attempts, &rules.schedule, &rules.retry_while, &rules.classify,
                 rules.max_wait, rules.timeout,   rules.gate.get()};
  if constexpr (requires { rules.enter_when; }) {
    view.name = rules.name;
    view.enter_when = &rules.enter_when;
    view.first_timeout = rules.first_timeout;
    view.reserve = rules.reserve;
  }
  return view;
}

[[nodiscard]] StepPolicy make_policy(const RulesView& rules);

// Why these rules are refused, or an empty string. `label` names the step.
[[nodiscard]] std::string refusal(const RulesView& rules, const std::string& label);
// The same of the step with this index.
[[nodiscard]] std::string step_refusal(const RulesView& rules, std::size_t index);

}  // namespace detail

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/plan/impl/step_policy.hpp>  // IWYU pragma: export
#endif
