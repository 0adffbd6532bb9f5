// expect-first: planb: co_run_with_plan<Task> needs a coroutine's return type, such as planb::Task<T> or asio::awaitable<T>
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
  return planb::co_run_with_plan<int>(plan, fn, sleep_for);
#endif
}
