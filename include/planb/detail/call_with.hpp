// How a user's callable is called: with its attempt, if it takes that.
#pragma once

#include <planb/accepting.hpp>
#include <planb/attempt.hpp>
#include <planb/detail/config.hpp>
#include <planb/detail/invoke.hpp>

#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// Calls fn(args..., attempt) where it takes that, else fn(args...); members of a context as well. Always an lvalue.
template <class F, class... Args>
concept CallableWith = std::is_invocable_v<F&, Args..., const Attempt&> || std::is_invocable_v<F&, Args...>;

// Not by way of invoke_lvalue(): GCC copies what is returned once more for each function that hands it on.
template <class F, class... Args>
decltype(auto) call_with(F& fn, const Attempt& attempt, Args&&... args) {
  constexpr bool takes_attempt = std::is_invocable_v<F&, Args..., const Attempt&>;
  if constexpr (std::is_member_pointer_v<std::remove_const_t<F>>) {
    if constexpr (takes_attempt) {
      return detail::invoke_member(fn, std::forward<Args>(args)..., attempt);
    } else {
      return detail::invoke_member(fn, std::forward<Args>(args)...);
    }
  } else if constexpr (takes_attempt) {
    return fn(std::forward<Args>(args)..., attempt);
  } else {
    return fn(std::forward<Args>(args)...);
  }
}

template <class F>
using CallTarget = std::remove_reference_t<decltype(detail::call_target(std::declval<std::remove_reference_t<F>&>()))>;

}  // namespace planb::inline PLANB_ABI::detail
