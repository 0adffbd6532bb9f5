// SPDX-License-Identifier: MIT
// push_with_plan and try_push_with_plan: drive a producer of elements through a plan, into a sink.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/drive/call.hpp>
#include <planb/drive/committing.hpp>
#include <planb/drive/detail/call_with.hpp>
#include <planb/drive/detail/drive.hpp>
#include <planb/drive/detail/drive_push.hpp>
#include <planb/drive/detail/plan_call.hpp>
#include <planb/drive/emit.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/detail/view.hpp>
#include <planb/plan/plan.hpp>

#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

namespace detail {

template <template <class> class Out, class Ctx, class Env, class F, class Sink>
decltype(auto) push(const ExecutionPlan<Ctx, Env>& plan, F& producer, Sink& sink, const StreamOptions& options);

}  // namespace detail

// For each attempt calls producer(ctx, emit), or producer(ctx, emit, attempt) where it takes a const
// Attempt&, until one succeeds. emit(x) hands x to `sink`, which may return nothing, or a bool: whether it wants more.
// Gives what the producer returns, and fails, as run_with_plan does.
//
// A sink that stops early ends the attempt as a success, whatever the producer does then: an error that it returns is
// given back as it is, and what it throws is dropped where it would have returned nothing, and thrown otherwise. What a
// sink throws ends the run and leaves unchanged; the attempt has then been interrupted. When a stop is requested or the
// budget is gone, no further element reaches the sink, and the attempt has failed, also where that happens while the
// sink has the last one. CurrentMetadata is set while the sink runs, since it runs within the producer.
template <class Ctx, class Env, class F, class Sink>
decltype(auto) push_with_plan(const ExecutionPlan<Ctx, Env>& plan, F&& producer, Sink&& sink) {
  return detail::push<detail::PlanOutcome>(plan, producer, sink, detail::no_options<StreamOptions>());
}

template <class Ctx, class Env, class F, class Sink>
decltype(auto) push_with_plan(const ExecutionPlan<Ctx, Env>& plan, F&& producer, Sink&& sink,
                              const StreamOptions& options) {
  return detail::push<detail::PlanOutcome>(plan, producer, sink, options);
}

// The same as a value: PlanResult<T>, where T is what `producer` returns, or the value inside an expected-like; and
// always a report. Throws for no run's failure but a Defect, and what the sink throws. Where the sink has stopped early,
// what the producer throws or returns as an error afterwards is thrown, as there is no value then; where it would have
// returned nothing, it is dropped.
template <class Ctx, class Env, class F, class Sink>
[[nodiscard]] auto try_push_with_plan(const ExecutionPlan<Ctx, Env>& plan, F&& producer, Sink&& sink) {
  return detail::push<detail::Trying>(plan, producer, sink, detail::no_options<StreamOptions>());
}

template <class Ctx, class Env, class F, class Sink>
[[nodiscard]] auto try_push_with_plan(const ExecutionPlan<Ctx, Env>& plan, F&& producer, Sink&& sink,
                                      const StreamOptions& options) {
  return detail::push<detail::Trying>(plan, producer, sink, options);
}

namespace detail {

// The attempts of a pushed stream.
template <class Ctx, class F, class Sink>
struct PushBody : PlanContexts<Ctx> {
  using typename PlanContexts<Ctx>::Room;
  using Stream = PushStream<Sink, decltype(detail::commit_rule(std::declval<F&>()))>;
  using Context = std::remove_reference_t<Ctx>;
  using Raw = decltype(detail::call_with(std::declval<StreamTarget<F>&>(), std::declval<const Attempt&>(),
                                         std::declval<Context&>(), std::declval<Emit<Stream>&>()));
  using Result = typename left_of_context<Ctx, StreamTarget<F>, Raw>::type;

  F& fn;
  Stream stream;

  Raw invoke(Room& room, const Attempt& attempt) {
    Emit<Stream> target(stream);
    return detail::call_with(detail::stream_target(fn), attempt, room.get(), target);
  }
};

template <template <class> class Out, class Ctx, class Env, class F, class Sink>
decltype(auto) push(const ExecutionPlan<Ctx, Env>& plan, F& producer, Sink& sink, const StreamOptions& options) {
  using Rule = decltype(detail::commit_rule(producer));
  constexpr bool takes_emit =
      CallableWith<StreamTarget<F>, std::remove_reference_t<Ctx>&, Emit<PushStream<Sink, Rule>>&>;
  constexpr bool bound = detail::check_env<Env>();
  static_assert(takes_emit,
                "planb: the producer of a stream must take the plan's context and `emit`, `fn(Ctx&, auto& emit)` or "
                "`fn(Ctx&, auto& emit, const planb::Attempt&)`");
  if constexpr (bound && takes_emit) {
    using Body = PushBody<Ctx, F, Sink>;
    using Result = typename Body::Result;
    [[maybe_unused]] constexpr bool answers = detail::check_answer<F, Result, true>();
    static_assert(std::is_void_v<Result> || std::is_reference_v<Result> || std::is_move_constructible_v<Result>,
                  "planb: what the producer of a stream returns must be movable");
    const PlanStorage<Ctx, void>& storage = PlanAccess::storage(plan);
    [[maybe_unused]] const BorrowedPlan borrowed(storage);
    Engine run(storage.rules.view(), options, options.partial);
    Body body{{storage}, producer, {run, sink, detail::commit_rule(producer)}};
    using Outcome = Out<Result>;
    if constexpr (!Outcome::as_returned) run.keep_times();
    return detail::drive_push<Outcome>(run, body);
  }
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
