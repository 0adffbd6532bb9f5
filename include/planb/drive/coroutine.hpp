// SPDX-License-Identifier: MIT
// co_run_with_plan: a run in a coroutine, for any task type and any event loop.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/drive/call.hpp>
#include <planb/drive/detail/call_with.hpp>
#include <planb/drive/detail/coro_await.hpp>
#include <planb/drive/detail/coro_drive.hpp>
#include <planb/drive/detail/plan_call.hpp>
#include <planb/drive/task.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/error/detail/awaited.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/detail/view.hpp>
#include <planb/plan/plan.hpp>
#include <planb/plan/provide.hpp>

#include <concepts>
#include <coroutine>
#include <cstdlib>
#include <memory>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

// Customisation point: what a run may ask of a coroutine type. Both members are optional:
//   static A checkpoint();  gives something that, awaited in the task, throws where the task was cancelled, and
//                           otherwise completes at once
//   static constexpr bool restores_metadata = true;  the task keeps CurrentMetadata over its awaits, as planb::Task
template <class Task>
struct task_traits {};

template <class T>
struct task_traits<Task<T>> {
  static constexpr bool restores_metadata = true;
};

// asio::awaitable<T, Executor>, from either home of Asio: a cancelled one throws as soon as it awaits another.
template <template <class, class> class Awaitable, class T, class Executor>
  requires(std::same_as<typename Awaitable<T, Executor>::value_type, T> &&
           std::same_as<typename Awaitable<T, Executor>::executor_type, Executor> &&
           requires { typename std::coroutine_traits<Awaitable<void, Executor>>::promise_type; })
struct task_traits<Awaitable<T, Executor>> {
  static Awaitable<void, Executor> checkpoint() { co_return; }
};

namespace detail {

template <class Task, class Options, class Ctx, class Env, class F, class Sleep>
Task co_run(const ExecutionPlan<Ctx, Env>& plan, F&& fn, Sleep&& sleep, Options&& options);

}  // namespace detail

// run_with_plan as a coroutine: `Task` is any coroutine type, planb::Task<T> or one that came with an event loop.
// `fn(ctx)` or `fn(ctx, attempt)` returns something that can be awaited in that task; what this gives is the run's
// result, or its failure: rules, events, reports and errors are those of run_with_plan. The context, and what `fn`
// returned, live until the attempt is over.
//
// `sleep(duration)` or `sleep(duration, stop)` is awaited for each wait; it must measure by options.clock, and may end
// early: then it is called again, or, where a stop was requested, the run ends. What it throws leaves unchanged.
//
// The arguments are copied or moved into the coroutine, so temporaries will do; they may be move-only. Nothing runs
// before the task does. Destroying the task inside an attempt ends that attempt as interrupted. Where the task was
// cancelled (see task_traits), no further attempt is made and its own exception leaves.
//
// CurrentMetadata is set for factories, handlers and the call of `fn`; over the awaits only in planb::Task. Elsewhere
// read the Attempt.
template <class Task, class Ctx, class Env, class F, class Sleep>
[[nodiscard]] Task co_run_with_plan(const ExecutionPlan<Ctx, Env>& plan, F&& fn, Sleep&& sleep) {
  return detail::co_run<Task, detail::NoOptions>(plan, std::forward<F>(fn), std::forward<Sleep>(sleep), {});
}

template <class Task, class Ctx, class Env, class F, class Sleep>
[[nodiscard]] Task co_run_with_plan(const ExecutionPlan<Ctx, Env>& plan, F&& fn, Sleep&& sleep, RunOptions options) {
  return detail::co_run<Task, detail::OwnOptions>(plan, std::forward<F>(fn), std::forward<Sleep>(sleep),
                                                  {std::move(options)});
}

namespace detail {

template <class Task, class... Args>
concept CoroutineType = requires { typename std::coroutine_traits<Task, Args...>::promise_type; };

// What awaiting an A in the task gives to the run. A reference is kept only where the task itself gives one: it may
// refer to what ends with the attempt.
template <class Promise, class Task, class A>
struct co_result {
  using Awaited = AwaitedIn<Promise, A>;
  static constexpr bool keeps_reference() {
    if constexpr (std::is_lvalue_reference_v<Awaited>) {
      if constexpr (AwaitableIn<Task, Promise>) return std::is_lvalue_reference_v<AwaitedIn<Promise, Task>>;
    }
    return false;
  }
  using type = std::conditional_t<keeps_reference(), Awaited, std::remove_cvref_t<Awaited>>;
};

template <class Promise, class R>
concept PromiseTakes = (std::is_void_v<R> && requires(Promise& promise) { promise.return_void(); }) ||
                       (!std::is_void_v<R> && requires(Promise& promise) { promise.return_value(std::declval<R>()); });

template <class Sleep, class Promise>
concept SleepsIn = (SleepsStoppably<Sleep> || std::is_invocable_v<Sleep&, Duration>) && requires(Sleep& sleep) {
  requires AwaitableIn<decltype(detail::call_sleep(sleep, Duration(), std::declval<const StopToken&>())), Promise>;
};

// What the task gives to whoever awaits it; void where that cannot be known.
template <class Promise, class Task>
struct co_given {
  using type = void;
};
template <class Promise, class Task>
  requires AwaitableIn<Task, Promise>
struct co_given<Promise, Task> {
  using type = AwaitedIn<Promise, Task>;
};

// What is kept of an answer when its context ends: already what the task gives, since that may own what R refers to.
// `Awaited` is what awaiting gave, an R or a reference to one.
template <class Promise, class Given, class Awaited, class R>
struct co_kept {
  using type = R;
};
template <class Promise, class Given, class Awaited, class R>
  requires(std::is_object_v<R> && std::is_object_v<Given> && std::is_convertible_v<R, Given> &&
           std::is_convertible_v<Awaited, Given> &&
           requires(Promise& promise) { promise.return_value(std::declval<std::remove_cv_t<Given>>()); })
struct co_kept<Promise, Given, Awaited, R> {
  using type = std::remove_cv_t<Given>;
};

template <class Task, class P, class R, class K, class B>
struct CoroKit {
  using Promise = P;
  using Result = R;
  using Kept = K;
  using Body = B;
  static constexpr bool restores = requires { requires task_traits<Task>::restores_metadata; };
  static constexpr bool has_checkpoint = requires { task_traits<Task>::checkpoint(); };
  static decltype(auto) checkpoint() { return task_traits<Task>::checkpoint(); }
};

// What is wrong with the arguments, in a sentence; then the coroutine. No coroutine itself, so that its references are
// good until the other has its own copies.
template <class Task, class Options, class Ctx, class Env, class F, class Sleep>
Task co_run(const ExecutionPlan<Ctx, Env>& plan, F&& fn, Sleep&& sleep, Options&& options) {
  using Fn = std::decay_t<F>;
  using Nap = std::decay_t<Sleep>;
  using Plan = std::shared_ptr<const PlanStorage<Ctx, Env>>;
  constexpr bool bound = detail::check_env<Env>();
  constexpr bool callable = detail::check_callable<Ctx, Fn>();
  constexpr bool coroutine = CoroutineType<Task, Plan, Fn, Nap, Options>;
  static_assert(coroutine,
                "planb: co_run_with_plan<Task> needs a coroutine's return type, such as planb::Task<T> or "
                "asio::awaitable<T>");
  if constexpr (bound && callable && coroutine) {
    using Promise = typename std::coroutine_traits<Task, Plan, Fn, Nap, Options>::promise_type;
    using Body = PlanCall<Ctx, Fn>;  // what is called gives what is to be awaited, while the context lives
    constexpr bool awaitable = AwaitableIn<typename Body::Raw, Promise>;
    constexpr bool sleeps = SleepsIn<Nap, Promise>;
    static_assert(awaitable,
                  "planb: the callable must return something that can be awaited in the task, such as a task of the "
                  "same kind");
    static_assert(sleeps,
                  "planb: `sleep` must take a planb::Duration, or that and a planb::StopToken, and return something "
                  "that can be awaited in the task");
    if constexpr (awaitable && sleeps) {
      using R = typename co_result<Promise, Task, typename Body::Raw>::type;
      using Awaited = AwaitedIn<Promise, typename Body::Raw>;
      using Given = typename co_given<Promise, Task>::type;
      using Kept = typename co_kept<Promise, Given, Awaited, R>::type;
      using NapResult = decltype(detail::call_sleep(std::declval<Nap&>(), Duration(), std::declval<const StopToken&>()));
      constexpr bool answers = !gives_awaited<R>::value;
      static_assert(answers,
                    "planb: what awaiting the callable's result gives is itself still to be awaited (a task, a "
                    "future): its attempt would be over before it has begun. Await it in the callable");
      // A getter's answer may refer to its context, which has ended when the task gives it.
      constexpr bool lasts = !(std::is_reference_v<Given> && !std::is_reference_v<R>) &&
                             !views_temporary<Awaited, Given> && !(is_getter<Ctx, CallTarget<Fn>> && refers_elsewhere<Kept>);
      static_assert(lasts,
                    "planb: the task gives a view, a pointer or a reference into what ends with the attempt (the "
                    "context, or what awaiting gave); let it give what owns that, such as a std::string");
      constexpr bool fits = !lasts || PromiseTakes<Promise, R>;
      static_assert(fits, "planb: the task returns another type than what the callable gives when it is awaited");
      constexpr bool aligned = fits_frame_awaited<Promise, typename Body::Raw> &&
                               fits_frame_awaited<Promise, NapResult> && fits_frame<R> && fits_frame<Kept> &&
                               fits_frame<Fn> && fits_frame<Nap>;
      static_assert(aligned,
                    "planb: an answer, a callable or a `sleep` that is aligned beyond what operator new gives "
                    "(`alignas`) would be misaligned in a coroutine's frame; keep it behind a pointer");
      static_assert(accepts_value<Fn, R>, "planb: accepting() needs a callable that gives a value, not void");
      if constexpr (answers && lasts && fits && aligned && accepts_value<Fn, R>) {
        return detail::co_drive<Task, CoroKit<Task, Promise, R, Kept, Body>, Plan, Fn, Nap, Options>(
            PlanAccess::share(plan), std::forward<F>(fn), std::forward<Sleep>(sleep), std::forward<Options>(options));
      }
    }
  }
  std::abort();  // never: one of the sentences above was said, or the coroutine was returned
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
