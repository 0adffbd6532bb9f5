// expect-first: planb: this plan's factories need an Env: bind it first, with plan.capture_requirements(env)
#include <planb/run.hpp>

struct Env {};

int main() {
  const planb::ExecutionPlan<int, Env> plan{{.provide = [](Env&) { return 0; }}};
#ifdef TWIN
  return planb::run_with_plan(plan.capture_requirements(Env{}), [](int& n) { return n; });
#else
  return planb::run_with_plan(plan, [](int& n) { return n; });
#endif
}
