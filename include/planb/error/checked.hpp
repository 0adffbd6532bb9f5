// SPDX-License-Identifier: MIT
// Checked<T, Error>: a value, or why there is none. What planb gives where bad input is to be expected.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

// Like std::expected<T, Error>; Error has message(). Only value() ever throws.
template <class T, class Error>
class [[nodiscard]] Checked {
 public:
  using value_type = T;
  using error_type = Error;

  Checked(T value) : value_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Checked(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const noexcept { return value_.has_value(); }
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }

  // Only where there is a value. Of a temporary: moved out of it.
  [[nodiscard]] T& operator*() & noexcept { return *value_; }
  [[nodiscard]] const T& operator*() const& noexcept { return *value_; }
  [[nodiscard]] T operator*() && noexcept(std::is_nothrow_move_constructible_v<T>) { return *std::move(value_); }
  [[nodiscard]] T* operator->() noexcept { return std::addressof(*value_); }
  [[nodiscard]] const T* operator->() const noexcept { return std::addressof(*value_); }

  // Throws std::invalid_argument with the error's message where there is no value; without exceptions, prints it and
  // ends the program.
  [[nodiscard]] T& value() & {
    insist();
    return **this;
  }
  [[nodiscard]] const T& value() const& {
    insist();
    return **this;
  }
  [[nodiscard]] T value() && {
    insist();
    return *std::move(*this);
  }

  // Only where there is none. Of a temporary: a copy.
  [[nodiscard]] const Error& error() const& noexcept { return *error_; }
  [[nodiscard]] Error error() const&& { return *error_; }

 private:
  void insist() const {
    if (!has_value()) detail::refuse(error().message());
  }

  std::optional<T> value_;  // not a std::variant, which costs every file that includes a plan
  std::optional<Error> error_;
};

}  // namespace planb::inline PLANB_ABI
