// SPDX-License-Identifier: MIT
// JSON (RFC 8259) on one line, valid whatever the texts are.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/observe/detail/decimal_seconds.hpp>
#include <planb/observe/detail/tell.hpp>
#include <planb/observe/detail/utf8.hpp>
#include <planb/time/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// A text with its quotes. Escaped is what must be, and what ends a line or moves a cursor for some reader.
inline void append_json_text(std::string& out, std::string_view text, std::size_t limit) {
  const auto hex = [&](char32_t code) {
    constexpr char digits[] = "0123456789abcdef";
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += digits[code >> static_cast<unsigned>(shift) & 0xFU];
  };
  out += '"';
  each_char(text, limit, [&](char32_t code) {
    switch (code) {
      case U'"': out += "\\\""; break;
      case U'\\': out += "\\\\"; break;
      case U'\n': out += "\\n"; break;
      case U'\r': out += "\\r"; break;
      case U'\t': out += "\\t"; break;
      default: is_control(code) ? hex(code) : append_utf8(out, code);
    }
  });
  out += '"';
}

class JsonWriter final : public FieldSink {
 public:
  explicit JsonWriter(std::size_t max_text) noexcept : max_text_(max_text) {}
  ~JsonWriter() = default;

  [[nodiscard]] std::string take() { return std::move(out_); }

  void text(std::string_view name, std::string_view value) override {
    key(name);
    append_json_text(out_, value, max_text_);
  }
  void word(std::string_view name, std::string_view value) override {
    key(name);
    append_json_text(out_, value, value.size());
  }
  void number(std::string_view name, std::int64_t value) override {
    key(name);
    out_ += std::to_string(value);
  }
  void flag(std::string_view name, bool value) override {
    key(name);
    out_ += value ? "true" : "false";
  }
  void duration(std::string_view name, Duration value) override {
    if (value == (Duration::max)()) return nothing(name);
    key(name);
    append_seconds(out_, value);
  }
  void time(std::string_view name, TimePoint value) override { duration(name, value.time_since_epoch()); }
  void nothing(std::string_view name) override {
    key(name);
    out_ += "null";
  }

  // Without a name: the whole, or an element of a list.
  void begin(std::string_view name) override {
    key(name);
    open('{');
  }
  void end() override { close('}'); }
  void begin_list(std::string_view name) override {
    key(name);
    open('[');
  }
  void begin_element(std::size_t /*number*/) override { begin({}); }
  void end_list() override { close(']'); }

  // An element of a list that is JSON already.
  void element(std::string_view json) {
    key({});
    out_ += json;
  }

 private:
  void key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    if (name.empty()) return;
    out_ += '"';
    out_ += name;  // one of ours
    out_ += "\":";
  }
  void open(char bracket) {
    out_ += bracket;
    first_ = true;
  }
  void close(char bracket) {
    out_ += bracket;
    first_ = false;
  }

  std::size_t max_text_;
  std::string out_;
  bool first_ = true;
};

}  // namespace planb::inline PLANB_ABI::detail
