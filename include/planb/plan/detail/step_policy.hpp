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

struct StepPolicy {
  std::string_view name;
  StepKind kind = StepKind::quick;
  int max_attempts = 1;
  const Schedule* schedule = nullptr;
  const ErrorPredicate* retry_while = nullptr;
  const ErrorFunction<Verdict>* classify = nullptr;
  const ErrorPredicate* enter_when = nullptr;
  std::optional<Duration> max_wait;
  std::optional<Duration> timeout;
  Duration reserved_after{};  // for the steps behind this one
  Gate* gate = nullptr;
};

// What the engine reads: the steps, and the error types that the plan names.
struct PlanView {
  const StepPolicy* steps = nullptr;
  int size = 0;
  NamedErrors named;
};

// The rules that Step and RetryPolicy share, and Step's enter_when. All must outlive the policy.
template <class Rules>
[[nodiscard]] StepPolicy make_policy(const Rules& rules, std::string_view name,
                                     const ErrorPredicate* enter_when = nullptr) {
  StepPolicy policy;
  policy.name = name;
  policy.max_attempts = rules.attempts ? *rules.attempts : rules.schedule ? unlimited : 1;
  if (rules.schedule) policy.schedule = &rules.schedule;
  if (rules.retry_while) policy.retry_while = &rules.retry_while;
  if (rules.classify) policy.classify = &rules.classify;
  policy.max_wait = rules.max_wait;
  policy.timeout = limit(rules.timeout);
  policy.gate = rules.gate.get();
  policy.enter_when = enter_when;
  policy.kind = enter_when != nullptr || policy.timeout                    ? StepKind::full
                : policy.gate != nullptr                                   ? StepKind::gated
                : policy.schedule != nullptr || policy.classify != nullptr ? StepKind::plain
                                                                           : StepKind::quick;
  return policy;
}

// What can be wrong with such rules.
struct RuleLimits {
  std::optional<int> attempts;
  bool endless = false;  // the schedule never ends by itself
  std::optional<Duration> max_wait;
  std::optional<Duration> timeout;
  Duration reserve{};
};

template <class Rules>
[[nodiscard]] RuleLimits limits_of(const Rules& rules) {
  RuleLimits limits{.attempts = rules.attempts,
                    .endless = !rules.schedule.ends(),
                    .max_wait = rules.max_wait,
                    .timeout = rules.timeout};
  if constexpr (requires { rules.reserve; }) limits.reserve = rules.reserve;
  return limits;
}

// Why these rules are refused, or an empty string. `label` names the step.
[[nodiscard]] std::string refusal(const RuleLimits& limits, const std::string& label);

template <class Rules>
[[nodiscard]] std::string refusal(const Rules& rules, const std::string& label) {
  return detail::refusal(detail::limits_of(rules), label);
}

// The same of the step with this index.
[[nodiscard]] std::string step_refusal(const RuleLimits& limits, std::string_view name, std::size_t index);

}  // namespace detail

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/plan/impl/step_policy.hpp>  // IWYU pragma: export
#endif
