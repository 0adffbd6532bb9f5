// SPDX-License-Identifier: MIT
// Names and values as the text form of settings writes them, and what UTF-8 is.
#pragma once

#include <planb/detail/config.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

// The length of the character that the text begins with, or 0 where it is no valid UTF-8. The text is not empty.
[[nodiscard]] inline std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
  const unsigned first = byte(0);
  if (first < 0x80U) return 1;
  const std::size_t length = first >= 0xF0U ? 4 : first >= 0xE0U ? 3 : 2;
  if (first < 0xC2U || first > 0xF4U || text.size() < length) return 0;
  for (std::size_t i = 1; i != length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  // No longer than needed, no surrogates, nothing above U+10FFFF.
  if (first == 0xE0U && byte(1) < 0xA0U) return 0;
  if (first == 0xEDU && byte(1) > 0x9FU) return 0;
  if (first == 0xF0U && byte(1) < 0x90U) return 0;
  if (first == 0xF4U && byte(1) > 0x8FU) return 0;
  return length;
}

inline void append_utf8(std::string& text, unsigned code) {
  const auto tail = [&](unsigned shift) { text += static_cast<char>(0x80U | ((code >> shift) & 0x3FU)); };
  if (code < 0x80U) {
    text += static_cast<char>(code);
  } else if (code < 0x800U) {
    text += static_cast<char>(0xC0U | (code >> 6U));
    tail(0);
  } else if (code < 0x10000U) {
    text += static_cast<char>(0xE0U | (code >> 12U));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0U | (code >> 18U));
    tail(12);
    tail(6);
    tail(0);
  }
}

// In quotes, on one line. What is no UTF-8 becomes U+FFFD.
[[nodiscard]] inline std::string quoted(std::string_view text) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0) {
      append_utf8(result, 0xFFFDU);
    } else if (length > 1) {
      result += text.substr(0, length);
    } else if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20U || c == '\x7F') {
      result += "\\u00";
      result += hex[static_cast<unsigned char>(c) / 16U];
      result += hex[static_cast<unsigned char>(c) % 16U];
    } else {
      result += c;
    }
    text.remove_prefix((std::max)(length, std::size_t{1}));
  }
  return result + '"';
}

// At most so many bytes, cut between two characters.
[[nodiscard]] inline std::string clipped(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t end = most;
  while (end != 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "...";
}

[[nodiscard]] constexpr bool is_name_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

inline constexpr std::string_view reserved_names[] = {"rule", "gate", "provider", "chain"};

[[nodiscard]] inline bool is_reserved_name(std::string_view name) noexcept {
  return std::find(std::begin(reserved_names), std::end(reserved_names), name) != std::end(reserved_names);
}

// Whether a name can be written without quotes.
[[nodiscard]] inline bool is_plain_name(std::string_view name) noexcept {
  return !name.empty() && std::all_of(name.begin(), name.end(), is_name_character) && !is_reserved_name(name);
}

[[nodiscard]] inline std::string written_name(std::string_view name) {
  return is_plain_name(name) ? std::string(name) : detail::quoted(name);
}

// A value behind `key=`, or an element of a list.
[[nodiscard]] inline std::string written_value(std::string_view value, bool in_list) {
  const auto plain = [&](char c) {
    const bool telling =
        c == ' ' || c == '"' || c == '\\' || c == '(' || c == ')' || c == '\x7F' || (c == ',' && in_list);
    return !telling && static_cast<unsigned char>(c) >= 0x20U;
  };
  bool valid = !value.empty() && std::all_of(value.begin(), value.end(), plain);
  for (std::string_view rest = value; valid && !rest.empty();) {
    const std::size_t length = utf8_length(rest);
    valid = length != 0;
    rest.remove_prefix(length);
  }
  return valid ? std::string(value) : detail::quoted(value);
}

}  // namespace planb::inline PLANB_ABI::detail
