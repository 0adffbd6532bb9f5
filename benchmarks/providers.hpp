// What the rows with failures run over, by hand and with planb.
#pragma once

#include "hand_written.hpp"
#include "rows.hpp"

#include <planb/plan/plan.hpp>

#include <benchmark/benchmark.h>

#include <functional>
#include <string>

namespace bench {

// Fails `failures` times, then answers; over and over.
struct Providers {
  explicit Providers(int failures) {
    throwing = [this, failures](int prompt) -> int {
      if (calls++ % (failures + 1) != failures) throw ApiError(503);
      return prompt + 1;
    };
    returning = [this, failures](int prompt) -> Reply {
      if (calls++ % (failures + 1) != failures) return tl::unexpected(ErrorValue{503});
      return prompt + 1;
    };
    for (int i = 0; i != 3; ++i) {
      table.push_back({[this] { return Client{&throwing, &returning}; }, 1,
                       [](const ApiError& e) { return e.retryable(); },
                       [](const ErrorValue& e) { return e.retryable(); }});
    }
  }
  Providers(const Providers&) = delete;
  Providers& operator=(const Providers&) = delete;

  int calls = 0;
  std::function<int(int)> throwing;
  std::function<Reply(int)> returning;
  bench::Table table;
  planb::ExecutionPlan<Client> plan{
      {.name = "one",
       .provide = [this] { return Client{&throwing, &returning}; },
       .retry_while = [](const ApiError& e) { return e.retryable(); }},
      {.name = "two",
       .provide = [this] { return Client{&throwing, &returning}; },
       .retry_while = [](const ApiError& e) { return e.retryable(); }},
      {.name = "three",
       .provide = [this] { return Client{&throwing, &returning}; },
       .retry_while = [](const ApiError& e) { return e.retryable(); }},
  };
  planb::ExecutionPlan<Client> value_plan{
      {.name = "one",
       .provide = [this] { return Client{&throwing, &returning}; },
       .retry_while = [](const ErrorValue& e) { return e.retryable(); }},
      {.name = "two",
       .provide = [this] { return Client{&throwing, &returning}; },
       .retry_while = [](const ErrorValue& e) { return e.retryable(); }},
      {.name = "three",
       .provide = [this] { return Client{&throwing, &returning}; },
       .retry_while = [](const ErrorValue& e) { return e.retryable(); }},
  };
};

template <class Run>
void add(const char* row, const char* variant, Providers& providers, Run run) {
  benchmark::RegisterBenchmark((std::string(row) + "|" + variant).c_str(), [&providers, run](benchmark::State& state) {
    providers.calls = 0;
    measure(state, run);
  });
}

}  // namespace bench
