// What can be read from an error: its status, code, wait hint and message.
#pragma once

#include <planb/clock.hpp>
#include <planb/detail/config.hpp>
#include <planb/duration.hpp>

#include <concepts>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

// Customisation point: how to read an error of type E. A specialisation has any of these static members; what it lacks
// is looked for among E's own members of those names (data, or functions without arguments):
//   status(const E&)       an integer, or an optional of one; zero and less mean "none"
//   code(const E&)         a string, or an optional of one; an empty one means "none"
//   retry_after(const E&)  a chrono duration, or an optional of one: the least time to wait before the next try
//   message(const E&)      a string for people
template <class E>
struct error_traits {};

// A ready-made exception for provider clients.
class PLANB_VISIBLE ProviderError : public std::exception {
 public:
  explicit ProviderError(int provider_status, std::string text = {}, std::string provider_code = {},
                         OptionalDuration wait_hint = {})
      : status(provider_status),
        code(std::move(provider_code)),
        retry_after(wait_hint),
        message(std::move(text)) {}

  // An error without a status: a connection that failed, say.
  explicit ProviderError(std::string text) : ProviderError(0, std::move(text)) {}

  [[nodiscard]] const char* what() const noexcept override { return message.c_str(); }

  int status = 0;                        // HTTP status or its like; 0 where there was no answer
  std::string code;                      // the provider's own word, such as "insufficient_quota"; may be empty
  OptionalDuration retry_after;          // the provider's wait hint
  std::string message;
};

namespace detail {

// What error_traits<E> or else E itself has under this name; void where neither has it.
#define PLANB_DETAIL_READER(name)                               \
  template <class E>                                            \
  constexpr decltype(auto) raw_##name(const E& e) {             \
    if constexpr (requires { error_traits<E>::name(e); }) {     \
      return error_traits<E>::name(e);                          \
    } else if constexpr (requires { e.name(); }) {              \
      return e.name();                                          \
    } else if constexpr (requires { &(e.name); }) {             \
      return (e.name);                                          \
    } else if constexpr (requires { +e.name; }) {               \
      return +e.name; /* a bit-field has no address */          \
    }                                                           \
  }
PLANB_DETAIL_READER(status)
PLANB_DETAIL_READER(code)
PLANB_DETAIL_READER(retry_after)
PLANB_DETAIL_READER(message)
#undef PLANB_DETAIL_READER

template <class T>
struct optional_value {
  using type = T;
};
template <class T>
struct optional_value<std::optional<T>> {
  using type = T;
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

template <class T>
constexpr bool is_status = std::integral<T> && !std::is_same_v<T, bool> && !is_one_of_characters<T>;

template <class T>
constexpr bool is_text = std::is_convertible_v<std::add_lvalue_reference_t<const T>, std::string_view>;

// Calls `use` with what `raw` holds, if it holds something.
template <class T, class Use>
constexpr void with_value(const T& raw, Use use) {
  if constexpr (is_optional<T>) {
    if (raw.has_value()) use(*raw);
  } else {
    use(raw);
  }
}

template <class Raw>
using ReadValue = typename optional_value<std::remove_cvref_t<Raw>>::type;

template <class E>
constexpr bool reads_status = is_status<ReadValue<decltype(detail::raw_status(std::declval<const E&>()))>>;
template <class E>
constexpr bool reads_code = is_text<ReadValue<decltype(detail::raw_code(std::declval<const E&>()))>>;
template <class E>
constexpr bool reads_retry_after = is_duration<ReadValue<decltype(detail::raw_retry_after(std::declval<const E&>()))>>;
template <class E>
constexpr bool reads_message = is_text<ReadValue<decltype(detail::raw_message(std::declval<const E&>()))>>;

// A null pointer to characters is an empty text.
template <class T>
[[nodiscard]] constexpr std::string_view to_text(const T& text) {
  if constexpr (std::is_pointer_v<T>) {
    if (text == nullptr) return {};
  }
  return std::string_view(text);
}

template <class E>
[[nodiscard]] std::optional<int> read_status(const E& e) {
  std::optional<int> status;
  if constexpr (reads_status<E>) {
    detail::with_value(detail::raw_status(e), [&](auto value) {
      if (std::cmp_greater(value, 0) && std::in_range<int>(value)) status = static_cast<int>(value);
    });
  }
  return status;
}

template <class E>
[[nodiscard]] std::string read_code(const E& e) {
  std::string code;
  if constexpr (reads_code<E>) {
    detail::with_value(detail::raw_code(e), [&](const auto& value) { code = detail::to_text(value); });
  }
  return code;
}

template <class E>
[[nodiscard]] std::optional<Duration> read_retry_after(const E& e) {
  std::optional<Duration> wait;
  if constexpr (reads_retry_after<E>) {
    detail::with_value(detail::raw_retry_after(e),
                       [&](auto value) { wait = (std::max)(to_duration(value), Duration::zero()); });
  }
  return wait;
}

template <class E>
[[nodiscard]] std::string read_message(const E& e) {
  std::string text;
  if constexpr (reads_message<E>) {
    detail::with_value(detail::raw_message(e), [&](const auto& value) { text = detail::to_text(value); });
  } else if constexpr (std::is_base_of_v<std::exception, E>) {
    text = detail::to_text(e.what());
  } else if constexpr (std::is_same_v<E, bool>) {
    text = e ? "true" : "false";
  } else if constexpr (std::is_arithmetic_v<E>) {
    text = std::to_string(e);
  } else if constexpr (std::is_enum_v<E>) {
    text = "error " + std::to_string(static_cast<long long>(static_cast<std::underlying_type_t<E>>(e)));
  } else if constexpr (is_text<E>) {
    text = detail::to_text(e);
  } else if constexpr (requires { { e.what() } -> std::convertible_to<std::string_view>; }) {
    text = detail::to_text(e.what());
  }
  return text;
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
