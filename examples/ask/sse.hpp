// SseParser: server-sent events out of a body that comes in pieces.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace ask {

struct ServerSentEvent {
  std::string name = {};  // what stands after `event:`; most have none
  std::string data = {};  // its lines, with a line feed between them
};

// Pieces may be cut anywhere: in a character, between CR and LF. Comments, ids and other fields are passed over, and so
// are events without data. It keeps no more than the event that is under way.
class SseParser {
 public:
  // Calls on_event(ServerSentEvent) for each event that is complete with this piece, while it returns true. False: it
  // did not, and what comes after is lost.
  template <class F>
  [[nodiscard]] bool feed(std::string_view piece, F&& on_event) {
    for (const char c : piece) {
      const bool second_half = std::exchange(after_cr_, c == '\r') && c == '\n';
      if (second_half) continue;
      if (c != '\r' && c != '\n') {
        line_ += c;
      } else if (!end_line(on_event)) {
        return false;
      }
    }
    return true;
  }

  // The body is over. What came last counts also without the line that should have ended it.
  template <class F>
  bool finish(F&& on_event) {
    return (line_.empty() || end_line(on_event)) && end_line(on_event);
  }

 private:
  template <class F>
  [[nodiscard]] bool end_line(F&& on_event) {
    std::string_view line = line_;
    if (std::exchange(first_, false) && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);  // a byte order mark
    const bool blank = line.empty();
    read_field(line);
    line_.clear();
    if (!blank) return true;
    ServerSentEvent event = std::exchange(event_, {});
    if (!std::exchange(has_data_, false)) return true;
    event.data.pop_back();  // the last line feed
    return on_event(std::move(event));
  }

  void read_field(std::string_view line) {
    const std::string_view name = line.substr(0, line.find(':'));  // empty: a comment
    std::string_view value = line.substr(name.size() == line.size() ? name.size() : name.size() + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (name == "data") {
      event_.data.append(value) += '\n';
      has_data_ = true;
    } else if (name == "event") {
      event_.name = value;
    }
  }

  std::string line_;
  ServerSentEvent event_;
  bool has_data_ = false;
  bool after_cr_ = false;
  bool first_ = true;
};

}  // namespace ask
