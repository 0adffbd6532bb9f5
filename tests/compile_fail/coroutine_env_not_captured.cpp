// expect-first: planb: this plan's factories need an Env: bind it first, with plan.capture_requirements(env)
#include <planb/coro.hpp>

using planb::Task;

struct Llm {};

struct Env {};

Task<> sleep_for(planb::Duration) { co_return; }

int main() {
  const planb::ExecutionPlan<Llm, Env> plan{{.provide = [](Env&) { return Llm{}; }}};
  const auto fn = [](Llm&) -> Task<int> { co_return 0; };
#ifdef TWIN
  return sync_wait(planb::co_run_with_plan<Task<int>>(plan.capture_requirements(Env{}), fn, sleep_for));
#else
  return sync_wait(planb::co_run_with_plan<Task<int>>(plan, fn, sleep_for));
#endif
}
