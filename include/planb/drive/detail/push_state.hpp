// SPDX-License-Identifier: MIT
// What stands between a producer and a sink in a run, whichever way they are called: which elements count as output,
// and what ended an attempt before its time.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/drive/detail/held_back.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/error/detail/failure_room.hpp>
#include <planb/error/result_traits.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

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

// An element that is held back, of whatever type.
template <class Stream, class Given>
struct HeldElement {
  HeldElement() = default;
  HeldElement(const HeldElement&) = delete;
  HeldElement& operator=(const HeldElement&) = delete;
  virtual ~HeldElement() = default;
  virtual Given give_to(Stream& stream) = 0;
};

// `Held`: the HeldElement of the stream that derives from this.
template <class Rule, class Held>
class PushState {
 public:
  enum class End : unsigned char {
    none,
    consumer,   // wants no more
    cut_short,  // a stop, or the budget is gone
    failed,     // an element was an expected-like with an error, or the predicate of committing() threw
    sink_threw,
  };

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

  // Of End::failed.
  [[nodiscard]] FailureKeeper& failure() noexcept { return failure_; }

#if PLANB_HAS_EXCEPTIONS
  [[noreturn]] void rethrow_sinks() { std::rethrow_exception(std::exchange(thrown_, nullptr)); }
#endif

 protected:
  PushState(Engine& run, Rule rule) noexcept : rule_(rule), run_(run) {}

  enum class Pass : unsigned char { refused, held_back, given };

  // What becomes of an element. `X` as for carries_error().
  template <class X>
  [[nodiscard]] Pass admit(std::remove_reference_t<X>& element) {
    if (!open_) return Pass::refused;
    if constexpr (ResultType<X>) {
      if (detail::carries_error<X>(element, failure_.room())) return fail();
    }
    if constexpr (Rule::holds) {
      bool commits = false;
      const auto ask = [&] { commits = rule_.commits(std::as_const(element)); };
      if (!detail::is_answered(failure_.room(), ask)) return fail();
      if (!open_) return Pass::refused;  // the predicate came back to emit(), and that ended it
      if (!commits) return Pass::held_back;
    }
    return Pass::given;
  }

  // Before an element is given, and when one was kept or its consumer is done with it. False: no more may pass.
  bool deliver() { return run_.deliver() || stop(End::cut_short); }
  bool resume() { return run_.resume() || stop(End::cut_short); }
  bool resume(bool wants_more) { return wants_more ? resume() : stop(End::consumer); }

  bool stop(End end) noexcept {
    end_ = end;
    open_ = false;
    return false;
  }
#if PLANB_HAS_EXCEPTIONS
  // Within a handler.
  void keep_sinks() noexcept {
    thrown_ = std::current_exception();
    if (thrown_ != nullptr) stop(End::sink_threw);
  }
#endif

  [[no_unique_address]] Rule rule_;
  End end_ = End::none;
  bool open_ = false;  // elements may pass
  FailureKeeper failure_;
#if PLANB_HAS_EXCEPTIONS
  std::exception_ptr thrown_;
#endif
  struct Nothing {};
  [[no_unique_address]] std::conditional_t<Rule::holds, HeldBack<Held>, Nothing> held_;

 private:
  Pass fail() noexcept {
    failure_.filled();
    stop(End::failed);
    return Pass::refused;
  }

  Engine& run_;
};

}  // namespace planb::inline PLANB_ABI::detail
