// expect-first: planb: `provide` must be a Ctx, or a factory
#include <planb/plan/plan.hpp>

struct Llm {};

#ifdef TWIN
const planb::ExecutionPlan<Llm, int> plan{{.provide = [](int&) { return Llm{}; }}};
#else
const planb::ExecutionPlan<Llm> plan{{.provide = [](int&) { return Llm{}; }}};
#endif
