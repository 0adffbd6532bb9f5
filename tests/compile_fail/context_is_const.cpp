// expect-first: planb: a context is an object type or an lvalue reference, without const or volatile at the top
#include <planb/plan/plan.hpp>

#include <string>

#ifdef TWIN
const planb::ExecutionPlan<std::string> plan{{.provide = "text"}};
#else
const planb::ExecutionPlan<const std::string> plan{{.provide = "text"}};
#endif
