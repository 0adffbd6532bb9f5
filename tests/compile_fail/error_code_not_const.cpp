// expect-first: planb: an error's `code` does not fit
#include <planb/plan/plan.hpp>

struct LazyError {
  int status = 429;
#ifdef TWIN
  const char* code() const { return "limit"; }
#else
  const char* code() { return "limit"; }
#endif
};

const planb::Step<int> step{.provide = 1, .enter_when = [](const LazyError& e) { return e.status == 429; }};
