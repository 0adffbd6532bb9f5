// SPDX-License-Identifier: MIT
// How wide texts are where every character has its columns: a terminal, roughly a picture.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/observe/detail/utf8.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

struct CharRange {
  char32_t first;
  char32_t last;
};

template <std::size_t N>
[[nodiscard]] bool is_in(const CharRange (&ranges)[N], char32_t code) noexcept {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const CharRange& r) { return r.first <= code && code <= r.last; });
}

// Two columns: East Asian wide characters and emoji. None: what stands on the character before, or is not seen.
inline constexpr CharRange wide_chars[] = {
    {0x1100, 0x115F}, {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},
    {0xA000, 0xA4CF}, {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
    {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD},
};
inline constexpr CharRange flat_chars[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},
    {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x206F},
    {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0000, 0xE0FFF},
};

[[nodiscard]] inline std::size_t char_width(char32_t code) noexcept {
  if (code < 0x300) return 1;
  if (is_in(flat_chars, code)) return 0;
  return is_in(wide_chars, code) ? 2 : 1;
}

// About so many tenths of a pixel in a picture, in a font of 13 pixels that is among the wider ones: names of nothing
// but W are to end before what stands behind them.
[[nodiscard]] inline std::size_t drawn_width(char32_t code) noexcept {
  const auto one_of = [code](std::string_view chars) {
    return code < 0x80 && chars.find(static_cast<char>(code)) != std::string_view::npos;
  };
  if (one_of("WMm@%")) return 132;
  if (one_of(" ijlft.,:;'|!()[]rI-")) return 54;
  if (one_of("sczk")) return 72;
  if (code < 0x80) return code == U'w' || (code >= U'A' && code <= U'Z') || one_of("&<>=+#~") ? 108 : 84;
  return char_width(code) == 0 ? 0 : code < 0x2000 && char_width(code) == 1 ? 96 : 134;
}

struct FittedText {
  std::string text;
  std::size_t width = 0;
};

// A text on one line of at most so many columns, "..." included where it is cut; valid UTF-8, and nothing that turns
// the direction of what follows. In a picture, columns are what width_of() counts in.
template <class WidthOf>
[[nodiscard]] FittedText fit_text(std::string_view text, std::size_t columns, WidthOf width_of) {
  const std::size_t dots = width_of(U'\u2026');
  FittedText out;
  std::size_t kept = 0;  // of out.text, where "…" still has its column
  std::size_t kept_width = 0;
  bool cut = false;
  // A character on top of another has no column: they must not go on for ever. Without columns none is looked at.
  each_char(text, columns * 16, [&](char32_t code) {
    if (cut) return;
    if (is_control(code)) code = U' ';
    if ((code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069)) return;
    const std::size_t width = width_of(code);
    if (out.width + width > columns) {
      cut = true;
      return;
    }
    append_utf8(out.text, code);
    out.width += width;
    if (out.width + dots <= columns) {
      kept = out.text.size();
      kept_width = out.width;
    }
  });
  if (cut) {
    out.text.resize(kept);
    out.text += "\xE2\x80\xA6";
    out.width = kept_width + dots;
  }
  return out;
}

[[nodiscard]] inline FittedText fit_text(std::string_view text, std::size_t columns) {
  return fit_text(text, columns, [](char32_t code) { return char_width(code); });
}

}  // namespace planb::inline PLANB_ABI::detail
