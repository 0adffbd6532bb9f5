// expect-first: planb: the callable must take the plan's context as an lvalue, `fn(Ctx&)` or `fn(Ctx&, const planb::Attempt&)`
#include <planb/run.hpp>

struct Llm {};

int main() {
  const planb::ExecutionPlan<Llm> plan{{.provide = Llm{}}};
#ifdef TWIN
  return planb::run_with_plan(plan, [](Llm&) { return 0; });
#else
  return planb::run_with_plan(plan, [] { return 0; });
#endif
}
