// SPDX-License-Identifier: MIT
// A document as the reader wants it, whatever it was.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/settings/document.hpp>
#include <planb/settings/fault.hpp>

#include <string>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

// A node as the reader wants it. Its place has the path once the reader has come to it.
struct DocumentNode {
  std::string key = {};
  DocumentKind kind = DocumentKind::nothing;
  std::string text = {};
  Place place = {};
  std::vector<DocumentNode> items = {};
};

// chains, a chain, its steps, a step, a list, an element; what is deeper is not looked at.
inline constexpr int document_depth = 6;

template <class Document>
[[nodiscard]] DocumentNode document_node(std::string key, const Document& document, int depth) {
  DocumentNode node;
  node.key = std::move(key);
  node.kind = document.kind();
  if constexpr (PlacedDocument<Document>) node.place = document.place();
  if (node.kind == DocumentKind::scalar) node.text = document.text();
  if (depth == 0 || (node.kind != DocumentKind::list && node.kind != DocumentKind::map)) return node;
  auto&& items = document.items();
  for (auto&& item : items) {
    node.items.push_back(document_node<Document>(std::string(item.first), item.second, depth - 1));
  }
  return node;
}

}  // namespace planb::inline PLANB_ABI::detail
