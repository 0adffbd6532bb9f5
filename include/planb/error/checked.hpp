// Checked<T, Error>: a value, or why there is none. What planb gives where bad input is to be expected.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>

#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace planb::inline PLANB_ABI {

// Like std::expected<T, Error>; Error has message(). Only value() ever throws.
template <class T, class Error>
class [[nodiscard]] Checked {
 public:
  using value_type = T;
  using error_type = Error;

  Checked(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Checked(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }

  // Only where there is a value. Of a temporary: moved out of it.
  [[nodiscard]] T& operator*() & noexcept { return *std::get_if<0>(std::addressof(state_)); }
  [[nodiscard]] const T& operator*() const& noexcept { return *std::get_if<0>(std::addressof(state_)); }
  [[nodiscard]] T operator*() && noexcept(std::is_nothrow_move_constructible_v<T>) { return std::move(*std::get_if<0>(std::addressof(state_))); }
  [[nodiscard]] T* operator->() noexcept { return std::get_if<0>(std::addressof(state_)); }
  [[nodiscard]] const T* operator->() const noexcept { return std::get_if<0>(std::addressof(state_)); }

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
  [[nodiscard]] const Error& error() const& noexcept { return *std::get_if<1>(std::addressof(state_)); }
  [[nodiscard]] Error error() const&& { return *std::get_if<1>(std::addressof(state_)); }

 private:
  void insist() const {
    if (!has_value()) detail::refuse(error().message());
  }

  std::variant<T, Error> state_;
};

}  // namespace planb::inline PLANB_ABI
