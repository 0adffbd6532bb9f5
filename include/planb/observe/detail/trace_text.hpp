// SPDX-License-Identifier: MIT
// A timeline for a terminal.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/observe/detail/text_width.hpp>
#include <planb/observe/detail/trace_view.hpp>
#include <planb/time/clock.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

// Where a time stands on a scale of `width`.
[[nodiscard]] inline double place_of(Duration at, Duration length, double width) noexcept {
  if (length <= Duration::zero()) return 0;
  return static_cast<double>(at.count()) / static_cast<double>(length.count()) * width;
}

class TraceTextWriter {
 public:
  TraceTextWriter(std::string& out, std::size_t columns) : out_(out), columns_((std::max)(columns, narrowest)) {}

  void write(const TraceView& view) {
    out_ += fit_text(view.title, columns_).text + '\n';
    std::size_t name_width = 0;
    std::size_t number_width = 0;
    for (const TraceRow& row : view.rows) {
      name_width = (std::max)(name_width, fit_text(row.name, columns_ / 4).width);
      if (row.attempt != 0) number_width = (std::max)(number_width, std::to_string(row.attempt).size() + 1);
    }
    const std::size_t bar_width = columns_ * 2 / 5;
    const std::size_t before = 2 + name_width + 1 + number_width + 1 + bar_width + 1;
    for (const TraceRow& row : view.rows) {
      out_ += "  ";
      padded(row.name, name_width);
      out_ += ' ';
      padded(row.attempt != 0 ? "#" + std::to_string(row.attempt) : std::string(), number_width);
      out_ += ' ';
      bar(row, view.length, bar_width);
      out_ += ' ' + fit_text(row.note, columns_ - (std::min)(before, columns_)).text;
      while (out_.back() == ' ') out_.pop_back();
      out_ += '\n';
    }
  }

  void legend() { out_ += "  \xE2\x96\x88 answered  \xE2\x96\x92 failed  \xE2\x96\x91 not over  \xC2\xB7 waiting\n"; }

 private:
  static constexpr std::size_t narrowest = 40;

  void padded(std::string_view text, std::size_t width) {
    const FittedText fitted = fit_text(text, width);
    out_ += fitted.text;
    out_.append(width - fitted.width, ' ');
  }

  void bar(const TraceRow& row, Duration length, std::size_t width) {
    const auto place = [&](Duration at) {
      return static_cast<std::size_t>(place_of(at, length, static_cast<double>(width)));
    };
    const std::size_t wait = place(row.wait_from);
    const std::size_t from = (std::min)(place(row.from), width - 1);
    const std::size_t to = (std::max)(place(row.to), from + 1);  // at least one
    const std::size_t output = row.first_output ? place(*row.first_output) : width;
    for (std::size_t i = 0; i != width; ++i) {
      if (row.kind == RowKind::skipped) {
        out_ += i == from ? "\xC3\x97" : " ";
      } else if (i >= from && i < to) {
        out_ += i == output && i != from ? "\xE2\x94\x83" : fill(row.kind);
      } else {
        out_ += i >= wait && i < from ? "\xC2\xB7" : " ";
      }
    }
  }

  [[nodiscard]] static const char* fill(RowKind kind) noexcept {
    if (kind == RowKind::answered) return "\xE2\x96\x88";
    return kind == RowKind::failed ? "\xE2\x96\x92" : "\xE2\x96\x91";
  }

  std::string& out_;
  std::size_t columns_;
};

}  // namespace planb::inline PLANB_ABI::detail
