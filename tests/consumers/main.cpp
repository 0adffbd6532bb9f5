// What every consumer builds: a plan with a failing step and one that answers.
#include <planb/planb.hpp>

#include <chrono>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

namespace {

struct Llm {
  std::string name;

  std::string complete() const {
    if (name == "openai") throw std::runtime_error("503");
    return "from " + name;
  }
};

}  // namespace

int main() {
  const planb::ExecutionPlan<Llm> plan{
      {.name = "openai", .provide = [] { return Llm{"openai"}; }, .attempts = 2, .schedule = planb::exponential(1ms)},
      {.name = "local", .provide = [] { return Llm{"local"}; }},
  };
  return planb::run_with_plan(plan, [](Llm& llm) { return llm.complete(); }) == "from local" ? 0 : 1;
}
