// SPDX-License-Identifier: MIT
// co_push_with_plan and co_try_push_with_plan: a pushed stream in a coroutine, for any task type and any event loop.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/drive/committing.hpp>
#include <planb/drive/coroutine.hpp>
#include <planb/drive/detail/call_with.hpp>
#include <planb/drive/detail/co_emit.hpp>
#include <planb/drive/detail/co_push_drive.hpp>
#include <planb/drive/detail/coro_await.hpp>
#include <planb/drive/detail/coro_drive.hpp>
#include <planb/drive/detail/outcome.hpp>
#include <planb/drive/detail/plan_call.hpp>
#include <planb/drive/emit.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/error/detail/awaited.hpp>
#include <planb/plan/detail/view.hpp>
#include <planb/plan/plan.hpp>
#include <planb/time/duration.hpp>

#include <coroutine>
#include <cstdlib>
#include <memory>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

namespace detail {

template <class R>
using CoPushed = Returning<R, FailureStyle::aggregate>;

template <class Task, template <class> class Out, class Ctx, class Env, class F, class Sink, class Sleep>
Task co_push(const ExecutionPlan<Ctx, Env>& plan, F&& producer, Sink&& sink, Sleep&& sleep, StreamOptions&& options);

}  // namespace detail

// push_with_plan as a coroutine: `Task` is any coroutine type, planb::Task<T> or one that came with an event loop.
// `producer(ctx, emit)` or `producer(ctx, emit, attempt)` returns something that can be awaited in that task, and gives
// its elements with `co_await emit(x)`: true while the consumer wants more, and may have it. x is moved or copied when
// emit(x) is called. One at a time: a second emit before the first is over is a Defect, and so is one that is not over
// when the producer returns. What emit(x) gives is a task of the same kind, of a bool.
//
// The sink returns nothing, a bool (whether it wants more), or a task of one of these, which is awaited before the
// producer goes on. Its time is the consumer's: a step's timeout counts the silence of the source. What it throws ends
// the run and leaves unchanged, also where the producer has dropped it. Rules, events, reports and errors are those of
// push_with_plan; `sleep`, the life of the arguments, cancelled and destroyed tasks, and CurrentMetadata are those of
// co_run_with_plan. A stop or a timeout is seen between two elements: in between it is the producer that heeds
// Attempt::stop_token(), and one that does not delays the end of its attempt.
//
// No default argument for the options: GCC 12 may destroy one twice where the call is awaited.
template <class Task, class Ctx, class Env, class F, class Sink, class Sleep>
[[nodiscard]] Task co_push_with_plan(const ExecutionPlan<Ctx, Env>& plan, F&& producer, Sink&& sink, Sleep&& sleep) {
  return detail::co_push<Task, detail::CoPushed>(plan, std::forward<F>(producer), std::forward<Sink>(sink),
                                                 std::forward<Sleep>(sleep), StreamOptions());
}

template <class Task, class Ctx, class Env, class F, class Sink, class Sleep>
[[nodiscard]] Task co_push_with_plan(const ExecutionPlan<Ctx, Env>& plan, F&& producer, Sink&& sink, Sleep&& sleep,
                                     StreamOptions options) {
  return detail::co_push<Task, detail::CoPushed>(plan, std::forward<F>(producer), std::forward<Sink>(sink),
                                                 std::forward<Sleep>(sleep), std::move(options));
}

// The same as a value: the task gives a PlanResult<T>, where T is what awaiting the producer gives, or the value inside
// an expected-like; and always a report. Throws what try_push_with_plan throws.
template <class Task, class Ctx, class Env, class F, class Sink, class Sleep>
[[nodiscard]] Task co_try_push_with_plan(const ExecutionPlan<Ctx, Env>& plan, F&& producer, Sink&& sink,
                                         Sleep&& sleep) {
  return detail::co_push<Task, detail::Trying>(plan, std::forward<F>(producer), std::forward<Sink>(sink),
                                               std::forward<Sleep>(sleep), StreamOptions());
}

template <class Task, class Ctx, class Env, class F, class Sink, class Sleep>
[[nodiscard]] Task co_try_push_with_plan(const ExecutionPlan<Ctx, Env>& plan, F&& producer, Sink&& sink, Sleep&& sleep,
                                         StreamOptions options) {
  return detail::co_push<Task, detail::Trying>(plan, std::forward<F>(producer), std::forward<Sink>(sink),
                                               std::forward<Sleep>(sleep), std::move(options));
}

namespace detail {

template <class Task, class P, class R, class K, class B, class O, class S>
struct CoPushKit : CoroKit<Task, P, R, K, B> {
  using Out = O;
  using Stream = S;
};

// What is wrong with the arguments, in a sentence; then the coroutine: see co_run().
template <class Task, template <class> class OutOf, class Ctx, class Env, class F, class Sink, class Sleep>
Task co_push(const ExecutionPlan<Ctx, Env>& plan, F&& producer, Sink&& sink, Sleep&& sleep, StreamOptions&& options) {
  using Fn = std::decay_t<F>;
  using Into = std::decay_t<Sink>;
  using Nap = std::decay_t<Sleep>;
  using Plan = std::shared_ptr<const PlanStorage<Ctx, Env>>;
  using EmitTask = typename EmitTaskOf<Task>::type;
  using Rule = decltype(detail::commit_rule(std::declval<Fn&>()));
  using Stream = CoPushStream<EmitTask, Into, Rule>;
  constexpr bool bound = detail::check_env<Env>();
  constexpr bool coroutine = CoroutineType<Task, Plan, Fn, Into, Nap, StreamOptions>;
  static_assert(coroutine,
                "planb: co_push_with_plan<Task> needs a coroutine's return type, such as planb::Task<T> or "
                "asio::awaitable<T>");
  constexpr bool takes_emit = CallableWith<StreamTarget<Fn>, std::remove_reference_t<Ctx>&, Emit<Stream>&>;
  static_assert(takes_emit,
                "planb: the producer of a stream must take the plan's context and `emit`, `fn(Ctx&, auto& emit)` or "
                "`fn(Ctx&, auto& emit, const planb::Attempt&)`");
  if constexpr (bound && takes_emit && coroutine) {
    using Promise = typename std::coroutine_traits<Task, Plan, Fn, Into, Nap, StreamOptions>::promise_type;
    using Body = CoPushBody<Ctx, Fn, Stream>;
    constexpr bool awaitable = AwaitableIn<typename Body::Raw, Promise>;
    constexpr bool emits = AwaitableIn<EmitTask, Promise>;
    constexpr bool sleeps = SleepsIn<Nap, Promise>;
    static_assert(awaitable,
                  "planb: the producer must return something that can be awaited in the task, such as a task of the "
                  "same kind; one that awaits nothing belongs into push_with_plan");
    static_assert(emits, "planb: a planb::Task<bool>, which emit() gives, cannot be awaited in this task");
    static_assert(sleeps,
                  "planb: `sleep` must take a planb::Duration, or that and a planb::StopToken, and return something "
                  "that can be awaited in the task");
    if constexpr (awaitable && emits && sleeps) {
      using R = typename co_result<Promise, Task, typename Body::Raw>::type;
      using Out = OutOf<R>;
      using Awaited = AwaitedIn<Promise, typename Body::Raw>;
      using Given = typename co_given<Promise, Task>::type;
      using Kept = typename std::conditional_t<Out::as_returned, co_kept<Promise, Given, Awaited, R>,
                                               std::type_identity<R>>::type;
      using NapResult =
          decltype(detail::call_sleep(std::declval<Nap&>(), Duration(), std::declval<const StopToken&>()));
      constexpr bool answers = !gives_awaited<R>::value;
      static_assert(answers,
                    "planb: what awaiting the producer's result gives is itself still to be awaited (a task, a "
                    "future): its attempt would be over before it has begun. Await it in the producer");
      constexpr bool refers = std::is_reference_v<Given> && !std::is_reference_v<R>;
      constexpr bool lasts = !Out::as_returned || !(refers || views_temporary<Awaited, Given>);
      static_assert(lasts,
                    "planb: the task gives a view, a pointer or a reference into what ends with the attempt (the "
                    "context, or what awaiting gave); let it give what owns that, such as a std::string");
      constexpr bool fits = !lasts || PromiseTakes<Promise, typename Out::type>;
      static_assert(fits || !Out::as_returned,
                    "planb: the task returns another type than what the producer gives when it is awaited");
      static_assert(
          fits || Out::as_returned,
          "planb: co_try_push_with_plan gives a planb::PlanResult<T>, where T is what the producer gives when "
          "it is awaited, and the task returns another type");
      constexpr bool aligned = fits_frame_awaited<Promise, typename Body::Raw> &&
                               fits_frame_awaited<Promise, NapResult> && fits_frame<R> && fits_frame<Kept> &&
                               fits_frame<Fn> && fits_frame<Into> && fits_frame<Nap>;
      static_assert(aligned,
                    "planb: an answer, a producer, a sink or a `sleep` that is aligned beyond what operator new gives "
                    "(`alignas`) would be misaligned in a coroutine's frame; keep it behind a pointer");
      static_assert(accepts_value<Fn, R>, "planb: accepting() needs a producer that gives a value, not void");
      if constexpr (answers && lasts && fits && aligned && accepts_value<Fn, R>) {
        return detail::co_drive_push<Task, CoPushKit<Task, Promise, R, Kept, Body, Out, Stream>, Plan, Fn, Into, Nap>(
            PlanAccess::share(plan), std::forward<F>(producer), std::forward<Sink>(sink), std::forward<Sleep>(sleep),
            std::move(options));
      }
    }
  }
  std::abort();  // never: one of the sentences above was said, or the coroutine was returned
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
