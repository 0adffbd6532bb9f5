// expect-first: planb: capture_requirements() takes the plan's Env, or what derives from it, and not as const
#include <planb/run.hpp>

struct Env {};

int main() {
  const planb::ExecutionPlan<int, Env> plan{{.provide = [](Env&) { return 0; }}};
#ifdef TWIN
  Env env;
#else
  const Env env;
#endif
  return planb::run_with_plan(plan.capture_requirements(env), [](int& n) { return n; });
}
