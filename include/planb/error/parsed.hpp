// SPDX-License-Identifier: MIT
// Parsed<T>: what reading a text gave, or where it went wrong and what was expected there.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/checked.hpp>

#include <string>

namespace planb::inline PLANB_ABI {

struct ParseError {
  int line = 1;    // from 1
  int column = 1;  // from 1, in bytes
  std::string expected;

  // "column 8: expected a duration such as 10ms"; from the second line on, "line 2, column 8: ...".
  [[nodiscard]] std::string message() const;
};

// A value or a ParseError. Nothing is ever thrown for a bad text, except by value().
template <class T>
using Parsed = Checked<T, ParseError>;

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/error/impl/parsed.hpp>  // IWYU pragma: export
#endif
