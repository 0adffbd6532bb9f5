// SPDX-License-Identifier: MIT
// SettingsDocument: how anybody's document is shown to read_settings, as a tree.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/settings/fault.hpp>

#include <concepts>
#include <string>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI {

enum class DocumentKind : unsigned char {
  nothing,  // null
  scalar,   // a text, a number, true or false
  list,
  map,
};

// What items() may return: the nodes in a list or a map, with their keys.
template <class Document>
using DocumentItems = std::vector<std::pair<std::string, Document>>;

namespace detail {

template <class Items, class Document>
concept ItemsOfDocument = requires(const Items& items) {
  requires requires(decltype(*items.begin()) item) {
    { item.first } -> std::convertible_to<std::string>;
    { item.second } -> std::convertible_to<const Document&>;
  };
  items.end();
};

template <class Document>
concept PlacedDocument = requires(const Document& document) {
  { document.place() } -> std::convertible_to<Place>;
};

}  // namespace detail

// One node of a document:
//   kind()   its DocumentKind
//   text()   of a scalar: what it says, such as 0.2, true or 30s
//   items()  of a list or a map: DocumentItems<Document>, or another range of pairs of the key (in a list it does not
//            count) and the node
//   place()  where it stands: a Place, of which the line, column and, where it has one, the file are taken. May be
//            missing: then faults have the path alone
template <class Document>
concept SettingsDocument = requires(const Document& document) {
  { document.kind() } -> std::same_as<DocumentKind>;
  { document.text() } -> std::convertible_to<std::string>;
  { document.items() } -> detail::ItemsOfDocument<Document>;
};

}  // namespace planb::inline PLANB_ABI
