// SPDX-License-Identifier: MIT
// run_with_plan and try_run_with_plan: drive a callable through a plan.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/drive/detail/call_with.hpp>
#include <planb/drive/detail/drive.hpp>
#include <planb/drive/detail/plan_call.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/error/accepting.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/detail/view.hpp>
#include <planb/plan/plan.hpp>
#include <planb/report/plan_error.hpp>
#include <planb/report/plan_result.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

namespace detail {

template <class R>
using PlanOutcome = Returning<R, FailureStyle::aggregate>;

template <template <class> class Out, class Ctx, class Env, class F>
decltype(auto) run(const ExecutionPlan<Ctx, Env>& plan, F& fn, const RunOptions* options);

}  // namespace detail

// Runs `fn` through the plan: each attempt gets a fresh context from its step, until one succeeds. Gives what `fn`
// returns: a value (it need not be movable), void, a reference, or an expected-like, whose error is a failure too.
// `fn` is called as fn(ctx, attempt) where it takes a const Attempt&, else as fn(ctx); always as an lvalue.
//
// Throws, with the last error nested: PlanExhausted (no step left), PlanAborted (a classifier said so, or a callback
// failed), DeadlineExceeded (the budget is gone), PlanInterrupted (a stop was requested). FailureStyle::original: where it
// was exhausted or aborted, the last error itself. A Defect passes unchanged. An expected-like comes back in its own
// type: with an error made from PlanError where its error type can be, else with the last error that it returned.
template <class Ctx, class Env, class F>
decltype(auto) run_with_plan(const ExecutionPlan<Ctx, Env>& plan, F&& fn) {
  return detail::run<detail::PlanOutcome>(plan, fn, nullptr);
}

template <class Ctx, class Env, class F>
decltype(auto) run_with_plan(const ExecutionPlan<Ctx, Env>& plan, F&& fn, const RunOptions& options) {
  return detail::run<detail::PlanOutcome>(plan, fn, &options);
}

// The same as a value: PlanResult<T>, where T is what `fn` returns, or the value inside an expected-like. Throws for no
// run's failure but a Defect.
template <class Ctx, class Env, class F>
[[nodiscard]] auto try_run_with_plan(const ExecutionPlan<Ctx, Env>& plan, F&& fn) {
  return detail::run<detail::Trying>(plan, fn, nullptr);
}

template <class Ctx, class Env, class F>
[[nodiscard]] auto try_run_with_plan(const ExecutionPlan<Ctx, Env>& plan, F&& fn, const RunOptions& options) {
  return detail::run<detail::Trying>(plan, fn, &options);
}

namespace detail {

// The attempts of a call.
template <class Ctx, class F>
struct PlanBody : PlanCall<Ctx, F> {
  using Result = typename left_of_context<Ctx, CallTarget<F>, typename PlanCall<Ctx, F>::Raw>::type;
};

// What is wrong with the arguments, in a sentence; then the run.
template <template <class> class Out, class Ctx, class Env, class F>
decltype(auto) run(const ExecutionPlan<Ctx, Env>& plan, F& fn, const RunOptions* options) {
  constexpr bool bound = detail::check_env<Env>();
  constexpr bool callable = detail::check_callable<Ctx, F>();
  if constexpr (bound && callable) {
    using Body = PlanBody<Ctx, F>;
    using Outcome = Out<typename Body::Result>;
    [[maybe_unused]] constexpr bool answers = detail::check_answer<F, typename Body::Result>();
    const PlanStorage<Ctx, void>& storage = PlanAccess::storage(plan);
    [[maybe_unused]] const BorrowedPlan borrowed(storage);
    Body body{{{storage}, fn}};
    const PlanRules& rules = storage.rules;
    if constexpr (Outcome::as_returned) {
      if (options == nullptr && rules.plain_first()) [[likely]] {
        return detail::drive<Outcome>(FirstAttempt{rules.view(), rules.first_attempt()}, body);
      }
    }
    return detail::drive_asking<Outcome>(rules, body, options);
  }
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
