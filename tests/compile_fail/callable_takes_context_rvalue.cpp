// expect-first: planb: the callable must take the plan's context as an lvalue
#include <planb/run.hpp>

struct Llm {};

int main() {
  const planb::ExecutionPlan<Llm> plan{{.provide = Llm{}}};
#ifdef TWIN
  return planb::try_run_with_plan(plan, [](Llm&) { return 0; }).value();
#else
  return planb::try_run_with_plan(plan, [](Llm&&) { return 0; }).value();
#endif
}
