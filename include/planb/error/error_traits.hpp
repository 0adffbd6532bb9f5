// SPDX-License-Identifier: MIT
// What can be read from an error: its status, code, wait hint and message.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/optional_duration.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

// Customisation point: how to read an error of type E. A specialisation has any of these static members; what it lacks
// is looked for among E's own members of those names (data, or const functions without arguments):
//   status(const E&)       an integer or an enumeration, or an optional of one; zero and less mean "none"
//   code(const E&)         a string, or an optional of one; an empty one means "none". Or an integer or an enumeration:
//                          from 100 to 599 it is the status of an error that has no other (as a text "503" is), else a
//                          text, and zero means "none". Or a std::error_code, which http_classifier reads
//   retry_after(const E&)  a chrono duration, or an optional of one: the least time to wait before the next try
//   message(const E&)      a string for people
//   retryable(const E&)    whether another try makes sense: a bool, or an optional of one; a member of E counts only
//                          where it gives an optional<bool>
// What is there by such a name and is of no type that fits does not compile where the plan names E or meets it.
template <class E>
struct error_traits {};

namespace detail {

// What stands in for a text that cannot be had.
inline constexpr const char* no_text = "<no text>";

// What error_traits<E> or else E itself has under this name; void where neither has it, or where that of the traits
// cannot be called with a const E&. has_...(): whether there is anything by this name, also if it is of no use because
// it is void or not const. traits_have_...: whether the traits have, whatever it is: that name is ambiguous then.
#define PLANB_DETAIL_READER(name)                                                                                   \
  struct Named_##name {                                                                                             \
    static constexpr int name = 0;                                                                                  \
  };                                                                                                                \
  template <class Traits>                                                                                           \
  struct Both_##name : Traits, Named_##name {};                                                                     \
  template <class E>                                                                                                \
  [[nodiscard]] constexpr bool traits_have_##name() {                                                               \
    if constexpr (std::is_final_v<error_traits<E>>) {                                                               \
      return requires { &error_traits<E>::name; };                                                                  \
    } else if constexpr (requires { typename error_traits<E>::name; }) {                                            \
      return false;                                                                                                 \
    } else {                                                                                                        \
      return !requires { Both_##name<error_traits<E>>::name; };                                                     \
    }                                                                                                               \
  }                                                                                                                 \
  template <class E>                                                                                                \
  constexpr decltype(auto) raw_##name(const E& e) {                                                                 \
    if constexpr (requires { error_traits<E>::name(e); }) {                                                         \
      return error_traits<E>::name(e);                                                                              \
    } else if constexpr (detail::traits_have_##name<E>()) {                                                         \
      return;                                                                                                       \
    } else if constexpr (requires { e.name(); }) {                                                                  \
      return e.name();                                                                                              \
    } else if constexpr (requires {                                                                                 \
                           requires std::is_scalar_v<std::remove_cvref_t<decltype((e.name))>>;                      \
                         }) {                                                                                       \
      return std::remove_cvref_t<decltype((e.name))>(e.name); /* a bit-field has no address */                      \
    } else if constexpr (requires {                                                                                 \
                           requires !std::is_function_v<std::remove_cvref_t<decltype((e.name))>>;                   \
                         }) {                                                                                       \
      return (e.name);                                                                                              \
    }                                                                                                               \
  }                                                                                                                 \
  template <class E>                                                                                                \
  constexpr bool traits_misfit_##name =                                                                             \
      detail::traits_have_##name<E>() && !requires(const E& e) { error_traits<E>::name(e); };                       \
  template <class E>                                                                                                \
  [[nodiscard]] constexpr bool has_##name() {                                                                       \
    if constexpr (!std::is_void_v<decltype(detail::raw_##name(std::declval<const E&>()))>) {                        \
      return true;                                                                                                  \
    } else {                                                                                                        \
      return requires(E& e) { e.name(); } || requires(E& e) { static_cast<E&&>(e).name(); } ||                      \
             detail::traits_have_##name<E>();                                                                       \
    }                                                                                                               \
  }
PLANB_DETAIL_READER(status)
PLANB_DETAIL_READER(code)
PLANB_DETAIL_READER(retry_after)
PLANB_DETAIL_READER(message)
PLANB_DETAIL_READER(retryable)
#undef PLANB_DETAIL_READER

template <class T>
struct optional_value {
  using type = T;
};
template <class T>
struct optional_value<std::optional<T>> {
  using type = std::remove_cv_t<T>;
};
template <>
struct optional_value<OptionalDuration> {
  using type = Duration;
};

template <class T>
constexpr bool is_optional = !std::is_same_v<typename optional_value<T>::type, T>;

template <class T>
constexpr bool is_duration = false;
template <class Rep, class Period>
constexpr bool is_duration<std::chrono::duration<Rep, Period>> = true;
template <>
inline constexpr bool is_duration<SaturatedDuration> = true;

template <class T>
constexpr bool is_one_of_characters =
    std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char8_t> ||
    std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;

// Says what went wrong by itself: std::error_code, std::error_condition and their like, and enumerations of them, such
// as std::errc.
template <class T>
constexpr bool is_system_enum =
    std::is_enum_v<T> && (std::is_error_code_enum_v<T> || std::is_error_condition_enum_v<T>);
template <class T>
constexpr bool is_system_code =
    is_system_enum<T> ||
    (std::is_class_v<T> && (std::is_convertible_v<std::add_lvalue_reference_t<const T>, std::error_code> ||
                            std::is_convertible_v<std::add_lvalue_reference_t<const T>, std::error_condition>));

template <class T>
constexpr bool is_number() {
  if constexpr (std::is_enum_v<T>) {
    return !std::is_same_v<std::underlying_type_t<T>, bool> && !std::is_same_v<T, std::errc>;
  } else {
    return std::is_integral_v<T> && !std::is_same_v<T, bool> && !is_one_of_characters<T>;
  }
}

template <class T>
constexpr bool is_status = is_number<T>();

// Characters without more: a container of them ends at its size, or at a zero before that.
template <class T>
constexpr bool is_characters = requires(std::add_lvalue_reference_t<const T> text) {
  requires std::is_same_v<const char*, std::add_pointer_t<const std::remove_reference_t<decltype(*text.data())>>>;
  { text.size() } -> std::convertible_to<std::size_t>;
};

template <class T>
constexpr bool is_text =
    std::is_convertible_v<std::add_lvalue_reference_t<const T>, std::string_view> ||
    (std::is_class_v<T> &&
     (std::is_convertible_v<std::add_lvalue_reference_t<const T>, std::string> || is_characters<T>));

template <class T>
constexpr bool is_code = is_text<T> || (is_number<T>() && !is_system_enum<T>);

// Whether a number, a text and the like are to be had as in absl::Status, grpc::Status and leveldb::Status.
template <class S>
concept HasCodeAndMessage = requires(const S& s) {
  requires is_code<std::remove_cvref_t<decltype(s.code())>> || is_system_code<std::remove_cvref_t<decltype(s.code())>>;
  requires is_text<std::remove_cvref_t<decltype(s.message())>>;
};
template <class S>
concept HasErrorCodeAndMessage = !HasCodeAndMessage<S> && requires(const S& s) {
  requires is_code<std::remove_cvref_t<decltype(s.error_code())>> ||
               is_system_code<std::remove_cvref_t<decltype(s.error_code())>>;
  requires is_text<std::remove_cvref_t<decltype(s.error_message())>>;
};
template <class S>
concept HasText = !HasCodeAndMessage<S> && !HasErrorCodeAndMessage<S> && requires(const S& s) {
  requires is_text<std::remove_cvref_t<decltype(s.ToString())>>;
};
template <class S>
concept LooksLikeStatus = HasCodeAndMessage<S> || HasErrorCodeAndMessage<S> || HasText<S>;

template <class S>
concept TellsOk = std::is_class_v<S> && requires(const S& s) { static_cast<bool>(s.ok()); };

// Calls `use` with what `raw` holds, if it holds something.
template <class T, class Use>
constexpr void with_value(const T& raw, Use use) {
  if constexpr (is_optional<T>) {
    if (raw.has_value()) use(*raw);
  } else {
    use(raw);
  }
}

}  // namespace detail

// A status says under names of its own what others say as `code` and `message`.
template <class S>
  requires(detail::TellsOk<S> && detail::HasErrorCodeAndMessage<S>)
struct error_traits<S> {
  static decltype(auto) code(const S& s) { return s.error_code(); }
  static decltype(auto) message(const S& s) { return s.error_message(); }
};
template <class S>
  requires(detail::TellsOk<S> && detail::HasText<S> && !requires(const S& s) { s.message(); })
struct error_traits<S> {
  static decltype(auto) message(const S& s) { return s.ToString(); }
};

namespace detail {

template <class Raw>
using ReadValue = typename optional_value<std::remove_cvref_t<Raw>>::type;

template <class E>
using StatusValue = ReadValue<decltype(detail::raw_status(std::declval<const E&>()))>;
template <class E>
using CodeValue = ReadValue<decltype(detail::raw_code(std::declval<const E&>()))>;

template <class E>
constexpr bool reads_status = is_status<StatusValue<E>>;
template <class E>
constexpr bool reads_code = is_code<CodeValue<E>>;
template <class E>
constexpr bool reads_system_code = !reads_code<E> && is_system_code<CodeValue<E>>;
template <class E>
constexpr bool reads_retry_after = is_duration<ReadValue<decltype(detail::raw_retry_after(std::declval<const E&>()))>>;
template <class E>
constexpr bool reads_message = is_text<ReadValue<decltype(detail::raw_message(std::declval<const E&>()))>>;

// A member `bool retryable` is the caller's own and is not read.
template <class E>
[[nodiscard]] constexpr bool retryable_is_read() {
  using Raw = std::remove_cvref_t<decltype(detail::raw_retryable(std::declval<const E&>()))>;
  if constexpr (requires(const E& e) { error_traits<E>::retryable(e); }) {
    return std::is_same_v<ReadValue<Raw>, bool>;
  } else {
    return std::is_same_v<Raw, std::optional<bool>>;
  }
}
template <class E>
constexpr bool reads_retryable = retryable_is_read<E>();

template <class E>
[[nodiscard]] constexpr bool retryable_does_not_fit() {
  if constexpr (reads_retryable<E>) {
    return false;
  } else if constexpr (detail::traits_have_retryable<E>()) {
    return true;
  } else if constexpr (requires(E& e) { requires std::is_same_v<decltype(e.retryable()), std::optional<bool>>; }) {
    return true;  // not const
  } else {
    return false;
  }
}

// Whether error_traits<E> says something. What E has of its own, derived types have, too.
template <class E>
constexpr bool has_traits = requires(const E& e) { error_traits<E>::status(e); } ||
                            requires(const E& e) { error_traits<E>::code(e); } ||
                            requires(const E& e) { error_traits<E>::retry_after(e); } ||
                            requires(const E& e) { error_traits<E>::message(e); } ||
                            requires(const E& e) { error_traits<E>::retryable(e); };

// What is StatusOr-like is a result, and its status no status of an error.
template <class E>
constexpr bool is_status_of_result = std::is_class_v<StatusValue<E>> && requires(E& e) {
  { e.ok() } -> std::convertible_to<bool>;
  *e;
};

#define PLANB_DETAIL_MISFIT(name)                                                                      \
  "planb: error_traits<E>::" name " does not fit: it is to be a static function that takes a const E&, " \
  "and nothing else"

// Refuses an error type that has something by a name that is read, but of a type that cannot be.
template <class E>
constexpr bool check_error() {
  static_assert(!traits_misfit_status<E>, PLANB_DETAIL_MISFIT("status"));
  static_assert(!traits_misfit_code<E>, PLANB_DETAIL_MISFIT("code"));
  static_assert(!traits_misfit_retry_after<E>, PLANB_DETAIL_MISFIT("retry_after"));
  static_assert(!traits_misfit_message<E>, PLANB_DETAIL_MISFIT("message"));
  static_assert(!traits_misfit_retryable<E>, PLANB_DETAIL_MISFIT("retryable"));
  static_assert(reads_status<E> || is_status_of_result<E> || !has_status<E>() || traits_misfit_status<E>,
                "planb: an error's `status` does not fit: planb reads an integer or an enumeration, or an optional of "
                "one, from a data member or a const function without arguments; error_traits<E> can say it otherwise");
  static_assert(reads_code<E> || reads_system_code<E> || !has_code<E>() || traits_misfit_code<E>,
                "planb: an error's `code` does not fit: planb reads a string, an integer, an enumeration or a "
                "std::error_code, or an optional of one, from a data member or a const function without arguments; "
                "error_traits<E> can say it otherwise");
  static_assert(reads_retry_after<E> || !has_retry_after<E>() || traits_misfit_retry_after<E>,
                "planb: an error's `retry_after` does not fit: planb reads a std::chrono duration, or an optional of "
                "one, from a data member or a const function without arguments; error_traits<E> can say it otherwise, "
                "such as in which unit a number is");
  static_assert(reads_message<E> || !has_message<E>() || traits_misfit_message<E>,
                "planb: an error's `message` does not fit: planb reads a string, or an optional of one, from a data "
                "member or a const function without arguments; error_traits<E> can say it otherwise");
  static_assert(!retryable_does_not_fit<E>() || traits_misfit_retryable<E>,
                "planb: an error's `retryable` does not fit: planb reads a std::optional<bool> from a data member or a "
                "const function without arguments, and from error_traits<E> a bool, too");
  return true;
}

#undef PLANB_DETAIL_MISFIT

// A null pointer to characters is an empty text.
template <class T>
[[nodiscard]] std::string to_text(const T& text) {
  if constexpr (std::is_array_v<T>) {
    const std::string_view all(text, std::extent_v<T>);
    return std::string(all.substr(0, all.find('\0')));
  } else if constexpr (std::is_pointer_v<T>) {
    return text != nullptr ? std::string(text) : std::string();
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return std::string(static_cast<std::string_view>(text));
  } else if constexpr (std::is_convertible_v<const T&, std::string>) {
    return text;
  } else {
    const std::string_view all(text.data(), static_cast<std::size_t>(text.size()));
    return std::string(all.substr(0, all.find('\0')));
  }
}

// A number of any integer type or enumeration; what is beyond long long is its limit.
template <class T>
[[nodiscard]] constexpr long long to_number(T value) noexcept {
  if constexpr (std::is_enum_v<T>) {
    return detail::to_number(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<long long>(value);
  } else {
    constexpr auto limit = static_cast<unsigned long long>((std::numeric_limits<long long>::max)());
    const auto number = static_cast<unsigned long long>(value);
    return static_cast<long long>(number < limit ? number : limit);
  }
}

// The status that a code is, where the error has no other; or 0.
[[nodiscard]] constexpr int code_as_status(long long code) noexcept {
  return code >= 100 && code <= 599 ? static_cast<int>(code) : 0;
}
[[nodiscard]] constexpr int code_as_status(std::string_view code) noexcept {
  if (code.size() != 3) return 0;
  int number = 0;
  for (const char c : code) {
    if (c < '0' || c > '9') return 0;
    number = number * 10 + (c - '0');
  }
  return detail::code_as_status(static_cast<long long>(number));
}

// Its own status alone; or 0.
template <class E>
[[nodiscard]] int read_plain_status([[maybe_unused]] const E& e) {
  int status = 0;
  if constexpr (reads_status<E>) {
    detail::with_value(detail::raw_status(e), [&](auto value) {
      const long long number = detail::to_number(value);
      if (number > 0 && number <= (std::numeric_limits<int>::max)()) status = static_cast<int>(number);
    });
  }
  return status;
}

template <class E>
[[nodiscard]] std::optional<int> read_status(const E& e) {
  int status = detail::read_plain_status(e);
  if constexpr (reads_code<E>) {
    if (status == 0) {
      detail::with_value(detail::raw_code(e), [&](const auto& value) {
        if constexpr (is_text<std::remove_cvref_t<decltype(value)>>) {
          status = detail::code_as_status(std::string_view(detail::to_text(value)));
        } else {
          status = detail::code_as_status(detail::to_number(value));
        }
      });
    }
  }
  return status != 0 ? std::optional<int>(status) : std::nullopt;
}

// Of numbers, as std::to_string says them.
[[nodiscard]] std::string number_text(long long number);
[[nodiscard]] std::string number_text(unsigned long long number);
[[nodiscard]] std::string number_text(double number);
[[nodiscard]] std::string number_text(long double number);

template <class E>
[[nodiscard]] std::string read_code([[maybe_unused]] const E& e) {
  std::string code;
  if constexpr (reads_code<E>) {
    detail::with_value(detail::raw_code(e), [&](const auto& value) {
      if constexpr (is_text<std::remove_cvref_t<decltype(value)>>) {
        code = detail::to_text(value);
      } else if (const long long number = detail::to_number(value); number != 0) {
        if (detail::code_as_status(number) == 0 || detail::read_plain_status(e) != 0)
          code = detail::number_text(number);
      }
    });
  }
  return code;
}

template <class E>
[[nodiscard]] std::optional<Duration> read_retry_after([[maybe_unused]] const E& e) {
  std::optional<Duration> wait;
  if constexpr (reads_retry_after<E>) {
    using Raw = std::remove_cvref_t<decltype(detail::raw_retry_after(e))>;
    detail::with_value(detail::raw_retry_after(e), [&](auto value) {
      const Duration said = to_duration(value);
      // A plain zero stands where nobody has set it.
      if (is_optional<Raw> || said != Duration::zero()) wait = said < Duration::zero() ? Duration::zero() : said;
    });
  }
  return wait;
}

template <class E>
[[nodiscard]] std::optional<bool> read_retryable([[maybe_unused]] const E& e) {
  std::optional<bool> retryable;
  if constexpr (reads_retryable<E>) {
    detail::with_value(detail::raw_retryable(e), [&](bool value) { retryable = value; });
  }
  return retryable;
}

// The text of a what().
[[nodiscard]] std::string what_text(const char* what);
template <class T>
[[nodiscard]] std::string what_text(const T& what) {
  if constexpr (std::is_pointer_v<T>) {
    return detail::what_text(static_cast<const char*>(what));
  } else {
    return detail::to_text(what);
  }
}

template <class E>
[[nodiscard]] std::string read_message(const E& e) {
  std::string text;
  if constexpr (reads_message<E>) {
    detail::with_value(detail::raw_message(e), [&](const auto& value) { text = detail::to_text(value); });
    if (!text.empty()) return text;
  }
  if constexpr (std::is_convertible_v<const E*, const std::exception*>) {
    text = detail::what_text(static_cast<const std::exception&>(e).what());
  } else if constexpr (std::is_same_v<E, bool>) {
    text = e ? "true" : "false";
  } else if constexpr (std::is_arithmetic_v<E>) {
    using Widest = std::conditional_t<!std::is_integral_v<E>,
                                      std::conditional_t<std::is_same_v<E, long double>, long double, double>,
                                      std::conditional_t<std::is_signed_v<E>, long long, unsigned long long>>;
    text = detail::number_text(static_cast<Widest>(e));
  } else if constexpr (is_system_enum<E>) {
    if constexpr (std::is_error_code_enum_v<E>) {
      text = std::error_code(e).message();
    } else {
      text = std::error_condition(e).message();
    }
  } else if constexpr (std::is_enum_v<E>) {
    text = "error " + detail::number_text(static_cast<long long>(static_cast<std::underlying_type_t<E>>(e)));
  } else if constexpr (is_text<E>) {
    text = detail::to_text(e);
  } else if constexpr (requires { { e.what() } -> std::convertible_to<std::string_view>; }) {
    text = detail::what_text(e.what());
  }
  return text;
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/error/impl/error_traits.hpp>  // IWYU pragma: export
#endif
