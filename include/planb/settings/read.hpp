// SPDX-License-Identifier: MIT
// parse_settings, read_settings: settings from text, and from anybody's documents.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/settings/detail/document_node.hpp>
#include <planb/settings/document.hpp>
#include <planb/settings/settings.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace planb::inline PLANB_ABI {

// What reading settings is told besides them.
struct SettingsSource {
  std::string file = {};                // for the places of faults
  std::vector<std::string> gates = {};  // registered by code: the settings may refer to them, and not define them
};

// Reads the text form (docs/settings.md): all settings, or all faults. Whatever the text, nothing is thrown but
// std::bad_alloc.
[[nodiscard]] SettingsResult parse_settings(std::string_view text, const SettingsSource& source);

[[nodiscard]] inline SettingsResult parse_settings(std::string_view text, std::string_view file = {}) {
  return parse_settings(text, SettingsSource{std::string(file), {}});
}

namespace detail {

[[nodiscard]] SettingsResult read_settings_tree(const DocumentNode& root, const SettingsSource& source);

}  // namespace detail

// Reads a document: JSON, YAML, TOML, or whatever else a SettingsDocument shows as a tree. Throws what that throws.
template <SettingsDocument Document>
[[nodiscard]] SettingsResult read_settings(const Document& document, const SettingsSource& source) {
  return detail::read_settings_tree(detail::document_node(std::string(), document, detail::document_depth), source);
}

template <SettingsDocument Document>
[[nodiscard]] SettingsResult read_settings(const Document& document, std::string_view file = {}) {
  return read_settings(document, SettingsSource{std::string(file), {}});
}

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/settings/impl/read.hpp>  // IWYU pragma: export
#endif
