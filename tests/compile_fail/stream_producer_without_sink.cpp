// expect-first: planb: a producer that takes `emit` also needs a sink
#include <planb/stream.hpp>

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  const auto producer = [](int& n, auto& emit) { emit(n); };
#ifdef TWIN
  planb::push_with_plan(plan, producer, [](int) {});
#else
  static_cast<void>(planb::stream_with_plan(plan, producer));
#endif
}
