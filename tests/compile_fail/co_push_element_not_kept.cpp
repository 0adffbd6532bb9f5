// expect-first: planb: `co_await emit(x)` keeps the element until the sink is done with it, so it must be copyable
#include <planb/coro.hpp>

#include <memory>
#include <utility>

using planb::Task;

inline Task<> sleep_for(planb::Duration) { co_return; }

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  const auto producer = [](int& n, auto& emit) -> Task<> {
    auto element = std::make_unique<int>(n);
#ifdef TWIN
    co_await emit(std::move(element));
#else
    co_await emit(element);
#endif
  };
  sync_wait(planb::co_push_with_plan<Task<>>(
      plan, producer, [](const std::unique_ptr<int>&) {}, sleep_for));
}
