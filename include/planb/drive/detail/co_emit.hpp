// SPDX-License-Identifier: MIT
// What comes between a producer and a sink that are coroutines: emit(x) is a task that hands one element over.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/invoke.hpp>
#include <planb/drive/detail/coro_await.hpp>
#include <planb/drive/detail/coro_drive.hpp>
#include <planb/drive/detail/held_back.hpp>
#include <planb/drive/detail/push_state.hpp>
#include <planb/drive/task.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/failure_room.hpp>
#include <planb/error/detail/misuse.hpp>
#include <planb/error/result_traits.hpp>

#include <coroutine>
#include <cstdlib>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// What emit() gives in a run that is a `Task`: the same kind of task, of a bool; a planb::Task where it has no kind.
template <class Task>
struct EmitTaskOf {
  using type = planb::Task<bool>;
};
template <template <class...> class Kind, class T, class... Rest>
requires requires { typename std::coroutine_traits<Kind<bool, Rest...>>::promise_type; }
struct EmitTaskOf<Kind<T, Rest...>> {
  using type = Kind<bool, Rest...>;
};

// How a sink is called with its own copy of an element: it may have it, or refer to it.
template <class Sink, class Value>
using SinkArgument = std::conditional_t<std::is_invocable_v<Sink&, Value&&>, Value&&, Value&>;

// What a sink may return: nothing, a bool, or what gives one of these when it is awaited.
template <class Said>
constexpr bool says_whether = std::is_void_v<Said> || std::is_same_v<std::remove_cvref_t<Said>, bool>;
template <class Said, class Promise>
concept AwaitedSinkIn = AwaitableIn<Said, Promise> && says_whether<AwaitedIn<Promise, Said>>;

// GCC 12 warns of a coroutine frame with a local type in it: see coro_drive.hpp.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif

template <class EmitTask, class Sink, class Rule>
class CoPushStream : public PushState<Rule, HeldElement<CoPushStream<EmitTask, Sink, Rule>, EmitTask>> {
  using Element = HeldElement<CoPushStream, EmitTask>;
  using State = PushState<Rule, Element>;

 public:
  using typename State::End;
  using Given = EmitTask;  // by emit()

  CoPushStream(Engine& run, Sink& sink, Rule rule) noexcept : State(run, rule), sink_(sink) {}

  void begin_attempt() noexcept {
    ++attempt_;
    handing_over_ = false;
    State::begin_attempt();
  }

  // The element is moved or copied now, and goes on its way when what this gives is awaited.
  template <class X>
  [[nodiscard]] EmitTask take(X&& element) {
    using Value = std::remove_cvref_t<X>;
    constexpr bool kept = std::is_constructible_v<Value, X&&> || std::is_array_v<Value>;
    static_assert(kept,
                  "planb: `co_await emit(x)` keeps the element until the sink is done with it, so it must be copyable, "
                  "or movable and emitted as an rvalue");
    static_assert(
        fits_frame<Value>,
        "planb: an element that is aligned beyond what operator new gives (`alignas`) would be misaligned in a "
        "coroutine's frame; keep it behind a pointer");
    if constexpr (kept && fits_frame<Value>) {
      return hand_over<Value>(*this, HeldValue<Value>(std::forward<X>(element)), false);
    }
    std::abort();  // never: one of the sentences above was said, or the task was returned
  }

  // Whether there is something to give at the end of a producer.
  [[nodiscard]] bool holds_back() const noexcept {
    if constexpr (Rule::holds) {
      return !this->held_.empty();
    } else {
      return false;
    }
  }
  // Gives what was held back. False: the consumer wants no more, or may not have it.
  [[nodiscard]] EmitTask release() { return release_all(*this); }

  // The producer has returned: nobody may be in an emit() any more.
  void refuse_unfinished() {
    if (handing_over_) refuse("a producer returned before its `co_await emit(x)` was over");
  }

 private:
  using typename State::Pass;

  template <class Value>
  struct Kept final : Element {
    explicit Kept(HeldValue<Value>&& from) : kept(std::move(from)) {}
    EmitTask give_to(CoPushStream& stream) override { return hand_over<Value>(stream, std::move(kept), true); }

    HeldValue<Value> kept;
  };

  // An emit() that is on its way, of the attempt that it began in; ends also where its frame is destroyed.
  class Turn {
   public:
    Turn(CoPushStream& stream, bool released) : stream_(stream), attempt_(stream.attempt_), mine_(!released) {
      if (!mine_) return;
      if (stream.handing_over_) stream.refuse("a second `co_await emit(x)` before the first was over");
      stream.handing_over_ = true;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      if (mine_ && attempt_ == stream_.attempt_) stream_.handing_over_ = false;
    }
    // Elements may pass, and are those of this attempt.
    [[nodiscard]] bool open() const noexcept { return stream_.open_ && attempt_ == stream_.attempt_; }

   private:
    CoPushStream& stream_;
    const unsigned attempt_;
    const bool mine_;
  };

  // Ends the run with a Defect, whatever the producer does with it.
  [[noreturn]] void refuse(const char* what) {
    if (this->open_) {
      this->failure_.keep(Cause::of(Defect(std::string("planb: ") + what)));
      this->stop(End::failed);
    }
    detail::misuse(what);
  }

  // All of it is in this frame, of which there is one for an element: the element, and what its sink gave to await.
  template <class Value>
  static EmitTask hand_over(CoPushStream& stream, HeldValue<Value> element, bool released) {
    using Promise = typename std::coroutine_traits<EmitTask, CoPushStream&, HeldValue<Value>, bool>::promise_type;
    using Argument = SinkArgument<Sink, Value>;
    static_assert(std::is_invocable_v<Sink&, Argument>, "planb: the sink does not take what the producer emits");
    const Turn turn(stream, released);
    if (!turn.open()) co_return false;
    if (!released) {
      const Pass pass = stream.template admit<Value>(element.value);
      if (pass == Pass::refused) co_return false;
      if constexpr (Rule::holds) {
        if (pass == Pass::held_back) {
          stream.held_.keep(std::make_unique<Kept<Value>>(std::move(element)));
          co_return stream.resume();
        }
        if (stream.holds_back()) {
          EmitTask before = stream.release();
          const bool goes_on = co_await detail::await_operand<Promise, EmitTask>(before);
          if (!goes_on || !turn.open()) co_return false;
        }
      }
    }
    if constexpr (std::is_invocable_v<Sink&, Argument>) {
      if (!stream.deliver()) co_return false;
      using Said = std::invoke_result_t<Sink&, Argument>;
      bool wants_more = true;
#if PLANB_HAS_EXCEPTIONS
      try {
#endif
        if constexpr (std::is_void_v<Said>) {
          detail::invoke_lvalue(stream.sink_, static_cast<Argument>(element.value));
        } else if constexpr (says_whether<Said>) {
          wants_more = detail::invoke_lvalue(stream.sink_, static_cast<Argument>(element.value));
        } else {
          constexpr bool awaited = AwaitedSinkIn<Said, Promise>;
          static_assert(awaited,
                        "planb: a sink returns nothing, or a bool (whether it wants more), or a task of one of these, "
                        "which can be awaited where the producer awaits");
          if constexpr (awaited) {
            static_assert(fits_frame_awaited<Promise, Said>,
                          "planb: what the sink gives to await is aligned beyond what operator new gives (`alignas`), "
                          "and would be misaligned in a coroutine's frame");
            Said said = detail::invoke_lvalue(stream.sink_, static_cast<Argument>(element.value));
            if constexpr (std::is_void_v<AwaitedIn<Promise, Said>>) {
              co_await detail::await_operand<Promise, Said>(said);
            } else {
              wants_more = co_await detail::await_operand<Promise, Said>(said);
            }
          }
        }
#if PLANB_HAS_EXCEPTIONS
      } catch (...) {
        if (turn.open()) stream.keep_sinks();
        throw;
      }
#endif
      if (!turn.open()) co_return false;
      co_return stream.resume(wants_more);
    }
    co_return false;
  }

  static EmitTask release_all(CoPushStream& stream) {
    using Promise = typename std::coroutine_traits<EmitTask, CoPushStream&>::promise_type;
    if constexpr (Rule::holds) {
      for (HeldBack<Element> held = stream.held_.take(); !held.empty(); held.drop_front()) {
        EmitTask one = held.front().give_to(stream);
        const bool goes_on = co_await detail::await_operand<Promise, EmitTask>(one);
        if (!goes_on) co_return false;
      }
    }
    co_return stream.open_;
  }

  Sink& sink_;
  unsigned attempt_ = 0;  // their number, to tell an emit() that was left behind
  bool handing_over_ = false;
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace planb::inline PLANB_ABI::detail
