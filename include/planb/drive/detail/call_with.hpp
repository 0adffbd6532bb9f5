// SPDX-License-Identifier: MIT
// How a user's callable is called: with its attempt, if it takes that.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/invoke.hpp>
#include <planb/error/accepting.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/detail/view.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// A member of the context as the callable, by itself or as std::mem_fn keeps it.
template <class F>
constexpr bool is_member_call = std::is_member_function_pointer_v<F>;
template <template <class...> class MemFn, class Member>
  requires std::is_member_pointer_v<Member>
constexpr bool is_member_call<MemFn<Member>> = true;

// Whether an F can be called with these. What std::mem_fn of libc++ 19 gives does not compile where it is asked with more
// than it takes: there its member is asked.
template <class F, class... Args>
constexpr bool takes = std::is_invocable_v<F&, Args...>;
#if defined(_LIBCPP_VERSION)
template <template <class...> class MemFn, class Member, class... Args>
  requires std::is_member_pointer_v<Member>
constexpr bool takes<MemFn<Member>, Args...> = std::is_invocable_v<const Member&, Args...>;
template <template <class...> class MemFn, class Member, class... Args>
  requires std::is_member_pointer_v<Member>
constexpr bool takes<const MemFn<Member>, Args...> = std::is_invocable_v<const Member&, Args...>;
#endif

// Calls fn(args..., attempt) where it takes that, else fn(args...); members of a context as well. Always an lvalue.
template <class F, class... Args>
concept CallableWith = takes<F, Args..., const Attempt&> || takes<F, Args...>;

// Not by way of invoke_lvalue(): GCC copies what is returned once more for each function that hands it on.
template <class F, class... Args>
decltype(auto) call_with(F& fn, const Attempt& attempt, Args&&... args) {
  constexpr bool takes_attempt = takes<F, Args..., const Attempt&>;
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

// A context that the plan makes for an attempt and ends with it; not one that refers to what is elsewhere.
template <class Ctx>
constexpr bool ends_with_attempt = !std::is_reference_v<Ctx> && !std::is_pointer_v<Ctx> && !is_reference_wrapper<Ctx>;

template <class Ctx, class F>
constexpr bool is_getter = is_member_call<std::remove_const_t<F>> && ends_with_attempt<Ctx>;

// What is left of an attempt whose callable gave a Raw: that, but a copy where a member function of the context gave a
// reference into it. A lambda says itself what it refers to.
template <class Ctx, class F, class Raw>
struct left_of_context {
  using type = Raw;
};
template <class Ctx, class F, class Raw>
  requires(is_getter<Ctx, F> && !std::is_void_v<Raw>)
struct left_of_context<Ctx, F, Raw> {
  using type = std::conditional_t<std::is_reference_v<Raw>, std::remove_cvref_t<Raw>, Raw>;
  static_assert(std::is_same_v<type, Raw> || std::is_constructible_v<type, Raw>,
                "planb: this member function returns a reference into the plan's context, which ends with the attempt, "
                "and what it refers to cannot be copied; hand over a lambda that returns what outlives the attempt");
  static_assert(!refers_elsewhere<std::remove_cv_t<type>>,
                "planb: this member function returns a pointer or a view into the plan's context, which ends with the "
                "attempt; hand over a lambda that returns what outlives it, such as a std::string");
};

template <class F>
using CallTarget = std::remove_reference_t<decltype(detail::call_target(std::declval<std::remove_reference_t<F>&>()))>;

}  // namespace planb::inline PLANB_ABI::detail
