// expect-first: planb: the task gives a view, a pointer or a reference into what ends with the attempt
#include <planb/coro.hpp>

#include <string>
#include <string_view>

using planb::Task;

inline Task<> sleep_for(planb::Duration) { co_return; }

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  const auto producer = [](int&, auto& emit) -> Task<std::string> {
    co_await emit(1);
    co_return "text";
  };
#ifdef TWIN
  sync_wait(planb::co_push_with_plan<Task<std::string>>(
      plan, producer, [](int) {}, sleep_for));
#else
  sync_wait(planb::co_push_with_plan<Task<std::string_view>>(
      plan, producer, [](int) {}, sleep_for));
#endif
}
