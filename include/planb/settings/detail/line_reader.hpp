// SPDX-License-Identifier: MIT
// Reads the text form: lines into words, words into entries.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/decimal.hpp>
#include <planb/settings/detail/entry.hpp>
#include <planb/settings/detail/knobs.hpp>
#include <planb/settings/detail/quote.hpp>
#include <planb/settings/detail/settings_reader.hpp>
#include <planb/settings/detail/words.hpp>
#include <planb/settings/settings.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

class LineReader {
 public:
  LineReader(SettingsReader& settings, std::string file) : settings_(settings), place_{std::move(file), 0, 0, {}} {}

  void read(std::string_view text) {
    if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
    while (!text.empty()) {
      const std::size_t end = (std::min)(text.find('\n'), text.size());
      line_ = text.substr(0, end);
      if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
      text.remove_prefix((std::min)(end + 1, text.size()));
      ++place_.line;
      check_utf8();
      words_.clear();
      whole_ = read_words();
      settings_.incomplete(!whole_);
      const bool is_indented = !line_.empty() && is_space(line_.front());
      if (words_.empty()) {
        if (is_indented && !whole_) settings_.chain_incomplete();
      } else if (is_indented) {
        indented();
      } else {
        top();
      }
    }
  }

 private:
  static constexpr bool is_space(char c) noexcept { return c == ' ' || c == '\t'; }

  [[nodiscard]] static int column(std::size_t offset) noexcept { return static_cast<int>(offset) + 1; }

  [[nodiscard]] Place place(std::size_t offset) const {
    Place place = place_;
    place.column = column(offset);
    return place;
  }

  void check_utf8() {
    for (std::size_t at = 0; at != line_.size();) {
      const std::size_t length = utf8_length(line_.substr(at));
      if (length == 0) return settings_.fault(place(at), line_.substr(at, 1), "UTF-8");
      at += length;
    }
  }

  // False where a quote or a parenthesis does not end; the word in which it begins is left out.
  bool read_words() {
    for (std::size_t at = 0;;) {
      while (at != line_.size() && is_space(line_[at])) ++at;
      if (at == line_.size() || line_[at] == '#') return true;
      SettingsScalar word(place(at));
      if (!read_word(word, at)) return false;
      word.end(column(at));
      words_.push_back(std::move(word));
    }
  }

  bool read_word(SettingsScalar& word, std::size_t& at) {
    std::vector<std::size_t> open;  // the parentheses
    while (at != line_.size() && (!open.empty() || !is_space(line_[at]))) {
      const char c = line_[at];
      if (c == '"') {
        if (!read_quotes(word, at)) return false;
        continue;
      }
      if (c == '#' && is_space(line_[at - 1])) break;
      if (c == '(') open.push_back(at);
      if (c == ')' && !open.empty()) open.pop_back();
      word.add(c, column(at), false);
      ++at;
    }
    if (open.empty()) return true;
    settings_.fault(place(open.back()), "(", "a \")\" that closes it, on the same line");
    return false;
  }

  bool read_quotes(SettingsScalar& word, std::size_t& at) {
    const std::size_t start = at++;
    word.add_quote(column(start));
    while (at != line_.size()) {
      const char c = line_[at];
      if (c == '"') {
        ++at;
        return true;
      }
      if (c == '\\') {
        read_escape(word, at);
      } else {
        word.add(c, column(at++), true);
      }
    }
    settings_.fault(place(start), "\"", "a closing quote, on the same line");
    return false;
  }

  void read_escape(SettingsScalar& word, std::size_t& at) {
    const std::size_t start = at++;
    const char c = at != line_.size() ? line_[at] : '\0';
    std::string text;
    if (c == '"' || c == '\\') text = c;
    if (c == 'n') text = '\n';
    if (c == 't') text = '\t';
    if (c == 'u') {
      unsigned code = hex(at + 1);
      if (code >= 0xD800U && code < 0xDC00U && line_.substr(at + 5, 2) == "\\u") {  // half of a pair
        const unsigned low = hex(at + 7);
        if (low >= 0xDC00U && low < 0xE000U) {
          code = 0x10000U + ((code - 0xD800U) << 10U) + (low - 0xDC00U);
          at += 6;
        }
      }
      if (code < 0x110000U && (code < 0xD800U || code >= 0xE000U)) {
        append_utf8(text, code);
        at += 4;
      }
    }
    if (text.empty()) {
      // A backslash before the end is told as the quote that does not close.
      if (at != line_.size()) settings_.fault(place(start), line_.substr(start, 2), R"(\", \\, \n, \t or \uXXXX)");
      return;
    }
    ++at;
    for (const char byte : text) word.add(byte, column(start), true);
  }

  // Of four digits; beyond all characters where they are not there.
  [[nodiscard]] unsigned hex(std::size_t at) const noexcept {
    unsigned value = 0;
    for (std::size_t i = at; i != at + 4; ++i) {
      const char c = i < line_.size() ? HttpMatch::lower(line_[i]) : 'x';
      if (!is_digit(c) && (c < 'a' || c > 'f')) return 0x110000U;
      value = value * 16 + static_cast<unsigned>(is_digit(c) ? c - '0' : c - 'a' + 10);
    }
    return value;
  }

  // The word, or where the line ends.
  [[nodiscard]] SettingsScalar word(std::size_t index) const {
    if (index < words_.size()) return words_[index];
    const std::size_t end = static_cast<std::size_t>(words_.back().end_column() - 1);
    SettingsScalar none(place(end));
    none.end(column(end));
    return none;
  }

  [[nodiscard]] bool has_value(std::size_t index) const { return words_[index].find('=') != std::string::npos; }

  [[nodiscard]] std::vector<SettingsEntry> entries(std::size_t from) const {
    std::vector<SettingsEntry> result;
    for (std::size_t i = from; i < words_.size(); ++i) {
      const SettingsScalar& word = words_[i];
      SettingsEntry& entry = result.emplace_back();
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) {
        entry.key = word;
        continue;
      }
      entry.key = word.part(0, equals);
      entry.kind = SettingsEntry::Kind::scalar;
      entry.value = word.part(equals + 1, word.text().size());
    }
    return result;
  }

  // Whether a name stands there; tells where it does not.
  bool need_name(std::size_t index, const std::string& what) {
    if (index < words_.size() && !has_value(index)) return true;
    if (whole_ || index < words_.size()) settings_.fault(word(index).place(), word(index).text(), what);
    return false;
  }

  void top() {
    static constexpr std::string_view expected = "gate, provider or chain at the beginning of a line";
    const SettingsScalar& first = words_.front();
    std::string keyword = first.text();
    if (first.in_quotes() || (keyword != "gate" && keyword != "provider" && keyword != "chain")) {
      const std::string meant = nearest(keyword, {"gate", "provider", "chain"});
      const bool belongs_to_chain = meant.empty();
      settings_.fault(first.place(), first.text(),
                      std::string(expected) + (belongs_to_chain ? "; what belongs to a chain is indented" : ""), meant);
      keyword = meant;
    }
    if (keyword == "gate") {
      if (!need_name(1, "the name of a gate")) return;
      const bool has_kind = words_.size() > 2 && !has_value(2);
      settings_.gate(words_[1], has_kind ? words_[2] : word(2).part(0, 0), entries(has_kind ? 3 : 2));
    } else if (keyword == "provider") {
      if (need_name(1, "the name of a provider")) settings_.provider(words_[1], entries(2));
    } else if (keyword == "chain") {
      if (need_name(1, "the name of a chain")) return settings_.chain(words_[1], entries(2));
      settings_.stray_chain();
    }
  }

  void indented() {
    const SettingsScalar& first = words_.front();
    if (!settings_.in_chain()) {
      settings_.fault(first.place(), first.text(), "a chain to which the indented line belongs, on a line before it");
      settings_.stray_chain();
    }
    if (!first.in_quotes() && first.text() == "rule") {
      settings_.rule(first.place(), entries(1));
    } else if (!first.in_quotes() && is_reserved_name(first.text())) {
      settings_.fault(first.place(), first.text(),
                      "rule, or the name of a step; a line that begins with " + first.text() + " is not indented");
    } else if (is_misspelt_rule()) {
      settings_.fault(first.place(), first.text(), "rule, or the name of a step and its knobs", "rule");
      settings_.rule(first.place(), entries(1));
    } else if (need_name(0, "rule, or the name of a step, at the beginning of an indented line")) {
      settings_.step(first, entries(1));
    } else {
      settings_.chain_incomplete();
    }
  }

  // A step whose name is almost `rule`, with a word that only a rule has.
  [[nodiscard]] bool is_misspelt_rule() const {
    if (words_[0].in_quotes() || nearest(words_[0].text(), {"rule"}).empty() || words_.size() < 2) return false;
    const std::string word = words_[1].text().substr(0, words_[1].find('='));
    for (const Knob& knob : Knobs<RuleSettings>::all) {
      if (knob.name == word) return true;
    }
    return settings_value<Action>(word) != nullptr;
  }

  SettingsReader& settings_;
  Place place_;  // of the line
  std::string_view line_;
  std::vector<SettingsScalar> words_;
  bool whole_ = true;  // whether these are all words of the line
};

}  // namespace planb::inline PLANB_ABI::detail
