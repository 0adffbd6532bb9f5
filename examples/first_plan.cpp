// A first plan: three providers in order, and a callable that knows nothing of them.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

namespace {

// A client like those of real providers: it answers or throws. Its status is what it does today.
struct Llm {
  std::string vendor;
  int status;

  std::string complete(const std::string& prompt) const {
    if (status != 200) throw planb::ProviderError(status, "not today");
    return vendor + " says: " + prompt + ", world";
  }
};

Llm connect(const std::string& vendor, int status) { return {vendor, status}; }

}  // namespace

int main() {
  const planb::ExecutionPlan<Llm> plan{
      {.name = "openai",
       .provide = [] { return connect("openai", 503); },
       .attempts = 2,
       .schedule = planb::exponential(20ms),
       .retry_while = [](const planb::ProviderError& e) { return e.status == 429 || e.status >= 500; }},
      {.name = "anthropic", .provide = [] { return connect("anthropic", 429); }},
      {.name = "local", .provide = [] { return connect("local", 200); }},
  };

  planb::testing::VirtualClock clock;  // time passes at once; without it, the wait is a real one
  const std::string answer = planb::run_with_plan(
      plan, [](Llm& llm) { return llm.complete("hello"); },
      {.on_event = [](const planb::Event& event) { std::cout << to_string(event) << '\n'; }, .clock = &clock});

  std::cout << answer << '\n';
  return answer == "local says: hello, world" && clock.elapsed() == 20ms ? 0 : 1;
}
