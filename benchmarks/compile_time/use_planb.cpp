// A plan of ten lines.
#include "llm.hpp"

#include <planb/run.hpp>

#include <string>

using namespace std::chrono_literals;

std::string answer(const std::string& prompt) {
  static const planb::ExecutionPlan<Llm> plan{
      {.name = "openai",
       .provide = [] { return Llm{"openai"}; },
       .attempts = 2,
       .schedule = planb::exponential(20ms),
       .retry_while = [](const LlmError& e) { return e.status >= 500; }},
      {.name = "anthropic", .provide = [] { return Llm{"anthropic"}; }},
      {.name = "local", .provide = [] { return Llm{"local"}; }},
  };
  return planb::run_with_plan(plan, [&](Llm& llm) { return llm.complete(prompt); });
}
