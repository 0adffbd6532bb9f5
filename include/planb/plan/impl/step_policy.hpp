// SPDX-License-Identifier: MIT
// The definitions of step_policy.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/plan/detail/step_policy.hpp>

#include <cstddef>
#include <string>

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL StepPolicy make_policy(const RulesView& rules) {
  StepPolicy policy;
  policy.name = rules.name;
  policy.max_attempts = rules.attempts ? *rules.attempts : *rules.schedule ? unlimited : 1;
  if (*rules.schedule) policy.schedule = rules.schedule;
  if (*rules.retry_while) policy.retry_while = rules.retry_while;
  if (*rules.classify) policy.classify = rules.classify;
  if (rules.enter_when != nullptr && *rules.enter_when) policy.enter_when = rules.enter_when;
  policy.max_wait = rules.max_wait;
  policy.timeout = limit(rules.timeout);
  policy.first_timeout = limit(rules.first_timeout);
  policy.gate = rules.gate;
  policy.kind = policy.enter_when != nullptr || policy.timeout || policy.first_timeout ? StepKind::full
                : policy.gate != nullptr                                               ? StepKind::gated
                : policy.schedule != nullptr || policy.classify != nullptr             ? StepKind::plain
                                                                                       : StepKind::quick;
  return policy;
}

PLANB_COLD PLANB_DECL std::string refusal(const RulesView& rules, const std::string& label) {
  if (rules.attempts && *rules.attempts < 1) {
    return label + ": `attempts` is " + std::to_string(*rules.attempts) +
           "; it counts the first try too, so it must be 1 or more (or planb::unlimited)";
  }
  if (!rules.schedule->ends() && !rules.attempts) {
    return label +
           ": the schedule never ends by itself and no `attempts` is given; give `attempts`, a schedule that ends, or "
           "`attempts = planb::unlimited` if that is meant";
  }
  if (rules.max_wait && *rules.max_wait < Duration::zero()) return label + ": `max_wait` is negative";
  if (rules.timeout && *rules.timeout <= Duration::zero()) {
    return label + ": `timeout` must be above zero; leave it out for no limit";
  }
  if (rules.first_timeout && *rules.first_timeout <= Duration::zero()) {
    return label + ": `first_timeout` must be above zero; leave it out for no limit";
  }
  if (rules.reserve < Duration::zero()) return label + ": `reserve` is negative";
  return {};
}

PLANB_COLD PLANB_DECL std::string step_refusal(const RulesView& rules, std::size_t index) {
  std::string label = "step ";
  if (rules.name.empty()) {
    label += std::to_string(index);
  } else {
    label.append("\"").append(rules.name).append("\"");
  }
  return detail::refusal(rules, label);
}

}  // namespace planb::inline PLANB_ABI::detail
