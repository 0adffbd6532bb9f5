// expect-first: planb: the callable must return something that can be awaited in the task, such as a task of the same kind
#include <planb/coro.hpp>

using planb::Task;

struct Llm {};

Task<> sleep_for(planb::Duration) { co_return; }

int main() {
  const planb::ExecutionPlan<Llm> plan{{.provide = Llm{}}};
#ifdef TWIN
  const auto fn = [](Llm&) -> Task<int> { co_return 0; };
#else
  const auto fn = [](Llm&) { return 0; };
#endif
  return sync_wait(planb::co_run_with_plan<Task<int>>(plan, fn, sleep_for));
}
