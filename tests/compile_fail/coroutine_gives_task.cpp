// expect-first: planb: what awaiting the callable's result gives is itself still to be awaited
#include <planb/coro.hpp>

inline planb::Task<int> ask() { co_return 1; }

#ifdef TWIN
using Given = planb::Task<int>;
inline Given call(int&) { co_return co_await ask(); }
#else
using Given = planb::Task<planb::Task<int>>;
inline Given call(int&) { co_return ask(); }
#endif

inline Given use(const planb::ExecutionPlan<int>& plan) {
  return planb::co_run_with_plan<Given>(plan, call, [](planb::Duration) -> planb::Task<> { co_return; });
}
