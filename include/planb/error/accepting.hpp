// SPDX-License-Identifier: MIT
// accepting(fn, predicate): a callable with a check on the value that it returns.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/invoke.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/result_traits.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

template <class F, class P>
struct Accepting {
  F fn;
  P accepts;
};

// `predicate` is asked with each value that `fn` returns, or with the value inside an expected-like. `false` makes the
// attempt a failure of kind CauseKind::rejected, with the value in its cause; so does a Verdict, which then stands
// before the step's classifier. It returns bool, or std::optional<Verdict> where none accepts. Use the result in place
// of `fn`: run_with_plan(plan, accepting(fn, predicate)).
template <class F, class P>
[[nodiscard]] Accepting<std::decay_t<F>, std::decay_t<P>> accepting(F&& fn, P&& predicate) {
  return {std::forward<F>(fn), std::forward<P>(predicate)};
}

namespace detail {

template <class F>
constexpr bool is_accepting = false;
template <class F, class P>
constexpr bool is_accepting<Accepting<F, P>> = true;

// The part of a callable that makes the call.
template <class F>
[[nodiscard]] constexpr auto& call_target(F& fn) noexcept {
  if constexpr (is_accepting<std::remove_const_t<F>>) {
    return fn.fn;
  } else {
    return fn;
  }
}

// Why a value was refused: nothing where it was accepted.
struct Acceptance {
  bool refused = false;
  std::optional<Verdict> verdict = std::nullopt;
};

template <class P, class V>
[[nodiscard]] Acceptance ask_acceptance(P& accepts, const V& value) {
  static_assert(std::is_invocable_v<P&, const V&>,
                "planb: the predicate of accepting() must take the callable's value by const reference");
  using Said = std::remove_cvref_t<std::invoke_result_t<P&, const V&>>;
  static_assert(
      std::is_same_v<Said, Verdict> || std::is_same_v<Said, std::optional<Verdict>> ||
          std::is_convertible_v<Said, bool>,
      "planb: the predicate of accepting() returns bool, or std::optional<planb::Verdict> where none accepts");
  if constexpr (std::is_same_v<Said, Verdict>) {
    return {true, detail::invoke_lvalue(accepts, value)};
  } else if constexpr (std::is_same_v<Said, std::optional<Verdict>>) {
    const std::optional<Verdict> verdict = detail::invoke_lvalue(accepts, value);
    return {verdict.has_value(), verdict};
  } else {
    return {!static_cast<bool>(detail::invoke_lvalue(accepts, value)), std::nullopt};
  }
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
