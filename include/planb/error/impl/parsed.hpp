// SPDX-License-Identifier: MIT
// The definitions of parsed.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/parsed.hpp>

#include <string>

namespace planb::inline PLANB_ABI {

PLANB_DECL std::string ParseError::message() const {
  std::string text = line > 1 ? "line " + std::to_string(line) + ", " : std::string();
  return text + "column " + std::to_string(column) + ": expected " + expected;
}

}  // namespace planb::inline PLANB_ABI
