// expect-first: planb: a ready value as `provide` is copied for each attempt; give a factory for a context that cannot be copied
#include <planb/plan/plan.hpp>

#include <memory>

using Client = std::unique_ptr<int>;

#ifdef TWIN
const planb::ExecutionPlan<Client> plan{{.provide = [] { return std::make_unique<int>(1); }}};
#else
const planb::ExecutionPlan<Client> plan{{.provide = std::make_unique<int>(1)}};
#endif
