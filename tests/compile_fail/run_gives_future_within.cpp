// expect-first: planb: the callable returns something that is still to be awaited (a task, a future)
#include <planb/run.hpp>

#include <future>
#include <optional>
#include <vector>

#ifdef TWIN
inline auto use(const planb::ExecutionPlan<int>& plan) {
  return planb::run_with_plan(plan, [](int&) { return std::vector<std::optional<int>>(); });
}
#else
inline auto use(const planb::ExecutionPlan<int>& plan) {
  return planb::run_with_plan(plan, [](int&) { return std::vector<std::optional<std::future<int>>>(); });
}
#endif
