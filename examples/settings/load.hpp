// Reads settings from a file: as JSON, YAML or TOML where its name says so, and otherwise in planb's own text form.
#pragma once

#include <planb/settings.hpp>

#include <exception>
#include <fstream>
#include <iterator>
#include <string>

#include "json.hpp"
#include "toml.hpp"
#include "yaml.hpp"

inline planb::SettingsResult read_text_as(const std::string& name, const std::string& text) {
  if (name.ends_with(".json")) {
    const nlohmann::json json = nlohmann::json::parse(text);
    return planb::read_settings(JsonDocument{&json}, name);
  }
  if (name.ends_with(".yaml")) return planb::read_settings(YamlDocument{YAML::Load(text)}, name);
  if (name.ends_with(".toml")) {
    const toml::table toml = toml::parse(text);
    return planb::read_settings(TomlDocument{&toml}, name);
  }
  return planb::parse_settings(text, name);
}

inline planb::SettingsResult load_settings(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) return planb::SettingsFaults{{{{name, 0, 0, {}}, {}, "a file that can be read", {}}}};
  try {
    return read_text_as(name, text);
  } catch (const std::exception& e) {  // what no document is
    return planb::SettingsFaults{{{{name, 0, 0, {}}, e.what(), "a document of that form", {}}}};
  }
}
