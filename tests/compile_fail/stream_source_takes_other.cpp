// expect-first: planb: the source of a stream must take the plan's context as an lvalue
#include <planb/stream.hpp>

#include <vector>

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
#ifdef TWIN
  static_cast<void>(planb::stream_with_plan(plan, [](int& n, const planb::Attempt&) { return std::vector<int>{n}; }));
#else
  static_cast<void>(planb::stream_with_plan(plan, [](const char*) { return std::vector<int>{1}; }));
#endif
}
