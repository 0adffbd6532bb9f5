// expect-first: planb: `provide` must be a Ctx, or a factory
#include <planb/plan/plan.hpp>

struct Llm {};
struct Database {};

#ifdef TWIN
const planb::ExecutionPlan<Llm> plan{{.provide = [] { return Llm{}; }}};
#else
const planb::ExecutionPlan<Llm> plan{{.provide = [] { return Database{}; }}};
#endif
