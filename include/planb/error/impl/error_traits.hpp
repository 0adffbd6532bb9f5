// SPDX-License-Identifier: MIT
// The definitions of error_traits.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/decimal.hpp>
#include <planb/error/error_traits.hpp>

#include <string>

namespace planb::inline PLANB_ABI::detail {

PLANB_COLD PLANB_DECL std::string number_text(long long number) { return std::to_string(number); }

PLANB_COLD PLANB_DECL std::string number_text(unsigned long long number) { return std::to_string(number); }

PLANB_COLD PLANB_DECL std::string number_text(double number) { return with_point(std::to_string(number)); }

PLANB_COLD PLANB_DECL std::string number_text(long double number) { return with_point(std::to_string(number)); }

PLANB_COLD PLANB_DECL std::string what_text(const char* what) {
  return what != nullptr ? std::string(what) : std::string(no_text);
}

}  // namespace planb::inline PLANB_ABI::detail
