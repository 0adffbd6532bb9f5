// expect-first: planb: a returned type looks like a result, but cannot be read
#include <planb/run.hpp>

struct CallStatus {
#ifdef TWIN
  bool ok() const { return false; }
#else
  bool ok() { return false; }
#endif
  int error_code() const { return 14; }
  const char* error_message() const { return "unavailable"; }
};

inline void call() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  static_cast<void>(planb::run_with_plan(plan, [](int&) { return CallStatus(); }));
}
