// SPDX-License-Identifier: MIT
// The definitions of read.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/settings/detail/document_node.hpp>
#include <planb/settings/detail/document_reader.hpp>
#include <planb/settings/detail/line_reader.hpp>
#include <planb/settings/detail/settings_reader.hpp>
#include <planb/settings/read.hpp>
#include <planb/settings/settings.hpp>

#include <string_view>

namespace planb::inline PLANB_ABI {

PLANB_DECL SettingsResult parse_settings(std::string_view text, const SettingsSource& source) {
  detail::SettingsReader reader(source.gates);
  detail::LineReader(reader, source.file).read(text);
  return reader.finish();
}

PLANB_DECL SettingsResult detail::read_settings_tree(const DocumentNode& root, const SettingsSource& source) {
  SettingsReader reader(source.gates);
  DocumentReader(reader, source.file).read(root);
  return reader.finish();
}

}  // namespace planb::inline PLANB_ABI
