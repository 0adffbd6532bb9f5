// SPDX-License-Identifier: MIT
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
  explicit PlanRules(std::size_t steps);
  PlanRules(const PlanRules&) = delete;
  PlanRules& operator=(const PlanRules&) = delete;
  ~PlanRules();

  void add_named(NamedErrors types);
  // The next step, which may name error types, too.
  void add_step(const RulesView& rules);

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

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/plan/impl/plan_rules.hpp>  // IWYU pragma: export
#endif
