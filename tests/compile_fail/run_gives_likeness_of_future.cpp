// expect-first: planb: the callable returns something that is still to be awaited (a task, a future)
#include <planb/run.hpp>

struct Process {
  int get() &&;
  void wait();
#ifndef TWIN
  bool valid() const;
#endif
};

inline auto use(const planb::ExecutionPlan<int>& plan) {
  return planb::run_with_plan(plan, [](int&) { return Process(); });
}
