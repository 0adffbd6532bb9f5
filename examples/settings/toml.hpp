// Settings in TOML: how a document of toml++ is shown to planb::read_settings.
#pragma once

#include <planb/settings.hpp>

#include <toml++/toml.h>

#include <sstream>

struct TomlDocument {
  const toml::node* node;

  planb::DocumentKind kind() const {
    if (node->is_table()) return planb::DocumentKind::map;
    return node->is_array() ? planb::DocumentKind::list : planb::DocumentKind::scalar;
  }
  std::string text() const {
    if (node->is_string()) return node->ref<std::string>();
    return (std::ostringstream() << toml::node_view(*node)).str();
  }
  planb::DocumentItems<TomlDocument> items() const {
    planb::DocumentItems<TomlDocument> result;
    if (const auto* table = node->as_table()) {
      for (const auto& [key, item] : *table) result.push_back({std::string(key.str()), {&item}});
    }
    if (const auto* array = node->as_array()) {
      for (const auto& item : *array) result.push_back({"", {&item}});
    }
    return result;
  }
  planb::Place place() const { return {{}, int(node->source().begin.line), int(node->source().begin.column), {}}; }
};
