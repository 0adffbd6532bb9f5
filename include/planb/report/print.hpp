// SPDX-License-Identifier: MIT
// Events, causes, reports and durations as text for people, and into streams.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/cause.hpp>
#include <planb/report/detail/text.hpp>
#include <planb/report/event.hpp>
#include <planb/report/report.hpp>
#include <planb/time/duration_text.hpp>
#include <planb/time/optional_duration.hpp>

#include <concepts>
#include <ostream>
#include <string>

namespace planb::inline PLANB_ABI {

// As a Duration, or "none".
template <std::same_as<OptionalDuration> D>  // and not of what converts to one
[[nodiscard]] std::string to_string(const D& duration) {
  return duration ? planb::to_string(*duration) : "none";
}

// On one line, and of bounded length: "503 service unavailable".
[[nodiscard]] inline std::string to_string(const Cause& cause) {
  std::string text;
  detail::append_clipped(text, detail::describe(cause));
  return text;
}

[[nodiscard]] inline std::string to_string(const RunReport& report) { return report.to_string(); }

namespace detail {

template <class T>
concept Printable = event_kind<T> != 0 || std::same_as<T, Event> || std::same_as<T, Cause> || std::same_as<T, RunReport> ||
    std::same_as<T, OptionalDuration> || std::same_as<T, SaturatedDuration>;

template <Printable T>
[[nodiscard]] std::string print(const T& value) {
  if constexpr (std::same_as<T, SaturatedDuration>) {
    return planb::to_string(static_cast<const Duration&>(value));
  } else {
    return planb::to_string(value);
  }
}

}  // namespace detail

// Writes what to_string gives; width and fill are the stream's.
template <class T>
requires detail::Printable<T> std::ostream& operator<<(std::ostream& out, const T& value) {
  return out << detail::print(value);
}

// A Duration is one of std::chrono's types, which does not look into this namespace by itself: `using namespace planb`,
// or print to_string(duration).
inline std::ostream& operator<<(std::ostream& out, const Duration& duration) { return out << to_string(duration); }

}  // namespace planb::inline PLANB_ABI
