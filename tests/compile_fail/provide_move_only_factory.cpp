// expect-first: planb: a step's `provide` must be copyable
#include <planb/plan/plan.hpp>

#include <memory>

#ifdef TWIN
const planb::ExecutionPlan<int> plan{{.provide = [p = std::make_shared<int>(1)] { return *p; }}};
#else
const planb::ExecutionPlan<int> plan{{.provide = [p = std::make_unique<int>(1)] { return *p; }}};
#endif
