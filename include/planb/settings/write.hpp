// SPDX-License-Identifier: MIT
// to_string(settings): the text form, written in one way.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/settings/settings.hpp>

#include <string>

namespace planb::inline PLANB_ABI {

// The settings in the text form, in one way: sorted by name, with what is given and nothing else. parse_settings gives
// equal settings of it, where they could have been read: comments are lost, texts that are no UTF-8 are repaired.
[[nodiscard]] std::string to_string(const Settings& settings);

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/settings/impl/write.hpp>  // IWYU pragma: export
#endif
