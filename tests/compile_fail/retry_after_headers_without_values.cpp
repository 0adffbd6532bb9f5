// expect-first: planb: parse_retry_after(status, headers, now) reads a range of names with values
#include <planb/error/retry_after.hpp>

#include <string>
#include <utility>
#include <vector>

#ifdef TWIN
const std::vector<std::pair<std::string, std::string>> headers{{"retry-after", "2"}};
#else
const std::vector<std::string> headers{"retry-after: 2"};
#endif

const auto wait = planb::parse_retry_after(429, headers, std::chrono::system_clock::time_point());
