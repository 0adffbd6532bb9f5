// SPDX-License-Identifier: MIT
// Types that are to be looked at with suspicion: what refers to what somebody else owns.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/detail/awaited.hpp>
#include <planb/error/result_traits.hpp>

#include <initializer_list>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

template <class T>
constexpr bool is_reference_wrapper = false;
template <class T>
  requires requires(T& t) {
    { t.get() } -> std::same_as<typename T::type&>;
    requires std::is_convertible_v<T&, typename T::type&>;
  }
constexpr bool is_reference_wrapper<T> = !std::is_function_v<typename T::type>;

// What counts, as std::views::iota does, gives numbers that nobody else owns.
template <class T>
constexpr bool gives_numbers = std::is_arithmetic_v<T> || std::is_enum_v<T>;

// Refers to elements that it does not own: std::string_view, std::span, and what else says so of itself.
template <class T>
concept ViewLike = std::ranges::enable_borrowed_range<T> && !requires(T& t) {
  requires gives_numbers<decltype(*t.begin())>;
};
template <class T>
concept IteratorLike = requires(T& t) {
  typename std::iterator_traits<T>::iterator_category;
  requires std::is_reference_v<decltype(*t)>;
  ++t;
};

template <class T>
struct refers_itself : std::bool_constant<std::is_reference_v<T>> {};
template <class T>
  requires(!std::is_reference_v<T> && std::is_pointer_v<T>)
struct refers_itself<T> : std::bool_constant<!std::is_function_v<std::remove_pointer_t<T>>> {};
template <class T>
  requires(!std::is_reference_v<T> && std::is_class_v<T>)
struct refers_itself<T> : std::bool_constant<ViewLike<T> || is_reference_wrapper<T> || IteratorLike<T>> {};
template <class E>
struct refers_itself<std::initializer_list<E>> : std::true_type {};
// A view made of others: std::views::transform over a std::span.
template <template <class...> class V, class... Ts>
  requires(std::ranges::enable_view<V<Ts...>> && !ViewLike<V<Ts...>>)
struct refers_itself<V<Ts...>> : std::bool_constant<(refers_itself<Ts>::value || ...)> {};

// Refers to what it does not own, or contains what does: pointers, references, views, iterators, in optionals, tuples,
// variants, containers and expected-likes too.
template <class T>
constexpr bool refers_elsewhere = detail::any_within<refers_itself, T>();
template <class T>
  requires std::is_reference_v<T>
constexpr bool refers_elsewhere<T> = true;

// A To made of a From that is given by value would refer to a temporary.
template <class From, class To>
constexpr bool views_temporary = false;
template <class From, class To>
  requires(!std::is_lvalue_reference_v<From> && std::is_class_v<std::remove_cvref_t<From>> &&
           !std::is_empty_v<std::remove_cvref_t<From>>)
constexpr bool views_temporary<From, To> =
    refers_elsewhere<std::remove_cv_t<To>> && !refers_elsewhere<std::remove_cvref_t<From>>;

// Made is an lvalue of what Ctx refers to.
template <class Made, class Ctx>
concept IsReferent = std::is_lvalue_reference_v<Made> && std::is_lvalue_reference_v<Ctx> &&
                     std::is_convertible_v<std::remove_reference_t<Made>*, std::remove_reference_t<Ctx>*>;

// A reference must refer to something that is there already, not to a temporary.
template <class Made, class Ctx>
concept RefersTo = IsReferent<Made, Ctx> || requires(Made&& made) {  // std::reference_wrapper
  requires IsReferent<decltype(made.get()), Ctx>;
  requires std::is_convertible_v<Made, Ctx>;
};

}  // namespace planb::inline PLANB_ABI::detail
