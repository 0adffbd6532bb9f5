// expect-first: planb: this plan's factories need an Env: bind it first, with plan.capture_requirements(env)
#include <planb/stream.hpp>

#include <vector>

int main() {
  struct Env {};
  const planb::ExecutionPlan<int, Env> plan{{.provide = [](Env&) { return 1; }}};
  const auto source = [](int& n) { return std::vector<int>{n}; };
#ifdef TWIN
  static_cast<void>(planb::stream_with_plan(plan.capture_requirements(Env{}), source));
#else
  static_cast<void>(planb::stream_with_plan(plan, source));
#endif
}
