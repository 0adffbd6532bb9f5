// expect-first: planb: accepting() needs a callable that returns a value, not void
#include <planb/run.hpp>

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
#ifdef TWIN
  planb::run_with_plan(plan, planb::accepting([](int& n) { return n; }, [](int n) { return n == 1; }));
#else
  planb::run_with_plan(plan, planb::accepting([](int&) {}, [] { return true; }));
#endif
}
