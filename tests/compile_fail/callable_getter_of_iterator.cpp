// expect-first: planb: this member function returns a pointer or a view into the plan's context
#include <planb/run.hpp>

#include <string_view>
#include <vector>

struct Llm {
  std::vector<int> ids;
  std::vector<int>::iterator first() { return ids.begin(); }
  int first_id() { return ids.front(); }
  std::string_view name() { return "static"; }
};

#ifdef TWIN
inline int use(const planb::ExecutionPlan<Llm>& plan) { return planb::run_with_plan(plan, &Llm::first_id); }
inline std::string_view use(const planb::ExecutionPlan<Llm&>& plan) { return planb::run_with_plan(plan, &Llm::name); }
#else
inline int use(const planb::ExecutionPlan<Llm>& plan) { return *planb::run_with_plan(plan, &Llm::first); }
#endif
