// cpp-httplib's Error as a std::error_code, with what each is to the rest of a program: which of them mean that the
// connection failed, and which that time ran out. planb's classifiers read that, whether the code is thrown, returned,
// or inside a std::system_error. To copy.
#pragma once

#include <httplib.h>

#include <string>
#include <system_error>

namespace error_codes {

class HttplibCategory final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "httplib"; }
  [[nodiscard]] std::string message(int code) const override {
    return httplib::to_string(static_cast<httplib::Error>(code));
  }

  // What has no row is about the request, the certificates or this program: trying again does not help. A read that
  // timed out is `Read` too: httplib does not tell them apart.
  [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override {
    switch (static_cast<httplib::Error>(code)) {
      case httplib::Error::Success: return {};
      case httplib::Error::Connection:
      case httplib::Error::SSLConnection: return std::errc::connection_refused;
      case httplib::Error::Read:
      case httplib::Error::Write: return std::errc::connection_reset;
      case httplib::Error::ConnectionTimeout: return std::errc::timed_out;
      default: return {code, *this};
    }
  }
};

[[nodiscard]] inline const std::error_category& httplib_category() noexcept {
  static const HttplibCategory category;
  return category;
}

}  // namespace error_codes

template <>
struct std::is_error_code_enum<httplib::Error> : std::true_type {};

namespace httplib {

[[nodiscard]] inline std::error_code make_error_code(Error code) noexcept {
  return {static_cast<int>(code), error_codes::httplib_category()};
}

}  // namespace httplib
