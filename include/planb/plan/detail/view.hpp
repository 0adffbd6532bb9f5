// Types that are to be looked at with suspicion: views, which refer to what somebody else owns, and what is to be awaited.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/result_traits.hpp>

#include <string_view>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// Refers to elements that it does not own: std::string_view, std::span, and what else says so of itself.
template <class T>
constexpr bool is_view = std::ranges::enable_borrowed_range<T>;

// A Ctx made of what a factory gives by value would refer to a temporary.
template <class Made, class Ctx>
constexpr bool views_temporary = is_view<Ctx> && !std::is_lvalue_reference_v<Made> &&
                                 std::is_class_v<std::remove_cvref_t<Made>> && !is_view<std::remove_cvref_t<Made>>;

template <class R>
concept HasAwaiter = requires(R& r) { r.await_ready(); }
#if defined(__cpp_impl_coroutine)
                     || requires(R& r) { static_cast<R&&>(r).operator co_await(); } ||
                     requires(R& r) { operator co_await(static_cast<R&&>(r)); }
#endif
;
template <class R>
concept CoroutineObject = requires { typename R::promise_type; } && !requires(R& r) { r.begin(); };
template <class R>
concept FutureLike = requires(R& r) {
  r.get();
  r.wait();
  r.valid();
};
template <class R>
concept Sender = requires { typename R::sender_concept; };

// Not an answer yet: a task, a future, a sender.
template <class R>
constexpr bool is_awaited = std::is_class_v<R> && (HasAwaiter<R> || CoroutineObject<R> || FutureLike<R> || Sender<R>);

// The same, also where it is in an expected-like.
template <class R>
struct gives_awaited : std::bool_constant<is_awaited<std::remove_cvref_t<R>>> {};
template <ResultType R>
struct gives_awaited<R>
    : std::bool_constant<is_awaited<std::remove_cvref_t<R>> || is_awaited<std::remove_cvref_t<ResultValue<R>>>> {};

}  // namespace planb::inline PLANB_ABI::detail
