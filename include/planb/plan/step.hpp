// SPDX-License-Identifier: MIT
// Step: one entry of a plan.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/predicate.hpp>
#include <planb/gate/gate.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/plan/provide.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/optional_duration.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

namespace planb::inline PLANB_ABI {

// What is to be done about a cause: any of `Verdict(const Cause&)`, `Verdict(const E&)` for a concrete error type,
// which then has no objection to any other error, or a member of E.
using Classifier = detail::ErrorFunction<Verdict>;

// Asked here: GCC 12 breaks down where it meets these questions first within Step's default member initializers.
static_assert(std::is_nothrow_default_constructible_v<detail::ErrorPredicate> &&
              std::is_nothrow_default_constructible_v<Classifier> &&
              std::is_nothrow_constructible_v<std::shared_ptr<Gate>, std::nullptr_t>);

// Write it with designated initialisers: {.name = "openai", .provide = [] { return Llm{"openai"}; }, .attempts = 2}.
// Its callables are copied into the plan, shared by all runs, and called through const.
template <class Ctx, class Env = void>
struct Step {
  // For events, reports and messages; may be empty, and need not be unique.
  std::string name = {};

  // Where each attempt's context comes from; see Provide. Must be given.
  Provide<Ctx, Env> provide;

  // Tries in this step, counting the first. Not given: 1, or until the schedule ends where one is given.
  std::optional<int> attempts = std::nullopt;

  // The wait between two attempts of this step. Not given: none.
  Schedule schedule = {};

  // Asked with each failure of this step: `false` leaves the step. Not given: every failure is retried.
  detail::ErrorPredicate retry_while = {};

  // Reads each failure before retry_while does: retry (no objection), leave the step, or end the run.
  Classifier classify = {};

  // Asked once, with the failure before it: `false`, or no failure yet, passes the step over.
  detail::ErrorPredicate enter_when = {};

  // A longer wait leaves the step at once. Not given: a provider's wait hint above one minute does.
  OptionalDuration max_wait = std::nullopt;

  // The time for one attempt, factory and call together. Not given, or the longest Duration: no limit.
  OptionalDuration timeout = std::nullopt;

  // Of streams alone: the time from an attempt's start to its first output, whatever comes before (keep-alives,
  // elements that committing() holds back). Where it is given, `timeout` starts with the first output. None: as
  // `timeout`.
  OptionalDuration first_timeout = std::nullopt;

  // The time that earlier steps must leave to this one out of the run's budget.
  SaturatedDuration reserve = {};

  // Asked before every attempt of this step, notified after it. Shared with other plans and threads.
  std::shared_ptr<Gate> gate = nullptr;
};

}  // namespace planb::inline PLANB_ABI
