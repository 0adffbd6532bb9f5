// expect-first: planb: a returned type looks like a result, but cannot be read
#include <planb/run.hpp>

struct StatusText {
  const char* message() const { return "unavailable"; }
};

struct ClosedResult {
  bool ok() const { return false; }
  StatusText status() const { return {}; }
#ifdef TWIN
  int value() const { return 1; }
#endif
};

inline void call() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  static_cast<void>(planb::run_with_plan(plan, [](int&) { return ClosedResult(); }));
}
