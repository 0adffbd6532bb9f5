// expect-first: planb: accepting() looks at what a callable returns; look at the elements of a source with committing()
#include <planb/stream.hpp>

#include <vector>

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  const auto source = [](int& n) { return std::vector<int>{n}; };
#ifdef TWIN
  static_cast<void>(planb::stream_with_plan(plan, planb::committing(source, [](int) { return true; }, 1)));
#else
  static_cast<void>(planb::stream_with_plan(plan, planb::accepting(source, [](const auto&) { return true; })));
#endif
}
