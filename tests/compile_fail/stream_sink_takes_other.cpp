// expect: planb: the sink does not take what the producer emits
#include <planb/stream.hpp>

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  const auto producer = [](int& n, auto& emit) { emit(n); };
#ifdef TWIN
  planb::push_with_plan(plan, producer, [](int) {});
#else
  planb::push_with_plan(plan, producer, [](const char*) {});
#endif
}
