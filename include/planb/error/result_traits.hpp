// Return types that carry errors: how planb tells success from failure in them, and how it gives them back.
#pragma once

#include <planb/detail/config.hpp>

#include <concepts>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

namespace detail {

template <class R>
concept ExpectedLike = std::is_class_v<R> && requires(R& r) {
  { r.has_value() } -> std::same_as<bool>;
  r.error();
} && (requires(R& r) { *r; } || requires(R& r) { r.value(); } || std::is_void_v<typename R::value_type>);

template <class R>
concept StatusOrLike = std::is_class_v<R> && !ExpectedLike<R> && requires(R& r) {
  { r.ok() } -> std::same_as<bool>;
  r.status();
  *r;
  requires std::is_class_v<std::remove_cvref_t<decltype(r.status())>>;
};

// std::error_code, std::error_condition and their like, as a result: unset is a success.
template <class R>
concept ErrorCodeLike = std::is_class_v<R> && !ExpectedLike<R> && !StatusOrLike<R> && requires(const R& r) {
  static_cast<bool>(r);
  { r.value() } -> std::same_as<int>;
  r.category().name();
  { r.message() } -> std::convertible_to<std::string>;
};

}  // namespace detail

// Customisation point: which return types carry errors. Without a specialisation, expected-likes (`has_value()`,
// `error()`, `operator*`) and StatusOr-likes (`ok()`, `status()` of class type, `operator*`) are found, and a
// std::error_code, std::error_condition or std::errc, which is a failure where it is set. Everything else is a plain value. A specialisation has these static members (R as an lvalue or an rvalue):
//   bool has_value(const R&);
//   E error(R&&);            the error by value or by reference
//   V value(R&&);            the value by value or by reference; void where there is none
//   R from_error(E2&&);      optional: builds R from an error of type E2, constrained to what it takes
template <class R>
struct result_traits {};

template <detail::ExpectedLike R>
struct result_traits<R> {
  [[nodiscard]] static bool has_value(const R& r) noexcept(noexcept(r.has_value())) { return r.has_value(); }

  template <class Self>
  [[nodiscard]] static decltype(auto) error(Self&& r) {
    return std::forward<Self>(r).error();
  }

  template <class Self>
  static decltype(auto) value(Self&& r) {
    if constexpr (requires { *std::forward<Self>(r); }) {
      return *std::forward<Self>(r);
    } else if constexpr (requires { std::forward<Self>(r).value(); }) {
      return std::forward<Self>(r).value();
    }
  }

  template <class E>
    requires requires { typename R::unexpected_type; } &&
             std::is_constructible_v<typename R::unexpected_type, E &&> &&
             std::is_constructible_v<R, typename R::unexpected_type>
  [[nodiscard]] static R from_error(E&& e) {
    return R(typename R::unexpected_type(std::forward<E>(e)));
  }

  // For expected-likes without an unexpected_type: their own constructor, where it can only mean the error.
  template <class E>
    requires(!requires { typename R::unexpected_type; } && std::is_constructible_v<R, E &&> &&
             std::is_same_v<std::remove_cvref_t<decltype(std::declval<R&>().error())>, std::remove_cvref_t<E>> &&
             !std::is_constructible_v<std::remove_cvref_t<decltype(value(std::declval<R&>()))>, E &&>)
  [[nodiscard]] static R from_error(E&& e) {
    return R(std::forward<E>(e));
  }
};

template <detail::StatusOrLike R>
struct result_traits<R> {
  [[nodiscard]] static bool has_value(const R& r) noexcept(noexcept(r.ok())) { return r.ok(); }

  template <class Self>
  [[nodiscard]] static decltype(auto) error(Self&& r) {
    return std::forward<Self>(r).status();
  }

  template <class Self>
  static decltype(auto) value(Self&& r) {
    return *std::forward<Self>(r);
  }

  template <class E>
    requires(std::is_constructible_v<R, E &&> &&
             std::is_same_v<std::remove_cvref_t<decltype(std::declval<R&>().status())>, std::remove_cvref_t<E>>)
  [[nodiscard]] static R from_error(E&& e) {
    return R(std::forward<E>(e));
  }
};

template <detail::ErrorCodeLike R>
struct result_traits<R> {
  [[nodiscard]] static bool has_value(const R& r) { return !static_cast<bool>(r); }
  [[nodiscard]] static R error(const R& r) { return r; }
  static void value(const R&) noexcept {}
  [[nodiscard]] static R from_error(std::same_as<R> auto error) { return error; }
};

template <std::same_as<std::errc> R>
struct result_traits<R> {
  [[nodiscard]] static bool has_value(R r) noexcept { return r == R(); }
  [[nodiscard]] static R error(R r) noexcept { return r; }
  static void value(R) noexcept {}
  [[nodiscard]] static R from_error(R error) noexcept { return error; }
};

namespace detail {

// R, or what R refers to, is a type that carries errors.
template <class R>
concept ResultType = !std::is_void_v<R> && requires(const std::remove_cvref_t<R>& r) {
  { result_traits<std::remove_cvref_t<R>>::has_value(r) } -> std::convertible_to<bool>;
};

template <class R>
[[nodiscard]] bool has_value(const R& r) {
  return static_cast<bool>(result_traits<R>::has_value(r));
}

template <ResultType R>
using ResultError =
    std::remove_cvref_t<decltype(result_traits<std::remove_cvref_t<R>>::error(std::declval<std::remove_cvref_t<R>>()))>;

template <ResultType R>
using ResultValue = std::remove_cvref_t<decltype(result_traits<std::remove_cvref_t<R>>::value(
    std::declval<std::remove_cvref_t<R>>()))>;

template <class R, class E>
concept BuildsFromError = !std::is_reference_v<R> && requires(E&& e) {
  { result_traits<R>::from_error(std::forward<E>(e)) } -> std::same_as<R>;
};

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
