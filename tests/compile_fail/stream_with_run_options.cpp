// expect-first: planb: stream_with_plan() takes planb::StreamOptions, not RunOptions
#include <planb/stream.hpp>

#include <vector>

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  const auto source = [](int& n) { return std::vector<int>{n}; };
#ifdef TWIN
  static_cast<void>(planb::stream_with_plan(plan, source, planb::StreamOptions{}));
#else
  static_cast<void>(planb::stream_with_plan(plan, source, planb::RunOptions{}));
#endif
}
