// expect-first: planb: this member function returns a pointer or a view into the plan's context
#include <planb/run.hpp>

#include <functional>
#include <string>

struct Llm {
  std::string vendor;
  std::reference_wrapper<const std::string> name() const { return vendor; }
  const std::string& copied() const { return vendor; }
};

#ifdef TWIN
inline std::string use(const planb::ExecutionPlan<Llm>& plan) {
  return planb::run_with_plan(plan, std::mem_fn(&Llm::copied));
}
#else
inline std::string use(const planb::ExecutionPlan<Llm>& plan) { return planb::run_with_plan(plan, &Llm::name); }
#endif
