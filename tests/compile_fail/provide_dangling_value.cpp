// expect-first: planb: a context that is a reference must refer to something that outlives the attempt
#include <planb/plan/plan.hpp>

struct Llm {};
Llm llm;

#ifdef TWIN
const planb::ExecutionPlan<Llm&> plan{{.provide = llm}};
#else
const planb::ExecutionPlan<Llm&> plan{{.provide = Llm{}}};
#endif
