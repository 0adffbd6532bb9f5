// SPDX-License-Identifier: MIT
// The loop under co_push_with_plan: that of co_run_with_plan, with a stream between producer and sink. No policy.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/drive/detail/call_with.hpp>
#include <planb/drive/detail/co_emit.hpp>
#include <planb/drive/detail/coro_await.hpp>
#include <planb/drive/detail/coro_drive.hpp>
#include <planb/drive/detail/drive.hpp>
#include <planb/drive/detail/drive_push.hpp>
#include <planb/drive/detail/plan_call.hpp>
#include <planb/drive/emit.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/error/detail/catch.hpp>
#include <planb/error/result_traits.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/metadata.hpp>
#include <planb/time/duration.hpp>

#include <cstdlib>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// The attempts of a stream that is pushed in a coroutine. `out` is in that one's frame: a producer may refer to it.
template <class Ctx, class F, class Stream>
struct CoPushBody : PlanContexts<Ctx> {
  using typename PlanContexts<Ctx>::Room;
  using Raw = decltype(detail::call_with(std::declval<StreamTarget<F>&>(), std::declval<const Attempt&>(),
                                         std::declval<std::remove_reference_t<Ctx>&>(), std::declval<Emit<Stream>&>()));

  F& fn;
  Emit<Stream>& out;

  Raw invoke(Room& room, const Attempt& attempt) const {
    return detail::call_with(detail::stream_target(fn), attempt, room.get(), out);
  }
};

// Looks at what awaiting the producer gave, and keeps it: see is_final() and keep_answer().
template <class Out, class R, class Kept, class Given, class F, class Stream>
void keep_pushed(Given&& given, F& fn, const Stream& stream, FailureKeeper& failure, AnswerRoom<Kept>& answer) {
  bool is_final = false;
  if (!detail::is_answered(failure.room(),
                           [&] { is_final = detail::is_final<Out, R>(stream, std::as_const(given)); })) {
    failure.filled();
    return;
  }
  if (is_final) {
    failure.answered();
    answer.keep(std::forward<Given>(given));
    return;
  }
  detail::keep_answer<R>(std::forward<Given>(given), fn, failure, answer);
}

// The PlanResult of a success, of which the engine hears then.
template <class Out, class Answer>
typename Out::type tell_success(Engine& run, Answer take) {
  SuccessTeller success(run);
#if PLANB_HAS_EXCEPTIONS
  try {
#endif
    return Out::success(run, take);
#if PLANB_HAS_EXCEPTIONS
  } catch (...) {
    if (!detail::unwinding()) success.leave();
    success.drop();
    throw;
  }
#endif
}

#if PLANB_HAS_EXCEPTIONS
[[noreturn]] inline void rethrow_left(FailureKeeper& failure) {
  failure.cause().rethrow();
  std::abort();  // never
}
#endif

// GCC 12 warns of a coroutine frame with a local type in it: see coro_drive.hpp.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif

// `Kit` names what it does for co_drive(), and:
//   Out      of the run: what it gives or throws
//   Stream   between producer and sink
template <class Task, class Kit, class Plan, class F, class Sink, class Sleep>
Task co_drive_push(Plan plan, F fn, Sink sink, Sleep sleep, StreamOptions options) {
  using Promise = typename Kit::Promise;
  using R = typename Kit::Result;
  using Body = typename Kit::Body;
  using Work = typename Body::Raw;
  using Out = typename Kit::Out;
  using Stream = typename Kit::Stream;
  using End = typename Stream::End;
  using EmitTask = typename Stream::Given;

  const auto& storage = *plan;
  EngineRoom run;
  run.make(storage.rules.view(), options, options.partial);
  if constexpr (!Out::as_returned) run->keep_times();
  Stream stream(*run, sink, detail::commit_rule(fn));
  Emit<Stream> out(stream);
  const Body body{{storage}, fn, out};
  for (;;) {
    const RunPhase phase = run->next();
    if (phase == RunPhase::over) break;
    if (phase == RunPhase::wait) {
      const Duration time = between(run->clock().now(), run->due());
      if (time > Duration::zero()) {
        using Nap = decltype(detail::call_sleep(sleep, time, options.stop));
        Nap nap = detail::call_sleep(sleep, time, options.stop);
        co_await detail::await_operand<Promise, Nap>(nap);
      }
      continue;
    }
    AnswerRoom<typename Kit::Kept> answer;
    bool succeeded = false;  // the answer stands
    FailureKeeper failure;
    [[maybe_unused]] const auto keep = [&](auto make) {
      if (failure.has_answer()) detail::leave_after_success([&] { run->succeed(); });
      failure.keep_thrown(make);
    };
    stream.begin_attempt();
    PLANB_DETAIL_TRY {
      const Attempt attempt = run->attempt();
      const Metadata metadata = run->metadata();
      [[maybe_unused]] const AwaitScope<Kit::restores> scope(metadata);
      FrameObject<typename Body::Room> place;
      typename Body::Room& room = *place;
      if (detail::prepare_attempt(body, room, attempt, failure.room(), metadata)) {
        const RoomGuard guard(room);
        const StreamGuard<Stream> stream_guard(stream);
        Work work = detail::call_attempt(body, room, attempt, metadata);
        if constexpr (std::is_void_v<R>) {
          co_await detail::await_operand<Promise, Work>(work);
          answer.keep();
        } else {
          using Awaited = AwaitedIn<Promise, AnswerOperand<Promise, Work>>;
          if constexpr (std::is_reference_v<Awaited>) {  // perhaps to what is in the awaiter, which ends with the await
            detail::keep_pushed<Out, R>(static_cast<Awaited>(co_await detail::answer_operand<Promise, Work>(work)), fn,
                                        stream, failure, answer);
          } else {
            Awaited given = co_await detail::answer_operand<Promise, Work>(work);
            detail::keep_pushed<Out, R>(static_cast<Awaited&&>(given), fn, stream, failure, answer);
          }
        }
        if (answer) {  // and what was held back is good, and what was not is in nobody's hands any more
          failure.clear();
          stream.refuse_unfinished();
          if (stream.end() == End::none && stream.holds_back()) {
            EmitTask rest = stream.release();
            co_await detail::await_operand<Promise, EmitTask>(rest);
          }
          succeeded = detail::ended_well(stream);
          if (succeeded) failure.answered();
        }
      } else {
        failure.filled();
      }
    }
    PLANB_DETAIL_CATCH(keep, run->abandon())
    if (succeeded) {
      if constexpr (!Out::as_returned) {
        if constexpr (std::is_void_v<R>) {
          co_return detail::tell_success<Out>(*run, [] {});
        } else {
          co_return detail::tell_success<Out>(*run, [&answer]() -> R { return static_cast<R>(answer.take()); });
        }
      } else {
        run->succeed();
        if constexpr (std::is_void_v<R>) {
          co_return;
        } else {
          co_return answer.take();
        }
      }
    }
    if constexpr (Kit::has_checkpoint) {
      if (!failure.defect() && stream.end() != End::consumer && stream.end() != End::sink_threw) {
        // Where it throws, the attempt is abandoned by the end of the engine.
        using Checkpoint = decltype(Kit::checkpoint());
        Checkpoint checkpoint = Kit::checkpoint();
        co_await detail::await_operand<Promise, Checkpoint>(checkpoint);
      }
    }
    if (detail::settle(*run, stream, failure)) {
      if constexpr (!std::is_void_v<R>) {
#if PLANB_HAS_EXCEPTIONS
        detail::rethrow_left(failure);
#endif
      } else if constexpr (Out::as_returned) {
        co_return;
      } else {
        co_return detail::give_nothing<Out>(*run);
      }
    }
  }
  if constexpr (std::is_void_v<typename Out::type>) {
    Out::failure(*run);
    co_return;  // not reached
  } else {
    co_return Out::failure(*run);
  }
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace planb::inline PLANB_ABI::detail
