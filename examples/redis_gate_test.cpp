// The breaker of redis_gate, against a real server on this machine.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "redis_gate/breaker.hpp"
#include "redis_gate/loopback_server.hpp"

using namespace std::chrono_literals;
using planb::ExecutionPlan;
using planb::GateReason;
using planb::ProviderError;
using planb::TimePoint;
using redis_gate::Breaker;
using redis_gate::BreakerOptions;
using redis_gate::Event;
using redis_gate::LoopbackServer;

namespace {

// One of the machines: what it holds of the breaker, and what it was told.
struct Machine {
  explicit Machine(const LoopbackServer& server, BreakerOptions options = {}) {
    options.server = {.port = server.port(), .answers_within = 2s, .try_again_after = 50ms};
    options.name = "openai";
    options.on_event = [this](const Event& event) {
      const std::lock_guard<std::mutex> lock(mutex);
      told.push_back(event.what);
    };
    gate = redis_gate::breaker(options);
  }

  // A request to a provider that answers with this status, and to another one after it: which of them answered.
  std::string ask(int status) {
    const ExecutionPlan<int> plan{{.name = "openai", .provide = status, .gate = gate},
                                  {.name = "local", .provide = 200}};
    const auto result = planb::try_run_with_plan(plan, [](int today) {
      if (today != 200) throw ProviderError(today, "not today");
      return today;
    });
    if (!result.has_value()) return "nobody";
    reason = result.report().steps.front().gate_reason;
    return result.report().answered_by();
  }
  // Whether a request is kept away from the provider.
  bool heeds() {
    return ask(200) == "local" && (reason == GateReason::circuit_open || reason == GateReason::probe_running);
  }
  planb::Admission admit() { return gate->admit(planb::SteadyClock::instance().now()); }
  int count(Event::What what) {
    const std::lock_guard<std::mutex> lock(mutex);
    return static_cast<int>(std::count(told.begin(), told.end(), what));
  }

  std::shared_ptr<Breaker> gate;
  std::optional<GateReason> reason;
  std::mutex mutex;
  std::vector<Event::What> told;
};

// How often the server has run the script.
int round_trips(const LoopbackServer& server) {
  const std::string all = server.ask("INFO commandstats");
  const std::size_t at = all.find("cmdstat_evalsha:calls=");
  return at == std::string::npos ? 0 : std::stoi(all.substr(at + 22));
}

TimePoint now() { return planb::SteadyClock::instance().now(); }

}  // namespace

TEST_CASE("what one machine learns, the other heeds, and what its probe finds out too", "[redis]") {
  const LoopbackServer server;
  const BreakerOptions options{.failure_threshold = 3, .open_for = 1s};
  Machine a(server, options);
  Machine b(server, options);
  CHECK(b.ask(200) == "openai");
  CHECK(a.ask(503) == "local");
  CHECK(b.ask(503) == "local");
  CHECK_FALSE(b.heeds());  // a success of any machine ends the row
  for (int i = 0; i != 3; ++i) a.ask(503);
  CHECK(a.count(Event::opened) == 1);
  CHECK(b.heeds());
  CHECK(b.reason == GateReason::circuit_open);
  CHECK(a.heeds());
  CHECK(b.gate->name() == "openai");
  CHECK(b.gate->snapshot().kind == "redis_breaker");
  CHECK(b.gate->snapshot().name == "openai");
  CHECK(b.gate->snapshot().state == "open");
  const TimePoint opens = b.gate->opens_at(now());
  CHECK(opens > now());
  CHECK(opens <= now() + 1s);

  std::this_thread::sleep_for(1100ms);
  planb::Admission probe = a.admit();
  REQUIRE(probe.permit);
  const planb::Admission second = b.admit();
  REQUIRE(second.refusal);  // one at a time, of all machines
  CHECK(second.refusal->reason == GateReason::probe_running);
  CHECK(second.refusal->opens_at > now());
  probe.permit->succeeded(now());
  CHECK(a.count(Event::closed) == 1);
  CHECK_FALSE(b.heeds());
  CHECK(b.gate->snapshot().state == "closed");
}

TEST_CASE("a probe that fails opens it again; one that is dropped or given up leaves its place to another", "[redis]") {
  const LoopbackServer server;
  const BreakerOptions options{.failure_threshold = 1, .open_for = 200ms, .probe_timeout = 300ms};
  Machine a(server, options);
  Machine b(server, options);
  a.ask(503);
  CHECK(b.heeds());
  std::this_thread::sleep_for(250ms);
  a.ask(503);
  CHECK(a.count(Event::opened) == 2);
  CHECK(b.heeds());
  std::this_thread::sleep_for(250ms);
  { const planb::Admission dropped = a.admit(); }
  planb::Admission late = a.admit();
  REQUIRE(late.permit);
  CHECK(b.heeds());
  std::this_thread::sleep_for(350ms);
  planb::Admission next = b.admit();
  REQUIRE(next.permit);
  late.permit->failed(planb::Cause::of(ProviderError(503)), now());  // counts for nothing
  CHECK(a.count(Event::opened) == 2);
  next.permit->first_output(now());  // a stream's first output is enough
  CHECK(b.count(Event::closed) == 1);
  next.permit->failed(planb::Cause::of(ProviderError(503)), now());
  CHECK(b.count(Event::opened) == 0);
  CHECK_FALSE(a.heeds());
}

TEST_CASE("a call from before a change of state changes nothing, and interruptions do not count", "[redis]") {
  const LoopbackServer server;
  Machine a(server, {.failure_threshold = 1, .open_for = 100ms});
  planb::Admission early = a.admit();
  a.ask(503);
  std::this_thread::sleep_for(150ms);
  CHECK(a.ask(200) == "openai");
  CHECK(a.count(Event::closed) == 1);
  early.permit->failed(planb::Cause::of(ProviderError(503)), now());
  CHECK(a.count(Event::opened) == 1);
  const ExecutionPlan<int> plan{{.provide = 1, .gate = a.gate}};
  CHECK_THROWS_AS(run_with_plan(plan, [](int) { throw planb::Defect("bug"); }), planb::Defect);
  CHECK(a.count(Event::opened) == 1);
}

TEST_CASE("a wait hint makes the open period longer", "[redis]") {
  const LoopbackServer server;
  Machine a(server, {.failure_threshold = 1, .open_for = 1s, .longest_hint = 60s});
  a.admit().permit->failed(planb::Cause::of(ProviderError(429, "slowly", "", 1h)), now());
  const TimePoint opens = a.gate->opens_at(now());
  CHECK(opens > now() + 50s);
  CHECK(opens <= now() + 60s);
}

TEST_CASE("one round trip for each decision, and none for a success while all is well", "[redis]") {
  const LoopbackServer server;
  Machine a(server, {.failure_threshold = 100});
  for (int i = 0; i != 10; ++i) a.ask(200);
  CHECK(round_trips(server) == 10);
  a.ask(503);
  CHECK(round_trips(server) == 12);  // may it be made; it has failed
  a.ask(200);
  CHECK(round_trips(server) == 14);  // the row is over
  a.ask(200);
  CHECK(round_trips(server) == 15);
  CHECK(server.ask("SCRIPT FLUSH") == "OK");
  CHECK(a.ask(200) == "openai");  // the server is told the script again
  CHECK(a.count(Event::lost) == 0);
}

TEST_CASE("keys expire: a breaker that nobody asks is forgotten", "[redis]") {
  const LoopbackServer server;
  Machine a(server, {.failure_threshold = 2, .open_for = 100ms, .keep_for = 300ms});
  a.ask(503);
  CHECK(server.ask("EXISTS planb:breaker:openai") == "1");
  std::this_thread::sleep_for(400ms);
  CHECK(server.ask("EXISTS planb:breaker:openai") == "0");
  a.ask(503);  // the first in a row again
  CHECK(a.count(Event::opened) == 0);
  a.ask(503);
  CHECK(a.count(Event::opened) == 1);
  std::this_thread::sleep_for(500ms);
  CHECK(server.ask("EXISTS planb:breaker:openai") == "0");
}

TEST_CASE("where Redis is killed, no request fails for it, and one is told; where it is back, that is told too",
          "[redis]") {
  LoopbackServer server;
  const BreakerOptions options{.failure_threshold = 3, .open_for = 60s};
  Machine a(server, options);
  Machine b(server, options);
  for (int i = 0; i != 3; ++i) a.ask(503);
  for (int i = 0; i != 40; ++i) {
    CAPTURE(i);
    if (i == 20) server.kill();
    const bool is_there = i < 20;
    CHECK(a.ask(503) == "local");
    CHECK(b.ask(200) == (is_there ? "local" : "openai"));
  }
  CHECK(a.count(Event::lost) == 1);
  CHECK(b.count(Event::lost) == 1);
  CHECK(a.gate->snapshot().state == "unreachable");

  REQUIRE(server.start_again());
  const auto end = now() + 20s;
  while (b.count(Event::back) == 0 && now() < end) {
    CHECK(b.ask(200) == "openai");
    std::this_thread::sleep_for(10ms);
  }
  CHECK(b.count(Event::back) == 1);
  CHECK(b.gate->snapshot().state == "closed");
}

TEST_CASE("where Redis was never there, calls pass at once", "[redis]") {
  LoopbackServer server;
  server.kill();
  Machine a(server);
  for (int i = 0; i != 3; ++i) CHECK(a.ask(200) == "openai");
  CHECK(a.count(Event::lost) == 1);
}

TEST_CASE("where Redis does not answer in time, calls pass, and few of them wait for it", "[redis]") {
  const LoopbackServer server;
  std::atomic<int> lost{0};
  const auto gate =
      redis_gate::breaker({.server = {.port = server.port(), .answers_within = 200ms, .try_again_after = 60s},
                           .on_event = [&](const Event& event) { lost += event.what == Event::lost ? 1 : 0; }});
  gate->admit(now()).permit->succeeded(now());
  server.pause();
  for (int i = 0; i != 50; ++i) gate->admit(now()).permit->failed(planb::Cause::of(ProviderError(503)), now());
  CHECK(lost == 1);
  CHECK(gate->snapshot().state == "unreachable");
  server.go_on();
}

TEST_CASE("threads of two machines: at most one probe is out, and a server that dies among them fails no request",
          "[redis]") {
  LoopbackServer server;
  const BreakerOptions options{.failure_threshold = 1, .open_for = 1ms};
  Machine machines[] = {Machine(server, options), Machine(server, options)};
  machines[0].ask(503);
  std::atomic<int> out{0};
  std::atomic<int> most{0};
  std::atomic<int> probes{0};
  std::atomic<int> refused{0};
  std::atomic<bool> alive{true};
  std::atomic<int> calls{0};
  std::vector<std::thread> pool;
  for (int thread = 0; thread != 8; ++thread) {
    pool.emplace_back([&, thread] {
      Machine& machine = machines[thread % 2];
      for (int i = 0; i != 200; ++i, ++calls) {
        planb::Admission admission = machine.admit();
        if (!admission.permit) {
          ++refused;
          continue;
        }
        if (!alive) continue;  // then all pass
        const int now_out = ++out;
        int seen = most;
        while (seen < now_out && !most.compare_exchange_weak(seen, now_out)) {
        }
        ++probes;
        --out;
        admission.permit->failed(planb::Cause::of(ProviderError(503)), now());
      }
    });
  }
  while (calls < 800) std::this_thread::yield();
  alive = false;
  server.kill();
  for (std::thread& thread : pool) thread.join();
  CHECK(probes > 0);
  CHECK(refused > 0);
  CHECK(most == 1);
  for (Machine& machine : machines) {
    CHECK(machine.ask(200) == "openai");
    CHECK(machine.count(Event::lost) == 1);
  }
}
