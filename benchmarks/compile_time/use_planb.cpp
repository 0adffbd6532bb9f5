// A plan of ten lines.
#include "llm.hpp"

#include <planb/run.hpp>

#include <cstddef>
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

#ifdef SECOND_CALL
std::size_t length(const planb::ExecutionPlan<Llm>& plan, const std::string& prompt) {
  return planb::run_with_plan(plan, [&](Llm& llm) { return llm.complete(prompt).size(); });
}
#endif

#ifdef SECOND_CONTEXT
struct Other {
  std::string name;
  std::string complete(const std::string& prompt);
};

std::string other(const std::string& prompt) {
  static const planb::ExecutionPlan<Other> plan{
      {.name = "openai", .provide = [] { return Other{"openai"}; }, .attempts = 2, .schedule = planb::exponential(20ms)},
      {.name = "local", .provide = [] { return Other{"local"}; }},
  };
  return planb::run_with_plan(plan, [&](Other& llm) { return llm.complete(prompt); });
}
#endif
