// expect-first: planb: an error's `status` does not fit
#include <planb/run.hpp>

struct TextError {
#ifdef TWIN
  int status = 429;
#else
  const char* status = "429";
#endif
};

struct TextReply {  // an expected-like
  bool has_value() const { return false; }
  TextError error() const { return {}; }
  int operator*() const { return 0; }
};

inline void run(const planb::ExecutionPlan<int>& plan) {
  static_cast<void>(planb::try_run_with_plan(plan, [](int&) { return TextReply(); }));
}
