#include <planb/error/retry_after.hpp>

#include "catch.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
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
  CHECK(parse_retry_after("2025-01-29T00:00:30.25Z", now + 30'500ms) == Wait(0s));  // within the same second
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
           ",",
           " , ,, ",
           "Sun, 06",
           "Wednesday, 29",
           "two, three",
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
           {"ratelimit-reset", "50, 20", 50s},
           {"retry-after", "1000000000", 1'000'000'000s},  // in no year an epoch
           {"Retry-After", "1738108830", 1'738'108'830s},
           {"Retry-After", "1738108830000", longest},
           {"Retry-After", "30, 1738108830", 1'738'108'830s},
           {"retry-after-ms", "1738108830", 1'738'108'830ms},
           {"Retry-After", "2025-01-29T00:00:30Z", 30s},
           {"Retry-After", "Wed, 29 Jan 2025 00:00:30 GMT, 20", 30s},
           {"retry-after-ms", "250, 1500", 1500ms},
           {"grpc-retry-pushback-ms", "250", 250ms},
           {"GRPC-Retry-Pushback-Ms", "0", 0s},
           {"grpc-retry-pushback-ms", "-0", 0s},
           {"grpc-retry-pushback-ms", "-1", longest},  // do not retry
           {"grpc-retry-pushback-ms", "-99999999999999999999999", longest},
           {"grpc-retry-pushback-ms", "250, -1", longest},
           {"grpc-retry-pushback-ms", "-", std::nullopt},
           {"grpc-retry-pushback-ms", "-soon", std::nullopt},
           {"grpc-retry-pushback-ms", "", std::nullopt},
           {"retry-after", "soon", std::nullopt},
           {"retry-after", "\"default\";r=0;t=40", std::nullopt},
           {"ratelimit", "40", std::nullopt},
           {"ratelimit-policy", "\"default\";q=100;w=40", std::nullopt},
           {"ratelimit-limit", "100", std::nullopt},
           {"grpc-status", "8", std::nullopt},
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

TEST_CASE("a header that came twice and was joined is the longest of what it says") {
  check({
      {"30, 60", 60s},
      {"60, 30", 60s},
      {"30, 30", 30s},
      {"30,60", 60s},
      {"30 , 60", 60s},
      {"1, 2, 3.5", 3500ms},
      {"30,", 30s},
      {", 30", 30s},
      {"30, soon", 30s},
      {"soon, 30", 30s},
      {"-5, -1", 0s},
      {"-5, 1", 1s},
      {"1s, 500ms", 1s},
      {"5, 99999999999999999999", longest},
      {"Wed, 29 Jan 2025 00:00:30 GMT, Wed, 29 Jan 2025 00:00:40 GMT", 40s},
      {"Wed, 29 Jan 2025 00:00:40 GMT,Wed, 29 Jan 2025 00:00:30 GMT", 40s},
      {"Wednesday, 29-Jan-25 00:01:00 GMT, Wed Jan 29 00:00:10 2025", 1min},
      {"20, Wed, 29 Jan 2025 00:00:30 GMT", 30s},
      {"Wed, 29 Jan 2025 00:00:30 GMT, 45", 45s},
      {"Sun, 06 Nov 1994 08:49:37 GMT, 5", 5s},
      {"Wed, 29 Foo 2025 00:00:30 GMT, 45", 45s},
      {"2025-01-29T00:00:30Z, 1738108840", 40s},
  });
}

TEST_CASE("the structured RateLimit says when a limit of which nothing remains is filled up again") {
  for (const Case& c : std::vector<Case>{
           {R"("default";r=0;t=40)", 40s},
           {R"("default"; r=0; t=40)", 40s},
           {R"(  "default" ; t = 40 ;r= 0 )", 40s},
           {R"("default";t=40;pk=:dHJpYWwxMjM=:;r=0)", 40s},
           {R"("default";R=0;T=40)", 40s},
           {R"(default;r=0;t=40)", 40s},
           {R"("a;r=5;t=9, \"b\\";r=0;t=40)", 40s},  // what is quoted says nothing
           {R"("default";note="r=9, t=9";r=0;t=40)", 40s},
           {R"("default";?;r=0;t=40)", 40s},
           {R"("default";r=0;t=40;local)", 40s},
           {R"("default";r=7;r=0;t=9;t=40)", 40s},  // the last of a name stands
           {R"("default";r=0;t=0)", 0s},
           {R"("default";r=0;t=1.5)", 1500ms},
           {R"("default";r=0.0;t=40)", 40s},
           {R"("default";r=-1;t=40)", 40s},
           {R"("default";r=0;t=-40)", 0s},
           {R"("default";r=0;t=1738108830)", 1'738'108'830s},  // never an epoch
           {R"("default";r=0;t=99999999999999999999)", longest},
           {R"("minute";r=0;t=40, "day";r=0;t=3600)", 1h},
           {R"("day";r=0;t=3600,"minute";r=0;t=40)", 1h},
           {R"("minute";r=0;t=40, "day";r=9;t=3600)", 40s},
           {R"("minute";r=9;t=40, "day";r=9;t=3600)", std::nullopt},
           {R"("minute";r=0;t=40, "day")", 40s},
           {R"(!!, "minute";r=0;t=40, )", 40s},
           {R"(("a" "b");r=0;t=9, "minute";r=0;t=40)", 40s},
           {R"("default";r=1;t=40)", std::nullopt},
           {R"("default";r=0.0000000001;t=40)", std::nullopt},
           {R"("default";r=0)", std::nullopt},
           {R"("default";t=40)", std::nullopt},
           {R"("default";r;t=40)", std::nullopt},
           {R"("default";r=0;t)", std::nullopt},
           {R"("default";r="0";t=40)", std::nullopt},
           {R"("default";r=0;t="40")", std::nullopt},
           {R"("default";r=none;t=40)", std::nullopt},
           {R"("default";r=0;t=soon)", std::nullopt},
           {R"("default";r=0;t=4 0)", std::nullopt},
           {R"("default"r=0;t=40)", std::nullopt},
           {R"("default;r=0;t=40)", std::nullopt},
           {R"("default\";r=0;t=40)", std::nullopt},
           {R"("default\)", std::nullopt},
           {R"("default")", std::nullopt},
           {R"(")", std::nullopt},
           {R"("default";)", std::nullopt},
           {R"("default";q=100;w=60)", std::nullopt},
           {";;==,,", std::nullopt},
           {"x\"a, \";r=0;t=9;\"b", std::nullopt},
           // Earlier drafts.
           {"limit=100, remaining=0, reset=40", 40s},
           {"limit=100,remaining=0,reset=40", 40s},
           {"reset=40, limit=100, remaining=0", 40s},
           {"remaining=0, limit=100, reset=40", 40s},
           {"Limit=100, Remaining=0, Reset=40", 40s},
           {"limit=100;w=60, remaining=0, reset=40;comment=\"a, b\"", 40s},
           {"remaining=0, reset=40", 40s},
           {"limit=100, remaining=7, reset=40", std::nullopt},
           {"limit=100, remaining=0", std::nullopt},
           {"limit=100, reset=40", std::nullopt},
           {"remaining=zero, reset=40", std::nullopt},
           {"limit=9, remaining=0, reset=40, limit=9, remaining=3, reset=3600", 40s},  // it came twice
           {"limit=9, remaining=3, reset=3600, limit=9, remaining=0, reset=40", 40s},
           {"limit=9, remaining=0, reset=40, limit=9, remaining=0, reset=60", 60s},
       }) {
    INFO("value: " << c.value);
    CHECK(parse_retry_after("RateLimit", c.value, now) == c.wait);
    CHECK(parse_retry_after("ratelimit", c.value, now) == c.wait);
    if (c.value.find_first_of("=\"") != std::string_view::npos) CHECK(parse_retry_after(c.value, now) == c.wait);
  }
}

// --- All headers of an answer
// -----------------------------------------------------------------------------------------

namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

}  // namespace

TEST_CASE("of all headers of an answer the longest counts, of those that count") {
  struct Answer {
    const char* what;
    std::vector<int> statuses;
    Headers headers;
    Wait wait;
  };
  const std::vector<int> any{200, 400, 403, 429, 500, 502, 503, 529};
  const std::vector<int> limiting{429, 503};
  const std::vector<int> other{0, 200, 400, 403, 408, 413, 500, 502, 504, 529};
  for (const Answer& c : std::vector<Answer>{
           {"none", any, {}, std::nullopt},
           {"none that is a hint", any, {{"Content-Length", "2"}, {"Date", "Wed, 29 Jan 2025 00:00:30 GMT"}}, {}},
           {"retry-after counts with any status", any, {{"Server", "x"}, {"Retry-After", "30"}}, 30s},
           {"it is never an epoch", any, {{"retry-after", "1738108830"}}, 1'738'108'830s},
           {"in milliseconds too", any, {{"retry-after-ms", "1500"}}, 1500ms},
           {"the longer of the two", any, {{"retry-after-ms", "1500"}, {"retry-after", "2"}}, 2s},
           {"the longer of the two, whichever", any, {{"retry-after", "1"}, {"x-ms-retry-after-ms", "1500"}}, 1500ms},
           {"one header twice", any, {{"Retry-After", "60"}, {"Retry-After", "30"}}, 60s},
           {"pushback", any, {{"grpc-retry-pushback-ms", "-1"}, {"retry-after", "2"}}, longest},
           {"resets do not count beside it",
            any,
            {{"x-ratelimit-reset-tokens", "6m0s"}, {"Retry-After", "2"}, {"RateLimit", R"("a";r=0;t=40)"}},
            2s},
           {"not even beside a zero", any, {{"x-ratelimit-reset-tokens", "6m0s"}, {"Retry-After", "0"}}, 0s},
           {"but beside one that says nothing",
            limiting,
            {{"x-ratelimit-reset-tokens", "6m0s"}, {"Retry-After", "soon"}},
            6min},
           {"and only in a 429 or 503", limiting, {{"x-ratelimit-reset", "1738108830"}}, 30s},
           {"else not", other, {{"x-ratelimit-reset", "1738108830"}}, std::nullopt},
           {"structured", limiting, {{"RateLimit", R"("a";r=0;t=40)"}}, 40s},
           {"not structured either", other, {{"RateLimit", R"("a";r=0;t=40)"}}, std::nullopt},
           {"the longest reset", limiting, {{"x-ratelimit-reset-a", "2s"}, {"x-ratelimit-reset-b", "3s"}}, 3s},
           {"of limits that are used up",
            limiting,
            {{"x-ratelimit-remaining-requests", "0"},
             {"x-ratelimit-remaining-tokens", "149984"},
             {"x-ratelimit-reset-requests", "1s"},
             {"x-ratelimit-reset-tokens", "6m0s"}},
            1s},
           {"wherever that stands",
            limiting,
            {{"X-RateLimit-Reset-Tokens", "6m0s"}, {"x-ratelimit-remaining-tokens", "1"}},
            std::nullopt},
           {"by the name's beginning",
            limiting,
            {{"example-ratelimit-tokens-reset", "2025-01-29T00:00:30Z"},
             {"example-ratelimit-tokens-remaining", "0"},
             {"example-ratelimit-requests-reset", "2025-01-29T00:01:00Z"},
             {"example-ratelimit-requests-remaining", "49"}},
            30s},
           {"by the name alone", limiting, {{"RateLimit-Reset", "50"}, {"RateLimit-Remaining", "3"}}, std::nullopt},
           {"of another limit it says nothing",
            limiting,
            {{"RateLimit-Reset", "50"}, {"X-RateLimit-Remaining", "3"}},
            50s},
           {"whatever the unit of the reset",
            limiting,
            {{"x-ratelimit-reset-after", "0.5"}, {"x-ratelimit-reset-ms", "70"}, {"x-ratelimit-remaining", "3"}},
            std::nullopt},
           {"one that is used up counts, whatever a second one says",
            limiting,
            {{"x-ratelimit-reset", "5"}, {"x-ratelimit-remaining", "3"}, {"x-ratelimit-remaining", "0"}},
            5s},
           {"joined too", limiting, {{"x-ratelimit-reset", "5, 7"}, {"x-ratelimit-remaining", "3, 0"}}, 7s},
           {"what remains may be nonsense", limiting, {{"x-ratelimit-reset", "5"}, {"x-ratelimit-remaining", "?"}}, 5s},
       }) {
    for (const int status : c.statuses) {
      INFO(c.what << ", status " << status);
      CHECK(parse_retry_after(status, c.headers, now) == c.wait);
      CHECK(parse_retry_after(status, Headers(c.headers.rbegin(), c.headers.rend()), now) == c.wait);
    }
  }
}

TEST_CASE("headers may be any range of names with values") {
  struct Header {
    std::string_view name;
    const char* value;
  };
  struct Fixed {
    char name[11];  // without a terminator
    char value[4];
  };
  CHECK(parse_retry_after(429, std::map<std::string, std::string>{{"Retry-After", "2"}}, now) == Wait(2s));
  CHECK(parse_retry_after(429, std::multimap<std::string, std::string>{{"a", "b"}, {"Retry-After", "2"}}, now) ==
        Wait(2s));
  CHECK(parse_retry_after(429, std::vector<std::pair<std::string_view, const char*>>{{"Retry-After", "2"}}, now) ==
        Wait(2s));
  const Header headers[] = {{"Retry-After", nullptr}, {"", "1"}, {"Retry-After", "2"}};
  CHECK(parse_retry_after(429, headers, now) == Wait(2s));
  const Fixed fixed[] = {{{'r', 'e', 't', 'r', 'y', '-', 'a', 'f', 't', 'e', 'r'}, {'2', '5', '.', '5'}}};
  CHECK(parse_retry_after(429, fixed, now) == Wait(25'500ms));
  const Fixed ended[] = {{{'r', 'e', 't', 'r', 'y', '-', 'a', 'f', 't', 'e', 'r'}, {'2', '\0', '5', '5'}}};
  CHECK(parse_retry_after(429, ended, now) == Wait(2s));
  CHECK(parse_retry_after(429, {{"retry-after", "2"}, {"retry-after-ms", "2500"}}, now) == Wait(2500ms));
  CHECK(parse_retry_after(429, Headers{}, now) == std::nullopt);
}

static_assert(noexcept(parse_retry_after(std::string_view(), now)));
static_assert(noexcept(parse_retry_after(std::string_view(), std::string_view(), now)));

TEST_CASE("any bytes and any time give a wait that is not negative, or nothing") {
  std::mt19937 random(20250129);
  const std::vector<std::string> seeds{"1.5",
                                       "6m0s",
                                       "Sun, 06 Nov 1994 08:49:37 GMT",
                                       "Sunday, 06-Nov-94 08:49:37 GMT",
                                       "Sun Nov  6 08:49:37 1994",
                                       "2025-01-29T00:00:30.5+01:00",
                                       "1738108830000",
                                       "30, Sun, 06 Nov 1994 08:49:37 GMT",
                                       "\"a\";r=0;t=40, \"b\\\"\";r=0;t=60",
                                       "limit=100, remaining=0, reset=40"};
  const std::vector<Clock::time_point> times{now, Clock::time_point{}, (Clock::time_point::min)(),
                                             (Clock::time_point::max)(), Clock::time_point{-1ms}};
  const std::string alphabet = "0123456789.-+:, TZtzsmhdunGMTSunov\xC2\xB5\"\\;=r";
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
      for (const Wait& wait :
           {parse_retry_after(value, at), parse_retry_after("retry-after-ms", value, at),
            parse_retry_after("ratelimit", value, at), parse_retry_after("grpc-retry-pushback-ms", value, at),
            parse_retry_after(429, {{"x-ratelimit-reset", value}, {"x-ratelimit-remaining", value}}, at)}) {
        if (!wait) continue;
        ++read;
        if (*wait < Duration::zero()) FAIL("negative: " << value);
      }
    }
  }
  CHECK(read > 1'000);  // not only nonsense
}
