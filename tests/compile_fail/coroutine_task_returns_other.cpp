// expect-first: planb: the task returns another type than what the callable gives when it is awaited
#include <planb/coro.hpp>

using planb::Task;

struct Llm {};

Task<> sleep_for(planb::Duration) { co_return; }

int main() {
  const planb::ExecutionPlan<Llm> plan{{.provide = Llm{}}};
  const auto fn = [](Llm&) -> Task<int> { co_return 0; };
#ifdef TWIN
  return sync_wait(planb::co_run_with_plan<Task<int>>(plan, fn, sleep_for));
#else
  sync_wait(planb::co_run_with_plan<Task<>>(plan, fn, sleep_for));
#endif
}
