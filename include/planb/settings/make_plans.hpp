// SPDX-License-Identifier: MIT
// make_plans: the chains of settings as plans, with their gates in a registry; all of them, or all faults.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/function.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/error/http_classifier.hpp>
#include <planb/gate/detail/gate_changes.hpp>
#include <planb/gate/registry.hpp>
#include <planb/plan/plan.hpp>
#include <planb/plan/provide.hpp>
#include <planb/plan/step.hpp>
#include <planb/settings/detail/by_place.hpp>
#include <planb/settings/detail/chain_rules.hpp>
#include <planb/settings/fault.hpp>
#include <planb/settings/settings.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI {

// A chain of the settings: a plan, with the options that the chain's knobs are. What a program alone can give (the
// handler, the clock, the stop token, the label) is for it to add, to a copy of the options for each run.
template <class Ctx>
struct ConfiguredChain : ExecutionPlan<Ctx> {
  RunOptions run_options = {};
  StreamOptions stream_options = {};
};

// By name.
template <class Ctx>
using ConfiguredChains = std::map<std::string, ConfiguredChain<Ctx>>;

namespace detail {

template <class T>
constexpr bool is_settings_or = false;
template <class T>
constexpr bool is_settings_or<SettingsOr<T>> = true;

template <class F>
constexpr bool reads_step = std::is_invocable_v<const F&, const StepSettings&>;
template <class F>
constexpr bool reads_step_and_provider = std::is_invocable_v<const F&, const StepSettings&, const ProviderSettings*>;

}  // namespace detail

// What a step's provider is, in the program. One of:
//   whatever Provide<Ctx> takes     a Ctx, or a factory of them
//   f(const StepSettings&, const ProviderSettings*), f(const StepSettings&)
//                                   a function that is asked once for each step, and returns the same, or a SettingsOr
//                                   of it with what it refuses. The provider's settings are null where there are none
template <class Ctx>
class StepProvider {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, StepProvider>)
      StepProvider(F&& f)  // NOLINT(google-explicit-constructor): a map is written with lambdas
      : make_(adapter(std::forward<F>(f))) {}

  [[nodiscard]] SettingsOr<Provide<Ctx>> operator()(const StepSettings& step, const ProviderSettings* provider) const {
    return make_(step, provider);
  }

 private:
  using Made = SettingsOr<Provide<Ctx>>;
  using Make = detail::Function<Made(const StepSettings&, const ProviderSettings*)>;

  template <class Answer>
  [[nodiscard]] static Made made(Answer&& answer) {
    if constexpr (detail::is_settings_or<std::remove_cvref_t<Answer>>) {
      if (!answer) return Made(answer.error());
      return Made(Provide<Ctx>(*std::forward<Answer>(answer)));
    } else {
      return Made(Provide<Ctx>(std::forward<Answer>(answer)));
    }
  }

  template <class F>
  [[nodiscard]] static Make adapter(F&& f) {
    using Target = std::decay_t<F>;
    constexpr bool is_context = std::is_same_v<Target, std::remove_cvref_t<Ctx>>;
    if constexpr (!is_context && (detail::reads_step_and_provider<Target> || detail::reads_step<Target>)) {
      static_assert(std::is_copy_constructible_v<Target>, "planb: a function in `providers` must be copyable");
      if (detail::is_empty<Target>(f)) detail::refuse("make_plans: an empty function among the providers");
      return Make([target = Target(std::forward<F>(f))](const StepSettings& step,
                                                        [[maybe_unused]] const ProviderSettings* provider) {
        if constexpr (detail::reads_step_and_provider<Target>) {
          return made(target(step, provider));
        } else {
          return made(target(step));
        }
      });
    } else {
      return Make([provide = Provide<Ctx>(std::forward<F>(f))](const StepSettings&, const ProviderSettings*) {
        return Made(provide);
      });
    }
  }

  Make make_;
};

// By the name that settings call them.
template <class Ctx>
using StepProviders = std::map<std::string, StepProvider<Ctx>, std::less<>>;

namespace detail {

// The rows of a chain, in the order of the file: a later one stands before an earlier one. They have been checked.
template <class... E>
[[nodiscard]] Classifier classifier_of(const ChainSettings& chain) {
  HttpClassifier<E...> classifier(*chain.content_refusal);
  for (const RuleSettings& rule : chain.rules) {
    const Verdict verdict = detail::verdict_of(rule);
    if (!rule.code.empty()) {
      classifier = classifier.on_code(rule.code, verdict);
    } else if (!rule.text.empty() && rule.status) {
      classifier = classifier.on_text(rule.status->first, rule.text, verdict);
    } else if (!rule.text.empty()) {
      classifier = classifier.on_text(rule.text, verdict);
    } else if (rule.status) {
      classifier = classifier.on_status(rule.status->first, rule.status->last, verdict);
    } else if (rule.kind == RuleKind::timeout) {
      classifier = classifier.on_timeout(verdict);
    } else if (rule.kind == RuleKind::connection) {
      classifier = classifier.on_connection(verdict);
    } else {
      classifier = classifier.on_unknown(verdict);
    }
  }
  return classifier;
}

template <class Ctx>
[[nodiscard]] Step<Ctx> step_of(const StepRules& rules, const Provide<Ctx>& provide) {
  return {.name = rules.name,
          .provide = provide,
          .attempts = rules.attempts,
          .schedule = rules.schedule,
          .retry_while = rules.retry_while,
          .classify = rules.classify,
          .enter_when = rules.enter_when,
          .max_wait = rules.max_wait,
          .timeout = rules.timeout,
          .first_timeout = rules.first_timeout,
          .reserve = rules.reserve,
          .gate = rules.gate};
}

// `one` serves all names, where it is given.
template <class Ctx, class... E>
[[nodiscard]] SettingsOr<ConfiguredChains<Ctx>> make_plans_of(const Settings& settings,
                                                              const StepProviders<Ctx>& providers,
                                                              const StepProvider<Ctx>* one, GateRegistry& registry) {
  struct Draft {
    ChainRules rules;
    std::vector<Provide<Ctx>> provides;
  };
  SettingsFaults faults;
  const std::map<std::string, GateOptions> gates = detail::gate_options(settings, faults);
  std::map<std::string, Draft> drafts;
  for (const auto& [name, chain] : settings.chains) {
    const bool is_sound = detail::check_chain(chain, faults);
    Draft& draft = drafts[name];
    draft.rules = detail::chain_rules(chain, is_sound ? detail::classifier_of<E...>(chain) : Classifier(), faults);
    for (const StepSettings& step : chain.steps) {
      const auto found = providers.find(step.provider_name());
      const StepProvider<Ctx>* const known = one != nullptr ? one : found != providers.end() ? &found->second : nullptr;
      if (known == nullptr) {
        std::vector<std::string_view> names;
        for (const auto& [known_name, provider] : providers) names.emplace_back(known_name);
        detail::no_provider(step, names, faults);
        continue;
      }
      SettingsOr<Provide<Ctx>> made = (*known)(step, detail::provider_settings(settings, step));
      if (made) {
        draft.provides.push_back(*std::move(made));
      } else {
        faults.list.insert(faults.list.end(), made.faults().begin(), made.faults().end());
      }
    }
  }
  // The registry's lock is not held while plans are made: somebody may change it meanwhile, and then they are made
  // again.
  for (;;) {
    GateChanges changes(registry, gates);
    detail::check_gates(settings, changes, faults);
    if (!faults.list.empty()) return detail::by_place(std::move(faults));
    ConfiguredChains<Ctx> chains;
    for (const auto& [name, chain] : settings.chains) {
      Draft& draft = drafts.find(name)->second;
      std::vector<Step<Ctx>> steps;
      for (std::size_t i = 0; i != chain.steps.size(); ++i) {
        draft.rules.steps[i].gate = detail::gate_of(chain.steps[i], changes);
        steps.push_back(detail::step_of<Ctx>(draft.rules.steps[i], draft.provides[i]));
      }
      chains.emplace(name, ConfiguredChain<Ctx>{ExecutionPlan<Ctx>(std::move(steps)), draft.rules.run_options,
                                                draft.rules.stream_options});
    }
    if (changes.apply()) return chains;
  }
}

}  // namespace detail

// All chains of the settings as plans, or all that is wrong with them. `providers` has what the steps' provider= names:
// StepProviders<Ctx>, another map from names to what a StepProvider<Ctx> is made of, or one function of the step's
// settings for all names. It is asked for each step, in the order of the chains' names, and what it throws goes on.
//
// The gates of the settings are put into `registry`, last, all at once, and only where there is no fault: a gate whose
// options are as they were is kept with all that it has counted, another is made anew, and one that the settings have
// no longer is forgotten; plans that hold it go on with it. Steps may name gates that code has registered there.
//
// E are the program's own error types, for the classifiers of the chains: see http_classifier.
template <class Ctx, class... E>
[[nodiscard]] SettingsOr<ConfiguredChains<Ctx>> make_plans(const Settings& settings,
                                                           const StepProviders<Ctx>& providers,
                                                           GateRegistry& registry) {
  return detail::make_plans_of<Ctx, E...>(settings, providers, nullptr, registry);
}

template <class Ctx, class... E, class Providers>
requires(!std::is_same_v<Providers, StepProviders<Ctx>>)
    [[nodiscard]] SettingsOr<ConfiguredChains<Ctx>> make_plans(const Settings& settings, const Providers& providers,
                                                               GateRegistry& registry) {
  if constexpr (detail::reads_step_and_provider<Providers> || detail::reads_step<Providers>) {
    const StepProvider<Ctx> one(providers);
    return detail::make_plans_of<Ctx, E...>(settings, {}, &one, registry);
  } else {
    constexpr bool is_map = requires {
      std::string(providers.begin()->first);
      providers.begin()->second;
      providers.end();
    };
    static_assert(is_map,
                  "planb: `providers` of make_plans is a map from names to contexts, factories or functions of the "
                  "step's settings, or one such function, called as f(const planb::StepSettings&, const "
                  "planb::ProviderSettings*)");
    StepProviders<Ctx> by_name;
    if constexpr (is_map) {
      for (const auto& [name, provider] : providers) by_name.emplace(std::string(name), provider);
    }
    return detail::make_plans_of<Ctx, E...>(settings, by_name, nullptr, registry);
  }
}

}  // namespace planb::inline PLANB_ABI
