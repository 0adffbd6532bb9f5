// The definitions of step_policy.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/plan/detail/step_policy.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

PLANB_COLD PLANB_DECL std::string refusal(const RuleLimits& limits, const std::string& label) {
  if (limits.attempts && *limits.attempts < 1) {
    return label + ": `attempts` is " + std::to_string(*limits.attempts) +
           "; it counts the first try too, so it must be 1 or more (or planb::unlimited)";
  }
  if (limits.endless && !limits.attempts) {
    return label +
           ": the schedule never ends by itself and no `attempts` is given; give `attempts`, a schedule that ends, or "
           "`attempts = planb::unlimited` if that is meant";
  }
  if (limits.max_wait && *limits.max_wait < Duration::zero()) return label + ": `max_wait` is negative";
  if (limits.timeout && *limits.timeout <= Duration::zero()) {
    return label + ": `timeout` must be above zero; leave it out for no limit";
  }
  if (limits.reserve < Duration::zero()) return label + ": `reserve` is negative";
  return {};
}

PLANB_COLD PLANB_DECL std::string step_refusal(const RuleLimits& limits, std::string_view name, std::size_t index) {
  std::string label = "step ";
  if (name.empty()) {
    label += std::to_string(index);
  } else {
    label.append("\"").append(name).append("\"");
  }
  return detail::refusal(limits, label);
}

}  // namespace planb::inline PLANB_ABI::detail
