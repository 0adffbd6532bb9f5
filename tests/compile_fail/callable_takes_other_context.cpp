// expect-first: planb: the callable must take the plan's context as an lvalue
#include <planb/run.hpp>

struct Llm {};
struct Database {};

int main() {
  const planb::ExecutionPlan<Llm> plan{{.provide = Llm{}}};
#ifdef TWIN
  return planb::run_with_plan(plan, [](const Llm&, const planb::Attempt&) { return 0; }, planb::RunOptions{});
#else
  return planb::run_with_plan(plan, [](const Database&, const planb::Attempt&) { return 0; }, planb::RunOptions{});
#endif
}
