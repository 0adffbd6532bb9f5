// SPDX-License-Identifier: MIT
// explain: a plan in words, what a run of it may come to at worst, and what in it cannot work as written.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/observe/detail/terms.hpp>
#include <planb/observe/explanation.hpp>
#include <planb/plan/plan.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/optional_duration.hpp>

#include <concepts>
#include <vector>

namespace planb::inline PLANB_ABI {

namespace detail {

[[nodiscard]] Explanation explain_plan(const PlanView& plan, const std::vector<Duration>& reserves,
                                       const RunTerms& terms);

template <class Ctx, class Env>
[[nodiscard]] Explanation explain(const ExecutionPlan<Ctx, Env>& plan, const RunTerms& terms) {
  std::vector<Duration> reserves;
  for (const Step<Ctx, Env>& step : plan.steps()) reserves.push_back(step.reserve);
  return detail::explain_plan(PlanAccess::storage(plan).rules.view(), reserves, terms);
}

}  // namespace detail

// Of a call: run_with_plan and its siblings. Nothing is run, and none of the plan's functions is called. The plan's
// factories may still lack their Env.
//
// The worst case assumes that every attempt ends by its deadline: by its step's timeout, and by the end of the time
// that the budget leaves to the step. Where there is neither, it has no bound. Wait hints count up to `max_wait`, or
// one minute without it; a jitter by the upper end of its spread; a gate's patience once for each attempt. What
// handlers, gates and the plan's own functions take is not in it.
template <class Ctx, class Env>
[[nodiscard]] Explanation explain(const ExecutionPlan<Ctx, Env>& plan, const RunOptions& options) {
  return detail::explain(plan, {.budget = detail::limit(options.budget), .entry = options.entry, .known = true});
}

// Of a stream. A step's timeouts bound the time to its first output and the silences of its source, and not the whole
// attempt, so that without a budget an attempt has no bound; what the consumer takes is not in it.
// They are named: explain(plan, {.budget = 30s}) is of a call.
template <class Ctx, class Env, std::same_as<StreamOptions> Options>
[[nodiscard]] Explanation explain(const ExecutionPlan<Ctx, Env>& plan, const Options& options) {
  return detail::explain(
      plan,
      {.budget = detail::limit(options.budget), .entry = options.entry, .partial = options.partial, .known = true});
}

// Of the plan alone: as of a call without options, but that nothing is said of what a budget would give a meaning to.
template <class Ctx, class Env>
[[nodiscard]] Explanation explain(const ExecutionPlan<Ctx, Env>& plan) {
  return detail::explain(plan, {});
}

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/observe/impl/explain.hpp>  // IWYU pragma: export
#endif
