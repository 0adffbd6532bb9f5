// SPDX-License-Identifier: MIT
// How schedules are written as text, and read.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/decimal.hpp>
#include <planb/schedule/combinators.hpp>
#include <planb/schedule/detail/node.hpp>
#include <planb/schedule/jitter.hpp>
#include <planb/schedule/leaves.hpp>
#include <planb/schedule/text.hpp>
#include <planb/time/detail/duration_text.hpp>

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI {

namespace detail {

class ScheduleTextWriter final : public ScheduleWriter {
 public:
  [[nodiscard]] std::string take() { return std::move(text_); }

  void word(std::string_view text) override { text_ += text; }

  void open(std::string_view name) override {
    text_ += name;
    text_ += '(';
    first_ = true;
  }

  void add(Duration value) override { argument(write_duration(value)); }
  void add(double value) override { argument(write_decimal(value)); }
  void add(int value) override { argument(std::to_string(value)); }

  void add(const ScheduleNode& inner) override {
    argument("");
    inner.describe(*this);
  }

  void add_function() override { argument("..."); }

  void close() override {
    text_ += ')';
    first_ = false;
  }

 private:
  void argument(std::string_view text) {
    if (!first_) text_ += ", ";
    first_ = false;
    text_ += text;
  }

  std::string text_;
  bool first_ = true;
};

class ScheduleParser {
 public:
  explicit ScheduleParser(std::string_view text) noexcept : text_(text) {}

  [[nodiscard]] Parsed<Schedule> whole() {
    std::optional<Schedule> schedule = expression();
    skip_space();
    if (schedule && at_ != text_.size()) schedule = fail("the end of the text");
    if (schedule) return *std::move(schedule);
    return std::move(error_);
  }

 private:
  using Result = std::optional<Schedule>;

  // Name tables: what takes the same kinds of arguments is read alike.
  template <class... Args>
  struct Named {
    std::string_view name;
    Schedule (*make)(Args...);
  };

  template <class... Args, std::size_t N>
  static const Named<Args...>* find(const Named<Args...> (&table)[N], std::string_view name) noexcept {
    for (const auto& entry : table) {
      if (entry.name == name) return &entry;
    }
    return nullptr;
  }

  static constexpr Named<> of_nothing[] = {{"once", once}, {"forever", [] { return leaf(Forever{}); }}};
  static constexpr Named<DurationArg> of_duration[] = {
      {"spaced", spaced}, {"exponential", exponential}, {"fibonacci", fibonacci}, {"linear", linear},
      {"fixed", fixed},   {"windowed", windowed},       {"during", during},       {"duration", duration},
  };
  static constexpr Named<const Schedule&> of_schedule[] = {
      {"jittered", jittered}, {"full_jitter", full_jitter}, {"equal_jitter", equal_jitter}};
  static constexpr Named<const Schedule&, DurationArg> of_schedule_and_duration[] = {
      {"capped", capped}, {"add_delay", add_delay}, {"up_to", up_to}};
  static constexpr Named<const Schedule&, const Schedule&> of_schedules[] = {
      {"concat", concat}, {"max", both}, {"both", both}, {"min", either}, {"either", either}};

  Result expression() {
    skip_space();
    const std::size_t start = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    const std::string_view name = text_.substr(start, at_ - start);
    if (name.empty()) return fail("a schedule such as spaced(10ms)");
    if (++depth_ > max_schedule_depth || ++parts_ > max_schedule_parts) {
      at_ = start;
      return fail("at most " + std::to_string(max_schedule_depth) + " schedules inside one another, and " +
                  std::to_string(max_schedule_parts) + " in all");
    }
    Result result = call(name, start);
    --depth_;
    return result;
  }

  Result call(std::string_view name, std::size_t start) {
    if (const auto* entry = find(of_nothing, name)) {
      if (!open() || !close()) return {};
      return entry->make();
    }
    if (const auto* entry = find(of_duration, name)) {
      if (!open()) return {};
      const std::optional<Duration> first = duration_argument();
      if (!first) return {};
      if (name == "exponential" && comma()) {
        const std::optional<double> factor = factor_argument();
        if (!factor || !close()) return {};
        return exponential(*first, *factor);
      }
      if (!close()) return {};
      return entry->make(*first);
    }
    if (const auto* entry = find(of_schedule, name)) {
      if (!open()) return {};
      const Result inner = expression();
      if (!inner || !close()) return {};
      return entry->make(*inner);
    }
    if (const auto* entry = find(of_schedule_and_duration, name)) {
      if (!open()) return {};
      const Result inner = expression();
      if (!inner || !need(',')) return {};
      if (name == "up_to" && !before_duration()) {
        const std::optional<int> times = count_argument("a number of times such as 3, or a duration such as 50ms");
        if (!times || !close()) return {};
        return up_to(*inner, *times);
      }
      const std::optional<Duration> second = duration_argument();
      if (!second || !close()) return {};
      return entry->make(*inner, *second);
    }
    if (const auto* entry = find(of_schedules, name)) {
      if (!open()) return {};
      const Result first = expression();
      if (!first || !need(',')) return {};
      const Result second = expression();
      if (!second || !close()) return {};
      return entry->make(*first, *second);
    }
    if (name == "recurs") {
      if (!open()) return {};
      const std::optional<int> times = count_argument("a number of times such as 3");
      if (!times || !close()) return {};
      return recurs(*times);
    }
    if (name == "delays") return delay_list();
    if (name == "decorrelated_jitter") return base_and_cap();
    at_ = start;
    if (name == "modify_delay" || name == "while_input" || name == "tap") {
      return fail("a schedule that text can hold; " + std::string(name) + " takes a function");
    }
    return fail("a schedule such as spaced(10ms), not \"" + std::string(name.substr(0, 32)) + '"');
  }

  Result delay_list() {
    if (!open()) return {};
    std::vector<Duration> list;
    skip_space();
    if (at_ == text_.size() || text_[at_] != ')') {
      do {
        const std::optional<Duration> delay = duration_argument();
        if (!delay) return {};
        list.push_back(*delay);
      } while (comma());
    }
    if (!close()) return {};
    return delays(list);
  }

  Result base_and_cap() {
    if (!open()) return {};
    const std::optional<Duration> base = duration_argument();
    if (!base || !need(',')) return {};
    skip_space();
    const std::size_t start = at_;
    const std::optional<Duration> cap = duration_argument();
    if (!cap) return {};
    if (*cap < *base) {
      at_ = start;
      return fail("a cap of at least the base");
    }
    if (!close()) return {};
    return decorrelated_jitter(*base, *cap);
  }

  std::optional<Duration> duration_argument() {
    skip_space();
    const DurationText read = read_duration(text_.substr(at_));
    at_ += read.length;
    if (read.expected == nullptr) return read.value;
    static_cast<void>(fail(read.expected));
    return {};
  }

  std::optional<double> factor_argument() {
    skip_space();
    const std::optional<Decimal> read = read_decimal(text_.substr(at_));
    if (read && read->value <= (std::numeric_limits<double>::max)()) {
      at_ += read->length;
      return read->value;
    }
    static_cast<void>(fail(read ? "a factor below 1e308" : "a factor of zero or more, such as 1.5"));
    return {};
  }

  std::optional<int> count_argument(const char* expected) {
    skip_space();
    constexpr int most = (std::numeric_limits<int>::max)();
    const std::size_t start = at_;
    int count = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      const int digit = text_[at_] - '0';
      if (count > (most - digit) / 10) {
        at_ = start;
        static_cast<void>(fail("a number of times of at most " + std::to_string(most)));
        return {};
      }
      count = count * 10 + digit;
    }
    if (at_ != start) return count;
    static_cast<void>(fail(expected));
    return {};
  }

  // Whether a number with a unit, rather than a plain one, comes next.
  bool before_duration() {
    skip_space();
    std::size_t at = at_;
    while (at < text_.size() && is_digit(text_[at])) ++at;
    return at != at_ && at < text_.size() && (text_[at] == '.' || is_name(text_[at]));
  }

  bool open() { return need('('); }
  bool close() { return need(')'); }

  bool comma() {
    skip_space();
    if (at_ == text_.size() || text_[at_] != ',') return false;
    ++at_;
    return true;
  }

  bool need(char c) {
    skip_space();
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      return true;
    }
    static_cast<void>(fail(std::string{'"', c, '"'}));
    return false;
  }

  void skip_space() noexcept {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  static bool is_name(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
  }

  // Notes an error at the present place.
  std::nullopt_t fail(std::string expected) {
    error_ = {1, 1, std::move(expected)};
    for (const char c : text_.substr(0, at_)) {
      error_.column = c == '\n' ? 1 : error_.column + 1;
      if (c == '\n') ++error_.line;
    }
    return std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int parts_ = 0;
  ParseError error_;
};

}  // namespace detail

PLANB_DECL std::string to_string(const Schedule& schedule) {
  if (!schedule) return "none";
  detail::ScheduleTextWriter writer;
  detail::ScheduleAccess::node(schedule)->describe(writer);
  return writer.take();
}

PLANB_DECL Parsed<Schedule> parse_schedule(std::string_view text) { return detail::ScheduleParser(text).whole(); }

}  // namespace planb::inline PLANB_ABI
