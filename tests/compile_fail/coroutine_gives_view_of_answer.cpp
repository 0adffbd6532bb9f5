// expect-first: planb: the task gives a view, a pointer or a reference into what ends with the attempt
#include <planb/coro.hpp>

#include <string>
#include <string_view>

#ifdef TWIN
using Text = std::string;
#else
using Text = std::string_view;
#endif

inline planb::Task<Text> use(const planb::ExecutionPlan<int>& plan) {
  return planb::co_run_with_plan<planb::Task<Text>>(
      plan, [](int&) -> planb::Task<std::string> { co_return std::string("text"); },
      [](planb::Duration) -> planb::Task<> { co_return; });
}
