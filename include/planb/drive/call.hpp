// run_with_plan and try_run_with_plan: drive a callable through a plan.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/drive/detail/call_with.hpp>
#include <planb/drive/detail/drive.hpp>
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
// Throws, with the last error nested: PlanExhausted (no step left), PlanAborted (a classifier or a rule ended it),
// DeadlineExceeded (the budget is gone), PlanInterrupted (a stop was requested). FailureStyle::original: where the run
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

// A check on a value needs a value.
template <class R>
struct carries_value : std::bool_constant<!std::is_void_v<R>> {};
template <ResultType R>
struct carries_value<R> : std::bool_constant<!std::is_void_v<ResultValue<R>>> {};
template <class F, class R>
constexpr bool accepts_value = !is_accepting<std::remove_cvref_t<F>> || carries_value<R>::value;

template <class Ctx, class F>
concept PlanCallable = CallableWith < CallTarget<F>,
        std::remove_reference_t<Ctx>
& > ;

// The attempts of a plan's run.
template <class Ctx, class F>
struct PlanBody {
  using Room = ContextRoom<Ctx>;
  using Raw = decltype(detail::call_with(std::declval<CallTarget<F>&>(), std::declval<const Attempt&>(),
                                         std::declval<std::remove_reference_t<Ctx>&>()));
  using Result = typename left_of_context<Ctx, CallTarget<F>, Raw>::type;

  const PlanStorage<Ctx, void>& plan;
  F& fn;

  bool prepare(int step, Room& room, const Attempt& attempt, FailureRoom& failure) const {
    return plan.provide(step, room, attempt, failure);
  }
  Raw invoke(Room& room, const Attempt& attempt) const {
    return detail::call_with(detail::call_target(fn), attempt, room.get());
  }
};

// What is wrong with the arguments, in a sentence; then the run.
template <template <class> class Out, class Ctx, class Env, class F>
decltype(auto) run(const ExecutionPlan<Ctx, Env>& plan, F& fn, const RunOptions* options) {
  static_assert(std::is_void_v<Env>,
                "planb: this plan's factories need an Env: bind it first, with plan.capture_requirements(env)");
  static_assert(PlanCallable<Ctx, F>,
                "planb: the callable must take the plan's context as an lvalue, `fn(Ctx&)` or "
                "`fn(Ctx&, const planb::Attempt&)`");
  if constexpr (std::is_void_v<Env> && PlanCallable<Ctx, F>) {
    using Body = PlanBody<Ctx, F>;
    using Outcome = Out<typename Body::Result>;
    static_assert(accepts_value<F, typename Body::Result>,
                  "planb: accepting() needs a callable that returns a value, not void");
    static_assert(!gives_awaited<typename Body::Result>::value,
                  "planb: the callable returns something that is still to be awaited (a task, a future): its attempt "
                  "would be over before it has begun. Use co_run_with_plan, or wait for it in the callable");
    const PlanStorage<Ctx, void>& storage = PlanAccess::storage(plan);
    [[maybe_unused]] const BorrowedPlan borrowed(storage);
    Body body{storage, fn};
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
