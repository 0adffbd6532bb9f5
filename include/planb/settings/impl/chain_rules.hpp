// SPDX-License-Identifier: MIT
// The definitions of chain_rules.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/detail/http_rules.hpp>
#include <planb/error/http_classifier.hpp>
#include <planb/error/parsed.hpp>
#include <planb/gate/all_of.hpp>
#include <planb/gate/circuit_breaker.hpp>
#include <planb/gate/limits.hpp>
#include <planb/plan/detail/plan_rules.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/schedule/text.hpp>
#include <planb/settings/detail/chain_rules.hpp>
#include <planb/settings/detail/words.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

// --- Gates

template <class Member, class Value>
void take(Member& member, const Value& value) {
  if (value) member = *value;
}

// Names every member, so that a knob which is added later cannot be forgotten.
[[nodiscard]] inline GateOptions options_of(const CircuitBreakerSettings& settings) {
  const auto& [failure_threshold, failure_ratio, minimum_calls, window, open_for, half_open_probes, honour_retry_after,
               longest_hint, slow_call, slow_ratio, probe_timeout, failure_memory] = settings;
  CircuitBreakerOptions options;
  options.failure_threshold = failure_threshold;
  options.failure_ratio = failure_ratio;
  detail::take(options.minimum_calls, minimum_calls);
  detail::take(options.window, window);
  detail::take(options.open_for, open_for);
  detail::take(options.half_open_probes, half_open_probes);
  detail::take(options.honour_retry_after, honour_retry_after);
  detail::take(options.longest_hint, longest_hint);
  options.slow_call = slow_call;
  detail::take(options.slow_ratio, slow_ratio);
  options.probe_timeout = probe_timeout;
  options.failure_memory = failure_memory;
  return options;
}
[[nodiscard]] inline GateOptions options_of(const RateLimitSettings& settings) {
  const auto& [permits, period, burst] = settings;
  RateLimitOptions options;
  detail::take(options.permits, permits);
  detail::take(options.period, period);
  options.burst = burst;
  return options;
}
[[nodiscard]] inline GateOptions options_of(const ConcurrencyLimitSettings& settings) {
  const auto& [limit] = settings;
  ConcurrencyLimitOptions options;
  detail::take(options.limit, limit);
  return options;
}
[[nodiscard]] inline GateOptions options_of(const RetryBudgetSettings& settings) {
  const auto& [ratio, burst] = settings;
  RetryBudgetOptions options;
  detail::take(options.ratio, ratio);
  detail::take(options.burst, burst);
  return options;
}

PLANB_DECL std::map<std::string, GateOptions> gate_options(const Settings& settings, SettingsFaults& faults) {
  std::map<std::string, GateOptions> result;
  for (const auto& [name, gate] : settings.gates) {
    GateOptions options = std::visit([](const auto& kind) { return options_of(kind); }, gate.kind);
    const std::string fault = std::visit(
        [&, &name_ = name, &gate_ = gate](auto& of_kind) {
          of_kind.name = name_;
          detail::take(of_kind.patience, gate_.patience);
          return options_fault(of_kind);
        },
        options);
    if (fault.empty()) {
      result.emplace(name, std::move(options));
    } else {
      faults.list.push_back({gate.place, name, "a gate that can be made; " + fault, {}});
    }
  }
  return result;
}

PLANB_DECL void check_gates(const Settings& settings, const GateChanges& changes, SettingsFaults& faults) {
  for (const std::string& name : changes.taken()) {
    faults.list.push_back({settings.gates.find(name)->second.place,
                           name,
                           "the name of a gate that the program has not registered itself",
                           {}});
  }
  for (const auto& [chain_name, chain] : settings.chains) {
    for (const StepSettings& step : chain.steps) {
      for (const SettingsText& gate : step.gates) {
        if (settings.gates.find(gate.text) != settings.gates.end() || changes.find(gate.text) != nullptr) continue;
        std::vector<std::string_view> known = changes.names();
        for (const auto& [name, defined] : settings.gates) known.emplace_back(name);
        faults.list.push_back({gate.place, gate.text, "the name of a gate that is defined", nearest(gate.text, known)});
      }
    }
  }
}

PLANB_DECL std::shared_ptr<Gate> gate_of(const StepSettings& step, const GateChanges& changes) {
  std::vector<std::shared_ptr<Gate>> gates;
  gates.reserve(step.gates.size());
  for (const SettingsText& gate : step.gates) gates.push_back(changes.find(gate.text));
  if (gates.empty()) return nullptr;
  if (gates.size() == 1) return gates.front();
  return all_of(std::move(gates));
}

// --- Failures

PLANB_DECL FailureList::FailureList(const std::vector<FailureMatch>& list, Classifier classify)
    : list_(std::make_shared<const std::vector<FailureMatch>>(list)), classify_(std::move(classify)) {}

PLANB_DECL bool FailureList::operator()(const Cause& cause) const {
  std::optional<FailureClass> of_class;  // read where it is asked for
  std::optional<std::string> code;
  for (const FailureMatch& match : *list_) {
    if (const auto* const wanted = std::get_if<FailureClass>(&match)) {
      if (!of_class) of_class = classify_(cause).failure_class;
      if (*of_class == *wanted) return true;
    } else if (const auto* const range = std::get_if<StatusRange>(&match)) {
      const std::optional<int> status = cause.status();
      if (status && range->first <= *status && *status <= range->last) return true;
    } else if (const auto* const pattern = std::get_if<CodePattern>(&match)) {
      if (!code) code = cause.code();
      if (!code->empty() && HttpMatch::code(pattern->pattern, *code)) return true;
    }
  }
  return false;
}

// --- Chains

PLANB_DECL Verdict verdict_of(const RuleSettings& rule) {
  return {*rule.action, rule.alert, rule.failure_class.value_or(FailureClass::unknown)};
}

// What is wrong with a rule, in words; the text reader has told more of it.
[[nodiscard]] inline std::string rule_fault(const RuleSettings& rule) {
  const auto& [code, status, text, kind, action, alert, failure_class, place] = rule;
  static_cast<void>(std::tie(alert, failure_class, place));
  if (!action) return "an action: " + one_of(settings_words<Action>());
  const bool by_status = status.has_value() && text.empty();
  const int subjects = (code.empty() ? 0 : 1) + (text.empty() ? 0 : 1) + (by_status ? 1 : 0) + (kind ? 1 : 0);
  if (subjects == 0) return "what the rule is about: code=, status=, text= or kind=";
  if (subjects > 1) return "one of code, status, text and kind in a rule, or a text with a status";
  if (status && (status->first < 1 || status->last < status->first)) return "a status of 1 or more, or a range of them";
  if (status && !by_status && status->first != status->last) return "one status beside a text, such as 400";
  if (!code.empty() && HttpMatch::skip_separators(code, 0) == code.size()) return "a pattern with something in it";
  if (!text.empty() && std::none_of(text.begin(), text.end(), HttpMatch::is_word)) {
    return "a text with a letter or digit in it";
  }
  return {};
}

PLANB_DECL bool check_chain(const ChainSettings& chain, SettingsFaults& faults) {
  const std::size_t before = faults.list.size();
  if (!chain.content_refusal || to_label(*chain.content_refusal).empty()) {
    faults.list.push_back(
        {chain.place, {}, "content_refusal=, what a refusal means: " + one_of(settings_words<ContentRefusal>()), {}});
  }
  for (const RuleSettings& rule : chain.rules) {
    if (std::string fault = rule_fault(rule); !fault.empty()) {
      faults.list.push_back({rule.place, {}, std::move(fault), {}});
    }
  }
  const bool is_sound = faults.list.size() == before;
  if (chain.steps.empty()) faults.list.push_back({chain.place, {}, "at least one step in the chain", {}});
  return is_sound;
}

// What the text reader has refused before: of settings that a program has put together.
inline void check_names(const ChainSettings& chain, SettingsFaults& faults) {
  std::set<std::string_view> steps;
  for (const StepSettings& step : chain.steps) {
    if (!steps.insert(step.name).second) {
      faults.list.push_back({step.place, step.name, "each step once in a chain", {}});
    }
    std::set<std::string_view> gates;
    for (const SettingsText& gate : step.gates) {
      if (!gates.insert(gate.text).second) {
        faults.list.push_back({gate.place, gate.text, "each gate once", {}});
      }
    }
  }
}

PLANB_DECL ChainRules chain_rules(const ChainSettings& chain, const Classifier& classify, SettingsFaults& faults) {
  // Names every member, so that a knob which is added later cannot be forgotten.
  const auto& [budget, content_refusal, partial, entry, failure, seed, rules, chain_steps, chain_place] = chain;
  static_cast<void>(std::tie(content_refusal, rules, chain_place));  // read by check_chain and classifier_of
  ChainRules result;
  result.run_options.budget = result.stream_options.budget = budget;
  if (entry) result.run_options.entry = result.stream_options.entry = *entry;
  result.run_options.failure = result.stream_options.failure = failure;
  result.run_options.seed = result.stream_options.seed = seed;
  if (partial) result.stream_options.partial = *partial;
  check_names(chain, faults);
  for (const StepSettings& step : chain_steps) {
    const auto& [name, provider, attempts, schedule, retry, enter, max_wait, timeout, first_timeout, reserve, gates,
                 place] = step;
    static_cast<void>(std::tie(provider, gates));  // read by make_plans_of and gate_of
    StepRules& made = result.steps.emplace_back();
    made.name = name;
    made.attempts = attempts;
    if (!retry.empty()) made.retry_while = FailureList(retry, classify);
    made.classify = classify;
    if (!enter.empty()) made.enter_when = FailureList(enter, classify);
    made.max_wait = max_wait;
    made.timeout = timeout;
    made.first_timeout = first_timeout;
    detail::take(made.reserve, reserve);
    if (!schedule.empty()) {
      Parsed<Schedule> parsed = parse_schedule(schedule);
      if (!parsed) {
        faults.list.push_back({place, schedule, parsed.error().expected, {}});
        continue;
      }
      made.schedule = *std::move(parsed);
    }
    if (std::string refused = step_refusal(view_of(made), result.steps.size() - 1); !refused.empty()) {
      faults.list.push_back({place, name, "a step that can run; " + std::move(refused), {}});
    }
  }
  return result;
}

PLANB_DECL const ProviderSettings* provider_settings(const Settings& settings, const StepSettings& step) {
  const auto found = settings.providers.find(step.provider_name());
  return found == settings.providers.end() ? nullptr : &found->second;
}

PLANB_DECL void no_provider(const StepSettings& step, const std::vector<std::string_view>& known,
                            SettingsFaults& faults) {
  const std::string& name = step.provider_name();
  faults.list.push_back({step.provider ? step.provider->place : step.place, name,
                         known.empty() ? "a provider that the program has; it has none"
                                       : "a provider that the program has: " + one_of(known),
                         nearest(name, known)});
}

}  // namespace planb::inline PLANB_ABI::detail
