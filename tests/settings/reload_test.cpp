// Settings that change while requests run: a plan behind a mutex, copied for each request.
#include <planb/settings.hpp>

#include "catch.hpp"

#include <planb/gates.hpp>
#include <planb/planb.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using planb::ConfiguredChain;
using planb::ConfiguredChains;
using planb::GateRegistry;
using planb::ProviderError;
using planb::Settings;
using planb::StepSettings;

struct Llm {
  std::string version;
  bool fails = false;
};

// What a service keeps. std::atomic<std::shared_ptr> would do, too; libc++ has none.
class Current {
 public:
  explicit Current(ConfiguredChain<Llm> chain) : chain_(std::move(chain)) {}

  [[nodiscard]] ConfiguredChain<Llm> get() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return chain_;
  }
  void set(ConfiguredChain<Llm> chain) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::swap(chain_, chain);  // the old one ends outside of the lock
  }

 private:
  mutable std::mutex mutex_;
  ConfiguredChain<Llm> chain_;
};

// The version is in the names of all steps, and of the gate that changes.
Settings version_of(int number) {
  const std::string n = std::to_string(number);
  const planb::SettingsResult settings = planb::parse_settings(
      "gate kept    concurrency_limit limit=100\n"
      "gate changed concurrency_limit limit=" +
      std::to_string(100 + number % 7) +
      "\n"
      "gate own" +
      n +
      " rate_limit permits=1000000 period=1s\n"
      "chain c content_refusal=next_step\n"
      "  first-" +
      n + "  gate=changed,own" + n +
      "\n"
      "  second-" +
      n +
      " gate=kept\n"
      "  third-" +
      n + "\n");
  REQUIRE(settings.has_value());
  return *settings;
}

ConfiguredChain<Llm> made(int number, GateRegistry& gates) {
  const auto provide = [](const StepSettings& step) {
    const std::string::size_type dash = step.name.find('-');
    return Llm{step.name.substr(dash + 1), step.name.compare(0, dash, "third") != 0};
  };
  auto chains = planb::make_plans<Llm>(version_of(number), provide, gates);
  REQUIRE(chains.has_value());
  return chains->at("c");
}

}  // namespace

TEST_CASE("settings change a thousand times under eight threads of requests, and no request notices") {
  constexpr int changes = 1000;
  GateRegistry gates;
  Current current(made(0, gates));
  const std::shared_ptr<planb::Gate> kept = gates.find("kept");
  std::atomic<bool> done = false;
  std::atomic<long> requests = 0;
  std::atomic<long> failed = 0;
  std::atomic<long> mixed = 0;

  const auto serve = [&] {
    while (!done) {
      const ConfiguredChain<Llm> chain = current.get();
      std::vector<std::string> seen;
      const auto result = planb::try_run_with_plan(
          chain,
          [&](Llm& llm) {
            seen.push_back(llm.version);
            if (llm.fails) throw ProviderError(503);
            return llm.version;
          },
          chain.run_options);
      ++requests;
      if (!result || seen.size() != 3) ++failed;
      for (const std::string& version : seen) {
        if (version != seen.front()) ++mixed;
      }
      for (const planb::StepReport& step : result.report().steps) {
        if (seen.empty() || step.name.substr(step.name.find('-') + 1) != seen.front()) ++mixed;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i != 8; ++i) threads.emplace_back(serve);
  for (int i = 1; i <= changes; ++i) {
    current.set(made(i, gates));
    if (i % 50 == 0) {  // requests have seen some of them
      for (const long before = requests; requests == before;) std::this_thread::yield();
    }
  }
  done = true;
  for (std::thread& thread : threads) thread.join();

  CHECK(requests > 20);
  CHECK(failed == 0);
  CHECK(mixed == 0);
  CHECK(gates.find("kept") == kept);
  CHECK(gates.size() == 3);
  CHECK(gates.find("own" + std::to_string(changes)) != nullptr);
  // What was taken of them has been given back, although they were replaced meanwhile.
  CHECK(kept->snapshot().available == 100);
}

TEST_CASE("a gate that has not changed keeps its state through any number of changes") {
  GateRegistry gates;
  const auto settings = [](int n) {
    return planb::parse_settings(
               "gate breaker circuit_breaker failure_threshold=2\n"
               "chain c content_refusal=next_step\n  a" +
               std::to_string(n) + " gate=breaker\n")
        .value();
  };
  const auto provide = [](const StepSettings& step) { return Llm{step.name, true}; };
  const auto fail = [](Llm&) { throw ProviderError(503); };
  for (int n = 0; n != 3; ++n) {
    const auto chains = planb::make_plans<Llm>(settings(n), provide, gates);
    const auto result = planb::try_run_with_plan(chains->at("c"), fail);
    CHECK(result.report().attempts == (n < 2 ? 1 : 0));  // open after the second failure, in another plan
  }
}

TEST_CASE("two threads that make plans for one registry get what they asked for") {
  GateRegistry gates;
  const auto maker = [&](int from) {
    for (int i = from; i != from + 200; ++i) static_cast<void>(made(i % 3, gates));
  };
  std::thread other(maker, 1);
  maker(2);
  other.join();
  CHECK(gates.size() == 3);
  CHECK(gates.find("kept") != nullptr);
}
