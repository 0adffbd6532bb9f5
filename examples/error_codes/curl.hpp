// libcurl's CURLcode as a std::error_code, with what each result is to the rest of a program: which of them mean that
// the connection failed, and which that time ran out. planb's classifiers read that, whether the code is thrown,
// returned, or inside a std::system_error. To copy.
#pragma once

#include <curl/curl.h>

#include <string>
#include <system_error>

namespace error_codes {

class CurlCategory final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "curl"; }
  [[nodiscard]] std::string message(int code) const override { return curl_easy_strerror(static_cast<CURLcode>(code)); }

  // What has no row is about the request, the certificates or this program: trying again does not help.
  [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override {
    switch (static_cast<CURLcode>(code)) {
      case CURLE_OK: return {};
      case CURLE_COULDNT_RESOLVE_PROXY:
      case CURLE_COULDNT_RESOLVE_HOST: return std::errc::host_unreachable;
      case CURLE_COULDNT_CONNECT:
      case CURLE_QUIC_CONNECT_ERROR:
      case CURLE_SSL_CONNECT_ERROR:
      case CURLE_PROXY: return std::errc::connection_refused;
      case CURLE_WEIRD_SERVER_REPLY:
      case CURLE_PARTIAL_FILE:
      case CURLE_GOT_NOTHING:
      case CURLE_SEND_ERROR:
      case CURLE_RECV_ERROR:
      case CURLE_HTTP2:
      case CURLE_HTTP2_STREAM:
      case CURLE_HTTP3: return std::errc::connection_reset;
      case CURLE_NO_CONNECTION_AVAILABLE: return std::errc::not_connected;
      case CURLE_OPERATION_TIMEDOUT: return std::errc::timed_out;
      default: return {code, *this};
    }
  }
};

[[nodiscard]] inline const std::error_category& curl_category() noexcept {
  static const CurlCategory category;
  return category;
}

}  // namespace error_codes

template <>
struct std::is_error_code_enum<CURLcode> : std::true_type {};

// Found beside the enumeration, which is in the global namespace.
[[nodiscard]] inline std::error_code make_error_code(CURLcode code) noexcept {
  return {static_cast<int>(code), error_codes::curl_category()};
}
