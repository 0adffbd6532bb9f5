// SPDX-License-Identifier: MIT
// What stands between a producer and a sink in a run, whichever way they are called: which elements count as output,
// and what ended an attempt before its time.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/error/detail/failure_room.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
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

template <class Rule>
class PushState {
 public:
  enum class End : unsigned char {
    none,
    consumer,   // wants no more
    cut_short,  // a stop, or the budget is gone
    failed,     // an element was an expected-like with an error, or the predicate of committing() threw
    sink_threw,
  };

  [[nodiscard]] End end() const noexcept { return end_; }

  // Of End::failed.
  [[nodiscard]] FailureKeeper& failure() noexcept { return failure_; }

#if PLANB_HAS_EXCEPTIONS
  [[noreturn]] void rethrow_sinks() { std::rethrow_exception(std::exchange(thrown_, nullptr)); }
#endif

 protected:
  PushState(Engine& run, Rule rule) noexcept : run_(run), rule_(rule) {}

  void begin() noexcept {
    end_ = End::none;
    open_ = true;
    failure_.clear();
    if constexpr (Rule::holds) rule_.begin_attempt();
  }

  template <class X>
  [[nodiscard]] bool commits(const X& element) {
    bool commits = false;
    if (!detail::is_answered(failure_.room(), [&] { commits = rule_.commits(element); })) return fail();
    return commits;
  }

  bool deliver() { return run_.deliver() || stop(End::cut_short); }
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
#if PLANB_HAS_EXCEPTIONS
  // Within a handler.
  void keep_sinks() noexcept {
    thrown_ = std::current_exception();
    if (thrown_ != nullptr) stop(End::sink_threw);
  }
#endif

  Engine& run_;
  [[no_unique_address]] Rule rule_;
  End end_ = End::none;
  bool open_ = false;  // elements may pass
  FailureKeeper failure_;
#if PLANB_HAS_EXCEPTIONS
  std::exception_ptr thrown_;
#endif
};

}  // namespace planb::inline PLANB_ABI::detail
