// SPDX-License-Identifier: MIT
// A timeline as a picture, readable on light and on dark.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/observe/detail/text_width.hpp>
#include <planb/observe/detail/trace_text.hpp>
#include <planb/observe/detail/trace_view.hpp>
#include <planb/report/detail/text.hpp>
#include <planb/time/clock.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

// A text within XML 1.0.
inline void append_xml(std::string& out, std::string_view text) {
  each_char(text, text.size() * 3, [&](char32_t code) {
    switch (code) {
      case U'&': out += "&amp;"; break;
      case U'<': out += "&lt;"; break;
      case U'>': out += "&gt;"; break;
      case U'"': out += "&quot;"; break;
      case 0xFFFE:
      case 0xFFFF: append_utf8(out, replacement_char); break;
      default: append_utf8(out, is_control(code) ? U' ' : code);
    }
  });
}

class TraceSvgWriter {
 public:
  // Where the next run begins.
  [[nodiscard]] std::string take(std::string_view title) {
    if (bottom_ == margin) {
      text(margin, bottom_ + 16, "m", "nothing recorded", width);
      bottom_ += row_height;
    }
    const std::string height = std::to_string(bottom_ + margin);
    std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"" + std::to_string(width) +
                      "\" height=\"" + height + "\" viewBox=\"0 0 " + std::to_string(width) + ' ' + height + "\">\n";
    out += "<title>";
    append_xml(out, title);
    out += "</title>\n";
    out += style;
    out += "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n";
    return out + body_ + "</svg>\n";
  }

  void write(const TraceView& view) {
    if (bottom_ != margin) bottom_ += row_height / 2;
    text(margin, bottom_ + 16, "t b", view.title, (width - 2 * margin) * 9 / 10);  // bold letters are wider
    bottom_ += row_height;
    const int top = bottom_;
    const int rows_end = top + static_cast<int>(view.rows.size()) * row_height;
    axis(view.length, top, rows_end);
    for (const TraceRow& row : view.rows) {
      draw(row, view.length);
      bottom_ += row_height;
    }
    bottom_ += 20;  // the axis' numbers
  }

 private:
  static constexpr int width = 960;
  static constexpr int margin = 16;
  static constexpr int row_height = 24;
  static constexpr int chart_left = 256;
  static constexpr int chart_width = 360;
  static constexpr int number_left = chart_left - 48;
  static constexpr int note_left = chart_left + chart_width + 16;

  static constexpr const char* style =
      "<style>\n"
      "text{font:13px system-ui,-apple-system,'Segoe UI','Noto Sans','Noto Sans CJK SC',sans-serif}\n"
      ".b{font-weight:600}.n{font-size:11px}\n"
      ".bg{fill:#ffffff}.t{fill:#1f2328}.m{fill:#59636e}\n"
      ".answered{fill:#1a7f37}.failed{fill:#cf222e}.interrupted{fill:#9a6700}.open{fill:#0969da}\n"
      ".grid{stroke:#d1d9e0}.wait{stroke:#818b98;stroke-width:2;stroke-dasharray:2 3}\n"
      ".skipped{stroke:#818b98;stroke-width:2}.output{stroke:#ffffff;stroke-width:2}\n"
      "@media (prefers-color-scheme:dark){\n"
      ".bg{fill:#0d1117}.t{fill:#f0f6fc}.m{fill:#9198a1}\n"
      ".answered{fill:#3fb950}.failed{fill:#f85149}.interrupted{fill:#d29922}.open{fill:#4493f8}\n"
      ".grid{stroke:#3d444d}.wait{stroke:#7d8590}.skipped{stroke:#7d8590}.output{stroke:#0d1117}\n"
      "}\n"
      "</style>\n";

  // A number with one digit behind the point.
  [[nodiscard]] static std::string number(double value) {
    const auto tenths = static_cast<long long>(value * 10 + 0.5);
    std::string text = std::to_string(tenths / 10);
    if (tenths % 10 != 0) text += '.' + std::to_string(tenths % 10);
    return text;
  }

  // Cut at so many pixels; then what it is in full is shown under the pointer.
  void text(int x, int y, const char* style_class, std::string_view words, int pixels) {
    const FittedText fitted = fit_text(words, static_cast<std::size_t>(pixels) * 10, drawn_width);
    body_ += "<text class=\"" + std::string(style_class) + "\" x=\"" + std::to_string(x) + "\" y=\"" +
             std::to_string(y) + "\">";
    append_xml(body_, fitted.text);
    if (fitted.text != words) {
      body_ += "<title>";
      append_xml(body_, words.substr(0, 2000));
      body_ += "</title>";
    }
    body_ += "</text>\n";
  }

  void line(const char* style_class, double x1, double y1, double x2, double y2) {
    body_ += "<line class=\"" + std::string(style_class) + "\" x1=\"" + number(x1) + "\" y1=\"" + number(y1) +
             "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) + "\"/>\n";
  }

  [[nodiscard]] static double place(Duration at, Duration length) noexcept {
    return chart_left + place_of(at, length, chart_width);
  }

  // At most six lines, at round times.
  void axis(Duration length, int top, int end) {
    Duration::rep step = 1;
    for (int i = 0; length.count() / step > 5; ++i) {
      step = i % 3 == 1 ? step / 2 * 5 : step * 2;  // 1, 2, 5, 10
    }
    for (Duration::rep at = 0;; at += step) {
      const double x = place(Duration(at), length);
      line("grid", x, top, x, end + 4);
      const std::string words = at == 0 ? "0" : duration_text(Duration(at));
      body_ += "<text class=\"m n\" text-anchor=\"middle\" x=\"" + number(x) + "\" y=\"" + std::to_string(end + 16) +
               "\">" + words + "</text>\n";
      if (length.count() - at < step) break;  // so that nothing overflows
    }
  }

  void draw(const TraceRow& row, Duration length) {
    const int middle = bottom_ + row_height / 2;
    const int baseline = bottom_ + 16;
    text(margin, baseline, "t", row.name, number_left - 8 - margin);
    if (row.attempt != 0) text(number_left, baseline, "m", "#" + std::to_string(row.attempt), chart_left - number_left);
    text(note_left, baseline, row.kind == RowKind::skipped ? "m" : "t", row.note, width - note_left - 4);
    const double from = place(row.from, length);
    if (row.kind == RowKind::skipped) {
      line("skipped", from - 4, middle - 4, from + 4, middle + 4);
      line("skipped", from - 4, middle + 4, from + 4, middle - 4);
      return;
    }
    if (row.wait_from < row.from) line("wait", place(row.wait_from, length), middle, from, middle);
    const double bar = (std::max)(place(row.to, length) - from, 2.0);
    body_ += "<rect class=\"" + std::string(class_of(row.kind)) + "\" x=\"" + number(from) + "\" y=\"" +
             std::to_string(middle - 7) + "\" width=\"" + number(bar) + "\" height=\"14\" rx=\"2\"/>\n";
    if (row.first_output) {
      const double x = place(*row.first_output, length);
      line("output", x, middle - 7, x, middle + 7);
    }
  }

  [[nodiscard]] static const char* class_of(RowKind kind) noexcept {
    switch (kind) {
      case RowKind::answered: return "answered";
      case RowKind::failed: return "failed";
      case RowKind::interrupted: return "interrupted";
      case RowKind::open:
      case RowKind::skipped: break;
    }
    return "open";
  }

  std::string body_;
  int bottom_ = margin;
};

}  // namespace planb::inline PLANB_ABI::detail
