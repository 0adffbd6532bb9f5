// SPDX-License-Identifier: MIT
// Emit: what a stream's producer is handed to give its elements.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/invoke.hpp>
#include <planb/drive/committing.hpp>
#include <planb/drive/detail/held_back.hpp>
#include <planb/drive/detail/push_state.hpp>
#include <planb/engine/detail/engine.hpp>

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

namespace detail {

// What comes between a producer and a sink in a run: which elements pass, and what ended an attempt before its time.
template <class Sink, class Rule>
class PushStream : public PushState<Rule, HeldElement<PushStream<Sink, Rule>, bool>> {
  using Element = HeldElement<PushStream, bool>;
  using State = PushState<Rule, Element>;

 public:
  using typename State::End;
  using Given = bool;  // by emit()

  PushStream(Engine& run, Sink& sink, Rule rule) noexcept : State(run, rule), sink_(sink) {}

  // True while the consumer wants more, and may have it.
  template <class X>
  bool take(X&& element) {
    const Pass pass = this->template admit<X>(element);
    if (pass == Pass::refused) return false;
    if constexpr (Rule::holds) {
      if (pass == Pass::held_back) {
        hold(std::forward<X>(element));
        return this->resume();
      }
      if (!release()) return false;
    }
    return give(std::forward<X>(element));
  }

  // Gives what was held back. False: the consumer wants no more, or may not have it.
  bool release() {
    if constexpr (Rule::holds) {
      // A sink may come back to emit().
      for (HeldBack<Element> held = this->held_.take(); !held.empty(); held.drop_front()) {
        if (!held.front().give_to(*this)) return false;
      }
    }
    return true;
  }

 private:
  using typename State::Pass;

  template <class X>
  void hold(X&& element) {
    using Value = std::remove_cvref_t<X>;
    static_assert(std::is_constructible_v<Value, X&&> || std::is_array_v<Value>,
                  "planb: committing() keeps the elements before the first that counts, so they must be copyable, or "
                  "movable and emitted as rvalues");
    struct Kept final : Element {
      explicit Kept(X&& from) : kept(std::forward<X>(from)) {}
      bool give_to(PushStream& stream) override { return stream.give(std::forward<X>(kept.value)); }

      HeldValue<Value> kept;
    };
    this->held_.keep(std::make_unique<Kept>(std::forward<X>(element)));
  }

  template <class X>
  bool give(X&& element) {
    if (!this->deliver()) return false;
    const bool wants_more = call_sink(std::forward<X>(element));
    return this->open_ && this->resume(wants_more);  // what ended it when the sink came back to emit() stands
  }

  template <class X>
  bool call_sink(X&& element) {
    static_assert(std::is_invocable_v<Sink&, X&&>, "planb: the sink does not take what the producer emits");
#if PLANB_HAS_EXCEPTIONS
    try {
#endif
      using Said = std::invoke_result_t<Sink&, X&&>;
      if constexpr (std::is_void_v<Said>) {
        detail::invoke_lvalue(sink_, std::forward<X>(element));
        return true;
      } else {
        static_assert(std::is_same_v<std::remove_cvref_t<Said>, bool>,
                      "planb: a sink returns nothing, or a bool: whether it wants more");
        return detail::invoke_lvalue(sink_, std::forward<X>(element));
      }
#if PLANB_HAS_EXCEPTIONS
    } catch (...) {
      this->keep_sinks();
      throw;
    }
#endif
  }

  Sink& sink_;
};

}  // namespace detail

// Give an element to the consumer: emit(x). It says whether the consumer wants more; false also where the run was
// stopped or is out of budget. The producer should return then; further elements go nowhere. What the sink throws comes
// out of emit() and ends the run, whatever the producer does with it. An x that is an expected-like with an error is
// not an element: the attempt has failed with that error.
// May be copied (also into a std::function<bool(X)>); for one thread at a time, until the producer returns.
// In co_push_with_plan it gives a task of the bool: `co_await emit(x)`.
template <class Stream>
class Emit {
 public:
  explicit Emit(Stream& stream) noexcept : stream_(std::addressof(stream)) {}

  template <class X>
  typename Stream::Given operator()(X&& element) const {
    return stream_->take(std::forward<X>(element));
  }

 private:
  Stream* stream_;
};

}  // namespace planb::inline PLANB_ABI
