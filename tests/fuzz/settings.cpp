// Settings as text: whatever the text, settings that are written as what reads as these settings, or faults, each at a
// place within the text. And the same of a document made of it.
#include <planb/settings.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz.hpp"

using fuzz::check;

namespace {

void fault_is_within(const planb::SettingsFault& fault, std::string_view text) {
  const std::string message = fault.message();
  check(!fault.expected.empty(), "a fault says what was expected", message);
  check(message.find('\n') == std::string::npos, "a fault is one line", message);
  check(fault.suggestion.empty() || fault.suggestion != fault.found, "a suggestion is another word", message);
  const auto lines = static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1;
  check(fault.place.line >= 1 && fault.place.line <= lines, "a fault's line is within the text", message);
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  for (int line = 1; line != fault.place.line; ++line) text.remove_prefix(text.find('\n') + 1);
  const std::size_t columns = (std::min)(text.find('\n'), text.size()) + 1;
  check(fault.place.column >= 1 && static_cast<std::size_t>(fault.place.column) <= columns,
        "a fault's column is within its line, or behind it", message);
}

void reads_as(const planb::Settings& settings, const planb::SettingsResult& again, std::string_view text) {
  check(again.has_value(), "what settings are written as can be read", text);
  check(*again == settings, "what is read back is the same", text);
  check(to_string(*again) == text, "what is read back is written the same", text);
}

void text_form(std::string_view text) {
  const planb::SettingsResult result = planb::parse_settings(text);
  check(result.has_value() == result.faults().empty(), "there are settings or faults", text);
  for (const planb::SettingsFault& fault : result.faults()) fault_is_within(fault, text);
  if (!result) return;
  const std::string written = to_string(*result);
  reads_as(*result, planb::parse_settings(written), written);
}

// A document of what the lines say: so many spaces, so deep; `key: text`, `- text`.
struct Tree {
  planb::DocumentKind kind_ = planb::DocumentKind::nothing;
  std::string text_;
  std::vector<std::string> keys_;
  std::vector<Tree> items_;

  [[nodiscard]] planb::DocumentKind kind() const { return kind_; }
  [[nodiscard]] std::string text() const { return text_; }
  [[nodiscard]] planb::DocumentItems<Tree> items() const {
    planb::DocumentItems<Tree> result;
    for (std::size_t i = 0; i != items_.size(); ++i) result.emplace_back(keys_[i], items_[i]);
    return result;
  }
};

Tree read_tree(std::vector<std::string_view>& lines, std::size_t depth) {
  Tree tree;
  while (!lines.empty()) {
    std::string_view line = lines.back();
    const std::size_t spaces = (std::min)(line.find_first_not_of(' '), line.size());
    if (spaces < depth || spaces == line.size()) break;
    lines.pop_back();
    line.remove_prefix(spaces);
    const std::size_t colon = line.find(':');
    const bool element = line.substr(0, 1) == "-";
    tree.kind_ = element ? planb::DocumentKind::list : planb::DocumentKind::map;
    const std::string key(element ? "" : line.substr(0, colon));
    line.remove_prefix((std::min)(element                           ? 1
                                  : colon == std::string_view::npos ? line.size()
                                                                    : colon + 1,
                                  line.size()));
    line.remove_prefix((std::min)(line.find_first_not_of(' '), line.size()));
    Tree item =
        line.empty() ? read_tree(lines, spaces + 1) : Tree{planb::DocumentKind::scalar, std::string(line), {}, {}};
    tree.keys_.push_back(key);
    tree.items_.push_back(std::move(item));
  }
  return tree;
}

void document_form(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t end = 0; end != std::string_view::npos && lines.size() < 200;) {
    end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end != std::string_view::npos) text.remove_prefix(end + 1);
  }
  std::reverse(lines.begin(), lines.end());
  const planb::SettingsResult result = planb::read_settings(read_tree(lines, 0));
  check(result.has_value() == result.faults().empty(), "there are settings or faults", text);
  for (const planb::SettingsFault& fault : result.faults()) {
    check(fault.message().find('\n') == std::string::npos, "a fault is one line", fault.message());
  }
  if (!result) return;
  // Texts that are no UTF-8 are repaired by the first writing.
  const std::string written = to_string(*result);
  const planb::SettingsResult again = planb::parse_settings(written);
  check(again.has_value() || written.find("\xEF\xBF\xBD") != std::string::npos, "a document's settings can be written",
        written);
  if (again) reads_as(*again, planb::parse_settings(to_string(*again)), to_string(*again));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  text_form(text);
  document_form(text);
  return 0;
}
