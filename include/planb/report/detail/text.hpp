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
inline void append_clipped(std::string& line, std::string_view text, std::size_t limit = message_limit) {
  const bool clipped = text.size() > limit;
  if (clipped) {
    std::size_t end = limit;
    const auto inside = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U; };
    while (end > 0 && limit - end < 4 && inside(end)) --end;  // not inside a UTF-8 sequence
    if (inside(end)) end = limit;                             // nor is this one
    text = text.substr(0, end);
  }
  for (const char c : text) line += (static_cast<unsigned char>(c) < 0x20U || c == 0x7F) ? ' ' : c;
  if (clipped) line += "...";
}

inline void append_name(std::string& line, std::string_view name) {
  if (name.empty()) return;
  line += ' ';
  append_clipped(line, name, 64);
}

// A step by its name, or by its index where it has none.
[[nodiscard]] inline std::string step_label(std::string_view name, int index) {
  std::string label;
  if (name.empty()) {
    label = "step " + std::to_string(index);
  } else {
    append_clipped(label, name, 64);
  }
  return label;
}

// A duration for people: "20 ms", "4.2 s", "1 h 30 min".
[[nodiscard]] inline std::string duration_text(Duration d) {
  const long long ns = d.count();
  if (ns < 0) return "0 ms";
  const auto tenths = [](long long value, long long unit, const char* name) {
    const long long whole = value / unit;
    const long long tenth = value % unit / (unit / 10);
    std::string text = std::to_string(whole);
    if (tenth != 0) text += "." + std::to_string(tenth);
    return text + " " + name;
  };
  if (ns < 1'000) return std::to_string(ns) + " ns";
  if (ns < 1'000'000) return tenths(ns, 1'000, "us");
  if (ns < 1'000'000'000) return tenths(ns, 1'000'000, "ms");
  if (ns < 60'000'000'000) return tenths(ns, 1'000'000'000, "s");
  const long long minutes = ns / 60'000'000'000;
  if (minutes < 60) {
    const long long seconds = ns / 1'000'000'000 % 60;
    return std::to_string(minutes) + " min" + (seconds != 0 ? " " + std::to_string(seconds) + " s" : "");
  }
  const long long rest = minutes % 60;
  return std::to_string(minutes / 60) + " h" + (rest != 0 ? " " + std::to_string(rest) + " min" : "");
}

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
[[nodiscard]] inline std::string open_text(Duration opens_in, TimePoint opens_at) {
  if (opens_in <= Duration::zero() || opens_at == (TimePoint::max)()) return {};
  return " for " + duration_text(opens_in);
}

}  // namespace planb::inline PLANB_ABI::detail
