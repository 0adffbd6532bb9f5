// SPDX-License-Identifier: MIT
// SaturatedDuration, OptionalDuration: options that are durations, given in any unit.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/time/duration.hpp>

#include <chrono>
#include <compare>
#include <optional>

namespace planb::inline PLANB_ABI {

// A Duration that any chrono duration converts to, saturated where it does not fit: std::chrono::hours::max() is the
// longest Duration, not a negative one. A floating-point NaN is zero.
struct SaturatedDuration : Duration {
  constexpr SaturatedDuration() noexcept : Duration(Duration::zero()) {}

  template <class Rep, class Period>
  constexpr SaturatedDuration(std::chrono::duration<Rep, Period> d) noexcept  // NOLINT(google-explicit-constructor)
      : Duration(detail::to_duration(d)) {}
};

// A SaturatedDuration or none: read as a std::optional<Duration>.
class OptionalDuration {
 public:
  constexpr OptionalDuration() noexcept = default;

  // NOLINTBEGIN(google-explicit-constructor): an option's value
  constexpr OptionalDuration(std::nullopt_t) noexcept {}

  template <class Rep, class Period>
  constexpr OptionalDuration(std::chrono::duration<Rep, Period> d) noexcept : value_(detail::to_duration(d)) {}

  template <class Rep, class Period>
  constexpr OptionalDuration(const std::optional<std::chrono::duration<Rep, Period>>& d) noexcept {
    if (d) value_ = detail::to_duration(*d);
  }

  constexpr operator std::optional<Duration>() const noexcept { return value_; }
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] constexpr bool has_value() const noexcept { return value_.has_value(); }
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return value_.has_value(); }
  [[nodiscard]] constexpr const Duration& operator*() const noexcept { return *value_; }
  [[nodiscard]] constexpr Duration& operator*() noexcept { return *value_; }
  [[nodiscard]] constexpr const Duration* operator->() const noexcept { return &*value_; }
  [[nodiscard]] constexpr Duration* operator->() noexcept { return &*value_; }
  [[nodiscard]] constexpr const Duration& value() const { return value_.value(); }  // throws std::bad_optional_access
  [[nodiscard]] constexpr Duration value_or(SaturatedDuration other) const noexcept {
    return value_ ? *value_ : Duration(other);
  }
  constexpr void reset() noexcept { value_.reset(); }

  // None is less than any.
  friend constexpr bool operator==(const OptionalDuration&, const OptionalDuration&) noexcept = default;
  friend constexpr std::strong_ordering operator<=>(const OptionalDuration& a, const OptionalDuration& b) noexcept {
    if (a.value_ && b.value_) return a.value_->count() <=> b.value_->count();
    return a.value_.has_value() <=> b.value_.has_value();
  }

  // Beside an optional, its own comparison with "a value" would be taken.
  template <class Rep, class Period>
  friend constexpr bool operator==(const OptionalDuration& a,
                                   const std::optional<std::chrono::duration<Rep, Period>>& b) noexcept {
    return a == OptionalDuration(b);
  }
  template <class Rep, class Period>
  friend constexpr bool operator==(const std::optional<std::chrono::duration<Rep, Period>>& a,
                                   const OptionalDuration& b) noexcept {
    return OptionalDuration(a) == b;
  }

 private:
  std::optional<Duration> value_;
};

namespace detail {

// A limit in time as it is meant: the longest Duration is none.
[[nodiscard]] constexpr std::optional<Duration> limit(const OptionalDuration& given) noexcept {
  if (given && *given == (Duration::max)()) return std::nullopt;
  return given;
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
