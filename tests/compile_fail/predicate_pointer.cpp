// expect-first: planb: a predicate cannot take an error of pointer type
#include <planb/plan/plan.hpp>

struct LlmError {
  bool retryable = true;
};

#ifdef TWIN
const planb::Step<int> step{.provide = 1, .enter_when = [](const LlmError& e) { return e.retryable; }};
#else
const planb::Step<int> step{.provide = 1, .enter_when = [](const LlmError* e) { return e->retryable; }};
#endif
