// SPDX-License-Identifier: MIT
// Explanations into streams and formatters.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/observe/explanation.hpp>
#include <planb/report/print.hpp>  // IWYU pragma: export

namespace planb::inline PLANB_ABI::detail {

template <>
inline constexpr bool prints_above<Explanation> = true;

}  // namespace planb::inline PLANB_ABI::detail
