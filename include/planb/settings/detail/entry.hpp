// SPDX-License-Identifier: MIT
// What the text form and documents are both read as: texts that know their places, and entries of key and value.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/settings/fault.hpp>
#include <planb/settings/settings.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

class SettingsScalar {
 public:
  SettingsScalar() = default;
  // Of a document: no part of it is in quotes.
  SettingsScalar(std::string text, Place place) : text_(std::move(text)), place_(std::move(place)) {}
  // Of a line, for add().
  explicit SettingsScalar(Place place) : place_(std::move(place)), of_line_(true) {}

  void add(char c, int column, bool in_quotes) {
    text_ += c;
    origins_.push_back({column, in_quotes});
  }
  void add_quote(int column) { quotes_.push_back(column); }
  void end(int column) noexcept { end_column_ = column; }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const Place& place() const noexcept { return place_; }
  [[nodiscard]] int end_column() const noexcept { return end_column_; }
  [[nodiscard]] bool of_line() const noexcept { return of_line_; }

  // In a line: nothing at all, not even `""`.
  [[nodiscard]] bool absent() const noexcept { return of_line_ && text_.empty() && quotes_.empty(); }

  [[nodiscard]] bool in_quotes() const noexcept {
    for (const Origin& origin : origins_) {
      if (!origin.in_quotes) return false;
    }
    return !quotes_.empty();
  }

  // Of the byte at an offset, or of the end.
  [[nodiscard]] Place place_at(std::size_t offset) const {
    Place place = place_;
    if (of_line_) {
      place.column = offset < origins_.size() ? origins_[offset].column : end_column_;
    } else if (place.line <= 0) {
      place.column = static_cast<int>(offset) + 1;
    }
    return place;
  }

  // The first `c` outside quotes and parentheses, from an offset; or npos.
  [[nodiscard]] std::size_t find(char c, std::size_t from = 0) const noexcept {
    int depth = 0;
    for (std::size_t i = from; i != text_.size(); ++i) {
      if (!origins_.empty() && origins_[i].in_quotes) continue;
      if (depth == 0 && text_[i] == c) return i;
      if (text_[i] == '(') ++depth;
      if (text_[i] == ')' && depth != 0) --depth;
    }
    return std::string::npos;
  }

  // The text from one offset to another. What is outside is not copied: a list may be long.
  [[nodiscard]] SettingsScalar part(std::size_t from, std::size_t to) const {
    SettingsScalar result(text_.substr(from, to - from), place_);
    if (!of_line_) return result;
    result.of_line_ = true;
    result.origins_.assign(origins_.begin() + static_cast<std::ptrdiff_t>(from),
                           origins_.begin() + static_cast<std::ptrdiff_t>(to));
    if (from != 0) result.place_.column = origins_[from - 1].column + 1;  // behind the separator
    result.end_column_ = place_at(to).column;
    const auto first = std::lower_bound(quotes_.begin(), quotes_.end(), result.place_.column);
    result.quotes_.assign(first, std::lower_bound(first, quotes_.end(), result.end_column_));
    return result;
  }

  [[nodiscard]] std::vector<SettingsScalar> split(char separator) const {
    std::vector<SettingsScalar> parts;
    std::size_t from = 0;
    for (std::size_t to = find(separator); to != std::string::npos; to = find(separator, from)) {
      parts.push_back(part(from, to));
      from = to + 1;
    }
    parts.push_back(part(from, text_.size()));
    return parts;
  }

  [[nodiscard]] SettingsText kept() const { return {text_, place_}; }

 private:
  struct Origin {
    int column;
    bool in_quotes;
  };

  std::string text_;
  Place place_;
  std::vector<Origin> origins_;  // of each byte of a line's
  std::vector<int> quotes_;      // the columns where some begin, ascending
  int end_column_ = 0;
  bool of_line_ = false;
};

// `key=value`, or a word alone.
struct SettingsEntry {
  enum class Kind : unsigned char { word, scalar, list, other };

  SettingsScalar key = {};
  Kind kind = Kind::word;
  SettingsScalar value = {};               // of a scalar; of others what a fault shows
  std::vector<SettingsScalar> items = {};  // of a list
};

}  // namespace planb::inline PLANB_ABI::detail
