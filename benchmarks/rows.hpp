// The rows of the table: how one is measured, and the files that have some.
#pragma once

#include "ratio_main.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>

namespace bench {

template <class Run>
void measure(benchmark::State& state, Run run) {
  int prompt = 0;
  const bench::Counts before = bench::counts();
  for (auto _ : state) {
    benchmark::DoNotOptimize(prompt);
    auto answer = run(prompt);
    benchmark::DoNotOptimize(answer);
  }
  const bench::Counts after = bench::counts();
  const auto per_iteration = [](std::uint64_t from, std::uint64_t to) {
    return benchmark::Counter(static_cast<double>(to - from), benchmark::Counter::kAvgIterations);
  };
  state.counters["allocations"] = per_iteration(before.allocations, after.allocations);
  state.counters["throws"] = per_iteration(before.throws, after.throws);
}

template <class Run>
auto* add(const char* row, const char* variant, Run run) {
  return benchmark::RegisterBenchmark((std::string(row) + "|" + variant).c_str(),
                                      [run](benchmark::State& state) { measure(state, run); });
}

// A row whose run is made of so many equal parts: its times are those of one part.
template <class Run>
void add_in_parts(const char* row, const char* variant, int parts, Run run) {
  benchmark::RegisterBenchmark((std::string(row) + "|" + variant).c_str(), [run, parts](benchmark::State& state) {
    measure(state, run);
    state.counters["parts"] = parts;
  });
}

void add_growth_rows();
void add_stream_rows();
void add_coroutine_rows();

}  // namespace bench
