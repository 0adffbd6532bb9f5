#include "shared.hpp"

std::string Llm::complete() const {
  if (name == "openai") throw planb::ProviderError(503, "busy");
  if (name == "number") throw 42;
  return "from " + name;
}

std::string ask(const planb::ExecutionPlan<Llm>& plan, const planb::RunOptions& options) {
  return planb::run_with_plan(plan, [](Llm& llm) { return llm.complete(); }, options);
}
