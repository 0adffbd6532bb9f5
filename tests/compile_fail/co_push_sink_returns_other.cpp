// expect-first: planb: a sink returns nothing, or a bool (whether it wants more), or a task of one of these
#include <planb/coro.hpp>

using planb::Task;

inline Task<> sleep_for(planb::Duration) { co_return; }

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  const auto producer = [](int& n, auto& emit) -> Task<> { co_await emit(n); };
#ifdef TWIN
  sync_wait(planb::co_push_with_plan<Task<>>(
      plan, producer, [](int n) -> Task<bool> { co_return n == 1; }, sleep_for));
#else
  sync_wait(planb::co_push_with_plan<Task<>>(
      plan, producer, [](int n) -> Task<int> { co_return n; }, sleep_for));
#endif
}
