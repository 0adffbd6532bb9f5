// SPDX-License-Identifier: MIT
// ProviderError: a ready-made exception for provider clients.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/time/optional_duration.hpp>

#include <exception>
#include <string>

namespace planb::inline PLANB_ABI {

// A ready-made exception for provider clients.
class PLANB_VISIBLE ProviderError : public std::exception {
 public:
  explicit ProviderError(int provider_status, std::string text = {}, std::string provider_code = {},
                         OptionalDuration wait_hint = {});

  // An error without a status: a connection that failed, say.
  explicit ProviderError(std::string text);

  [[nodiscard]] const char* what() const noexcept override;

  int status = 0;                        // HTTP status or its like; 0 where there was no answer
  std::string code;                      // the provider's own word, such as "insufficient_quota"; may be empty
  OptionalDuration retry_after;          // the provider's wait hint
  std::string message;
};

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/error/impl/provider_error.hpp>  // IWYU pragma: export
#endif
