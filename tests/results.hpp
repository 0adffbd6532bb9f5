// Return types that carry errors, in the shapes that users bring along.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace results {

// An error without a base class, which cannot be made from a PlanError.
struct Fault {
  int id = 0;

  friend bool operator==(const Fault&, const Fault&) = default;
};

// Shaped like absl::Status and absl::StatusOr.
class Status {
 public:
  Status() = default;
  Status(int number, std::string text) : status_(number), message_(std::move(text)) {}

  [[nodiscard]] bool ok() const { return status_ == 0; }
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  int status_ = 0;
  std::string message_;
};

template <class T>
class StatusOr {
 public:
  StatusOr(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  StatusOr(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  [[nodiscard]] const Status& status() const& { return status_; }
  [[nodiscard]] Status status() && { return std::move(status_); }
  [[nodiscard]] T& operator*() & { return *value_; }
  [[nodiscard]] T&& operator*() && { return *std::move(value_); }

 private:
  std::optional<T> value_;
  Status status_;
};

// An expected-like with no more than what is asked for: has_value(), error(), operator*.
template <class T, class E>
class Outcome {
 public:
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Outcome(E error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  [[nodiscard]] E& error() & { return *std::get_if<1>(&state_); }
  [[nodiscard]] const E& error() const& { return *std::get_if<1>(&state_); }
  [[nodiscard]] E&& error() && { return std::move(*std::get_if<1>(&state_)); }
  [[nodiscard]] T& operator*() & { return *std::get_if<0>(&state_); }
  [[nodiscard]] T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }

 private:
  std::variant<T, E> state_;
};

}  // namespace results
