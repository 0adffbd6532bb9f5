// Bits of text for messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ask {

// The start of a text in one line: white space and control characters become single spaces. At most `limit` bytes, and
// never half a UTF-8 sequence.
[[nodiscard]] inline std::string one_line(std::string_view text, std::size_t limit = 300) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20U && byte != 0x7FU) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
    if (line.size() > limit) break;
  }
  if (line.size() > limit) {
    std::size_t end = limit;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;
    line.resize(end);
    line += "...";
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

// As what somebody typed appears in a message.
[[nodiscard]] inline std::string in_quotes(std::string_view text) { return '"' + one_line(text, 80) + '"'; }

// Whether a text is UTF-8, without surrogates, overlong forms and numbers above U+10FFFF.
[[nodiscard]] inline bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t at) -> unsigned { return static_cast<unsigned char>(text[at]); };
    const unsigned first = byte(i++);
    if (first < 0x80U) continue;
    const int more = first >= 0xC2U && first < 0xE0U ? 1 : first >= 0xE0U && first < 0xF0U ? 2 : first >= 0xF0U ? 3 : 0;
    if (more == 0 || first > 0xF4U) return false;
    // The second byte has a narrower range after some first ones.
    unsigned low = first == 0xE0U ? 0xA0U : first == 0xF0U ? 0x90U : 0x80U;
    unsigned high = first == 0xEDU ? 0x9FU : first == 0xF4U ? 0x8FU : 0xBFU;
    for (int n = 0; n != more; ++n, ++i, low = 0x80U, high = 0xBFU) {
      if (i == text.size() || byte(i) < low || byte(i) > high) return false;
    }
  }
  return true;
}

}  // namespace ask
