// SPDX-License-Identifier: MIT
// Texts from anywhere as valid UTF-8: what is no character counts as U+FFFD.
#pragma once

#include <planb/detail/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

struct Utf8Char {
  char32_t code;       // U+FFFD for bytes that are no character
  std::size_t length;  // of what it takes of the text; at least 1
};

inline constexpr char32_t replacement_char = 0xFFFD;

// The character that begins at `at`, which is within the text. Of a broken one, as many bytes go as could have begun a
// character (Unicode, "maximal subpart").
[[nodiscard]] inline Utf8Char utf8_at(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
  const unsigned lead = byte(at);
  if (lead < 0x80U) return {lead, 1};
  unsigned low = 0x80;  // the range of the second byte: no overlong form, no surrogate, nothing above U+10FFFF
  unsigned high = 0xBF;
  std::size_t more = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    more = 1;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    more = 2;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    more = 3;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {replacement_char, 1};
  }
  char32_t code = lead & (0x3FU >> more);
  for (std::size_t i = 1; i <= more; ++i) {
    if (at + i == text.size() || byte(at + i) < low || byte(at + i) > high) return {replacement_char, i};
    code = code << 6U | (byte(at + i) & 0x3FU);
    low = 0x80;
    high = 0xBF;
  }
  return {code, more + 1};
}

inline void append_utf8(std::string& out, char32_t code) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | code >> 6U);
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0U | code >> 12U);
    put(0x80U | (code >> 6U & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | code >> 18U);
    put(0x80U | (code >> 12U & 0x3FU));
    put(0x80U | (code >> 6U & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

[[nodiscard]] constexpr std::size_t utf8_length(char32_t code) noexcept {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

// Calls `use(code)` for the characters of a text, up to `limit` bytes as valid UTF-8, and never half of one.
template <class Use>
void each_char(std::string_view text, std::size_t limit, Use use) {
  std::size_t used = 0;
  for (std::size_t at = 0; at != text.size();) {
    const Utf8Char c = utf8_at(text, at);
    used += utf8_length(c.code);
    if (used > limit) return;
    use(c.code);
    at += c.length;
  }
}

// Whether it moves a terminal's cursor, or ends a line for some reader.
[[nodiscard]] constexpr bool is_control(char32_t code) noexcept {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029;
}

}  // namespace planb::inline PLANB_ABI::detail
