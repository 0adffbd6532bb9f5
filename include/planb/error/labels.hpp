// SPDX-License-Identifier: MIT
// parse_label: a value of an enumeration from the word that to_label gives.
#pragma once

#include <planb/detail/config.hpp>

#include <concepts>
#include <optional>
#include <string_view>
#include <type_traits>

namespace planb::inline PLANB_ABI {

namespace detail {

// An enumeration with a to_label() beside it, found by argument. Its words are the one table that there is: what has
// none is no value.
template <class E>
concept Labelled = std::is_enum_v<E> && requires(E value) {
  { to_label(value) }
  noexcept->std::same_as<std::string_view>;
};

inline constexpr int most_labels = 64;  // values are small

}  // namespace detail

// The value of that word, as in parse_label<FailureClass>("rate_limited"); none where no value has it. Exactly: case
// and space count.
template <class E>
[[nodiscard]] constexpr std::optional<E> parse_label(std::string_view text) noexcept {
  static_assert(detail::Labelled<E>, "planb: parse_label<E>: E is one of planb's enumerations, such as FailureClass");
  if constexpr (detail::Labelled<E>) {
    if (text.empty()) return std::nullopt;
    for (int i = 0; i != detail::most_labels; ++i) {
      if (to_label(static_cast<E>(i)) == text) return static_cast<E>(i);
    }
  }
  return std::nullopt;
}

}  // namespace planb::inline PLANB_ABI
