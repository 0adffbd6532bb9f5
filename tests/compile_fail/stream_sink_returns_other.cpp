// expect-first: planb: a sink returns nothing, or a bool: whether it wants more
#include <planb/stream.hpp>

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  const auto producer = [](int& n, auto& emit) { emit(n); };
#ifdef TWIN
  planb::push_with_plan(plan, producer, [](int) { return true; });
#else
  planb::push_with_plan(plan, producer, [](int n) { return n; });
#endif
}
