// expect-first: planb: accepting() needs a callable that gives a value, not void
#include <planb/coro.hpp>

using planb::Task;

struct Llm {};

Task<> sleep_for(planb::Duration) { co_return; }

int main() {
  const planb::ExecutionPlan<Llm> plan{{.provide = Llm{}}};
#ifdef TWIN
  const auto fn = planb::accepting([](Llm&) -> Task<int> { co_return 0; }, [](int n) { return n == 0; });
  return sync_wait(planb::co_run_with_plan<Task<int>>(plan, fn, sleep_for));
#else
  const auto fn = planb::accepting([](Llm&) -> Task<> { co_return; }, [](int n) { return n == 0; });
  sync_wait(planb::co_run_with_plan<Task<>>(plan, fn, sleep_for));
#endif
}
