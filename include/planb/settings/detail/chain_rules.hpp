// SPDX-License-Identifier: MIT
// What plans take from settings, but for their contexts: options, rules and gates, and what is wrong with them.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/predicate.hpp>
#include <planb/error/verdict.hpp>
#include <planb/gate/detail/gate_changes.hpp>
#include <planb/gate/gate.hpp>
#include <planb/plan/step.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/settings/fault.hpp>
#include <planb/settings/settings.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/optional_duration.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

// A Step without its context.
struct StepRules {
  std::string name = {};
  std::optional<int> attempts = std::nullopt;
  Schedule schedule = {};
  ErrorPredicate retry_while = {};
  Classifier classify = {};
  ErrorPredicate enter_when = {};
  OptionalDuration max_wait = std::nullopt;
  OptionalDuration timeout = std::nullopt;
  OptionalDuration first_timeout = std::nullopt;
  SaturatedDuration reserve = {};
  std::shared_ptr<Gate> gate = nullptr;
};

struct ChainRules {
  RunOptions run_options = {};
  StreamOptions stream_options = {};
  std::vector<StepRules> steps = {};
};

// What retry= and enter= list, as a predicate. Classes are those that the chain's classifier gives.
class FailureList {
 public:
  FailureList(const std::vector<FailureMatch>& list, Classifier classify);

  [[nodiscard]] bool operator()(const Cause& cause) const;

 private:
  std::shared_ptr<const std::vector<FailureMatch>> list_;
  Classifier classify_;
};

// Without those that make no sense.
[[nodiscard]] std::map<std::string, GateOptions> gate_options(const Settings& settings, SettingsFaults& faults);

// Whether its classifier can be made.
[[nodiscard]] bool check_chain(const ChainSettings& chain, SettingsFaults& faults);

// Of a rule that has an action.
[[nodiscard]] Verdict verdict_of(const RuleSettings& rule);

// All steps of the chain, without their gates. Tells what a plan would refuse of them.
[[nodiscard]] ChainRules chain_rules(const ChainSettings& chain, const Classifier& classify, SettingsFaults& faults);

// Null where the settings have none.
[[nodiscard]] const ProviderSettings* provider_settings(const Settings& settings, const StepSettings& step);
void no_provider(const StepSettings& step, const std::vector<std::string_view>& known, SettingsFaults& faults);

// The names of gates that are taken, and those that nobody has.
void check_gates(const Settings& settings, const GateChanges& changes, SettingsFaults& faults);

// Those that the step names, as one; null where it names none.
[[nodiscard]] std::shared_ptr<Gate> gate_of(const StepSettings& step, const GateChanges& changes);

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/settings/impl/chain_rules.hpp>  // IWYU pragma: export
#endif
