// expect-first: planb: `sleep` must take a planb::Duration, or that and a planb::StopToken, and return something that can be awaited in the task
#include <planb/coro.hpp>

using planb::Task;

struct Llm {};

#ifdef TWIN
Task<> sleep_for(planb::Duration) { co_return; }
#else
void sleep_for(planb::Duration) {}
#endif

int main() {
  const planb::ExecutionPlan<Llm> plan{{.provide = Llm{}}};
  const auto fn = [](Llm&) -> Task<int> { co_return 0; };
  return sync_wait(planb::co_run_with_plan<Task<int>>(plan, fn, sleep_for));
}
