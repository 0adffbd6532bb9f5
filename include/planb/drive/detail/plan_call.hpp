// SPDX-License-Identifier: MIT
// The attempts of a plan's run, as drive() and its siblings make them; and what is asked of the callables of all
// drivers.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/drive/detail/call_with.hpp>
#include <planb/error/accepting.hpp>
#include <planb/error/detail/awaited.hpp>
#include <planb/error/detail/failure_room.hpp>
#include <planb/error/result_traits.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/plan.hpp>
#include <planb/plan/provide.hpp>

#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// Builds the context of an attempt.
template <class Ctx>
struct PlanContexts {
  using Room = ContextRoom<Ctx>;

  const PlanStorage<Ctx, void>& plan;

  bool prepare(int step, Room& room, const Attempt& attempt, FailureRoom& failure) const {
    return plan.provide(step, room, attempt, failure);
  }
};

// And calls `fn` with it.
template <class Ctx, class F>
struct PlanCall : PlanContexts<Ctx> {
  using typename PlanContexts<Ctx>::Room;
  using Raw = decltype(detail::call_with(std::declval<CallTarget<F>&>(), std::declval<const Attempt&>(),
                                         std::declval<std::remove_reference_t<Ctx>&>()));

  F& fn;

  Raw invoke(Room& room, const Attempt& attempt) const {
    return detail::call_with(detail::call_target(fn), attempt, room.get());
  }
};

template <class Ctx, class F>
concept PlanCallable = CallableWith < CallTarget<F>,
        std::remove_reference_t<Ctx>
& > ;

// A check on a value needs a value.
template <class R>
struct carries_value : std::bool_constant<!std::is_void_v<R>> {};
template <ResultType R>
struct carries_value<R> : std::bool_constant<!std::is_void_v<ResultValue<R>>> {};
template <class F, class R>
constexpr bool accepts_value = !is_accepting<std::remove_cvref_t<F>> || carries_value<R>::value;

// What is wrong with the arguments of a driver, in a sentence. Asked for as a constant, so that it is said at once,
// before what follows from it. True: nothing is.
template <class Env>
consteval bool check_env() {
  static_assert(std::is_void_v<Env>,
                "planb: this plan's factories need an Env: bind it first, with plan.capture_requirements(env)");
  return std::is_void_v<Env>;
}
template <class Ctx, class F>
consteval bool check_callable() {
  static_assert(PlanCallable<Ctx, F>,
                "planb: the callable must take the plan's context as an lvalue, `fn(Ctx&)` or "
                "`fn(Ctx&, const planb::Attempt&)`");
  return PlanCallable<Ctx, F>;
}
// Of a callable F, or a producer, that gives an R in an attempt that is over then.
template <class F, class R, bool IsProducer = false>
consteval bool check_answer() {
  static_assert(accepts_value<F, R>, "planb: accepting() needs a callable that returns a value, not void");
  static_assert(IsProducer || !gives_awaited<R>::value,
                "planb: the callable returns something that is still to be awaited (a task, a future): its attempt "
                "would be over before it has begun. Use co_run_with_plan, or wait for it in the callable");
  static_assert(!IsProducer || !gives_awaited<R>::value,
                "planb: the producer returns something that is still to be awaited (a task, a future): its attempt "
                "would be over before it has begun. Use co_push_with_plan, or wait for it in the producer");
  return accepts_value<F, R> && !gives_awaited<R>::value;
}

}  // namespace planb::inline PLANB_ABI::detail
