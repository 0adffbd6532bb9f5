// expect-first: planb: the callable returns something that is still to be awaited (a task, a future)
#include <planb/run.hpp>

#include <future>

#ifdef TWIN
inline auto use(const planb::ExecutionPlan<int>& plan) {
  return planb::try_run_with_plan(plan, [](int& model) { return std::async([&] { return model; }).get(); });
}
#else
inline auto use(const planb::ExecutionPlan<int>& plan) {
  return planb::try_run_with_plan(plan, [](int& model) { return std::async([&] { return model; }); });
}
#endif
