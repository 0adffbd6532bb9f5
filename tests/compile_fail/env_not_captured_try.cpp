// expect-first: planb: this plan's factories need an Env: bind it first, with plan.capture_requirements(env)
#include <planb/run.hpp>

struct Env {};

int main() {
  const planb::ExecutionPlan<int, Env> plan{{.provide = [](Env&) { return 0; }}};
  const auto call = [](int& n) { return n; };
#ifdef TWIN
  const auto result = planb::try_run_with_plan(plan.capture_requirements(Env{}), call, planb::RunOptions{});
#else
  const auto result = planb::try_run_with_plan(plan, call, planb::RunOptions{});
#endif
  return result.has_value() ? 0 : 1;
}
