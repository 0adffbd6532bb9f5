#include <planb/time/duration_text.hpp>

#include "catch.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;
using planb::Duration;
using planb::parse_duration;

constexpr Duration longest = (Duration::max)();

}  // namespace

TEST_CASE("a duration is a number with a unit, or a sum with the larger unit first") {
  const std::pair<const char*, Duration> rows[] = {
      {"0", 0ns},
      {"0s", 0ns},
      {"5ns", 5ns},
      {"5us", 5us},
      {"20ms", 20ms},
      {"30s", 30s},
      {"2min", 2min},
      {"1h", 1h},
      {"2d", 48h},
      {"007s", 7s},
      {"1.5s", 1500ms},
      {"0.25ms", 250us},
      {"1.0000000019s", 1s + 1ns},
      {"1h30min", 90min},
      {"1d12h", 36h},
      {"1d2h3min4s5ms6us7ns", 26h + 3min + 4s + 5ms + 6us + 7ns},
      {"1s500ms", 1500ms},
      {"1.5h30s", 90min + 30s},
      {"9223372036854775807ns", longest},
      {"2562047h47min16s854ms775us807ns", longest},
  };
  for (const auto& [text, duration] : rows) {
    INFO(text);
    const std::optional<Duration> read = parse_duration(text);
    REQUIRE(read.has_value());
    CHECK(*read == duration);
  }
}

TEST_CASE("anything else is no duration") {
  for (const char* text : {"",         " ",
                           "5",        "00",
                           "0.0",      "1.5",
                           "s",        "ms",
                           "5 s",      " 5s",
                           "5s ",      "-5s",
                           "+5s",      "5sec",
                           "5S",       "5Ms",
                           ".5s",      "5.s",
                           "5m",       "1h30m",
                           "1m30s",    "30min1h",
                           "1s1s",     "1h 30s",
                           "1h-30s",   "1h30",
                           "1h30minx", "5s,5s",
                           "1e3s",     "inf",
                           "106752d",  "2562048h",
                           "5s5",      "2562047h48min",
                           "0x5s",     "9223372036854775808ns"}) {
    INFO(text);
    CHECK_FALSE(parse_duration(text).has_value());
  }
}

TEST_CASE("a unit ends where its letters end") {
  for (const char* const text : {"5ms{", "5ms~", "5ms|1s", "5ms[", "5ms_", "5ms^2", "5ms@", "5ms`", "5ms,", "5ms 1s",
                                 "5ms\xC3\xA9"}) {
    INFO(text);
    const planb::detail::DurationText read = planb::detail::read_duration(text);
    CHECK(read.expected == nullptr);
    CHECK(read.value == 5ms);
    CHECK(read.length == 3);
  }
}

TEST_CASE("a duration that is written reads as itself") {
  const std::pair<Duration, const char*> rows[] = {
      {0ns, "0s"},
      {20ms, "20ms"},
      {1500ms, "1500ms"},
      {30s, "30s"},
      {90s, "90s"},
      {90min, "90min"},
      {120min, "2h"},
      {48h, "48h"},
      {1s + 1ns, "1000000001ns"},
      {longest, "9223372036854775807ns"},
  };
  for (const auto& [duration, text] : rows) {
    CHECK(planb::to_string(duration) == text);
    CHECK(parse_duration(text) == duration);
  }
  CHECK(planb::to_string(90min) == "90min");  // of any unit
  CHECK(planb::to_string(-5ms) == "-5ms");    // people may see it; settings have none

  std::mt19937_64 random(1);
  for (int i = 0; i != 500; ++i) {
    const Duration duration(static_cast<std::int64_t>(random() >> (1 + random() % 63)));
    INFO(planb::to_string(duration));
    CHECK(parse_duration(planb::to_string(duration)) == duration);
  }
}
