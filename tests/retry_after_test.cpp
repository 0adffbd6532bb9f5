#include <planb/retry_after.hpp>

#include "catch.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::Duration;
using planb::parse_retry_after;
using Clock = std::chrono::system_clock;
using Wait = std::optional<Duration>;

constexpr Duration longest = (Duration::max)();

// Wed, 29 Jan 2025 00:00:00 GMT
constexpr Clock::time_point now{std::chrono::seconds{1'738'108'800}};

struct Case {
  std::string_view value;
  Wait wait;
};

void check(const std::vector<Case>& cases, Clock::time_point at = now) {
  for (const Case& c : cases) {
    INFO("value: \"" << c.value << '"');
    CHECK(parse_retry_after(c.value, at) == c.wait);
  }
}

}  // namespace

TEST_CASE("a bare number is a delay in seconds") {
  check({
      {"0", 0s},
      {"2", 2s},
      {"120", 2min},
      {"00002", 2s},
      {"1.5", 1500ms},
      {"0.25", 250ms},
      {"2.000", 2s},
      {"1.000000001", 1s + 1ns},
      {"315360000", 315'360'000s},  // ten years
      {"  2\t", 2s},
      {"2\r\n", 2s},
  });
}

TEST_CASE("reset forms are sums of units") {
  check({
      {"1s", 1s},
      {"6m0s", 6min},
      {"12ms", 12ms},
      {"45.8379s", 45'837'900us},
      {"1h2m3s", 1h + 2min + 3s},
      {"1d", 24h},
      {"2d3h", 51h},
      {"1m30.5s", 90'500ms},
      {"7.66s", 7'660ms},
      {"0s", 0s},
      {"1.5h", 90min},
      {"250us", 250us},
      {"250\xC2\xB5s", 250us},  // micro sign
      {"250\xCE\xBCs", 250us},  // mu
      {"17ns", 17ns},
      {"1s500ms", 1500ms},
      {"1h0m0s1ms", 1h + 1ms},
  });
}

TEST_CASE("what is finer than a nanosecond is rounded up: a hint is never shortened") {
  check({
      {"0.0000000001", 1ns},
      {"1.0000000000", 1s},
      {"0.99999999999", 1s},
      {"0.1ns", 1ns},
      {"1.0000001ms", 1ms + 1ns},
      {"2025-01-29T00:00:00.0000000001Z", 1ns},
  });
}

TEST_CASE("an HTTP date is read in all three forms") {
  const Clock::time_point at{784'111'700s};  // 77 seconds before the date
  check(
      {
          {"Sun, 06 Nov 1994 08:49:37 GMT", 77s},
          {"Sunday, 06-Nov-94 08:49:37 GMT", 77s},
          {"Sun Nov  6 08:49:37 1994", 77s},
          {"sun, 06 nov 1994 08:49:37 gmt", 77s},
          {"Sun, 6 Nov 1994 08:49:37 GMT", 77s},
          {"Sun, 06-Nov-1994 08:49:37 GMT", 77s},
          {"Sun, 06 Nov 1994 08:49:37 UTC", 77s},
          {"Sun, 06 Nov 1994 09:49:37 +0100", 77s},
          {"Sun, 06 Nov 1994 04:19:37 -0430", 77s},
          {"Mon, 06 Nov 1994 08:49:37 GMT", 77s},  // the name of the day says nothing that the date does not
      },
      at);
  check({
      {"Wed, 29 Jan 2025 00:00:30 GMT", 30s},
      {"Wed, 29 Jan 2025 00:00:60 GMT", 1min},
      {"Wednesday, 29-Jan-25 00:01:00 GMT", 1min},
      {"Wed Jan 29 00:01:00 2025", 1min},
      {"Thu, 29 Feb 2024 00:00:00 GMT", 0s},
      {"Tue, 29 Feb 2028 00:00:00 GMT", Duration(1'835'395'200s - 1'738'108'800s)},
  });
}

TEST_CASE("every month has its number") {
  const std::vector<std::string> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::vector<int> days_before{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  const Clock::time_point new_year{1'735'689'600s};  // of 2025
  for (std::size_t i = 0; i != months.size(); ++i) {
    INFO(months[i]);
    CHECK(parse_retry_after("Fri, 01 " + months[i] + " 2025 00:00:00 GMT", new_year) ==
          Wait(std::chrono::hours(24 * days_before[i])));
  }
}

TEST_CASE("a year of two digits is the one of that ending that is nearest") {
  const Clock::time_point at{4'073'155'200s};  // 27 Jan 2099
  CHECK(parse_retry_after("Tuesday, 27-Jan-99 00:00:05 GMT", at) == Wait(5s));
  CHECK(parse_retry_after("Wednesday, 27-Jan-00 00:00:00 GMT", at) == Wait(365 * 24h));
  check({
      {"Saturday, 06-Nov-94 08:49:37 GMT", 0s},           // 1994
      {"Thursday, 29-Jan-26 00:00:00 GMT", 365 * 24h},    // 2026
      {"Tuesday, 29-Jan-75 00:00:00 GMT", 18'262 * 24h},  // 2075: fifty years from now
      {"Thursday, 29-Jan-76 00:00:00 GMT", 0s},           // 1976
  });
}

TEST_CASE("RFC 3339 is read with any offset and fraction") {
  check({
      {"2025-01-29T00:00:30Z", 30s},
      {"2025-01-29t00:00:30z", 30s},
      {"2025-01-29 00:00:30Z", 30s},
      {"2025-01-29T00:00:30.25Z", 30'250ms},
      {"2025-01-29T00:00:30.123456789Z", 30s + 123'456'789ns},
      {"2025-01-29T01:30:30+01:30", 30s},
      {"2025-01-28T16:00:30-08:00", 30s},
      {"2025-01-29T00:00:30-00:00", 30s},
      {"2025-01-29T00:00:60Z", 1min},
      {"2024-02-29T00:00:00Z", 0s},
      {"2025-01-28T23:59:59.999999999Z", 0s},
  });
  CHECK(parse_retry_after("2016-12-31T23:59:60Z", Clock::time_point{1'483'228'799s}) == Wait(1s));
  CHECK(parse_retry_after("2025-01-29T00:00:30Z", now + 29'500ms) == Wait(500ms));
}

TEST_CASE("an epoch is told from a delay by where now is") {
  check({
      {"1738108830", 30s},
      {"1738108830.5", 30'500ms},
      {"1738108830000", 30s},
      {"1738108830250", 250ms + 30s},
      {"1738108830000.5", 30s + 500us},
      {"1738108800", 0s},
      {"1738108799", 0s},
      {"1738022400", 0s},     // yesterday
      {"1000000000", 0s},     // 2001
      {"1738022400000", 0s},  // yesterday, in milliseconds
      {"869054400", 0s},      // half of now: the least epoch
      {"869054399", 869'054'399s},
      {"3476217600", 1'738'108'800s},  // twice now: the last
      {"3476217601", 3'476'217'601s},
      {"3476217600000", 1'738'108'800s},
      {"3476217601000", longest},
      {"1422489599999", longest},  // more than ten years ago in milliseconds: rather a very long delay
      {"1422489600000", 0s},
  });
}

TEST_CASE("near the epoch itself a number is a delay") {
  check({{"60", 60s}, {"200", 200s}, {"1738108800", 1'738'108'800s}}, Clock::time_point{100s});
  check({{"60", 60s}, {"1738108800", 1'738'108'800s}}, Clock::time_point{});
  check({{"60", 60s}}, Clock::time_point{-100s});
}

TEST_CASE("negative values and past dates give zero") {
  check({
      {"-1", 0s},
      {"-0", 0s},
      {"-0.5", 0s},
      {"-6m0s", 0s},
      {"-99999999999999999999999", 0s},
      {"-1738108830", 0s},
      {"Sun, 06 Nov 1994 08:49:37 GMT", 0s},
      {"1994-11-06T08:49:37Z", 0s},
      {"0000-01-01T00:00:00Z", 0s},
      {"0001-01-01T00:00:00+23:59", 0s},
  });
}

TEST_CASE("huge values saturate") {
  check({
      {"9223372036", 9'223'372'036s},
      {"9223372037", longest},
      {"9999999999", longest},
      {"999999999999", longest},
      {"9223372036854775807", longest},
      {"18446744073709551615", longest},
      {"18446744073709551616", longest},
      {"99999999999999999999999999999999999999999999", longest},
      {"9999999999999h", longest},
      {"106752d", longest},
      {"106751d23h47m16s854ms775us808ns", longest},
      {"106751d23h47m16s854ms775us806ns", longest - 1ns},
      {"9999-12-31T23:59:59Z", longest},
      {"Fri, 31 Dec 9999 23:59:59 GMT", longest},
  });
  CHECK(parse_retry_after("retry-after-ms", "9999999999999999999", now) == Wait(longest));
}

TEST_CASE("nonsense gives nothing") {
  for (const std::string_view value : {
           "",
           " ",
           "\t\r\n",
           "-",
           "+",
           ".",
           "+5",
           "--5",
           "- 5",
           ".5",
           "5.",
           "1e3",
           "1,5",
           "0x10",
           "2 s",
           "2;",
           "two",
           "5 6",
           "1.5.2",
           "inf",
           "infinity",
           "nan",
           "-inf",
           "1_000",
           "1'000",
           "2, 3",
           "\"2\"",  //
           "s",
           "ms",
           "1x",
           "1S",
           "1sec",
           "1s1",
           "1s 1ms",
           "1s1s",
           "1s1m",
           "1ms1s",
           "1m-1s",
           "s1",
           "1ms2",
           "1.s",  //
           "Sun",
           "Sun,",
           "Sun, 06 Nov 1994",
           "Sun, 06 Nov 1994 08:49:37",
           "Sun, 06 Nov 1994 08:49:37 PST",
           "Sun, 06 Nov 1994 08:49:37 GMT+",
           "Sun, 31 Feb 1994 08:49:37 GMT",
           "Sun, 00 Nov 1994 08:49:37 GMT",
           "Sun, 06 Foo 1994 08:49:37 GMT",
           "Sun, 06 Nov 1994 24:00:00 GMT",
           "Sun, 06 Nov 1994 08:60:37 GMT",
           "Sun, 06 Nov 1994 08:49:61 GMT",
           "Sun, 06 Nov 994 08:49:37 GMT",
           "Sun, 06-Nov 1994 08:49:37 GMT",
           "Sun 06 Nov 1994 08:49:37 GMT",
           "Nov 6 08:49:37 1994",
           "Sun Nov  16 08:49:37 1994",
           "Sun Nov 6 1994",
           "Fun, 06 Nov 1994 08:49:37 GMT",
           "Sun, 06 Nov 1994 8:49:37 GMT",
           "06 Nov 1994 08:49:37 GMT",  //
           "2025-01-29",
           "2025-01-29T00:00:30",
           "2025-1-29T00:00:30Z",
           "2025-13-01T00:00:00Z",
           "2025-02-29T00:00:00Z",
           "2025-00-10T00:00:00Z",
           "2025-01-29T24:00:00Z",
           "2025-01-29T00:00:30.Z",
           "2025-01-29T00:00:30+1:00",
           "2025-01-29T00:00:30+0100",
           "2025-01-29T00:00:30+24:00",
           "2025-01-29T00:00:30Zulu",
           "2025/01/29T00:00:30Z",
           "2025-01-29T00:00Z",
           "20250129T000030Z",
           "-2025-01-29T00:00:30Z",
       }) {
    INFO("value: \"" << value << '"');
    CHECK(parse_retry_after(value, now) == std::nullopt);
  }
  CHECK(parse_retry_after(std::string_view("2\0", 2), now) == std::nullopt);
  CHECK(parse_retry_after(std::string_view(), now) == std::nullopt);
}

TEST_CASE("the header's name tells the unit") {
  struct Named {
    std::string_view header;
    std::string_view value;
    Wait wait;
  };
  for (const Named& c : std::vector<Named>{
           {"retry-after", "2", 2s},
           {"Retry-After", "Wed, 29 Jan 2025 00:00:30 GMT", 30s},
           {"retry-after-ms", "2", 2ms},
           {"Retry-After-Ms", "1500.5", 1'500'500us},
           {"x-ms-retry-after-ms", "20", 20ms},
           {"X-MS-Retry-After-MS", "20", 20ms},
           {"retry-after-ms", "2s", 2s},
           {"retry-after-ms", "-1", 0s},
           {"retry-after-ms", "1738108830000", 1'738'108'830s},  // a delay, whatever its size
           {"x-ratelimit-reset", "1738108830", 30s},
           {"X-RateLimit-Reset", "1738108830000", 30s},
           {"x-ratelimit-reset-requests", "6m0s", 6min},
           {"x-ratelimit-reset-tokens", "45.8379s", 45'837'900us},
           {"x-ratelimit-reset-after", "0.5", 500ms},
           {"ratelimit-reset", "50", 50s},
           {"x-rate-limit-reset", "50", 50s},
           {"example-ratelimit-tokens-reset", "2025-01-29T00:00:30Z", 30s},
           {"x-ratelimit-reset-ms", "50", 50ms},
           {"retry-after", "soon", std::nullopt},
           {"content-length", "2", std::nullopt},
           {"x-ratelimit-remaining", "2", std::nullopt},
           {"x-retry-after", "2", std::nullopt},
           {"x-ms-retry-after", "2", std::nullopt},
           {"retry-afte", "2", std::nullopt},
           {"reset", "2", std::nullopt},
           {"-ms", "2", std::nullopt},
           {"", "2", std::nullopt},
       }) {
    INFO(c.header << ": " << c.value);
    CHECK(parse_retry_after(c.header, c.value, now) == c.wait);
  }
}

TEST_CASE("any bytes and any time give a wait that is not negative, or nothing") {
  std::mt19937 random(20250129);
  const std::vector<std::string> seeds{"1.5",
                                       "6m0s",
                                       "Sun, 06 Nov 1994 08:49:37 GMT",
                                       "Sunday, 06-Nov-94 08:49:37 GMT",
                                       "Sun Nov  6 08:49:37 1994",
                                       "2025-01-29T00:00:30.5+01:00",
                                       "1738108830000"};
  const std::vector<Clock::time_point> times{now, Clock::time_point{}, (Clock::time_point::min)(),
                                             (Clock::time_point::max)(), Clock::time_point{-1ms}};
  const std::string alphabet = "0123456789.-+:, TZtzsmhdunGMTSunov\xC2\xB5";
  const auto below = [&](std::size_t bound) { return random() % bound; };
  int read = 0;
  for (int i = 0; i != 20'000; ++i) {
    std::string value = below(4) == 0 ? std::string(below(40), '0') : seeds[below(seeds.size())];
    for (std::size_t changes = below(4) + (value.empty() ? 0U : 1U); changes != 0 && !value.empty(); --changes) {
      char& c = value[below(value.size())];
      c = below(3) == 0 ? static_cast<char>(random()) : alphabet[below(alphabet.size())];
      if (below(8) == 0) value.insert(below(value.size()), 1, alphabet[below(alphabet.size())]);
      if (below(8) == 0) value.resize(below(value.size() + 1));
    }
    for (const Clock::time_point at : times) {
      for (const Wait& wait : {parse_retry_after(value, at), parse_retry_after("retry-after-ms", value, at)}) {
        if (!wait) continue;
        ++read;
        if (*wait < Duration::zero()) FAIL("negative: " << value);
      }
    }
  }
  CHECK(read > 1'000);  // not only nonsense
}
