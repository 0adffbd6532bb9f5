// SPDX-License-Identifier: MIT
// Emit: what a stream's producer is handed to give its elements.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/invoke.hpp>
#include <planb/drive/committing.hpp>
#include <planb/drive/detail/held_back.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/failure_room.hpp>
#include <planb/error/result_traits.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

namespace detail {

// An element that is kept: an object, or an array such as a string literal.
template <class T>
struct HeldValue {
  template <class From>
  explicit HeldValue(From&& from) : value(std::forward<From>(from)) {}

  T value;
};
template <class T, std::size_t Size>
struct HeldValue<T[Size]> {
  explicit HeldValue(const T (&from)[Size]) { std::copy(std::begin(from), std::end(from), std::begin(value)); }

  T value[Size];
};

// What comes between a producer and a sink in a run: which elements pass, and what ended an attempt before its time.
template <class Sink, class Rule>
class PushStream {
 public:
  enum class End : unsigned char {
    none,
    consumer,   // wants no more
    cut_short,  // a stop, or the budget is gone
    failed,     // an element was an expected-like with an error, or the predicate of committing() threw
    sink_threw,
  };

  PushStream(Engine& run, Sink& sink, Rule rule) noexcept : run_(run), sink_(sink), rule_(rule) {}

  void begin_attempt() noexcept {
    end_ = End::none;
    open_ = true;
    failure_.clear();
    if constexpr (Rule::holds) rule_.begin_attempt();
  }
  // Before the attempt's context ends: what is held back may refer to it. From here on emit() does nothing.
  void end_attempt() noexcept {
    open_ = false;
    if constexpr (Rule::holds) held_.clear();
  }

  [[nodiscard]] End end() const noexcept { return end_; }

  // True while the consumer wants more, and may have it.
  template <class X>
  bool take(X&& element) {
    if (!open_) return false;
    if constexpr (ResultType<X>) {
      if (detail::carries_error<X>(element, failure_.room())) return fail();
    }
    if constexpr (Rule::holds) {
      if (!commits(element)) {
        if (!open_) return false;
        hold(std::forward<X>(element));
        return resume();
      }
      if (!release()) return false;
    }
    return give(std::forward<X>(element));
  }

  // Gives what was held back. False: the consumer wants no more, or may not have it.
  bool release() {
    if constexpr (Rule::holds) {
      for (HeldBack<Element> held = held_.take(); !held.empty(); held.drop_front()) {  // a sink may come back to emit()
        if (!open_ || !held.front().give_to(*this)) return false;
      }
    }
    return open_;
  }

  // Of End::failed.
  [[nodiscard]] FailureKeeper& failure() noexcept { return failure_; }

#if PLANB_HAS_EXCEPTIONS
  [[noreturn]] void rethrow_sinks() { std::rethrow_exception(std::exchange(thrown_, nullptr)); }
#endif

 private:
  struct Element {
    Element() = default;
    Element(const Element&) = delete;
    Element& operator=(const Element&) = delete;
    virtual ~Element() = default;
    virtual bool give_to(PushStream& stream) = 0;
  };

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
    held_.keep(std::make_unique<Kept>(std::forward<X>(element)));
  }

  template <class X>
  [[nodiscard]] bool commits(const X& element) {
    bool commits = false;
    if (!detail::is_answered(failure_.room(), [&] { commits = rule_.commits(element); })) return fail();
    return commits;
  }

  template <class X>
  bool give(X&& element) {
    if (!run_.deliver()) return stop(End::cut_short);
    if (!call_sink(std::forward<X>(element))) return stop(End::consumer);
    return resume();
  }

  bool resume() { return run_.resume() || stop(End::cut_short); }

  bool fail() noexcept {
    failure_.filled();
    return stop(End::failed);
  }
  bool stop(End end) noexcept {
    end_ = end;
    open_ = false;
    return false;
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
      thrown_ = std::current_exception();
      if (thrown_ != nullptr) stop(End::sink_threw);
      throw;
    }
#endif
  }

  Engine& run_;
  Sink& sink_;
  [[no_unique_address]] Rule rule_;
  End end_ = End::none;
  bool open_ = false;  // elements may pass
  FailureKeeper failure_;
#if PLANB_HAS_EXCEPTIONS
  std::exception_ptr thrown_;
#endif
  struct Nothing {};
  [[no_unique_address]] std::conditional_t<Rule::holds, HeldBack<Element>, Nothing> held_;
};

}  // namespace detail

// Give an element to the consumer: emit(x). It says whether the consumer wants more; false also where the run was
// stopped or is out of budget. The producer should return then; further elements go nowhere. What the sink throws comes
// out of emit() and ends the run, whatever the producer does with it. An x that is an expected-like with an error is
// not an element: the attempt has failed with that error.
// May be copied (also into a std::function<bool(X)>); for one thread at a time, until the producer returns.
template <class Stream>
class Emit {
 public:
  explicit Emit(Stream& stream) noexcept : stream_(std::addressof(stream)) {}

  template <class X>
  bool operator()(X&& element) const {
    return stream_->take(std::forward<X>(element));
  }

 private:
  Stream* stream_;
};

}  // namespace planb::inline PLANB_ABI
