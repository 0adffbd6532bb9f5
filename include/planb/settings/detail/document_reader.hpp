// SPDX-License-Identifier: MIT
// Reads documents: maps of gates, providers and chains into entries.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/settings/detail/document_node.hpp>
#include <planb/settings/detail/entry.hpp>
#include <planb/settings/detail/quote.hpp>
#include <planb/settings/detail/settings_reader.hpp>
#include <planb/settings/detail/words.hpp>
#include <planb/settings/document.hpp>
#include <planb/settings/settings.hpp>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

class DocumentReader {
 public:
  DocumentReader(SettingsReader& settings, std::string file) : settings_(settings), file_(std::move(file)) {}

  void read(DocumentNode root) {
    if (root.place.file.empty()) root.place.file = file_;
    if (!is_map(root, "gates, providers and chains")) return;
    const std::vector<DocumentNode> parts = children(root);
    check_once(parts, {"gates", "providers", "chains"});
    for (const DocumentNode& part : parts) {
      if (part.key == "gates") {
        if (!is_map(part, "gates by name")) continue;
        for (const DocumentNode& node : children(part)) gate(node);
      } else if (part.key == "providers") {
        if (!is_map(part, "providers by name")) continue;
        for (const DocumentNode& node : children(part)) {
          if (is_map(node, "a provider's options")) settings_.provider(key_of(node), entries(node));
        }
      } else if (part.key == "chains") {
        if (!is_map(part, "chains by name")) continue;
        for (const DocumentNode& node : children(part)) chain(node);
      } else {
        settings_.fault(part.place, part.key, "gates, providers or chains",
                        nearest(part.key, {"gates", "providers", "chains"}));
      }
    }
  }

 private:
  [[nodiscard]] static SettingsScalar key_of(const DocumentNode& node) { return {node.key, node.place}; }
  [[nodiscard]] static SettingsScalar text_of(const DocumentNode& node) { return {node.text, node.place}; }

  // What a fault shows of a node that should be something else.
  [[nodiscard]] static std::string shown(const DocumentNode& node) {
    switch (node.kind) {
      case DocumentKind::nothing: return "null";
      case DocumentKind::scalar: return node.text;
      case DocumentKind::list: return "a list";
      case DocumentKind::map: return "a map";
    }
    return {};
  }

  // With their paths.
  [[nodiscard]] static std::vector<DocumentNode> children(const DocumentNode& parent) {
    std::vector<DocumentNode> result = parent.items;
    std::size_t index = 0;
    for (DocumentNode& node : result) {
      if (node.place.file.empty()) node.place.file = parent.place.file;
      node.place.path = parent.place.path;
      if (parent.kind == DocumentKind::list) {
        node.place.path += '[' + std::to_string(index++) + ']';
      } else {
        if (!node.place.path.empty()) node.place.path += '.';
        node.place.path += is_plain_name(node.key) || is_reserved_name(node.key) ? node.key : detail::quoted(node.key);
      }
    }
    return result;
  }

  // Nothing is an empty map.
  bool is_map(const DocumentNode& node, std::string_view what) {
    if (node.kind == DocumentKind::map || node.kind == DocumentKind::nothing) return true;
    settings_.fault(node.place, shown(node), "a map of " + std::string(what));
    return false;
  }

  bool is_list(const DocumentNode& node, std::string_view what) {
    if (node.kind == DocumentKind::list || node.kind == DocumentKind::nothing) return true;
    settings_.fault(node.place, shown(node), "a list of " + std::string(what));
    return false;
  }

  // Of the keys that this reads itself; an entry that comes twice is told by the reader of entries.
  void check_once(const std::vector<DocumentNode>& parts, std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
      bool seen = false;
      for (const DocumentNode& part : parts) {
        if (part.key != key) continue;
        if (seen) settings_.fault(part.place, part.key, "each key once");
        seen = true;
      }
    }
  }

  // All but those of some keys, which the caller reads itself.
  [[nodiscard]] static std::vector<SettingsEntry> entries(const DocumentNode& map, std::string_view without = {},
                                                          std::string_view nor = {}) {
    std::vector<SettingsEntry> result;
    for (const DocumentNode& node : children(map)) {
      if ((!without.empty() && node.key == without) || (!nor.empty() && node.key == nor)) continue;
      SettingsEntry& entry = result.emplace_back();
      entry.key = key_of(node);
      entry.value = {shown(node), node.place};
      entry.kind = node.kind == DocumentKind::scalar ? SettingsEntry::Kind::scalar : SettingsEntry::Kind::other;
      if (node.kind != DocumentKind::list) continue;
      std::vector<DocumentNode> items = children(node);
      bool all_scalars = true;
      for (const DocumentNode& item : items) {
        all_scalars = all_scalars && item.kind == DocumentKind::scalar;
        entry.items.push_back(text_of(item));
      }
      if (all_scalars) entry.kind = SettingsEntry::Kind::list;
    }
    return result;
  }

  [[nodiscard]] static const DocumentNode* find(const std::vector<DocumentNode>& nodes, std::string_view key) noexcept {
    for (const DocumentNode& node : nodes) {
      if (node.key == key) return &node;
    }
    return nullptr;
  }

  void gate(const DocumentNode& node) {
    if (!is_map(node, "a gate's kind and knobs")) return;
    const std::vector<DocumentNode> parts = children(node);
    check_once(parts, {"kind"});
    const DocumentNode* kind = find(parts, "kind");
    settings_.gate(key_of(node),
                   kind != nullptr ? SettingsScalar(shown(*kind), kind->place) : SettingsScalar({}, node.place),
                   entries(node, "kind"));
  }

  void chain(const DocumentNode& node) {
    if (!is_map(node, "a chain's knobs, rules and steps")) return;
    settings_.chain(key_of(node), entries(node, "rules", "steps"));
    const std::vector<DocumentNode> parts = children(node);
    check_once(parts, {"rules", "steps"});
    for (const DocumentNode& part : parts) {
      if (part.key == "rules" && is_list(part, "rules")) {
        for (const DocumentNode& item : children(part)) rule(item);
      } else if (part.key == "steps") {
        if (!is_list(part, "steps")) settings_.chain_incomplete();
        if (part.kind != DocumentKind::list) continue;
        for (const DocumentNode& item : children(part)) step(item);
      }
    }
  }

  // The action and the alert, which are words of their own in the text form, are `action` and `alert` here.
  void rule(const DocumentNode& node) {
    if (!is_map(node, "a rule's knobs")) return;
    std::vector<SettingsEntry> result = entries(node, "action", "alert");
    const std::vector<DocumentNode> parts = children(node);
    check_once(parts, {"alert"});  // a second action is told with the first
    bool whole = true;
    for (const DocumentNode& part : parts) {
      if (part.key == "action") {
        const std::vector<std::string_view> words = settings_words<Action>();
        if (part.kind == DocumentKind::scalar && settings_value<Action>(part.text) != nullptr) {
          result.push_back({text_of(part), SettingsEntry::Kind::word, {}, {}});
        } else {
          settings_.fault(part.place, shown(part), one_of(words), nearest(shown(part), words));
          whole = false;
        }
      } else if (part.key == "alert") {
        if (part.kind == DocumentKind::scalar && part.text == "true") {
          result.push_back({key_of(part), SettingsEntry::Kind::word, {}, {}});
        } else if (part.kind != DocumentKind::scalar || part.text != "false") {
          settings_.fault(part.place, shown(part), "true or false");
        }
      }
    }
    settings_.incomplete(!whole);
    settings_.rule(node.place, result);
    settings_.incomplete(false);
  }

  void step(const DocumentNode& node) {
    if (node.kind == DocumentKind::scalar) return settings_.step(text_of(node), {});
    if (node.kind != DocumentKind::map) {
      settings_.chain_incomplete();
      return settings_.fault(node.place, shown(node), "a step: its name, or a map");
    }
    const std::vector<DocumentNode> parts = children(node);
    check_once(parts, {"name"});
    const DocumentNode* name = find(parts, "name");
    if (name != nullptr && name->kind != DocumentKind::scalar) {
      settings_.chain_incomplete();
      return settings_.fault(name->place, shown(*name), "the name of a step");
    }
    settings_.step(name != nullptr ? text_of(*name) : SettingsScalar({}, node.place), entries(node, "name"));
  }

  SettingsReader& settings_;
  std::string file_;
};

}  // namespace planb::inline PLANB_ABI::detail
