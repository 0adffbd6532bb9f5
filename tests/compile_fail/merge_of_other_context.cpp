// expect-first: planb: merge() joins plans of the same Ctx and Env
#include <planb/plan/plan.hpp>

#include <string>

int main() {
  const planb::ExecutionPlan<int> first{{.provide = 1}};
#ifdef TWIN
  const planb::ExecutionPlan<int> second{{.provide = 2}};
#else
  const planb::ExecutionPlan<std::string> second{{.provide = "two"}};
#endif
  return static_cast<int>(planb::merge(first, second).size());
}
