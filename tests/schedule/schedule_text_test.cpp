#include <planb/schedule/text.hpp>

#include "catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::Duration;
using planb::parse_schedule;
using planb::Parsed;
using planb::ParseError;
using planb::Schedule;
using planb::to_string;

std::string error_of(std::string_view text) {
  const Parsed<Schedule> parsed = parse_schedule(text);
  return parsed ? "no error: " + to_string(*parsed) : parsed.error().message();
}

std::string nested(int depth, const std::string& inner) {
  std::string text;
  for (int i = 0; i != depth; ++i) text += "jittered(";
  return text + inner + std::string(static_cast<std::size_t>(depth), ')');
}

}  // namespace

TEST_CASE("a schedule prints as the call that makes it, and reads back as the same text") {
  using namespace planb;  // NOLINT(google-build-using-namespace): thirty names in a table
  const std::pair<Schedule, const char*> rows[] = {
      {spaced(10ms), "spaced(10ms)"},
      {exponential(10ms), "exponential(10ms)"},
      {exponential(10ms, 2), "exponential(10ms, 2)"},
      {exponential(10ms, 1.5), "exponential(10ms, 1.5)"},
      {exponential(10ms, 0.1), "exponential(10ms, 0.1)"},
      {exponential(10ms, 0), "exponential(10ms, 0)"},
      {exponential(10ms, 1e300), "exponential(10ms, 1e300)"},
      {exponential(10ms, 1.25e-9), "exponential(10ms, 1.25e-9)"},
      {exponential(10ms, 1 / 3.0), "exponential(10ms, 0.3333333333333333)"},
      {fibonacci(10ms), "fibonacci(10ms)"},
      {linear(10ms), "linear(10ms)"},
      {fixed(50ms), "fixed(50ms)"},
      {windowed(50ms), "windowed(50ms)"},
      {recurs(3), "recurs(3)"},
      {recurs((std::numeric_limits<int>::max)()), "recurs(2147483647)"},
      {once(), "once()"},
      {forever(), "forever()"},
      {during(100ms), "during(100ms)"},
      {planb::duration(30ms), "duration(30ms)"},
      {delays({10ms, 20ms}), "delays(10ms, 20ms)"},
      {delays({}), "delays()"},
      {decorrelated_jitter(10ms, 1s), "decorrelated_jitter(10ms, 1s)"},
      {concat(once(), spaced(10ms)), "concat(once(), spaced(10ms))"},
      {both(once(), spaced(10ms)), "max(once(), spaced(10ms))"},
      {either(once(), spaced(10ms)), "min(once(), spaced(10ms))"},
      {both(once(), forever(), recurs(2)), "max(max(once(), forever()), recurs(2))"},
      {up_to(forever(), 2), "up_to(forever(), 2)"},
      {up_to(forever(), 50ms), "up_to(forever(), 50ms)"},
      {capped(exponential(10ms), 1s), "capped(exponential(10ms), 1s)"},
      {jittered(once()), "jittered(once())"},
      {full_jitter(once()), "full_jitter(once())"},
      {equal_jitter(once()), "equal_jitter(once())"},
      {add_delay(once(), 5ms), "add_delay(once(), 5ms)"},
      {up_to(jittered(capped(exponential(100ms, 3), 5s)), 4), "up_to(jittered(capped(exponential(100ms, 3), 5s)), 4)"},
  };
  for (const auto& [schedule, text] : rows) {
    CHECK(to_string(schedule) == text);
    const Parsed<Schedule> parsed = parse_schedule(text);
    REQUIRE(parsed.has_value());
    CHECK(to_string(*parsed) == text);
    CHECK(parsed->ends() == schedule.ends());
  }
}

TEST_CASE("a schedule that holds a function prints what can be said of it, and is not read") {
  const Schedule inner = planb::spaced(10ms);
  const auto fn = [](Duration d) { return d; };
  CHECK(to_string(planb::modify_delay(inner, fn)) == "modify_delay(spaced(10ms), ...)");
  CHECK(to_string(planb::tap(inner, fn)) == "tap(spaced(10ms), ...)");
  CHECK(to_string(planb::add_delay(inner, [] { return 1ms; })) == "add_delay(spaced(10ms), ...)");
  CHECK(to_string(planb::while_input(inner, [](const planb::Cause&) { return true; })) ==
        "while_input(spaced(10ms), ...)");
  const auto own = [](const planb::ScheduleInput&) { return 1s; };
  CHECK(to_string(planb::capped(Schedule::from("business hours", own), 1s)) == "capped(business hours, 1s)");
  CHECK(to_string(Schedule::from("", own)) == "custom");
  CHECK(to_string(Schedule()) == "none");

  CHECK(error_of("modify_delay(spaced(10ms), ...)") ==
        "column 1: expected a schedule that text can hold; modify_delay takes a function");
  CHECK(error_of("jittered(tap(once(), ...))") ==
        "column 10: expected a schedule that text can hold; tap takes a function");
  CHECK(error_of("while_input(once(), ...)") ==
        "column 1: expected a schedule that text can hold; while_input takes a function");
  CHECK(error_of("add_delay(spaced(10ms), ...)") == "column 25: expected a duration such as 10ms");
}

TEST_CASE("a duration prints exactly, in the largest unit that keeps it whole") {
  const std::pair<Duration, const char*> rows[] = {
      {0ns, "0s"},
      {1ns, "1ns"},
      {999ns, "999ns"},
      {1us, "1us"},
      {1500us, "1500us"},
      {1500ms, "1500ms"},
      {1s, "1s"},
      {90s, "90s"},
      {60s, "1min"},
      {90min, "90min"},
      {1h, "1h"},
      {24h, "24h"},
      {1s + 1ns, "1000000001ns"},
      {(Duration::max)(), "9223372036854775807ns"},
  };
  for (const auto& [duration, text] : rows) {
    CHECK(to_string(planb::spaced(duration)) == "spaced(" + std::string(text) + ")");
    const Parsed<Schedule> parsed = parse_schedule("spaced(" + std::string(text) + ")");
    REQUIRE(parsed.has_value());
    CHECK(to_string(*parsed) == to_string(planb::spaced(duration)));
  }
}

TEST_CASE("what people write is read") {
  const std::pair<const char*, const char*> rows[] = {
      {" spaced ( 10ms ) ", "spaced(10ms)"},
      {"\tmax(once(),\n  forever())\r\n", "max(once(), forever())"},
      {"both(once(), once())", "max(once(), once())"},
      {"either(once(), once())", "min(once(), once())"},
      {"spaced(1.5s)", "spaced(1500ms)"},
      {"spaced(0.25ms)", "spaced(250us)"},
      {"spaced(2m)", "spaced(2min)"},
      {"spaced(1.5h)", "spaced(90min)"},
      {"spaced(0000010ms)", "spaced(10ms)"},
      {"spaced(0ms)", "spaced(0s)"},
      {"spaced(1.9999999999s)", "spaced(1999999999ns)"},  // what is below a nanosecond is cut off
      {"spaced(0.9ns)", "spaced(0s)"},
      {"spaced(9223372036.854775807s)", "spaced(9223372036854775807ns)"},
      {"up_to(once(), 0.5s)", "up_to(once(), 500ms)"},
      {"exponential(1s, 1.50)", "exponential(1s, 1.5)"},
      {"exponential(1s, 25e-1)", "exponential(1s, 2.5)"},
      {"exponential(1s, 0)", "exponential(1s, 0)"},
      {"exponential(1s, 1e-400)", "exponential(1s, 0)"},
  };
  for (const auto& [text, expected] : rows) {
    const Parsed<Schedule> parsed = parse_schedule(text);
    CAPTURE(text);
    REQUIRE(parsed.has_value());
    CHECK(to_string(*parsed) == expected);
  }
}

TEST_CASE("an error says the column and what was expected there") {
  const std::pair<std::string, const char*> rows[] = {
      {"", "column 1: expected a schedule such as spaced(10ms)"},
      {"   ", "column 4: expected a schedule such as spaced(10ms)"},
      {"(", "column 1: expected a schedule such as spaced(10ms)"},
      {"none", "column 1: expected a schedule such as spaced(10ms), not \"none\""},
      {"Spaced(10ms)", "column 1: expected a schedule such as spaced(10ms), not \"Spaced\""},
      {"spaced", "column 7: expected \"(\""},
      {"spaced 10ms", "column 8: expected \"(\""},
      {"once", "column 5: expected \"(\""},
      {"jittered once()", "column 10: expected \"(\""},
      {"capped", "column 7: expected \"(\""},
      {"max", "column 4: expected \"(\""},
      {"recurs 3", "column 8: expected \"(\""},
      {"delays", "column 7: expected \"(\""},
      {"decorrelated_jitter", "column 20: expected \"(\""},
      {"spaced(", "column 8: expected a duration such as 10ms"},
      {"spaced()", "column 8: expected a duration such as 10ms"},
      {"spaced(soon)", "column 8: expected a duration such as 10ms"},
      {"spaced(-5ms)", "column 8: expected a duration such as 10ms"},
      {"spaced(.5s)", "column 8: expected a duration such as 10ms"},
      {"spaced(10)", "column 10: expected a unit of time: ns, us, ms, s, min, h or d"},
      {"spaced(10 ms)", "column 10: expected a unit of time: ns, us, ms, s, min, h or d"},
      {"spaced(10days)", "column 10: expected a unit of time: ns, us, ms, s, min, h or d"},
      {"spaced(1.s)", "column 9: expected a unit of time: ns, us, ms, s, min, h or d"},
      {"spaced(10ms", "column 12: expected \")\""},
      {"spaced(10ms, 2)", "column 12: expected \")\""},
      {"spaced(10ms) x", "column 14: expected the end of the text"},
      {"spaced(10ms))", "column 13: expected the end of the text"},
      {"spaced(9223372036854775808ns)", "column 8: expected a duration of at most 9223372036854775807ns"},
      {"spaced(2562048h)", "column 8: expected a duration of at most 9223372036854775807ns"},
      {"once(1)", "column 6: expected \")\""},
      {"recurs(many)", "column 8: expected a number of times such as 3"},
      {"recurs(-1)", "column 8: expected a number of times such as 3"},
      {"recurs(2147483648)", "column 8: expected a number of times of at most 2147483647"},
      {"recurs(1.5)", "column 9: expected \")\""},
      {"exponential(10ms, )", "column 19: expected a factor of zero or more, such as 1.5"},
      {"exponential(10ms, -1)", "column 19: expected a factor of zero or more, such as 1.5"},
      {"exponential(10ms, nan)", "column 19: expected a factor of zero or more, such as 1.5"},
      {"exponential(10ms, 1e309)", "column 19: expected a factor below 1e308"},
      {"exponential(10ms, 1,5)", "column 20: expected \")\""},
      {"concat(once())", "column 14: expected \",\""},
      {"max(once(), )", "column 13: expected a schedule such as spaced(10ms)"},
      {"max(once(), once(), once())", "column 19: expected \")\""},
      {"up_to(once())", "column 13: expected \",\""},
      {"up_to(once(), x)", "column 15: expected a number of times such as 3, or a duration such as 50ms"},
      {"up_to(once(), 3x)", "column 16: expected a unit of time: ns, us, ms, s, min, h or d"},
      {"capped(once(), 3)", "column 17: expected a unit of time: ns, us, ms, s, min, h or d"},
      {"delays(10ms,)", "column 13: expected a duration such as 10ms"},
      {"delays(", "column 8: expected a duration such as 10ms"},
      {"decorrelated_jitter(10ms)", "column 25: expected \",\""},
      {"decorrelated_jitter(x, 1s)", "column 21: expected a duration such as 10ms"},
      {"decorrelated_jitter(10ms, x)", "column 27: expected a duration such as 10ms"},
      {"decorrelated_jitter(10ms, 1s, 2)", "column 29: expected \")\""},
      {"decorrelated_jitter(10ms, 5ms)", "column 27: expected a cap of at least the base"},
      {"max(once(),\n  often())", "line 2, column 3: expected a schedule such as spaced(10ms), not \"often\""},
  };
  for (const auto& [text, expected] : rows) CHECK(error_of(text) == expected);

  const Parsed<Schedule> parsed = parse_schedule("max(once(),\n  often())");
  REQUIRE_FALSE(parsed.has_value());
  CHECK(parsed.error().line == 2);
  CHECK(parsed.error().column == 3);
}

TEST_CASE("hostile text is refused without harm") {
  using namespace std::string_literals;
  CHECK(error_of("spaced(10ms)\0"s) == "column 13: expected the end of the text");
  CHECK(error_of("\0"s) == "column 1: expected a schedule such as spaced(10ms)");
  CHECK(error_of("spaced(\xff\xfe)") == "column 8: expected a duration such as 10ms");
  CHECK(error_of("spaced(" + std::string(100'000, '9') + "ms)") ==
        "column 8: expected a duration of at most 9223372036854775807ns");
  CHECK(error_of("recurs(" + std::string(100'000, '9') + ")") ==
        "column 8: expected a number of times of at most 2147483647");
  CHECK(error_of("exponential(1s, " + std::string(100'000, '9') + ")") == "column 17: expected a factor below 1e308");
  CHECK(error_of(std::string(100'000, 'a') + "(1)") ==
        "column 1: expected a schedule such as spaced(10ms), not \"" + std::string(32, 'a') + '"');
  CHECK(error_of("exponential(1s, 0." + std::string(100'000, '0') + "1)") == "no error: exponential(1s, 0)");
}

TEST_CASE("text nests 128 deep, and not deeper") {
  CHECK(parse_schedule(nested(127, "once()")).has_value());
  CHECK(error_of(nested(128, "once()")) == "column " + std::to_string(128 * 9 + 1) +
                                               ": expected at most 128 schedules inside one another, and 4096 in all");
  CHECK_FALSE(parse_schedule(nested(10'000, "once()")).has_value());
  CHECK_FALSE(parse_schedule(nested(1'000'000, "")).has_value());

  std::string wide = "once()";
  for (int i = 0; i != 12; ++i) wide = "max(" + wide + ", " + wide + ")";
  CHECK_FALSE(parse_schedule(wide).has_value());
}

TEST_CASE("every text that is cut short or has a byte changed gives a schedule or an error") {
  const std::string text = "max(up_to(capped(exponential(100ms, 1.5e1), 5s), 4), delays(10ms, 0.5us))";
  REQUIRE(parse_schedule(text).has_value());
  for (std::size_t i = 0; i != text.size(); ++i) {
    CHECK_FALSE(parse_schedule(text.substr(0, i)).has_value());
    for (const char c : std::string_view("(),. 0e-z\0\xff", 11)) {
      std::string changed = text;
      changed[i] = c;
      const Parsed<Schedule> parsed = parse_schedule(changed);
      if (parsed) {
        CHECK(to_string(parse_schedule(to_string(*parsed)).value()) == to_string(*parsed));
      } else {
        CHECK(parsed.error().column >= 1);
        CHECK(parsed.error().column <= static_cast<int>(text.size()) + 1);
        CHECK_FALSE(parsed.error().expected.empty());
      }
    }
  }
}

TEST_CASE("a factor is read and written exactly") {
  const double factors[] = {0.1,
                            1.1,
                            2.0 / 3,
                            1.0000000000000002,
                            0.30000000000000004,
                            9007199254740993.0,
                            5e-324,
                            2.2250738585072014e-308,
                            (std::numeric_limits<double>::max)()};
  for (const double factor : factors) {
    const std::string text = planb::detail::write_decimal(factor);
    const std::optional<planb::detail::Decimal> read = planb::detail::read_decimal(text);
    CAPTURE(text);
    REQUIRE(read.has_value());
    CHECK(read->value == factor);
    CHECK(read->length == text.size());
  }
  CHECK(planb::detail::read_decimal("9007199254740993")->value == 9007199254740992.0);          // a tie, to even
  CHECK(planb::detail::read_decimal("9007199254740993.0000001")->value == 9007199254740994.0);  // just above it
  CHECK(planb::detail::read_decimal("2.4703282292062327e-324")->value == 0.0);
  CHECK(planb::detail::read_decimal("2.4703282292062328e-324")->value == 5e-324);
  CHECK(planb::detail::write_decimal(5e-324) == "5e-324");
}

TEST_CASE("a Parsed holds a value or an error") {
  Parsed<std::string> good = std::string("text");
  CHECK(good);
  CHECK(*good == "text");
  CHECK(good->size() == 4);
  CHECK(good.value() == "text");
  CHECK(std::as_const(good).value() == "text");
  CHECK(std::move(good).value() == "text");

  const Parsed<std::string> bad = ParseError{3, 7, "a name"};
  CHECK_FALSE(bad);
  CHECK_FALSE(bad.has_value());
  CHECK(bad.error().message() == "line 3, column 7: expected a name");
  CHECK_THROWS_AS(bad.value(), std::invalid_argument);
  CHECK_THROWS_WITH(parse_schedule("spaced(x)").value(),
                    Catch::Matchers::ContainsSubstring("column 8: expected a duration such as 10ms"));
}
