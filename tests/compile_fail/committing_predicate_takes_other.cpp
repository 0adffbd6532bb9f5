// expect: planb: the predicate of committing() must take an element by const reference and return bool
#include <planb/stream.hpp>

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  const auto producer = [](int& n, auto& emit) { emit(n); };
#ifdef TWIN
  planb::push_with_plan(plan,
                        planb::committing(
                            producer, [](int n) { return n > 0; }, 1),
                        [](int) {});
#else
  planb::push_with_plan(plan,
                        planb::committing(
                            producer, [](const char*) { return true; }, 1),
                        [](int) {});
#endif
}
