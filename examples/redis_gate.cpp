// One of several processes that share a circuit breaker through Redis: redis_gate PORT NAME. Its first provider is
// down, its second one answers. It asks again and again until Redis has gone away, then ten times more, and fails where
// a request does. `redis_gate/run` starts a server and two of these.
#include <planb/planb.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <thread>

#include "redis_gate/breaker.hpp"

using namespace std::chrono_literals;

namespace {

struct Provider {
  int status;

  [[nodiscard]] std::string complete() const {
    if (status != 200) throw planb::ProviderError(status, "not today");
    return "an answer";
  }
};

int work(int port, const std::string& who) {
  constexpr auto open_for = 300ms;
  bool lost = false;
  std::chrono::steady_clock::time_point opened{};  // by this process
  const auto say = [&](const std::string& what) { std::cout << who + ": " + what + "\n" << std::flush; };
  const auto breaker = redis_gate::breaker({.server = {.port = port, .answers_within = 500ms, .try_again_after = 200ms},
                                            .name = "shared",
                                            .failure_threshold = 3,
                                            .open_for = open_for,
                                            .on_event = [&](const redis_gate::Event& event) {
                                              switch (event.what) {
                                                case redis_gate::Event::opened:
                                                  opened = std::chrono::steady_clock::now();
                                                  say("opened it");
                                                  break;
                                                case redis_gate::Event::closed: say("closed it"); break;
                                                case redis_gate::Event::lost:
                                                  lost = true;
                                                  say("Redis is gone (" + event.text + "): calls pass");
                                                  break;
                                                case redis_gate::Event::back: say("Redis is back"); break;
                                              }
                                            }});
  const planb::ExecutionPlan<Provider> plan{
      {.name = "shared provider", .provide = Provider{503}, .gate = breaker},
      {.name = "local", .provide = Provider{200}},
  };

  int requests = 0;
  int kept_away = 0;
  int heeded = 0;  // kept away by what another has learned
  const auto end = std::chrono::steady_clock::now() + 60s;
  for (int left = 10; left != 0 && std::chrono::steady_clock::now() < end; ++requests) {
    if (lost) --left;
    const auto result = planb::try_run_with_plan(plan, [](const Provider& provider) { return provider.complete(); });
    if (!result.has_value()) {
      say("a request failed: " + result.report().to_string());
      return 1;
    }
    kept_away += result.report().steps.front().gate_reason == planb::GateReason::circuit_open ? 1 : 0;
    if (result.report().steps.front().gate_reason == planb::GateReason::circuit_open &&
        std::chrono::steady_clock::now() - opened > open_for && heeded++ == 0) {
      say("heeds what another has learned: " + result.report().to_string());
    }
    std::this_thread::sleep_for(20ms);
  }
  say(std::to_string(requests) + " requests, none failed; kept away from the provider " + std::to_string(kept_away) +
      " times");
  return lost && heeded != 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 3) return work(std::stoi(argv[1]), argv[2]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
  }
  std::cerr << "usage: redis_gate PORT NAME (examples/redis_gate/run starts all that is needed)\n";
  return 2;
}
