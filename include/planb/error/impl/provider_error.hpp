// SPDX-License-Identifier: MIT
// The definitions of provider_error.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/provider_error.hpp>

#include <string>
#include <utility>

namespace planb::inline PLANB_ABI {

PLANB_DECL ProviderError::ProviderError(int provider_status, std::string text, std::string provider_code,
                                        OptionalDuration wait_hint)
    : status(provider_status), code(std::move(provider_code)), retry_after(wait_hint), message(std::move(text)) {}

PLANB_DECL ProviderError::ProviderError(std::string text) : ProviderError(0, std::move(text)) {}

PLANB_DECL const char* ProviderError::what() const noexcept { return message.c_str(); }

}  // namespace planb::inline PLANB_ABI
