// expect-first: planb: a step has no `provide`
#include <planb/plan/plan.hpp>

struct Llm {};

#ifdef TWIN
const planb::ExecutionPlan<Llm> plan{{.name = "openai", .provide = [] { return Llm{}; }, .attempts = 2}};
#else
const planb::ExecutionPlan<Llm> plan{{.name = "openai", .attempts = 2}};
#endif
