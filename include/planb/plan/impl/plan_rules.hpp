// SPDX-License-Identifier: MIT
// The definitions of plan_rules.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/plan/detail/plan_rules.hpp>

#include <algorithm>
#include <cstddef>

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL PlanRules::PlanRules(std::size_t steps) { policies_.reserve(steps); }

PLANB_DECL PlanRules::~PlanRules() = default;

PLANB_DECL void PlanRules::add_named(NamedErrors types) {
  for (std::size_t i = 0; i != types.count; ++i) {
    bool known = false;
    for (const ErrorOps* const other : named_) known = known || detail::same_type(other->type, types.first[i]->type);
    if (!known) named_.push_back(types.first[i]);
  }
  view_.named = {named_.data(), named_.size()};
}

PLANB_DECL void PlanRules::add_step(const RulesView& rules) {
  add_named(rules.retry_while->named());
  add_named(rules.classify->named());
  add_named(rules.enter_when->named());
  const StepPolicy policy = detail::make_policy(rules);
  if (rules.reserve != Duration::zero()) {
    for (StepPolicy& before : policies_) before.reserved_after = add(before.reserved_after, rules.reserve);
  }
  const Later later = policy.enter_when != nullptr ? Later::guarded_steps : Later::steps;
  const bool asked = policy.schedule != nullptr || policy.retry_while != nullptr;
  for (StepPolicy& before : policies_) {
    before.later = (std::max)(before.later, later);
    before.later_if_asked = (std::max)(before.later_if_asked, asked ? Later::guarded_steps : later);
  }
  policies_.push_back(policy);
  view_.steps = policies_.data();
  view_.size = static_cast<int>(policies_.size());
  if (view_.size != 1) return;
  first_attempt_ = Attempt(1, 1, 0, policy.name, nullptr, policies_.data());
  first_ = policy.kind;
  if (policy.kind == StepKind::gated) gate_first_ = policy.gate;
}

}  // namespace planb::inline PLANB_ABI::detail
