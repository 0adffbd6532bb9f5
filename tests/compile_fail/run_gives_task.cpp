// expect-first: planb: the callable returns something that is still to be awaited (a task, a future)
// expect-first: Use co_run_with_plan
#include <planb/coro.hpp>
#include <planb/run.hpp>

inline planb::Task<int> ask(int model) { co_return model; }

#ifdef TWIN
inline int use(const planb::ExecutionPlan<int>& plan) {
  return planb::run_with_plan(plan, [](int& model) { return planb::sync_wait(ask(model)); });
}
#else
inline auto use(const planb::ExecutionPlan<int>& plan) {
  return planb::run_with_plan(plan, [](int& model) { return ask(model); });
}
#endif
