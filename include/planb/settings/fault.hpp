// SPDX-License-Identifier: MIT
// Place, SettingsFault, SettingsOr: where something stands in settings, what is wrong there, and a value or all faults.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI {

// Where something stands: in a file by line and column, in a document by its path too.
struct Place {
  std::string file = {};
  int line = 0;           // from 1; 0 where nobody knows
  int column = 0;         // from 1, in bytes; 0 where nobody knows. Without a line: within the text at `path`
  std::string path = {};  // "chains.chat.steps[0].attempts"; empty in the text form

  friend bool operator==(const Place&, const Place&) = default;
};

// "chat.conf:12:9", "chat.json: chains.chat.steps[0].attempts", "line 12, column 9".
[[nodiscard]] std::string to_string(const Place& place);

struct SettingsFault {
  Place place = {};
  std::string found = {};       // as it stands there; empty: nothing
  std::string expected = {};    // in words
  std::string suggestion = {};  // the nearest known word, where what was found may be that, misspelt

  // `chat.conf:12:9: found "attemps", expected a knob of a step: ...; did you mean "attempts"?`
  [[nodiscard]] std::string message() const;
};

[[nodiscard]] inline std::string to_string(const SettingsFault& fault) { return fault.message(); }

// All that is wrong, in the order of the file.
struct SettingsFaults {
  std::vector<SettingsFault> list = {};

  // One line for each.
  [[nodiscard]] std::string message() const;
};

// A T, or all faults of the settings that should have given it. An expected-like; only value() ever throws.
template <class T>
class [[nodiscard]] SettingsOr {
 public:
  using value_type = T;
  using error_type = SettingsFaults;

  SettingsOr(T value) : value_(std::move(value)) {}                          // NOLINT(google-explicit-constructor)
  SettingsOr(SettingsFaults faults) noexcept : error_(std::move(faults)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const noexcept { return value_.has_value(); }
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }

  // Only where there is a value. Of a temporary: moved out of it.
  [[nodiscard]] T& operator*() & noexcept { return *value_; }
  [[nodiscard]] const T& operator*() const& noexcept { return *value_; }
  [[nodiscard]] T operator*() && { return *std::move(value_); }
  [[nodiscard]] T* operator->() noexcept { return std::addressof(*value_); }
  [[nodiscard]] const T* operator->() const noexcept { return std::addressof(*value_); }

  // Throws std::invalid_argument with all faults where there is no value; without exceptions, prints them and ends the
  // program.
  [[nodiscard]] T& value() & {
    insist();
    return *value_;
  }
  [[nodiscard]] const T& value() const& {
    insist();
    return *value_;
  }
  [[nodiscard]] T value() && {
    insist();
    return *std::move(value_);
  }

  // Without any where there is a value. Of a temporary: a copy.
  [[nodiscard]] const std::vector<SettingsFault>& faults() const& noexcept { return error_.list; }
  [[nodiscard]] std::vector<SettingsFault> faults() const&& { return error_.list; }
  [[nodiscard]] const SettingsFaults& error() const& noexcept { return error_; }
  [[nodiscard]] SettingsFaults error() const&& { return error_; }

 private:
  void insist() const {
    if (!has_value()) detail::refuse("settings:\n" + error_.message());
  }

  std::optional<T> value_;
  SettingsFaults error_;
};

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/settings/impl/fault.hpp>  // IWYU pragma: export
#endif
