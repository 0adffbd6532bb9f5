// What a plan derives from its steps, without their context type: what the engine reads.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/predicate.hpp>
#include <planb/gate/gate.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/time/duration.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

// Views into the steps, which must stay where they are.
class PlanRules {
 public:
  explicit PlanRules(std::size_t steps) { policies_.reserve(steps); }
  PlanRules(const PlanRules&) = delete;
  PlanRules& operator=(const PlanRules&) = delete;

  void add_named(NamedErrors types);
  // The next step. `policy.reserved_after` is set by the steps behind it.
  void add_step(const StepPolicy& policy, Duration reserve);

  [[nodiscard]] const PlanView& view() const noexcept { return view_; }
  [[nodiscard]] const Attempt& first_attempt() const noexcept { return first_attempt_; }
  // Whether nobody has to be asked before the first attempt.
  [[nodiscard]] bool plain_first() const noexcept { return first_ <= StepKind::plain; }
  // The gate that alone has to be asked then, or null.
  [[nodiscard]] Gate* gate_first() const noexcept { return gate_first_; }

 private:
  PlanView view_;  // of these two
  Attempt first_attempt_;
  Gate* gate_first_ = nullptr;
  StepKind first_ = StepKind::full;
  std::vector<StepPolicy> policies_;
  std::vector<const ErrorOps*> named_;
};

inline void PlanRules::add_named(NamedErrors types) {
  for (std::size_t i = 0; i != types.count; ++i) {
    bool known = false;
    for (const ErrorOps* const other : named_) known = known || detail::same_type(other->type, types.first[i]->type);
    if (!known) named_.push_back(types.first[i]);
  }
  view_.named = {named_.data(), named_.size()};
}

inline void PlanRules::add_step(const StepPolicy& policy, Duration reserve) {
  if (reserve != Duration::zero()) {
    for (StepPolicy& before : policies_) before.reserved_after = add(before.reserved_after, reserve);
  }
  policies_.push_back(policy);
  view_.steps = policies_.data();
  view_.size = static_cast<int>(policies_.size());
  if (view_.size != 1) return;
  first_attempt_ = Attempt(1, 1, 0, policy.name);
  first_ = policy.kind;
  if (policy.kind == StepKind::gated) gate_first_ = policy.gate;
}

}  // namespace planb::inline PLANB_ABI::detail
