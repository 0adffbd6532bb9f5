// SPDX-License-Identifier: MIT
// The definitions of fault.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/settings/detail/quote.hpp>
#include <planb/settings/fault.hpp>

#include <string>

namespace planb::inline PLANB_ABI {

PLANB_DECL std::string to_string(const Place& place) {
  std::string text = place.file;
  const auto add = [&](const std::string& before, const std::string& what) {
    if (!text.empty()) text += before;
    text += what;
  };
  if (place.line > 0) {
    if (text.empty()) {
      text = "line " + std::to_string(place.line) + ", column " + std::to_string(place.column);
    } else {
      text += ':' + std::to_string(place.line) + ':' + std::to_string(place.column);
    }
  }
  if (!place.path.empty()) add(": ", place.path);
  if (place.line <= 0 && place.column > 0) add(", ", "column " + std::to_string(place.column));
  return text;
}

PLANB_DECL std::string SettingsFault::message() const {
  std::string text = to_string(place);
  if (!text.empty()) text += ": ";
  text += found.empty() ? "found nothing" : "found " + detail::quoted(detail::clipped(found, 100));
  text += ", expected " + expected;
  if (!suggestion.empty()) text += "; did you mean " + detail::quoted(suggestion) + '?';
  return text;
}

PLANB_DECL std::string SettingsFaults::message() const {
  std::string text;
  for (const SettingsFault& fault : list) {
    if (!text.empty()) text += '\n';
    text += fault.message();
  }
  return text;
}

}  // namespace planb::inline PLANB_ABI
