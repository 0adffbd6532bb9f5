// expect-first: planb: an answer, a callable or a `sleep` that is aligned beyond what operator new gives
#include <planb/coro.hpp>

#ifdef TWIN
struct Nap {
#else
struct alignas(64) Nap {
#endif
  static bool await_ready() { return true; }
  static void await_suspend(std::coroutine_handle<>) {}
  static void await_resume() {}
};

inline planb::Task<int> use(const planb::ExecutionPlan<int>& plan) {
  return planb::co_run_with_plan<planb::Task<int>>(
      plan, [](int&) -> planb::Task<int> { co_return 1; }, [](planb::Duration) { return Nap(); });
}
