// expect-first: planb: the producer of a stream must take the plan's context and `emit`
#include <planb/coro.hpp>

using planb::Task;

inline Task<> sleep_for(planb::Duration) { co_return; }

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
#ifdef TWIN
  sync_wait(planb::co_push_with_plan<Task<>>(
      plan, [](int&, auto&) -> Task<> { co_return; }, [](int) {}, sleep_for));
#else
  sync_wait(planb::co_push_with_plan<Task<>>(
      plan, [](int&) -> Task<> { co_return; }, [](int) {}, sleep_for));
#endif
}
