// SPDX-License-Identifier: MIT
// So many of them, in words.
#pragma once

#include <planb/detail/config.hpp>

#include <string>

namespace planb::inline PLANB_ABI::detail {

[[nodiscard]] inline std::string counted(long long count, const char* one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

}  // namespace planb::inline PLANB_ABI::detail
