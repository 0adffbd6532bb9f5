// planb after the macros that the headers of platforms and frameworks leave behind. Standard libraries are not made for
// all of these, so their headers come first, as in a program that meets planb late.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <ostream>
#include <ranges>
#include <ratio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
#include <version>
#if __has_include(<format>)
#include <format>
#endif
#if __has_include(<stop_token>)
#include <stop_token>
#endif

// windows.h
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define small char
#define near
#define far
#define interface struct
#define ABSOLUTE 1
#define CALLBACK
#define CONST const
#define DELETE (0x00010000L)
#define DOMAIN 1
#define ERROR 0
#define FALSE 0
#define IGNORE 0
#define IN
#define INFINITE 0xFFFFFFFF
#define NO_ERROR 0L
#define OPTIONAL
#define OUT
#define OVERFLOW 3
#define PASCAL
#define RELATIVE 2
#define STRICT 1
#define TRUE 1
#define UNDERFLOW 4
#define VOID void
#define CreateEvent CreateEventA
#define GetCurrentTime() GetTickCount()
#define GetMessage GetMessageA
#define GetObject GetObjectA
#define SendMessage SendMessageA
#define Yield()
// X11
#define Above 0
#define Always 2
#define Below 1
#define Bool int
#define Complex 0
#define Expose 12
#define False 0
#define None 0L
#define Status int
#define Success 0
#define True 1
#define Unsorted 0
// Qt
#define emit
#define foreach(variable, container) for (variable : container)
#define forever for (;;)
#define signals public
#define slots
// POSIX, GNU and Objective-C
#define I _Complex_I
#define NO 0
#define YES 1
#define linux 1
#define major(device) gnu_dev_major(device)
#define makedev(major, minor) gnu_dev_makedev(major, minor)
#define minor(device) gnu_dev_minor(device)
#define nil nullptr
#define roundup(x, y) ((((x) + ((y)-1)) / (y)) * (y))
#define unix 1

#include <planb/coro.hpp>
#include <planb/format.hpp>
#include <planb/observe.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include "../no_exceptions/check.hpp"

using namespace std::chrono_literals;

int main() {
  const planb::ExecutionPlan<int> plan{
      {.name = "a", .provide = 1, .attempts = 3, .schedule = planb::capped(planb::exponential(2s), 3s)},
      {.name = "b", .provide = 2},
  };
  planb::testing::VirtualClock clock;
  const auto fails_first = [](int& context) {
    if (context == 1) throw std::runtime_error("503");
    return context;
  };

  EXPECT(planb::run_with_plan(plan, fails_first, {.clock = &clock}) == 2);
  EXPECT(clock.elapsed() == 5s);

  std::vector<int> got;
  planb::push_with_plan(
      plan, [](int& context, auto& give) { give(context); }, [&](int element) { got.push_back(element); });
  EXPECT(got == std::vector<int>{1});

  const auto sleep = [&](planb::Duration time) -> planb::Task<> {
    clock.advance(time);
    co_return;
  };
  const auto answer = [&](int& context) -> planb::Task<int> { co_return fails_first(context); };
  EXPECT(planb::sync_wait(planb::co_run_with_plan<planb::Task<int>>(plan, answer, sleep, {.clock = &clock})) == 2);

  EXPECT(planb::parse_schedule("capped(exponential(2s), 3s)").has_value());

  const planb::Trace trace;
  const planb::Metrics metrics;
  planb::run_with_plan(plan, fails_first, {.on_event = trace, .clock = &clock});
  planb::run_with_plan(plan, fails_first, {.on_event = metrics.handler("a"), .clock = &clock});
  EXPECT(trace.size() == 1 && !trace.to_svg().empty() && !trace.to_text().empty());
  EXPECT(metrics.snapshot().count("planb_attempts_total") == 4);
  EXPECT(planb::parse_label<planb::Action>(to_label(planb::Action::abort)) == planb::Action::abort);
  return check::result();
}
