// expect-first: planb: `sleep` must take a planb::Duration, or that and a planb::StopToken, and return something
#include <planb/coro.hpp>

using planb::Task;

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  const auto producer = [](int& n, auto& emit) -> Task<> { co_await emit(n); };
#ifdef TWIN
  const auto sleep_for = [](planb::Duration) -> Task<> { co_return; };
#else
  const auto sleep_for = [](planb::Duration) {};
#endif
  sync_wait(planb::co_push_with_plan<Task<>>(
      plan, producer, [](int) {}, sleep_for));
}
