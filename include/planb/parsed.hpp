// Parsed<T>: what reading a text gave, or where it went wrong and what was expected there.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/fail.hpp>

#include <optional>
#include <string>
#include <utility>

namespace planb::inline PLANB_ABI {

struct ParseError {
  int line = 1;    // from 1
  int column = 1;  // from 1, in bytes
  std::string expected;

  // "column 8: expected a duration such as 10ms"; from the second line on, "line 2, column 8: ...".
  [[nodiscard]] std::string message() const {
    std::string text = line > 1 ? "line " + std::to_string(line) + ", " : std::string();
    return text + "column " + std::to_string(column) + ": expected " + expected;
  }
};

// A value or a ParseError, like std::expected. Nothing is ever thrown for a bad text, except by value().
template <class T>
class [[nodiscard]] Parsed {
 public:
  using value_type = T;
  using error_type = ParseError;

  Parsed(T value) : value_(std::move(value)) {}           // NOLINT(google-explicit-constructor)
  Parsed(ParseError error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const noexcept { return value_.has_value(); }
  [[nodiscard]] explicit operator bool() const noexcept { return value_.has_value(); }

  // Only where there is a value.
  [[nodiscard]] T& operator*() & noexcept { return *value_; }
  [[nodiscard]] const T& operator*() const& noexcept { return *value_; }
  [[nodiscard]] T&& operator*() && noexcept { return *std::move(value_); }
  [[nodiscard]] T* operator->() noexcept { return &*value_; }
  [[nodiscard]] const T* operator->() const noexcept { return &*value_; }

  // Throws std::invalid_argument with the error's message where there is no value; without exceptions, ends the
  // program.
  [[nodiscard]] T& value() & { return insist(), *value_; }
  [[nodiscard]] const T& value() const& { return insist(), *value_; }
  [[nodiscard]] T&& value() && { return insist(), *std::move(value_); }

  // Only where there is no value.
  [[nodiscard]] const ParseError& error() const noexcept { return error_; }

 private:
  void insist() const {
    if (!value_) detail::refuse(error_.message());
  }

  std::optional<T> value_;
  ParseError error_;
};

}  // namespace planb::inline PLANB_ABI
