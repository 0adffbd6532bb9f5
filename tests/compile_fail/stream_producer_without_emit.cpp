// expect-first: planb: the producer of a stream must take the plan's context and `emit`
#include <planb/stream.hpp>

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
#ifdef TWIN
  planb::push_with_plan(
      plan, [](int& n, auto& emit) { emit(n); }, [](int) {});
#else
  planb::push_with_plan(
      plan, [](int& n) { return n; }, [](int) {});
#endif
}
