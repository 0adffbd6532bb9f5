// SPDX-License-Identifier: MIT
// Floating-point numbers as text, exactly, without the locale and without std::from_chars<double>, which libc++ lacks.
#pragma once

#include <planb/detail/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// A natural number of up to 2,560 bits: enough for every quotient that read_decimal forms.
class BigNatural {
 public:
  void multiply_add(std::uint32_t factor, std::uint32_t addend) noexcept;

  void shift_left(int bits) noexcept;

  void subtract(const BigNatural& other) noexcept;

  [[nodiscard]] bool is_zero() const noexcept { return used_ == 0; }

  [[nodiscard]] int bits() const noexcept;

  [[nodiscard]] bool less(const BigNatural& other) const noexcept;

 private:
  std::array<std::uint32_t, 80> limbs_{};
  std::size_t used_ = 0;
};

// numerator / denominator × 2^-shift rounded to the nearest double, ties to even; infinity where it is too large.
// Neither is zero.
[[nodiscard]] double nearest_double(BigNatural numerator, BigNatural denominator) noexcept;

struct Decimal {
  double value;
  std::size_t length;
};

// Reads digits, with a fraction and an exponent (1.5, 0.25, 1e3) where they follow, from the start of a text. None
// where there is no number. Rounds to the nearest double; infinity where it is too large.
[[nodiscard]] std::optional<Decimal> read_decimal(std::string_view text) noexcept;

// 0.DIGITS × 10^point, where DIGITS are the first eighteen of an exact expansion.
struct Expansion {
  std::array<std::uint8_t, 18> digits;
  int point;
};

// For finite numbers above zero.
[[nodiscard]] Expansion expand(double value) noexcept;

// DIGITS × 10^(point - number of digits), without zeros at the end; with an exponent where it would grow long.
[[nodiscard]] std::string lay_out(std::string digits, int point);

// The shortest text that read_decimal reads as this very number: 2, 1.5, 0.1, 1e300. For finite numbers from zero up.
[[nodiscard]] std::string write_decimal(double value);

// What std::to_string makes of a number, with a point where the locale has a comma or something else.
[[nodiscard]] std::string with_point(std::string number);

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/detail/impl/decimal.hpp>  // IWYU pragma: export
#endif
