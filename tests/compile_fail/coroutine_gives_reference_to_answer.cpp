// expect-first: planb: the task gives a view, a pointer or a reference into what ends with the attempt
#include <planb/coro.hpp>

#include <string>

inline const std::string lasting = "text";
#ifdef TWIN
using Text = const std::string&;
#else
using Text = std::string;
#endif

inline planb::Task<const std::string&> use(const planb::ExecutionPlan<int>& plan) {
  return planb::co_run_with_plan<planb::Task<const std::string&>>(
      plan, [](int&) -> planb::Task<Text> { co_return lasting; },
      [](planb::Duration) -> planb::Task<> { co_return; });
}
