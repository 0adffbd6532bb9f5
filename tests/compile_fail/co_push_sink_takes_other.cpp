// expect-first: planb: the sink does not take what the producer emits
#include <planb/coro.hpp>

using planb::Task;

inline Task<> sleep_for(planb::Duration) { co_return; }

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  const auto producer = [](int& n, auto& emit) -> Task<> { co_await emit(n); };
#ifdef TWIN
  sync_wait(planb::co_push_with_plan<Task<>>(
      plan, producer, [](int) {}, sleep_for));
#else
  sync_wait(planb::co_push_with_plan<Task<>>(
      plan, producer, [](int*) {}, sleep_for));
#endif
}
