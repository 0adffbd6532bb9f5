// expect-first: planb: a returned type looks like a result, but cannot be read
#include <planb/run.hpp>

struct LazyResult {
#ifdef TWIN
  bool has_value() const { return false; }
#else
  bool has_value() { return false; }
#endif
  int error() const { return 503; }
  int operator*() const { return 1; }
};

inline void call() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  static_cast<void>(planb::try_run_with_plan(plan, [](int&) { return LazyResult(); }));
}
