// SPDX-License-Identifier: MIT
// Results that are no answers yet: tasks, futures, senders, generators.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/answer.hpp>
#include <planb/error/result_traits.hpp>

#include <chrono>
#include <cstddef>
#include <type_traits>
#include <utility>
#if defined(__cpp_impl_coroutine)
#include <coroutine>
#endif

namespace planb::inline PLANB_ABI::detail {

template <class R>
concept HasAwaiter = requires(R& r) { r.await_ready(); }
#if defined(__cpp_impl_coroutine)
                     || requires(R& r) { static_cast<R&&>(r).operator co_await(); } ||
                     requires(R& r) { r.operator co_await(); } ||
                     requires(R& r) { operator co_await(static_cast<R&&>(r)); } ||
                     requires(R& r) { operator co_await(r); }
#endif
;
template <class R>
concept CoroutineResult = requires { typename R::promise_type; }
#if defined(__cpp_impl_coroutine)
                          || requires { typename std::coroutine_traits<R>::promise_type; }
#endif
;
template <class R>
concept HasBegin = requires(R& r) { r.begin(); };
template <class R>
concept FutureLike = (requires(R& r) { r.get(); } || requires(R& r) { static_cast<R&&>(r).get(); }) &&
                     (requires(R& r) { r.wait(); } || requires(R& r) { static_cast<R&&>(r).wait(); }) &&
                     (requires(R& r) { r.valid(); } || requires(R& r) { r.is_done(); });
template <class R>
concept Sender = requires { typename R::sender_concept; } || requires { typename R::is_sender; } ||
                 requires { typename R::completion_signatures; } || requires { R::sends_done; };

// "co_await 100ms" makes no task of a duration.
template <class R>
constexpr bool is_time = false;
template <class Rep, class Period>
constexpr bool is_time<std::chrono::duration<Rep, Period>> = true;
template <class Clock, class Duration>
constexpr bool is_time<std::chrono::time_point<Clock, Duration>> = true;

template <class R>
constexpr bool is_awaitable_answer = is_time<R> || is_answer<R>;

// Not an answer yet: a task, a future, a sender.
template <class R>
constexpr bool is_awaited = !is_awaitable_answer<R> &&
                            (HasAwaiter<R> || (CoroutineResult<R> && !HasBegin<R>) || FutureLike<R> || Sender<R>);
// Runs while it is read.
template <class R>
constexpr bool is_generator = !is_awaitable_answer<R> && CoroutineResult<R> && HasBegin<R>;

// Not by concepts: what a pointer refers to may be complete later.
template <class T, class = void>
constexpr bool is_complete_class = false;
template <class T>
constexpr bool is_complete_class<T, std::void_t<decltype(sizeof(T))>> = std::is_class_v<T>;

template <class R>
concept OptionalLike = requires(R& r) {
  typename R::value_type;
  r.has_value();
  *r;
};
template <class R>
concept OwnerLike = requires(R& r) {  // unique_ptr, shared_ptr
  requires std::is_pointer_v<decltype(r.get())>;
  *r;
};
template <class R>
concept TupleLike = requires { std::tuple_size<R>::value; };
template <class R>
concept VariantLike = requires(const R& r) {
  r.valueless_by_exception();
  r.index();
};
template <class R>
concept RangeLike = requires(R& r) {
  *r.begin();
  r.end();
};

// Asks `Is` of a class, and else of what is in it: the values of expected-likes, optionals, owners, tuples, variants and
// containers. Some classes contain themselves: so not too deep.
template <template <class> class Is, class R, int Depth = 4>
constexpr bool any_within();

template <template <class> class Is, class R, int Depth, std::size_t... I>
constexpr bool any_in_tuple(std::index_sequence<I...>) {
  return (detail::any_within<Is, std::tuple_element_t<I, R>, Depth>() || ...);
}
template <template <class> class Is, int Depth, class R>
struct any_in_variant : std::false_type {};
template <template <class> class Is, int Depth, template <class...> class V, class... Ts>
struct any_in_variant<Is, Depth, V<Ts...>> : std::bool_constant<(detail::any_within<Is, Ts, Depth>() || ...)> {};

// An expected-like can often be awaited too, in a coroutine of its own: it is an answer, whatever it can do besides.
template <template <class> class Is, class Given, int Depth>
constexpr bool any_within() {
  using R = std::remove_cvref_t<Given>;
  if constexpr (Depth == 0 || !is_complete_class<R>) {
    return Is<Given>::value;
  } else if constexpr (ResultType<R>) {
    return detail::any_within<Is, ResultValue<R>, Depth - 1>();
  } else if constexpr (OptionalLike<R>) {
    return detail::any_within<Is, typename R::value_type, Depth - 1>();
  } else if constexpr (Is<Given>::value) {
    return true;
  } else if constexpr (OwnerLike<R>) {
    return detail::any_within<Is, std::remove_cvref_t<decltype(*std::declval<R&>())>, Depth - 1>();
  } else if constexpr (TupleLike<R>) {
    return detail::any_in_tuple<Is, R, Depth - 1>(std::make_index_sequence<std::tuple_size<R>::value>());
  } else if constexpr (VariantLike<R>) {
    return any_in_variant<Is, Depth - 1, R>::value;
  } else if constexpr (RangeLike<R>) {
    return detail::any_within<Is, std::remove_cvref_t<decltype(*std::declval<R&>().begin())>, Depth - 1>();
  } else {
    return false;
  }
}

template <class R, class = void>
struct awaited_class : std::false_type {};
template <class R>
struct awaited_class<R, std::enable_if_t<is_complete_class<std::remove_cvref_t<R>>>>
    : std::bool_constant<is_awaited<std::remove_cvref_t<R>>> {};
template <class R>
using awaited_test = awaited_class<R>;
template <class R, class = void>
struct generator_class : std::false_type {};
template <class R>
struct generator_class<R, std::enable_if_t<is_complete_class<std::remove_cvref_t<R>>>>
    : std::bool_constant<is_generator<std::remove_cvref_t<R>>> {};
template <class R>
using generator_test = generator_class<R>;

// Of what a callable returned: not an answer, nor does it contain only answers.
template <class R>
struct gives_awaited : std::bool_constant<detail::any_within<awaited_test, R>()> {
  static_assert(!detail::any_within<generator_test, R>(),
                "planb: the callable returns a generator, which begins when it is read: its attempt would be over "
                "before it has begun. Use stream_with_plan, or read it in the callable");
};

}  // namespace planb::inline PLANB_ABI::detail
