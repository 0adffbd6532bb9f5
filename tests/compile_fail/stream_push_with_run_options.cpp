// expect-first: planb: stream_with_plan() takes planb::StreamOptions, not RunOptions
#include <planb/stream.hpp>

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  const auto producer = [](int& n, auto& emit) { emit(n); };
#ifdef TWIN
  planb::stream_with_plan(plan, producer, [](int) {}, planb::StreamOptions{});
#else
  planb::stream_with_plan(plan, producer, [](int) {}, planb::RunOptions{});
#endif
}
