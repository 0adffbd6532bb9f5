// expect-first: planb: this member function returns a pointer or a view into the plan's context
#include <planb/run.hpp>

#include <string>
#include <string_view>

struct Llm {
  std::string vendor;
  std::string_view name() const { return vendor; }
  const std::string& vendor_name() const { return vendor; }
};

#ifdef TWIN
inline std::string use(const planb::ExecutionPlan<Llm>& plan) { return planb::run_with_plan(plan, &Llm::vendor_name); }
#else
inline std::string use(const planb::ExecutionPlan<Llm>& plan) {
  return std::string(planb::run_with_plan(plan, &Llm::name));
}
#endif
