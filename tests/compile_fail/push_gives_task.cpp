// expect-first: planb: the producer returns something that is still to be awaited (a task, a future)
#include <planb/coro.hpp>
#include <planb/stream.hpp>

#ifdef TWIN
inline void use(const planb::ExecutionPlan<int>& plan) {
  planb::push_with_plan(
      plan, [](int& model, auto& emit) { emit(model); }, [](int) {});
}
#else
inline void use(const planb::ExecutionPlan<int>& plan) {
  planb::push_with_plan(
      plan,
      [](int& model, auto& emit) -> planb::Task<> {
        emit(model);
        co_return;
      },
      [](int) {});
}
#endif
