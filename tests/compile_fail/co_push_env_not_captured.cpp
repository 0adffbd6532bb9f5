// expect-first: planb: this plan's factories need an Env: bind it first, with plan.capture_requirements(env)
#include <planb/coro.hpp>

using planb::Task;

struct Env {};

inline Task<> sleep_for(planb::Duration) { co_return; }

int main() {
  const planb::ExecutionPlan<int, Env> plan{{.provide = [](Env&) { return 1; }}};
  const auto producer = [](int& n, auto& emit) -> Task<> { co_await emit(n); };
#ifdef TWIN
  sync_wait(planb::co_push_with_plan<Task<>>(
      plan.capture_requirements(Env{}), producer, [](int) {}, sleep_for));
#else
  sync_wait(planb::co_push_with_plan<Task<>>(
      plan, producer, [](int) {}, sleep_for));
#endif
}
