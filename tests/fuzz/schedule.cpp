// Schedules, durations and numbers as text: whatever the text, a value that prints as what reads as that value, or an
// error at a place within the text.
#include <planb/detail/decimal.hpp>
#include <planb/error/cause.hpp>
#include <planb/schedule/combinators.hpp>
#include <planb/schedule/jitter.hpp>
#include <planb/schedule/leaves.hpp>
#include <planb/schedule/text.hpp>
#include <planb/time/detail/duration_text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "fuzz.hpp"

using fuzz::check;
using planb::Duration;

namespace {

void error_is_within(const planb::ParseError& error, std::string_view text) {
  check(!error.expected.empty() && !error.message().empty(), "an error says what was expected", text);
  const auto lines = static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1;
  check(error.line >= 1 && error.line <= lines, "an error's line is within the text", error.message());
  for (int line = 1; line != error.line; ++line) text.remove_prefix(text.find('\n') + 1);
  const std::size_t columns = (std::min)(text.find('\n'), text.size()) + 1;
  check(error.column >= 1 && static_cast<std::size_t>(error.column) <= columns,
        "an error's column is within its line, or behind it", error.message());
}

// Both give the same delays, none of them negative.
void run_alike(const planb::Schedule& a, const planb::Schedule& b, std::string_view text) {
  check(a.ends() == b.ends(), "a schedule read back ends as the first", text);
  const planb::Cause cause{};
  planb::ScheduleRun run_a(a, 1);
  planb::ScheduleRun run_b(b, 1);
  planb::TimePoint now{};
  for (int i = 0; i != 12; ++i) {
    const std::optional<Duration> delay = run_a.next(now, cause);
    check(delay == run_b.next(now, cause), "a schedule read back gives the same delays", text);
    if (!delay) return;
    check(*delay >= Duration::zero(), "no delay is negative", text);
    now = planb::detail::add(planb::detail::add(now, *delay), Duration(i));
  }
}

void schedule(std::string_view text) {
  const planb::Parsed<planb::Schedule> parsed = planb::parse_schedule(text);
  check(planb::parse_schedule("\t " + std::string(text) + " \r\n").has_value() == parsed.has_value(),
        "space around a schedule changes nothing", text);
  if (!parsed) return error_is_within(parsed.error(), text);
  const std::string printed = planb::to_string(*parsed);
  const planb::Parsed<planb::Schedule> again = planb::parse_schedule(printed);
  check(again.has_value(), "what a schedule prints can be read", printed);
  check(planb::to_string(*again) == printed, "what is read back prints the same", printed);
  run_alike(*parsed, *again, printed);
}

void duration(std::string_view text) {
  const planb::detail::DurationText read = planb::detail::read_duration(text);
  check(read.length <= text.size(), "no more is read of a duration than there is", text);
  if (read.expected != nullptr) return;
  check(read.value >= Duration::zero(), "no duration is negative", text);
  const std::string printed = planb::detail::write_duration(read.value);
  const planb::detail::DurationText again = planb::detail::read_duration(printed);
  check(again.expected == nullptr && again.length == printed.size() && again.value == read.value,
        "what a duration prints reads as that duration", printed);
}

void decimal(std::string_view text) {
  const std::optional<planb::detail::Decimal> read = planb::detail::read_decimal(text);
  if (!read) return;
  check(read->length >= 1 && read->length <= text.size(), "no more is read of a number than there is", text);
  check(read->value >= 0, "no number is negative, or none", text);
  if (read->value > (std::numeric_limits<double>::max)()) return;
  const std::string printed = planb::detail::write_decimal(read->value);
  const std::optional<planb::detail::Decimal> again = planb::detail::read_decimal(printed);
  check(again && again->length == printed.size() && again->value == read->value,
        "what a number prints reads as that number", printed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  schedule(text);
  duration(text);
  decimal(text);
  return 0;
}
