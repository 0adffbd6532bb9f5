// SPDX-License-Identifier: MIT
// Bits of text for events and reports.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/gate/reason.hpp>
#include <planb/time/clock.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

// The most that a line shows of one error's message.
inline constexpr std::size_t message_limit = 200;

// Control characters would let an error's text forge further log lines.
void append_clipped(std::string& line, std::string_view text, std::size_t limit = message_limit);

void append_name(std::string& line, std::string_view name);

// A step by its name, or by its index where it has none.
[[nodiscard]] std::string step_label(std::string_view name, int index);

// A duration for people: "20 ms", "4.2 s", "1 h 30 min".
[[nodiscard]] std::string duration_text(Duration d);

// Why a gate refuses, in its own words where it has some.
[[nodiscard]] inline std::string gate_text(GateReason reason, std::string_view words) {
  std::string text;
  if (words.empty()) {
    text = planb::to_string(reason);
  } else {
    append_clipped(text, words);
  }
  return text;
}

// For how long a gate stays closed: " for 4.2 s"; nothing where that is not known, or for ever.
[[nodiscard]] std::string open_text(Duration opens_in, TimePoint opens_at);

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/report/impl/text.hpp>  // IWYU pragma: export
#endif
