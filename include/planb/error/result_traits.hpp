// SPDX-License-Identifier: MIT
// Return types that carry errors: how planb tells success from failure in them, and how it gives them back.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/error_traits.hpp>

#include <concepts>
#include <exception>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

namespace detail {

// What tells a success, said by a const R; and whether there is such a thing at all.
#define PLANB_DETAIL_TELLER(name, Tells, HasTeller)                              \
  template <class R>                                                             \
  concept Tells = requires(const R& r) { static_cast<bool>(r.name()); };         \
  template <class R>                                                             \
  concept HasTeller = Tells<R> || requires(R& r) { static_cast<bool>(r.name()); } || \
                      requires(R& r) { static_cast<bool>(static_cast<R&&>(r).name()); };
PLANB_DETAIL_TELLER(has_value, TellsValue, HasValueTeller)
PLANB_DETAIL_TELLER(has_error, TellsError, HasErrorTeller)
#undef PLANB_DETAIL_TELLER
template <class R>
concept HasOkTeller = TellsOk<R> || requires(R& r) { static_cast<bool>(r.ok()); } ||
                      requires(R& r) { static_cast<bool>(static_cast<R&&>(r).ok()); };

// What a result has inside, and how it is asked for it.
struct AskError {
  template <class R>
  constexpr auto operator()(R&& r) const -> decltype(std::forward<R>(r).error()) {
    return std::forward<R>(r).error();
  }
};
struct AskStatus {
  template <class R>
  constexpr auto operator()(R&& r) const -> decltype(std::forward<R>(r).status()) {
    return std::forward<R>(r).status();
  }
};
struct AskStar {
  template <class R>
  constexpr auto operator()(R&& r) const -> decltype(*std::forward<R>(r)) {
    return *std::forward<R>(r);
  }
};
struct AskValue {
  template <class R>
  constexpr auto operator()(R&& r) const -> decltype(std::forward<R>(r).value()) {
    return std::forward<R>(r).value();
  }
};

// Whether an R of any kind can be asked.
template <class Ask, class R>
concept CanAsk = std::is_invocable_v<Ask, R> || std::is_invocable_v<Ask, R&>;

template <class Ask, class R>
struct InsideResult : std::conditional_t<std::is_invocable_v<Ask, R>, std::invoke_result<Ask, R>,
                                   std::invoke_result<Ask, R&>> {};
template <class Ask, class R>
using InsideOf = std::remove_cvref_t<typename InsideResult<Ask, R>::type>;

// Whether this one can: as it is, as an lvalue, or else a copy of it.
template <class Ask, class Self>
concept MayAsk = std::is_invocable_v<Ask, Self> || std::is_invocable_v<Ask, std::remove_reference_t<Self>&> ||
                 (std::is_copy_constructible_v<std::remove_cvref_t<Self>> && CanAsk<Ask, std::remove_cvref_t<Self>>);

template <class Ask, class Self>
constexpr decltype(auto) ask_result(Self&& r) {
  using R = std::remove_cvref_t<Self>;
  if constexpr (std::is_invocable_v<Ask, Self>) {
    return Ask()(std::forward<Self>(r));
  } else if constexpr (std::is_invocable_v<Ask, std::remove_reference_t<Self>&>) {
    return Ask()(r);
  } else {  // a reference into the copy would dangle
    R copy(r);
    if constexpr (std::is_invocable_v<Ask, R>) {
      return static_cast<InsideOf<Ask, R>>(Ask()(std::move(copy)));
    } else {
      return static_cast<InsideOf<Ask, R>>(Ask()(copy));
    }
  }
}

template <class R>
concept HasErrorInside = CanAsk<AskError, R> && !std::is_void_v<InsideOf<AskError, R>>;
template <class R>
concept HasStatusInside = CanAsk<AskStatus, R> && std::is_class_v<InsideOf<AskStatus, R>>;
template <class R>
concept HasInside = CanAsk<AskStar, R> || CanAsk<AskValue, R>;

// std::error_code, std::error_condition and their like.
template <class R>
concept ErrorCodeLike = requires(const R& r) {
  static_cast<bool>(r);
  { r.value() } -> std::same_as<int>;
  r.category().name();
  { r.message() } -> std::convertible_to<std::string>;
};

// Says by a conversion which std::error_code it is. What converts to anything says nothing by that.
struct Anything {};
template <class R>
concept ConvertsToErrorCode = (std::is_convertible_v<const R&, std::error_code> ||
                               std::is_convertible_v<const R&, std::error_condition>) &&
                              !std::is_convertible_v<const R&, Anything>;

// How a return type that nobody has specialised result_traits for tells a failure.
enum class ResultShape : unsigned char {
  none,            // a plain value
  expected,        // has_value(), error()
  has_error,       // has_error(), error()
  status_or,       // ok(), status() of class type, and a value
  ok_error,        // ok(), error()
  bool_error,      // operator bool, error()
  error_code,      // as std::error_code: the error itself, from here on
  converts,        // to std::error_code
  status,          // as absl::Status, grpc::Status
  system_enum,     // of std::error_code or std::error_condition
  exception_ptr,
  unreadable,      // would tell, but cannot be asked
};

template <class R>
[[nodiscard]] constexpr ResultShape find_shape() {
  if constexpr (std::is_same_v<R, std::exception_ptr>) {
    return ResultShape::exception_ptr;
  } else if constexpr (is_system_enum<R>) {
    return ResultShape::system_enum;
  } else if constexpr (!std::is_class_v<R>) {
    return ResultShape::none;
  } else if constexpr (TellsValue<R> && HasErrorInside<R>) {
    return ResultShape::expected;
  } else if constexpr (HasValueTeller<R> && CanAsk<AskError, R>) {
    return ResultShape::unreadable;
  } else if constexpr (TellsError<R> && HasErrorInside<R>) {
    return ResultShape::has_error;
  } else if constexpr (HasErrorTeller<R> && CanAsk<AskError, R>) {
    return ResultShape::unreadable;
  } else if constexpr (TellsOk<R> && HasStatusInside<R> && HasInside<R>) {
    return ResultShape::status_or;
  } else if constexpr (TellsOk<R> && HasErrorInside<R>) {
    return ResultShape::ok_error;
  } else if constexpr (TellsOk<R> && !HasInside<R> && LooksLikeStatus<R>) {
    return ResultShape::status;
  } else if constexpr (HasOkTeller<R> && (CanAsk<AskError, R> || HasStatusInside<R> || LooksLikeStatus<R>)) {
    return ResultShape::unreadable;
  } else if constexpr (HasErrorInside<R> && std::is_constructible_v<bool, const R&>) {
    return ResultShape::bool_error;
  } else if constexpr (ErrorCodeLike<R>) {
    return ResultShape::error_code;
  } else if constexpr (ConvertsToErrorCode<R>) {
    return ResultShape::converts;
  } else {
    return ResultShape::none;
  }
}

template <class R>
constexpr ResultShape shape_of = find_shape<R>();

// Holds an error, or else a value.
template <class R>
concept HoldsError = shape_of<R> >= ResultShape::expected && shape_of<R> <= ResultShape::bool_error;
// Is an error, or else none.
template <class R>
concept IsErrorItself = shape_of<R> >= ResultShape::error_code && shape_of<R> <= ResultShape::exception_ptr;
template <class R>
concept UnreadableResult = shape_of<R> == ResultShape::unreadable;

template <class R>
using AskErrorOf = std::conditional_t<shape_of<R> == ResultShape::status_or, AskStatus, AskError>;

// Whether one of these tells a success.
template <class R>
  requires(shape_of<R> == ResultShape::expected)
constexpr bool tells_success(const R& r) noexcept(noexcept(static_cast<bool>(r.has_value()))) {
  return static_cast<bool>(r.has_value());
}
template <class R>
  requires(shape_of<R> == ResultShape::has_error)
constexpr bool tells_success(const R& r) noexcept(noexcept(static_cast<bool>(r.has_error()))) {
  return !static_cast<bool>(r.has_error());
}
template <class R>
  requires(shape_of<R> == ResultShape::status_or || shape_of<R> == ResultShape::ok_error ||
           shape_of<R> == ResultShape::status)
constexpr bool tells_success(const R& r) noexcept(noexcept(static_cast<bool>(r.ok()))) {
  return static_cast<bool>(r.ok());
}
template <class R>
  requires(shape_of<R> == ResultShape::bool_error)
constexpr bool tells_success(const R& r) noexcept(noexcept(static_cast<bool>(r))) {
  return static_cast<bool>(r);
}
template <class R>
  requires(shape_of<R> == ResultShape::error_code)
constexpr bool tells_success(const R& r) noexcept(noexcept(static_cast<bool>(r))) {
  return !static_cast<bool>(r);
}
template <class R>
  requires(shape_of<R> == ResultShape::converts)
bool tells_success(const R& r) {
  using Code =
      std::conditional_t<std::is_convertible_v<const R&, std::error_code>, std::error_code, std::error_condition>;
  const Code code = r;
  return !code;
}
template <class R>
  requires(shape_of<R> == ResultShape::system_enum || shape_of<R> == ResultShape::exception_ptr)
constexpr bool tells_success(const R& r) noexcept {
  return r == R();
}

// What cannot be opened: an expected-like has no value then; another one may have it under any name, and is all of it.
template <class R>
constexpr bool is_its_value = !HasInside<R> && shape_of<R> != ResultShape::expected;

// An aggregate is built from its first member, which may be one of several: not all of what tells a failure.
template <class R, class E>
constexpr bool takes_all_of = !std::is_aggregate_v<R> || !requires(E&& e) { R{std::forward<E>(e), {}}; };

}  // namespace detail

// Customisation point: which return types carry errors. Without a specialisation, those are found that hold an error
// beside a value or none, by `has_value()`, `has_error()`, `ok()` or `operator bool` with `error()`, or by `ok()` with
// `status()` of class type; and those that are an error, or say that they are none: a std::error_code,
// std::error_condition, what converts to one, enumerations of them such as std::errc, a std::exception_ptr, and a
// status with `ok()`, `code()` and `message()`, or `error_code()` and `error_message()`. What looks like one of these
// and cannot be read does not compile. Everything else is a plain value. A specialisation has these static members (R
// as an lvalue or an rvalue):
//   bool has_value(const R&);
//   E error(R&&);            the error by value or by reference
//   V value(R&&);            the value by value or by reference; void where there is none
//   R from_error(E2&&);      optional: builds R from an error of type E2, constrained to what it takes
template <class R>
struct result_traits {};

template <detail::HoldsError R>
struct result_traits<R> {
  [[nodiscard]] static constexpr bool has_value(const R& r) noexcept(noexcept(detail::tells_success(r))) {
    return detail::tells_success(r);
  }

  template <class Self>
    requires detail::MayAsk<detail::AskErrorOf<R>, Self>
  [[nodiscard]] static decltype(auto) error(Self&& r) {
    return detail::ask_result<detail::AskErrorOf<R>>(std::forward<Self>(r));
  }

  template <class Self>
    requires(!detail::HasInside<R> || detail::MayAsk<detail::AskStar, Self> || detail::MayAsk<detail::AskValue, Self>)
  static decltype(auto) value(Self&& r) {
    if constexpr (detail::is_its_value<R>) {
      return std::forward<Self>(r);
    } else if constexpr (detail::MayAsk<detail::AskStar, Self>) {
      return detail::ask_result<detail::AskStar>(std::forward<Self>(r));
    } else if constexpr (detail::MayAsk<detail::AskValue, Self>) {
      return detail::ask_result<detail::AskValue>(std::forward<Self>(r));
    }
  }

  template <class E>
    requires requires { typename R::unexpected_type; } &&
             std::is_constructible_v<typename R::unexpected_type, E &&> &&
             std::is_constructible_v<R, typename R::unexpected_type>
  [[nodiscard]] static R from_error(E&& e) {
    return R(typename R::unexpected_type(std::forward<E>(e)));
  }

  // For those without an unexpected_type: their own constructor, where it can only mean the error.
  template <class E>
    requires(!requires { typename R::unexpected_type; } && std::is_constructible_v<R, E &&> &&
             std::is_same_v<detail::InsideOf<detail::AskErrorOf<R>, R>, std::remove_cvref_t<E>> &&
             (detail::shape_of<R> == detail::ResultShape::status_or ||
              !std::is_constructible_v<std::remove_cvref_t<decltype(value(std::declval<R>()))>, E &&>) &&
             detail::takes_all_of<R, E>)
  [[nodiscard]] static R from_error(E&& e) {
    return R(std::forward<E>(e));
  }
};

template <detail::IsErrorItself R>
struct result_traits<R> {
  [[nodiscard]] static constexpr bool has_value(const R& r) noexcept(noexcept(detail::tells_success(r))) {
    return detail::tells_success(r);
  }

  template <class Self>
  [[nodiscard]] static constexpr Self&& error(Self&& r) noexcept {
    return std::forward<Self>(r);
  }

  // What converts may be more than an error.
  template <class Self>
  static constexpr decltype(auto) value([[maybe_unused]] Self&& r) noexcept {
    if constexpr (detail::shape_of<R> == detail::ResultShape::converts) return std::forward<Self>(r);
  }

  [[nodiscard]] static R from_error(std::same_as<R> auto error) { return error; }
};

template <detail::UnreadableResult R>
struct result_traits<R> {
  static bool has_value(const R&) {
    static_assert(!detail::UnreadableResult<R>,
                  "planb: a returned type looks like a result, but cannot be read: its has_value(), has_error() or ok() "
                  "must be const, its error() must give something, and beside ok() with status() it must have "
                  "operator* or value(); or specialise planb::result_traits for it");
    return true;
  }
  static const R& error(const R& r) { return r; }
  static const R& value(const R& r) { return r; }
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
