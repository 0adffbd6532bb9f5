#include <planb/gate/registry.hpp>

#include "catch.hpp"

#include <planb/gates.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::CircuitState;
using planb::GateRegistry;
using planb::GateSnapshot;

// A gate of one's own: always open.
class Own : public planb::Gate {
 public:
  [[nodiscard]] planb::Admission admit(const planb::GateRequest& request) override {
    return planb::Permit(*this, 1, request.now);
  }
  [[nodiscard]] planb::TimePoint opens_at(const planb::GateRequest& request) const override { return request.now; }

 private:
  void on_outcome(std::uint64_t /*ticket*/, const planb::GateOutcome& /*outcome*/) override {}
  void on_dropped(std::uint64_t /*ticket*/, bool /*used*/) noexcept override {}
};

// One that looks into its registry when it ends: from another thread, which cannot while the lock is held.
class Curious final : public Own {
 public:
  Curious(const GateRegistry& gates, std::vector<bool>& answers) : gates_(gates), answers_(answers) {}
  Curious(const Curious&) = delete;
  Curious& operator=(const Curious&) = delete;
  ~Curious() override {
    std::promise<void> told;
    std::future<void> answered = told.get_future();
    other_ = std::thread([&gates = gates_, told = std::move(told)]() mutable {
      static_cast<void>(gates.size());
      told.set_value();
    });
    answers_.push_back(answered.wait_for(5s) == std::future_status::ready);
    if (answers_.back()) {
      other_.join();
    } else {
      other_.detach();
    }
  }

 private:
  const GateRegistry& gates_;
  std::vector<bool>& answers_;
  std::thread other_;
};

}  // namespace

TEST_CASE("a registry gives the same gate for the same name and options, with all that it has counted") {
  GateRegistry gates;
  const auto breaker = gates.circuit_breaker("openai", {.failure_threshold = 3});
  CHECK(breaker->name() == "openai");
  breaker->force_open();
  CHECK(gates.circuit_breaker("openai", {.failure_threshold = 3}) == breaker);
  CHECK(breaker->state() == CircuitState::open);
  CHECK(gates.circuit_breaker("anthropic", {.failure_threshold = 3}) != breaker);
  CHECK(gates.rate_limit("rate", {.permits = 5, .period = 1s}) ==
        gates.rate_limit("rate", {.permits = 5, .period = 1s}));
  CHECK(gates.concurrency_limit("places", {.limit = 5}) == gates.concurrency_limit("places", {.limit = 5}));
  CHECK(gates.retry_budget("retries") == gates.retry_budget("retries"));
  CHECK(gates.retry_budget("retries") != gates.retry_budget("retries", {.ratio = 0.25}));
  CHECK(gates.size() == 5);
}

TEST_CASE("changed options, and another kind, make a new gate") {
  GateRegistry gates;
  const planb::CircuitBreakerOptions as_before{.failure_threshold = 3};
  const auto old = gates.circuit_breaker("openai", as_before);
  std::vector<planb::CircuitBreakerOptions> others(15, as_before);
  others[0].failure_threshold = 4;
  others[1].failure_ratio = 0.5;
  others[2].minimum_calls = 11;
  others[3].window = 2min;
  others[4].open_for = 31s;
  others[5].open_for = [](int n) { return n * 1s; };
  others[6].half_open_probes = 2;
  others[7].honour_retry_after = false;
  others[8].longest_hint = 2h;
  others[9].slow_call = 1s;
  others[10].slow_ratio = 0.25;
  others[11].probe_timeout = 1s;
  others[12].failure_memory = 1s;
  others[13].patience = 1s;
  others[14].on_change = [](const planb::CircuitChange&) {};
  for (std::size_t i = 0; i != others.size(); ++i) {
    CAPTURE(i);
    const auto changed = gates.circuit_breaker("openai", others[i]);
    CHECK(changed != old);
    CHECK(gates.circuit_breaker("openai", others[i]) == changed);
  }
  const auto limit = gates.rate_limit("openai", {.permits = 5, .period = 1s});
  CHECK(gates.find("openai") == limit);
  CHECK(gates.rate_limit("openai", {.permits = 6, .period = 1s}) != limit);
  const auto patient = gates.rate_limit("openai", {.permits = 6, .period = 1s, .patience = 1s});
  CHECK(gates.rate_limit("openai", {.permits = 6, .period = 1s}) != patient);
  const auto places = gates.concurrency_limit("openai", {.limit = 5});
  const auto patient_places = gates.concurrency_limit("openai", {.limit = 5, .patience = 1s});
  CHECK(patient_places != places);
  CHECK(gates.concurrency_limit("openai", {.limit = 6, .patience = 1s}) != patient_places);
  CHECK(gates.size() == 1);
}

TEST_CASE("options that make no sense are refused and change nothing") {
  GateRegistry gates;
  const auto limit = gates.concurrency_limit("openai", {.limit = 5});
  CHECK_THROWS_AS(gates.concurrency_limit("openai", {.limit = 0}), std::invalid_argument);
  CHECK_THROWS_AS(gates.concurrency_limit("other", {.limit = 0}), std::invalid_argument);
  CHECK(gates.find("openai") == limit);
  CHECK(gates.find("other") == nullptr);
}

TEST_CASE("a gate is called by its name in the registry, where its options say no other") {
  GateRegistry gates;
  CHECK(gates.rate_limit("rate", {.permits = 5, .period = 1s, .name = "per second"})->name() == "per second");
  CHECK(gates.concurrency_limit("places", {.limit = 5})->name() == "places");
  CHECK(gates.snapshots().at(1).name == "rate");  // in lists it has the name that finds it
}

TEST_CASE("a registry takes in a gate of one's own, and keeps nothing where none was made") {
  GateRegistry gates;
  CHECK(gates.gate("own", [] { return std::shared_ptr<planb::Gate>(); }) == nullptr);
  CHECK(gates.size() == 0);
  const auto own = gates.gate("own", [] { return std::make_shared<Own>(); });
  REQUIRE(own != nullptr);
  CHECK(gates.find("own") == own);
  const std::vector<GateSnapshot> list = gates.snapshots();
  REQUIRE(list.size() == 1);
  CHECK(list[0].name == "own");
  CHECK(list[0].kind == "gate");
  CHECK_FALSE((list[0].available || list[0].limit || list[0].open_until));
}

TEST_CASE("a registry lists its gates, resets them in place, and forgets them") {
  GateRegistry gates;
  const auto breaker = gates.circuit_breaker("b");
  const auto budget = gates.retry_budget("c");
  const auto both = gates.gate("a", [&] { return planb::all_of(breaker, budget); });
  CHECK(gates.gate("a", []() -> std::shared_ptr<planb::Gate> { throw std::runtime_error("made twice"); }) == both);
  breaker->force_open(planb::TimePoint{10s});
  budget->admit({planb::TimePoint{}, 2, 2}).permit->use();
  const std::vector<GateSnapshot> list = gates.snapshots();
  REQUIRE(list.size() == 3);
  CHECK(list[0].name == "a");
  CHECK(list[0].kind == "all_of");
  CHECK(list[1].name == "b");
  CHECK(list[1].kind == "circuit_breaker");
  CHECK(list[1].state == "open");
  CHECK(list[1].open_until == planb::TimePoint{10s});
  CHECK(list[2].kind == "retry_budget");
  CHECK(list[2].available == 9);
  CHECK(list[2].limit == 10);
  CHECK(gates.reset("b"));
  CHECK(gates.find("b") == breaker);
  CHECK(breaker->state() == CircuitState::closed);
  CHECK(budget->snapshot().available == 9);
  gates.reset_all();
  CHECK(budget->snapshot().available == 10);
  CHECK_FALSE(gates.reset("d"));
  CHECK(gates.erase("b"));
  CHECK_FALSE(gates.erase("b"));
  CHECK(gates.find("b") == nullptr);
}

TEST_CASE("a gate that is forgotten or replaced ends outside of the registry's lock") {
  std::vector<bool> answers;
  GateRegistry gates;
  const auto curious = [&] { return std::make_shared<Curious>(gates, answers); };
  gates.gate("erased", curious);
  gates.gate("replaced", curious);
  CHECK(gates.erase("erased"));
  const auto budget = gates.retry_budget("replaced");
  CHECK(gates.find("replaced") == budget);
  CHECK(answers == std::vector<bool>{true, true});
  CHECK(gates.size() == 1);
}

TEST_CASE("threads that ask for a name at once get one gate") {
  GateRegistry gates;
  std::vector<std::vector<const planb::Gate*>> got(8);
  std::vector<std::thread> pool;
  for (std::size_t thread = 0; thread != got.size(); ++thread) {
    pool.emplace_back([&, thread] {
      for (int i = 0; i != 200; ++i) {
        got[thread].push_back(gates.circuit_breaker("gate " + std::to_string(i), {.failure_threshold = 2}).get());
        static_cast<void>(gates.snapshots());
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  for (const auto& some : got) CHECK(some == got[0]);
  CHECK(std::set<const planb::Gate*>(got[0].begin(), got[0].end()).size() == 200);
}
