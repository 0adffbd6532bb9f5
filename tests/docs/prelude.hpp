// What the examples of the documentation take for granted: the names that a reader's program has of its own, and the
// checks that the reader does not see.
#pragma once

#include <planb/format.hpp>
#include <planb/observe.hpp>
#include <planb/planb.hpp>
#include <planb/settings.hpp>
#include <planb/testing.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#if PLANB_HAS_STOP_TOKEN
#include <stop_token>
#endif

#include "opentelemetry.hpp"

#if defined(__cpp_lib_expected) && __cpp_lib_expected >= 202202L
#include <expected>
#define DOCS_HAS_EXPECTED 1
using std::expected;
using std::unexpected;
#elif __has_include(<tl/expected.hpp>)
#include <tl/expected.hpp>
#define DOCS_HAS_EXPECTED 1
using tl::expected;
using tl::unexpected;
#else
#define DOCS_HAS_EXPECTED 0
#endif

using namespace std::chrono_literals;

namespace docs {

// What the vendors do today, call by call; the last one repeats. 200 is an answer, `silence` is none at all.
inline constexpr int silence = 0;
inline std::map<std::string, std::vector<int>> today;
inline std::map<std::string, std::size_t> calls;
inline planb::Clock* clock = nullptr;  // on which silence is waited out

[[nodiscard]] inline int next_status(const std::string& vendor) {
  const std::size_t call = calls[vendor]++;
  const auto found = today.find(vendor);
  if (found == today.end()) return 200;
  return found->second[call < found->second.size() ? call : found->second.size() - 1];
}

[[nodiscard]] inline std::string phrase(int status) {
  switch (status) {
    case 400: return "bad request";
    case 401: return "unauthorized";
    case 429: return "too many requests";
    case 503: return "service unavailable";
    default: return "status " + std::to_string(status);
  }
}

inline std::vector<std::string> logged;
inline std::ostringstream printed;
inline int failures = 0;

inline void fail(const char* file, int line, const std::string& what) {
  ++failures;
  std::cerr << file << ':' << line << ": " << what << '\n';
}

inline void check(bool holds, const char* what, const char* file, int line) {
  if (!holds) fail(file, line, std::string("not so: ") + what);
}

inline void check_prints(const std::string& expected, const char* file, int line) {
  if (printed.str() != expected) fail(file, line, "printed instead:\n" + printed.str());
  printed.str({});
}

[[nodiscard]] inline planb::Duration read_duration(const std::string& text, const char* file, int line) {
  const planb::Parsed<planb::Schedule> parsed = planb::parse_schedule("duration(" + text + ")");
  if (!parsed) fail(file, line, "not a duration: " + text);
  const planb::Schedule schedule = parsed ? *parsed : planb::once();
  return *planb::ScheduleRun(schedule).next({}, planb::Cause());
}

// `expected` is a list of durations or ranges, such as "10ms, 80ms to 120ms, ...", that ends with "end" or goes on.
// `code` is the schedule's C++ text.
inline void check_delays(planb::Duration attempts_take, std::string expected, const planb::Schedule& schedule,
                         std::string code, const char* file, int line) {
  std::erase_if(code, [](char c) { return c == '{' || c == '}'; });
  const planb::Parsed<planb::Schedule> parsed = planb::parse_schedule(code);
  if (!parsed || to_string(*parsed) != to_string(schedule)) fail(file, line, "cannot be read as text: " + code);

  std::vector<std::pair<planb::Duration, planb::Duration>> ranges;
  bool drawn = false;
  std::string last;
  for (std::istringstream list(expected); std::getline(list >> std::ws, last, ',') && !list.eof();) {
    const std::size_t to = last.find(" to ");
    ranges.emplace_back(read_duration(last.substr(0, to), file, line),
                        read_duration(to == std::string::npos ? last : last.substr(to + 4), file, line));
    drawn = drawn || to != std::string::npos;
  }
  check(!ranges.empty() && (last == "end" || last == "…"), "a list of delays and its end", file, line);

  std::optional<planb::Duration> shortest;
  std::optional<planb::Duration> longest;
  for (std::uint64_t seed = 0; seed != (drawn ? 1000U : 1U); ++seed) {
    planb::ScheduleRun run(schedule, seed);
    planb::TimePoint now{};
    for (const auto& [from, to] : ranges) {
      const std::optional<planb::Duration> delay = run.next(now, planb::Cause());
      if (!delay || *delay < from || *delay > to) {
        const std::string what = delay ? std::to_string(delay->count()) + "ns" : "the end";
        fail(file, line, "gives " + what + " somewhere: " + code);
        return;
      }
      if (&from == &ranges.front().first) {
        shortest = std::min(shortest.value_or(*delay), *delay);
        longest = std::max(longest.value_or(*delay), *delay);
      }
      now += *delay + attempts_take;
    }
    check(run.next(now, planb::Cause()).has_value() == (last != "end"), "the end of the delays", file, line);
  }
  // A thousand draws come near both ends of their range.
  const auto [from, to] = ranges.front();
  check(*shortest - from <= (to - from) / 50 && to - *longest <= (to - from) / 50, "draws from the whole range", file,
        line);
}

struct Example {
  const char* where;
  void (*run)();
};

inline int run(std::initializer_list<Example> examples) {
  std::streambuf* const console = std::cout.rdbuf(printed.rdbuf());
  for (const Example& example : examples) {
    today.clear();
    calls.clear();
    clock = nullptr;
    logged.clear();
    printed.str({});
    try {
      example.run();
    } catch (const std::exception& e) {
      fail(example.where, 0, std::string("threw ") + e.what());
    }
  }
  std::cout.rdbuf(console);
  std::cout << examples.size() << " examples, " << failures << " failures\n";
  return failures == 0 ? 0 : 1;
}

}  // namespace docs

#define CHECK(...) docs::check(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define CHECK_DELAYS(attempts_take, expected, ...) \
  docs::check_delays(attempts_take, expected, __VA_ARGS__, #__VA_ARGS__, __FILE__, __LINE__)
#define CHECK_PRINTS(text) docs::check_prints(text, __FILE__, __LINE__)

struct LlmError : std::runtime_error {
  LlmError(int s, const std::string& what) : std::runtime_error(what), status(s) {}
  [[nodiscard]] bool retryable() const { return status == 429 || status >= 500; }

  int status;
};

// A client of one of today's vendors.
struct Llm {
  std::string vendor;

  // Gives up after `timeout`.
  [[nodiscard]] std::string complete(const std::string& prompt, std::optional<planb::Duration> timeout = {}) const {
    const int status = docs::next_status(vendor);
    if (status == docs::silence) {
      docs::clock->sleep_until(docs::clock->now() + timeout.value(), {});
      throw LlmError(0, vendor + " is silent");
    }
    if (status != 200) throw LlmError(status, docs::phrase(status));
    return vendor + ": " + prompt;
  }
};

inline const std::string prompt = "What is a plan B?";

inline void log(const std::string& text) { docs::logged.push_back(text); }
inline void log(const std::string& name, const std::string& text) { log(name + ": " + text); }
