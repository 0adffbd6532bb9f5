// A step as the engine sees it: its rules without its context type. Views into a Step that lives elsewhere.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/predicate.hpp>
#include <planb/gate/gate.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/optional_duration.hpp>

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

// Why these rules are refused, or an empty string. `label` names the step.
template <class Rules>
[[nodiscard]] std::string refusal(const Rules& rules, const std::string& label) {
  if (rules.attempts && *rules.attempts < 1) {
    return label + ": `attempts` is " + std::to_string(*rules.attempts) +
           "; it counts the first try too, so it must be 1 or more (or planb::unlimited)";
  }
  if (rules.schedule && !rules.schedule.ends() && !rules.attempts) {
    return label +
           ": the schedule never ends by itself and no `attempts` is given; give `attempts`, a schedule that ends, or "
           "`attempts = planb::unlimited` if that is meant";
  }
  if (rules.max_wait && *rules.max_wait < Duration::zero()) return label + ": `max_wait` is negative";
  if (rules.timeout && *rules.timeout <= Duration::zero()) {
    return label + ": `timeout` must be above zero; leave it out for no limit";
  }
  return {};
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
