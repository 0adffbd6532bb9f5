// expect-first: planb: co_try_push_with_plan gives a planb::PlanResult<T>
#include <planb/coro.hpp>

using planb::Task;

inline Task<> sleep_for(planb::Duration) { co_return; }

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  const auto producer = [](int& n, auto& emit) -> Task<> { co_await emit(n); };
#ifdef TWIN
  sync_wait(planb::co_try_push_with_plan<Task<planb::PlanResult<void>>>(
      plan, producer, [](int) {}, sleep_for));
#else
  sync_wait(planb::co_try_push_with_plan<Task<>>(
      plan, producer, [](int) {}, sleep_for));
#endif
}
