// SPDX-License-Identifier: MIT
// The definitions of text.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/error_traits.hpp>
#include <planb/report/detail/text.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

PLANB_COLD PLANB_DECL void append_clipped(std::string& line, std::string_view text, std::size_t limit) {
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

PLANB_COLD PLANB_DECL void append_name(std::string& line, std::string_view name) {
  if (name.empty()) return;
  line += ' ';
  append_clipped(line, name, 64);
}

PLANB_COLD PLANB_DECL std::string step_label(std::string_view name, int index) {
  std::string label;
  if (name.empty()) {
    label = "step " + detail::number_text(static_cast<long long>(index));
  } else {
    append_clipped(label, name, 64);
  }
  return label;
}

PLANB_COLD PLANB_DECL std::string duration_text(Duration d) {
  const long long ns = d.count();
  if (ns < 0) return "0 ms";
  const auto tenths = [](long long value, long long unit, const char* name) {
    const long long whole = value / unit;
    const long long tenth = value % unit / (unit / 10);
    std::string text = detail::number_text(whole);
    if (tenth != 0) text += "." + detail::number_text(tenth);
    return text + " " + name;
  };
  if (ns < 1'000) return detail::number_text(ns) + " ns";
  if (ns < 1'000'000) return tenths(ns, 1'000, "us");
  if (ns < 1'000'000'000) return tenths(ns, 1'000'000, "ms");
  if (ns < 60'000'000'000) return tenths(ns, 1'000'000'000, "s");
  const long long minutes = ns / 60'000'000'000;
  if (minutes < 60) {
    const long long seconds = ns / 1'000'000'000 % 60;
    return detail::number_text(minutes) + " min" + (seconds != 0 ? " " + detail::number_text(seconds) + " s" : "");
  }
  const long long rest = minutes % 60;
  return detail::number_text(minutes / 60) + " h" + (rest != 0 ? " " + detail::number_text(rest) + " min" : "");
}

PLANB_COLD PLANB_DECL std::string open_text(Duration opens_in, TimePoint opens_at) {
  if (opens_in <= Duration::zero() || opens_at == (TimePoint::max)()) return {};
  return " for " + duration_text(opens_in);
}

}  // namespace planb::inline PLANB_ABI::detail
