// expect-first: planb: a context that is a reference must refer to something that outlives the attempt
#include <planb/plan/plan.hpp>

#include <string>

const std::string prompt = "prompt";

#ifdef TWIN
const planb::ExecutionPlan<const std::string&> plan{{.provide = prompt}};
#else
const planb::ExecutionPlan<const std::string&> plan{{.provide = "prompt"}};
#endif
