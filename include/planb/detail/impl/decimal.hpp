// SPDX-License-Identifier: MIT
// The definitions of decimal.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/decimal.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL void BigNatural::multiply_add(std::uint32_t factor, std::uint32_t addend) noexcept {
  std::uint64_t carry = addend;
  for (std::size_t i = 0; i != used_; ++i) {
    carry += std::uint64_t{limbs_[i]} * factor;
    limbs_[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32U;
  }
  if (carry != 0) limbs_[used_++] = static_cast<std::uint32_t>(carry);
}

PLANB_DECL void BigNatural::shift_left(int bits) noexcept {
  for (; bits >= 31; bits -= 31) multiply_add(std::uint32_t{1} << 31U, 0);
  multiply_add(std::uint32_t{1} << static_cast<unsigned>(bits), 0);
}

PLANB_DECL void BigNatural::subtract(const BigNatural& other) noexcept {  // other <= *this
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i != used_; ++i) {
    const std::uint64_t difference = std::uint64_t{limbs_[i]} - other.limbs_[i] - borrow;
    limbs_[i] = static_cast<std::uint32_t>(difference);
    borrow = difference >> 63U;
  }
  while (used_ != 0 && limbs_[used_ - 1] == 0) --used_;
}

PLANB_DECL int BigNatural::bits() const noexcept {  // not of zero
  return static_cast<int>(used_ * 32) - std::countl_zero(limbs_[used_ - 1]);
}

PLANB_DECL bool BigNatural::less(const BigNatural& other) const noexcept {
  if (used_ != other.used_) return used_ < other.used_;
  for (std::size_t i = used_; i-- != 0;) {
    if (limbs_[i] != other.limbs_[i]) return limbs_[i] < other.limbs_[i];
  }
  return false;
}

PLANB_DECL double nearest_double(BigNatural numerator, BigNatural denominator) noexcept {
  constexpr int precision = std::numeric_limits<double>::digits;
  constexpr int lowest = std::numeric_limits<double>::min_exponent - precision;  // of the last bit of a subnormal
  // Scales the quotient to [1, 2), where 2^exponent is the weight of its first bit.
  int exponent = numerator.bits() - denominator.bits();
  if (exponent > 0) denominator.shift_left(exponent);
  if (exponent < 0) numerator.shift_left(-exponent);
  if (numerator.less(denominator)) {
    numerator.shift_left(1);
    --exponent;
  }
  int last = exponent - precision + 1;
  if (last < lowest) last = lowest;
  std::uint64_t mantissa = 0;
  for (int bit = exponent; bit >= last; --bit) {
    mantissa <<= 1U;
    if (!numerator.less(denominator)) {
      numerator.subtract(denominator);
      mantissa |= 1U;
    }
    numerator.shift_left(1);
  }
  // What is left, doubled, against one half of the last bit.
  const bool above = denominator.less(numerator);
  const bool tie = !above && !numerator.less(denominator);
  if (exponent >= last - 1 && (above || (tie && (mantissa & 1U) != 0))) ++mantissa;
  double value = static_cast<double>(mantissa);
  for (int i = 0; i < last; ++i) value *= 2;
  for (int i = 0; i > last; --i) value /= 2;
  return value;
}

PLANB_DECL std::optional<Decimal> read_decimal(std::string_view text) noexcept {
  constexpr int most_digits = 60;  // more only tell on which side of a tie the number is
  std::size_t at = 0;
  const auto digit = [&] { return at < text.size() && is_digit(text[at]); };
  if (!digit()) return std::nullopt;

  BigNatural numerator;
  int digits = 0;
  int scale = 0;  // the number is numerator × 10^scale
  bool more = false;
  const auto take_digits = [&](bool fraction) {
    for (; digit(); ++at) {
      const auto value = static_cast<std::uint32_t>(text[at] - '0');
      if (digits < most_digits) {
        numerator.multiply_add(10, value);
        if (!numerator.is_zero()) ++digits;
        if (fraction && scale > -100'000) --scale;
      } else {
        more = more || value != 0;
        if (!fraction && scale < 100'000) ++scale;
      }
    }
  };
  take_digits(false);
  if (at + 1 < text.size() && text[at] == '.' && is_digit(text[at + 1])) {
    ++at;
    take_digits(true);
  }
  if (more) {
    numerator.multiply_add(10, 1);
    --scale;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const std::size_t before = at++;
    const bool negative = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (digit()) {
      int exponent = 0;
      for (; digit(); ++at) exponent = exponent < 100'000 ? exponent * 10 + (text[at] - '0') : exponent;
      scale += negative ? -exponent : exponent;
    } else {
      at = before;
    }
  }

  if (numerator.is_zero()) return Decimal{0, at};
  if (scale + digits > 310) return Decimal{std::numeric_limits<double>::infinity(), at};
  if (scale + digits < -325) return Decimal{0, at};
  BigNatural denominator;
  denominator.multiply_add(0, 1);
  for (int i = 0; i < scale; ++i) numerator.multiply_add(10, 0);
  for (int i = 0; i > scale; --i) denominator.multiply_add(10, 0);
  return Decimal{nearest_double(numerator, denominator), at};
}

PLANB_DECL Expansion expand(double value) noexcept {
  static_assert(std::numeric_limits<double>::is_iec559 && sizeof(double) == sizeof(std::uint64_t));
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int biased = static_cast<int>(bits >> 52U);
  const std::uint64_t mantissa = (bits & ((std::uint64_t{1} << 52U) - 1)) | (biased != 0 ? std::uint64_t{1} << 52U : 0);
  const int exponent = (biased != 0 ? biased : 1) - 1075;

  BigNatural numerator;
  numerator.multiply_add(0, static_cast<std::uint32_t>(mantissa >> 32U));
  numerator.shift_left(32);
  numerator.multiply_add(1, static_cast<std::uint32_t>(mantissa));
  BigNatural denominator;
  denominator.multiply_add(0, 1);
  if (exponent > 0) numerator.shift_left(exponent);
  if (exponent < 0) denominator.shift_left(-exponent);

  Expansion result{{}, 0};
  for (; !numerator.less(denominator); ++result.point) denominator.multiply_add(10, 0);
  for (;; --result.point) {  // until the first digit is not zero
    BigNatural next = numerator;
    next.multiply_add(10, 0);
    if (!next.less(denominator)) break;
    numerator = next;
  }
  for (std::uint8_t& digit : result.digits) {
    numerator.multiply_add(10, 0);
    for (; !numerator.less(denominator); ++digit) numerator.subtract(denominator);
  }
  return result;
}

PLANB_DECL std::string lay_out(std::string digits, int point) {
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  const int size = static_cast<int>(digits.size());
  if (point > 21 || point < -5) {
    if (size > 1) digits.insert(1, 1, '.');
    return digits + 'e' + std::to_string(point - 1);
  }
  if (point <= 0) return "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  if (point >= size) return digits + std::string(static_cast<std::size_t>(point - size), '0');
  return digits.insert(static_cast<std::size_t>(point), 1, '.');
}

PLANB_DECL std::string write_decimal(double value) {
  if (!(value > 0)) return "0";
  const Expansion exact = expand(value);
  std::string text;
  std::uint64_t number = 0;
  for (std::size_t size = 1;; ++size) {
    number = number * 10 + exact.digits[size - 1];
    const std::string digits = std::to_string(exact.digits[size] < 5 ? number : number + 1);
    text = lay_out(digits, exact.point + static_cast<int>(digits.size() - size));
    const double read = read_decimal(text)->value;
    if (read <= value && read >= value) break;  // at 17 digits at the latest
  }
  return text;
}

PLANB_DECL std::string with_point(std::string number) {
  const std::size_t end = number.find_last_not_of("0123456789");
  const std::size_t start = number.find_first_of("0123456789");
  if (end == std::string::npos || end + 1 == number.size() || end < start) return number;  // -1, inf
  const std::size_t point = number.find_first_not_of("0123456789", start);
  return number.replace(point, end + 1 - point, 1, '.');
}

}  // namespace planb::inline PLANB_ABI::detail
