// expect-first: planb: the task gives a view, a pointer or a reference into what ends with the attempt
#include <planb/coro.hpp>

#include <string>

struct Llm {
  std::string vendor;
  planb::Task<const std::string&> name() { co_return vendor; }
};

#ifdef TWIN
using Text = std::string;
#else
using Text = const std::string&;
#endif

inline planb::Task<Text> use(const planb::ExecutionPlan<Llm>& plan) {
  return planb::co_run_with_plan<planb::Task<Text>>(plan, &Llm::name,
                                                    [](planb::Duration) -> planb::Task<> { co_return; });
}
