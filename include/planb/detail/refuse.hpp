// refuse(): the one way in which the library turns down arguments that make no sense. is_empty(): the commonest of them.
#pragma once

#include <planb/detail/config.hpp>

#include <cstddef>
#include <string>
#include <type_traits>

#if PLANB_HAS_EXCEPTIONS
#include <stdexcept>
#else
#include <cstdio>
#include <cstdlib>
#endif

namespace planb::inline PLANB_ABI::detail {

// Throws std::invalid_argument with "planb: " and the message. Without exceptions: prints that and ends the program.
[[noreturn]] PLANB_COLD inline void refuse(const std::string& message) {
#if PLANB_HAS_EXCEPTIONS
  throw std::invalid_argument("planb: " + message);
#else
  std::fprintf(stderr, "planb: %s\n", message.c_str());
  std::abort();
#endif
}

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
