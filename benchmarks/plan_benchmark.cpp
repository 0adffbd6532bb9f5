// planb against the hand-written loop: one binary, interleaved, as ratios.
#include "hand_written.hpp"
#include "providers.hpp"
#include "rows.hpp"
#include "with_planb.hpp"

#include <planb/planb.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace {

using bench::add;
using bench::ApiError;
using bench::Client;
using bench::Providers;
using namespace std::chrono_literals;

// Providers that always answer and write nothing, so that threads may share them.
struct Answering {
  explicit Answering(std::shared_ptr<planb::Gate> gate = nullptr)
      : plan{{.name = "one",
              .provide =
                  [this] {
                    return Client{&answer, nullptr};
                  },
              .retry_while = [](const ApiError& e) { return e.retryable(); },
              .gate = std::move(gate)},
             {.name = "two", .provide = [this] {
                return Client{&answer, nullptr};
              }}} {}
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

  const std::function<int(int)> answer = [](int prompt) { return prompt + 1; };
  const planb::ExecutionPlan<Client> plan;
};

template <class Run>
void add_threads(const char* row, Run run) {
  add(row, "threads", run)->Threads(1)->Threads(2)->UseRealTime();
}

}  // namespace

int main(int argc, char** argv) {
  static Providers ok(0);
  static Providers one(1);
  static Providers two(2);
  const auto call = [](int& prompt) { return [&prompt](Client& client) { return client.complete(prompt); }; };

  const auto throwing_rows = [](const char* name, Providers& p) {
    add(name, "hand", p, [&p](int& prompt) { return bench::call_by_hand(p.table, prompt); });
    add(name, "planb", p, [&p](int& prompt) { return bench::call_with_planb(p.plan, prompt); });
  };
  const auto returning_rows = [](const char* name, Providers& p) {
    add(name, "hand", p, [&p](int& prompt) { return bench::try_call_by_hand(p.table, prompt); });
    add(name, "planb", p, [&p](int& prompt) { return bench::try_call_with_planb(p.value_plan, prompt); });
  };
  throwing_rows("success at once", ok);
  throwing_rows("one thrown failure, then success", one);
  throwing_rows("two thrown failures, then success", two);
  returning_rows("success at once, returned", ok);
  returning_rows("one returned failure, then success", one);
  returning_rows("two returned failures, then success", two);

  const auto with = [&](const char* name, auto run) {
    add(name, "hand", ok, [](int& prompt) { return bench::call_by_hand(ok.table, prompt); });
    add(name, "planb", ok, run);
  };
  with("success with a handler", [call](int& prompt) {
    int events = 0;
    return planb::run_with_plan(ok.plan, call(prompt), {.on_event = [&events](const auto&) { ++events; }});
  });
  with("success with a budget",
       [call](int& prompt) { return planb::run_with_plan(ok.plan, call(prompt), {.budget = 30s}); });
#if PLANB_HAS_STOP_TOKEN
  with("success with a stop token", [call](int& prompt) {
    static std::stop_source source;
    return planb::run_with_plan(ok.plan, call(prompt), {.stop = source.get_token()});
  });
#endif
  with("success with try_run_with_plan",
       [call](int& prompt) { return *planb::try_run_with_plan(ok.plan, call(prompt)); });
  add("one clock read", "hand", ok, [](int& prompt) { return bench::call_by_hand(ok.table, prompt); });
  add("one clock read", "planb", ok, [](int&) { return std::chrono::steady_clock::now().time_since_epoch().count(); });

  // In these rows `hand` is the same run without a breaker. A handler has both read the clock.
  static Answering bare;
  static Answering guarded(planb::circuit_breaker({.failure_threshold = 5}));
  static Answering rated(planb::circuit_breaker({.failure_ratio = 0.5}));
  static Answering paced(planb::rate_limit({.permits = 1'000'000'000, .period = 1s}));
  static Answering placed(planb::concurrency_limit({.limit = 1'000}));
  static Answering thrifty(planb::retry_budget());
  const auto plain = [call](Answering& p) {
    return [&p, call](int& prompt) { return planb::run_with_plan(p.plan, call(prompt)); };
  };
  const auto handled = [call](Answering& p) {
    return [&p, call](int& prompt) {
      int events = 0;
      return planb::run_with_plan(p.plan, call(prompt), {.on_event = [&events](const auto&) { ++events; }});
    };
  };
  const auto against_bare = [](const char* name, auto without, auto with_breaker) {
    add(name, "hand", without);
    add(name, "planb", with_breaker);
  };
  against_bare("closed breaker / none", plain(bare), plain(guarded));
  against_bare("closed breaker / none, with a handler", handled(bare), handled(guarded));
  against_bare("closed ratio breaker / none", plain(bare), plain(rated));
  against_bare("closed ratio breaker / none, with handler", handled(bare), handled(rated));
  against_bare("rate limit / none", plain(bare), plain(paced));
  against_bare("concurrency limit / none", plain(bare), plain(placed));
  against_bare("retry budget / none", plain(bare), plain(thrifty));

  add_threads("one plan", plain(bare));
  add_threads("one plan, with a handler", handled(bare));
  add_threads("one closed breaker", plain(guarded));
  add_threads("one closed ratio breaker", plain(rated));
  add_threads("one rate limit", plain(paced));
  add_threads("one concurrency limit", plain(placed));
  add_threads("one retry budget", plain(thrifty));

  bench::add_growth_rows();
  bench::add_stream_rows();
  bench::add_coroutine_rows();
  return bench::run_ratios(argc, argv);
}
