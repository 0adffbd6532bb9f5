// expect-first: planb: the source of a stream must take the plan's context as an lvalue
#include <planb/stream.hpp>

#include <functional>

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
#ifdef TWIN
  planb::stream_with_plan(plan, [](int& n, const std::function<bool(int)>& emit) { emit(n); }, [](int) {});
#else
  static_cast<void>(planb::stream_with_plan(plan, [](int& n, const std::function<bool(int)>& emit) { emit(n); }));
#endif
}
