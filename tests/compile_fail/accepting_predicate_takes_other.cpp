// expect-first: planb: the predicate of accepting() must take the callable's value by const reference
#include <planb/run.hpp>

#include <string>

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  const auto call = [](int&) { return std::string("answer"); };
#ifdef TWIN
  planb::run_with_plan(plan, planb::accepting(call, [](const std::string& s) { return !s.empty(); }));
#else
  planb::run_with_plan(plan, planb::accepting(call, [](std::string& s) { return !s.empty(); }));
#endif
}
