// Settings in JSON: how a document of nlohmann/json is shown to planb::read_settings. Its faults have paths, no lines.
#pragma once

#include <planb/settings.hpp>

#include <nlohmann/json.hpp>

struct JsonDocument {
  const nlohmann::json* node;

  planb::DocumentKind kind() const {
    if (node->is_null()) return planb::DocumentKind::nothing;
    if (node->is_object()) return planb::DocumentKind::map;
    return node->is_array() ? planb::DocumentKind::list : planb::DocumentKind::scalar;
  }
  std::string text() const { return node->is_string() ? node->get<std::string>() : node->dump(); }
  planb::DocumentItems<JsonDocument> items() const {
    planb::DocumentItems<JsonDocument> result;
    for (const auto& item : node->items()) result.push_back({item.key(), {&item.value()}});
    return result;
  }
};
