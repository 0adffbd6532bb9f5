// Settings in YAML: how a document of yaml-cpp is shown to planb::read_settings.
#pragma once

#include <planb/settings.hpp>

#include <yaml-cpp/yaml.h>

struct YamlDocument {
  YAML::Node node;

  planb::DocumentKind kind() const {
    if (node.IsMap()) return planb::DocumentKind::map;
    if (node.IsSequence()) return planb::DocumentKind::list;
    return node.IsScalar() ? planb::DocumentKind::scalar : planb::DocumentKind::nothing;
  }
  std::string text() const { return node.Scalar(); }
  planb::DocumentItems<YamlDocument> items() const {
    planb::DocumentItems<YamlDocument> result;
    for (const auto& item : node) {
      node.IsMap() ? result.push_back({item.first.Scalar(), {item.second}}) : result.push_back({"", {item}});
    }
    return result;
  }
  planb::Place place() const { return {{}, node.Mark().line + 1, node.Mark().column + 1, {}}; }
};
