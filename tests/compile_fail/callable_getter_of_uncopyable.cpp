// expect-first: planb: this member function returns a reference into the plan's context, which ends with the attempt
#include <planb/run.hpp>

#include <memory>

struct Llm {
  std::unique_ptr<int> session;
  std::unique_ptr<int>& open() { return session; }
  std::unique_ptr<int> take() { return static_cast<std::unique_ptr<int>&&>(session); }
};

#ifdef TWIN
inline auto use(const planb::ExecutionPlan<Llm>& plan) { return planb::run_with_plan(plan, &Llm::take); }
#else
inline auto use(const planb::ExecutionPlan<Llm>& plan) { return planb::run_with_plan(plan, &Llm::open); }
#endif
