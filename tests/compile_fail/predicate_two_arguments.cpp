// expect-first: planb: a predicate takes `const planb::Cause&` or one concrete error type by const reference
#include <planb/plan/plan.hpp>

struct LlmError {
  bool retryable = true;
};

#ifdef TWIN
const planb::Step<int> step{.provide = 1, .attempts = 2, .retry_while = [](const planb::Cause&) { return true; }};
#else
const planb::Step<int> step{.provide = 1, .attempts = 2, .retry_while = [](const planb::Cause&, int) { return true; }};
#endif
