// SPDX-License-Identifier: MIT
// Events, causes, reports, explanations and durations with operator<<, with std::format where the library has it, and
// with {fmt} where <fmt/format.h> or <fmt/core.h> is included before this header (which may be included again after
// it).
#include <planb/observe/print.hpp>  // IWYU pragma: export

#ifndef PLANB_FORMAT_HPP_STD
#define PLANB_FORMAT_HPP_STD
#if defined(__cpp_lib_format)
#include <format>
#include <string_view>

// As a text is formatted: "{:>40}".
template <class T>
requires planb::detail::Printable<T>
struct std::formatter<T, char> : std::formatter<std::string_view, char> {
  template <class Context>
  auto format(const T& value, Context& context) const {
    return std::formatter<std::string_view, char>::format(planb::detail::print(value), context);
  }
};
#endif
#endif

#if defined(FMT_VERSION) && !defined(PLANB_FORMAT_HPP_FMT)
#define PLANB_FORMAT_HPP_FMT
#include <string_view>

template <class T>
requires planb::detail::Printable<T>
struct fmt::formatter<T, char> : fmt::formatter<std::string_view, char> {
  template <class Context>
  auto format(const T& value, Context& context) const {
    return fmt::formatter<std::string_view, char>::format(planb::detail::print(value), context);
  }
};
#endif
