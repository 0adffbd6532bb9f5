// Retrying one resource: the same rules without a plan.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

int main() {
  planb::testing::VirtualClock clock;  // time passes at once; without it, the waits are real ones
  const planb::RunOptions options{.clock = &clock};
  const planb::RetryPolicy policy{.attempts = 4, .schedule = planb::capped(planb::exponential(1s), 3s)};

  // Two failures, then an answer: after 1 s, and after 2 s more.
  int calls = 0;
  const std::string answer = planb::retry(
      policy,
      [&]() -> std::string {
        if (++calls < 3) throw planb::ProviderError(503, "not yet");
        return "at last";
      },
      options);
  std::cout << answer << ", after " << calls << " calls and " << clock.elapsed() / 1s << " s\n";
  bool good = answer == "at last" && calls == 3 && clock.elapsed() == 3s;

  // The last error comes out unchanged. A longer wait that the provider asks for is kept to: 10 s instead of 1.
  const planb::TimePoint before = clock.now();
  try {
    planb::retry(
        policy,
        [](const planb::Attempt& attempt) {
          if (attempt.attempt == 1) throw planb::ProviderError(429, "slow down", "rate_limit", 10s);
          throw planb::ProviderError(500, "call " + std::to_string(attempt.attempt));
        },
        options);
    good = false;
  } catch (const planb::ProviderError& e) {
    std::cout << "gave up: " << e.status << ' ' << e.what() << ", after " << (clock.now() - before) / 1s << " s\n";
    good = good && e.message == "call 4" && clock.now() - before == 10s + 2s + 3s;
  }

  // What will not pass is not tried again.
  calls = 0;
  try {
    planb::retry({.attempts = 4, .retry_while = [](const planb::ProviderError& e) { return e.status >= 500; }}, [&] {
      ++calls;
      throw planb::ProviderError(401, "who are you?");
    });
    good = false;
  } catch (const planb::ProviderError& e) {
    std::cout << "gave up: " << e.status << ' ' << e.what() << ", after " << calls << " call\n";
    good = good && calls == 1;
  }
  return good ? 0 : 1;
}
