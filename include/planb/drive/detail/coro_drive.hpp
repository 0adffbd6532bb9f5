// SPDX-License-Identifier: MIT
// The loop under co_run_with_plan: engine, attempt, outcome, with awaits in between. No policy.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/held.hpp>
#include <planb/drive/detail/call_with.hpp>
#include <planb/drive/detail/coro_await.hpp>
#include <planb/drive/detail/drive.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/error/detail/catch.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/metadata.hpp>
#include <planb/plan/plan.hpp>
#include <planb/plan/provide.hpp>
#include <planb/time/duration.hpp>

#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// The options in a coroutine's frame. Without any there is nothing to keep.
struct OwnOptions {
  static constexpr bool none = false;
  RunOptions options;
  [[nodiscard]] const RunOptions& get() const noexcept { return options; }
};
struct NoOptions {
  static constexpr bool none = true;
  [[nodiscard]] static const RunOptions& get() { return no_options(); }
};

// The engine of a run that may not need one. Not within the coroutine's frame: that would be too large for the quick
// paths of most allocators.
class EngineRoom {
 public:
  EngineRoom() noexcept = default;
  EngineRoom(const EngineRoom&) = delete;
  EngineRoom& operator=(const EngineRoom&) = delete;
  ~EngineRoom() noexcept(false) { delete engine_; }  // whose end may notify a handler, and let an unwind out

  template <class... Args>
  void make(Args&&... args) {
    engine_ = new Engine(std::forward<Args>(args)...);
  }
  [[nodiscard]] explicit operator bool() const noexcept { return engine_ != nullptr; }
  [[nodiscard]] Engine& operator*() noexcept { return *engine_; }
  [[nodiscard]] Engine* operator->() noexcept { return engine_; }

 private:
  Engine* engine_ = nullptr;
};

// What the run gives, from the end of its attempt to that of the coroutine.
template <class R>
class AnswerRoom {
 public:
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(value_); }
  template <class From>
  void keep(From&& value) {
    value_.build([&]() -> R { return static_cast<R>(std::forward<From>(value)); });
  }
  [[nodiscard]] R&& take() noexcept { return static_cast<R&&>(value_.get()); }

 private:
  HeldIf<R> value_;
};
template <>
class AnswerRoom<void> {
 public:
  [[nodiscard]] explicit operator bool() const noexcept { return there_; }
  void keep() noexcept { there_ = true; }

 private:
  bool there_ = false;
};

// A coroutine's frame is allocated with the usual alignment, and no more.
template <class T>
constexpr bool fits_frame = std::is_void_v<T> || std::is_reference_v<T>;
template <class T>
requires std::is_object_v<T>
constexpr bool fits_frame<T> = alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__;
template <class... T>
constexpr bool all_fit_frame = (fits_frame<T> && ...);  // NOLINT(misc-redundant-expression): T may be the same twice

// All that awaiting an A puts into a frame.
template <class Promise, class A>
constexpr bool fits_frame_awaited =
    all_fit_frame<A, typename transformed<Promise, A>::type,
                  std::remove_reference_t<AwaiterOf<typename transformed<Promise, A>::type>>, AwaitedIn<Promise, A>>;

// An object in a frame: on the heap where the frame would misalign it.
template <class T>
class FrameObject {
 public:
  [[nodiscard]] T& operator*() noexcept { return object_; }

 private:
  T object_;
};
template <class T>
requires(!fits_frame<T>) class FrameObject<T> {
 public:
  [[nodiscard]] T& operator*() noexcept { return *object_; }

 private:
  std::unique_ptr<T> object_ = std::make_unique<T>();
};

// The metadata of an attempt over its awaits, where the task keeps it to itself.
template <bool Restores>
struct AwaitScope {
  explicit AwaitScope(Metadata metadata) noexcept : scope(metadata) {}
  CurrentMetadata::Scope scope;
};
template <>
struct AwaitScope<false> {
  explicit AwaitScope(Metadata) noexcept {}
};

template <class Sleep>
concept SleepsStoppably = std::is_invocable_v<Sleep&, Duration, const StopToken&>;

template <class Sleep>
decltype(auto) call_sleep(Sleep& sleep, Duration time, const StopToken& stop) {
  if constexpr (SleepsStoppably<Sleep>) {
    return sleep(time, stop);
  } else {
    return sleep(time);
  }
}

// One attempt up to what is awaited, with CurrentMetadata set.
template <class Body>
bool prepare_attempt(const Body& body, typename Body::Room& room, const Attempt& attempt, FailureRoom& failure,
                     Metadata metadata) {
  const CurrentMetadata::Scope scope(metadata);
  return body.prepare(attempt.step_index, room, attempt, failure);
}
template <class Body>
typename Body::Raw call_attempt(const Body& body, typename Body::Room& room, const Attempt& attempt,
                                Metadata metadata) {
  const CurrentMetadata::Scope scope(metadata);
  return body.invoke(room, attempt);
}

template <class As, class Kept, class F>
void keep_if_answer(std::remove_reference_t<As>& value, F& fn, FailureKeeper& failure, AnswerRoom<Kept>& answer) {
  if (!detail::check<As>(value, fn, failure)) return;
  failure.answered();
  answer.keep(std::forward<As>(value));
}

// Looks at what awaiting gave, and keeps it as what the run gives. From here on nothing may lead to another attempt
// where it is an answer: neither its copy nor its move, whatever they throw.
template <class R, class Kept, class Given, class F>
void keep_answer(Given&& given, F& fn, FailureKeeper& failure, AnswerRoom<Kept>& answer) {
  if constexpr (std::is_reference_v<R>) {
    detail::keep_if_answer<R>(given, fn, failure, answer);
  } else if constexpr (ResultType<R> && !std::is_same_v<Given, R>) {  // is read, and comes back, as a value of its own
    bool good = false;
    if (!detail::is_answered(failure.room(), [&] { good = detail::has_value(std::as_const(given)); })) {
      failure.filled();
      return;
    }
    if (good) failure.answered();
    R own(std::forward<Given>(given));
    failure.clear();
    detail::keep_if_answer<R>(own, fn, failure, answer);
  } else {
    detail::keep_if_answer<Given>(given, fn, failure, answer);
  }
}

// GCC 12 warns of a coroutine frame with a local type in it, such as a lambda, where the call is in another file than
// the one that it compiles: in a header, or behind #line.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif

// `Kit` names the types:
//   Promise    of the coroutine
//   Result     of the run
//   Kept       what is kept of it when the attempt is over
//   Body       makes the attempts: prepare() builds the context, invoke() gives what is to be awaited
//   restores   the task keeps CurrentMetadata over its awaits
//   has_checkpoint, checkpoint()   what throws where the task was cancelled
// Everything that is awaited has a name: temporaries in such expressions are where older compilers go wrong.
template <class Task, class Kit, class Plan, class F, class Sleep, class Options>
Task co_drive(Plan plan, F fn, Sleep sleep, Options options) {
  using Promise = typename Kit::Promise;
  using R = typename Kit::Result;
  using Body = typename Kit::Body;
  using Work = typename Body::Raw;

  const auto& storage = *plan;
  const Body body{{storage}, fn};
  EngineRoom run;  // with nobody to ask before the first attempt, it is made when that has failed
  if (!Options::none || !storage.rules.plain_first()) run.make(storage.rules.view(), options.get());
  for (;;) {
    if (run) {
      const RunPhase phase = run->next();
      if (phase == RunPhase::over) break;
      if (phase == RunPhase::wait) {
        const Duration time = between(run->clock().now(), run->due());
        if (time > Duration::zero()) {
          using Nap = decltype(detail::call_sleep(sleep, time, options.get().stop));
          Nap nap = detail::call_sleep(sleep, time, options.get().stop);
          co_await detail::await_operand<Promise, Nap>(nap);
        }
        continue;
      }
    }
    AnswerRoom<typename Kit::Kept> answer;
    FailureKeeper failure;
    [[maybe_unused]] const auto keep = [&](auto make) {
      if (failure.has_answer()) {
        detail::leave_after_success([&] {
          if (run) run->succeed();
        });
      }
      failure.keep_thrown(make);
    };
    PLANB_DETAIL_TRY {
      const Attempt attempt = run ? run->attempt() : storage.rules.first_attempt();
      const Metadata metadata{attempt.attempt, attempt.step_index};
      [[maybe_unused]] const AwaitScope<Kit::restores> scope(metadata);
      FrameObject<typename Body::Room> place;
      typename Body::Room& room = *place;
      if (detail::prepare_attempt(body, room, attempt, failure.room(), metadata)) {
        const RoomGuard guard(room);
        Work work = detail::call_attempt(body, room, attempt, metadata);
        if constexpr (std::is_void_v<R>) {
          co_await detail::await_operand<Promise, Work>(work);
          answer.keep();
        } else {
          using Awaited = AwaitedIn<Promise, AnswerOperand<Promise, Work>>;
          if constexpr (std::is_reference_v<Awaited>) {  // perhaps to what is in the awaiter, which ends with the await
            detail::keep_answer<R>(static_cast<Awaited>(co_await detail::answer_operand<Promise, Work>(work)), fn,
                                   failure, answer);
          } else {
            Awaited given = co_await detail::answer_operand<Promise, Work>(work);
            detail::keep_answer<R>(static_cast<Awaited&&>(given), fn, failure, answer);
          }
        }
      } else {
        failure.filled();
      }
    }
    PLANB_DETAIL_CATCH(keep, if (run) run->abandon())
    if (answer) {
      if (run) run->succeed();
      if constexpr (std::is_void_v<R>) {
        co_return;
      } else {
        co_return answer.take();
      }
    }
    if (!run) run.make(storage.rules.view(), options.get(), FirstAttemptMade{});
    if constexpr (Kit::has_checkpoint) {
      if (!failure.defect()) {
        // Where it throws, the attempt is abandoned by the end of the engine.
        using Checkpoint = decltype(Kit::checkpoint());
        Checkpoint checkpoint = Kit::checkpoint();
        co_await detail::await_operand<Promise, Checkpoint>(checkpoint);
      }
    }
    run->fail(failure);
  }
  if constexpr (std::is_void_v<R>) {
    Returning<R, FailureStyle::aggregate>::failure(*run);
    co_return;  // not reached
  } else {
    co_return Returning<R, FailureStyle::aggregate>::failure(*run);
  }
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace planb::inline PLANB_ABI::detail
