// expect-first: planb: the source of a stream must return an input range, or an expected-like of one
#include <planb/stream.hpp>

#include <vector>

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
#ifdef TWIN
  static_cast<void>(planb::stream_with_plan(plan, [](int& n) { return std::vector<int>{n}; }));
#else
  static_cast<void>(planb::stream_with_plan(plan, [](int& n) { return n; }));
#endif
}
