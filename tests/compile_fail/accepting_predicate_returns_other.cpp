// expect-first: planb: the predicate of accepting() returns bool, or std::optional<planb::Verdict> where none accepts
#include <planb/run.hpp>

#include <optional>
#include <string>

int main() {
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  const auto call = [](int&) { return std::string("answer"); };
#ifdef TWIN
  planb::run_with_plan(plan, planb::accepting(call, [](const std::string&) { return std::optional<planb::Verdict>(); }));
#else
  planb::run_with_plan(plan, planb::accepting(call, [](const std::string&) { return std::string("yes"); }));
#endif
}
