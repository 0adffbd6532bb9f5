// expect-first: called through const, so not `mutable`
#include <planb/plan/plan.hpp>

#ifdef TWIN
const planb::ExecutionPlan<int> plan{{.provide = [n = 0] { return n; }}};
#else
const planb::ExecutionPlan<int> plan{{.provide = [n = 0]() mutable { return ++n; }}};
#endif
