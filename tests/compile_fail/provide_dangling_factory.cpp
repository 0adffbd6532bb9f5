// expect-first: planb: a context that is a reference must refer to something that outlives the attempt
#include <planb/plan/plan.hpp>

struct Llm {};
Llm llm;

#ifdef TWIN
const planb::ExecutionPlan<const Llm&> plan{{.provide = []() -> const Llm& { return llm; }}};
#else
const planb::ExecutionPlan<const Llm&> plan{{.provide = [] { return Llm{}; }}};
#endif
