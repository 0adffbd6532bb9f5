// SPDX-License-Identifier: MIT
// committing(producer_or_source, predicate, prelude_limit): a stream with a say in which elements count as output.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/invoke.hpp>
#include <planb/error/accepting.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

template <class F, class P>
struct Committing {
  F fn;
  P commits;
  std::size_t prelude_limit;
};

namespace detail {

template <class F>
constexpr bool is_committing = false;
template <class F, class P>
constexpr bool is_committing<Committing<F, P>> = true;

}  // namespace detail

// `predicate` is asked with the elements of an attempt until it says true for one: with that one the output begins. The
// elements before it (a usage or role event) are held back, and dropped when the attempt fails, so that a failure then
// is one before output. They reach the consumer before the first that counts; or when the stream ends without any; or
// when there are more of them than `prelude_limit`, which is then where the output begins. They are kept by value: an
// element that is a view or a proxy must outlive the next one. A predicate that throws ends the run, as any rule of the
// plan. Use the result in place of the producer or the source.
template <class F, class P>
[[nodiscard]] auto committing(F&& producer_or_source, P&& predicate, std::size_t prelude_limit) {
  if constexpr (detail::is_accepting<std::remove_cvref_t<F>>) {
    return planb::accepting(
        planb::committing(std::forward<F>(producer_or_source).fn, std::forward<P>(predicate), prelude_limit),
        std::forward<F>(producer_or_source).accepts);
  } else {
    static_assert(!detail::is_committing<std::remove_cvref_t<F>>, "planb: committing() is given once");
    return Committing<std::decay_t<F>, std::decay_t<P>>{std::forward<F>(producer_or_source), std::forward<P>(predicate),
                                                        prelude_limit};
  }
}

namespace detail {

// The part of a producer or a source that makes the call.
template <class F>
[[nodiscard]] constexpr auto& stream_target(F& fn) noexcept {
  auto& inner = detail::call_target(fn);
  if constexpr (is_committing<std::remove_cvref_t<decltype(inner)>>) {
    return inner.fn;
  } else {
    return inner;
  }
}

template <class F>
using StreamTarget = std::remove_reference_t<decltype(detail::stream_target(std::declval<F&>()))>;

// Where an attempt's output begins.
struct CommitAtOnce {
  static constexpr bool holds = false;
};

template <class P>
class CommitRule {
 public:
  static constexpr bool holds = true;

  CommitRule(P& commits, std::size_t limit) noexcept : commits_(commits), limit_(limit) {}

  void begin_attempt() noexcept {
    committed_ = false;
    held_ = 0;
  }

  // False: the element is to be held back.
  template <class X>
  [[nodiscard]] bool commits(const X& element) {
    static_assert(std::is_invocable_r_v<bool, P&, const X&>,
                  "planb: the predicate of committing() must take an element by const reference and return bool");
    if (committed_ || held_ == limit_ || static_cast<bool>(detail::invoke_lvalue(commits_, element))) {
      committed_ = true;
      return true;
    }
    ++held_;
    return false;
  }

 private:
  P& commits_;
  const std::size_t limit_;
  std::size_t held_ = 0;
  bool committed_ = false;
};
template <class P>
CommitRule(P&, std::size_t) -> CommitRule<P>;

// The rule of a producer or a source.
template <class F>
[[nodiscard]] auto commit_rule([[maybe_unused]] F& fn) {
  auto& inner = detail::call_target(fn);
  if constexpr (is_committing<std::remove_cvref_t<decltype(inner)>>) {
    return CommitRule(inner.commits, inner.prelude_limit);
  } else {
    return CommitAtOnce{};
  }
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
