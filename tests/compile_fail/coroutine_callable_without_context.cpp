// expect-first: planb: the callable must take the plan's context as an lvalue, `fn(Ctx&)` or `fn(Ctx&, const planb::Attempt&)`
#include <planb/coro.hpp>

using planb::Task;

struct Llm {};

Task<> sleep_for(planb::Duration) { co_return; }

int main() {
  const planb::ExecutionPlan<Llm> plan{{.provide = Llm{}}};
#ifdef TWIN
  const auto fn = [](Llm&) -> Task<int> { co_return 0; };
#else
  const auto fn = []() -> Task<int> { co_return 0; };
#endif
  return sync_wait(planb::co_run_with_plan<Task<int>>(plan, fn, sleep_for));
}
