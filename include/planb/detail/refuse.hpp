// SPDX-License-Identifier: MIT
// refuse(): the one way in which the library turns down arguments that make no sense. is_empty(): the commonest of them.
#pragma once

#include <planb/detail/config.hpp>

#include <cstddef>
#include <string>
#include <type_traits>

namespace planb::inline PLANB_ABI::detail {

// Throws std::invalid_argument with "planb: " and the message. Without exceptions: prints that and ends the program.
[[noreturn]] PLANB_COLD_DECL void refuse(const std::string& message);

// A null pointer to a function or member, an empty std::function.
template <class F>
[[nodiscard]] bool is_empty(const F& f) {
  if constexpr (std::is_constructible_v<F, std::nullptr_t> && requires { static_cast<bool>(f == nullptr); }) {
    return static_cast<bool>(f == nullptr);
  } else {
    return false;
  }
}

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/detail/impl/refuse.hpp>  // IWYU pragma: export
#endif
