// SPDX-License-Identifier: MIT
// Calls a callable as an lvalue; members of a class as well. Cheaper to include than std::invoke.
#pragma once

#include <planb/detail/config.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

template <class M, class C, class Arg, class... Args>
decltype(auto) invoke_member(M C::*member, Arg&& object, Args&&... args) {
  if constexpr (!std::is_base_of_v<C, std::remove_cvref_t<Arg>>) {
    if constexpr (requires { { object.get() } -> std::convertible_to<const volatile C&>; }) {  // std::reference_wrapper
      return detail::invoke_member(member, object.get(), std::forward<Args>(args)...);
    } else {
      return detail::invoke_member(member, *std::forward<Arg>(object), std::forward<Args>(args)...);
    }
  } else if constexpr (std::is_function_v<M>) {
    return (std::forward<Arg>(object).*member)(std::forward<Args>(args)...);
  } else {
    return std::remove_cv_t<M>(object.*member);  // a reference would outlive an attempt's context
  }
}

template <class F, class... Args>
decltype(auto) invoke_lvalue(F& fn, Args&&... args) {
  if constexpr (std::is_member_pointer_v<std::remove_const_t<F>>) {
    return detail::invoke_member(fn, std::forward<Args>(args)...);
  } else {
    return fn(std::forward<Args>(args)...);
  }
}

}  // namespace planb::inline PLANB_ABI::detail
