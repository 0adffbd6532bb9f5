#include "ratio_main.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

#if defined(__unix__) && __has_include(<dlfcn.h>) && __has_include(<unwind.h>)
#define BENCH_COUNTS_THROWS 1
#include <dlfcn.h>
#include <unwind.h>
#endif

namespace bench {
namespace {

constinit thread_local Counts counted{};

}  // namespace

Counts counts() noexcept { return counted; }

}  // namespace bench

#ifdef BENCH_COUNTS_THROWS
// Every throw, and every rethrow of a held exception, goes through here.
extern "C" _Unwind_Reason_Code _Unwind_RaiseException(_Unwind_Exception* exception) {
  using Raise = _Unwind_Reason_Code (*)(_Unwind_Exception*);
  static const Raise raise = reinterpret_cast<Raise>(dlsym(RTLD_NEXT, "_Unwind_RaiseException"));
  ++bench::counted.throws;
  return raise(exception);
}
#endif

void* operator new(std::size_t size) {
  ++bench::counted.allocations;
  if (void* const memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace bench {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// The repetitions of one benchmark, each per iteration.
struct Series {
  std::vector<double> cpu;
  std::vector<double> wall;
  double allocations = 0;
  double throws = 0;
  double parts = 0;  // that a run is made of, where the row is about one of them
};

class RatioReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      const std::string name = run.benchmark_name();
      const std::size_t bar = name.find('|');
      const std::size_t end = name.find('/', bar);
      const std::string row = name.substr(0, bar);
      std::string variant = name.substr(bar + 1, end - bar - 1);
      if (variant == "threads") variant += std::to_string(run.threads);
      order_.emplace(run.family_index, row);
      Series& series = rows_[row][variant];
      series.cpu.push_back(run.GetAdjustedCPUTime());
      series.wall.push_back(run.GetAdjustedRealTime());
      series.allocations = std::max(series.allocations, counter(run, "allocations"));
      series.throws = std::max(series.throws, counter(run, "throws"));
      series.parts = counter(run, "parts");
    }
  }

  void Finalize() override {
    print_ratios("", false);
    print_ratios("one of many, all failing", true);
    print_threads();
  }

 private:
  static double counter(const Run& run, const char* name) {
    const auto found = run.counters.find(name);
    return found == run.counters.end() ? 0 : found->second.value;
  }

  // Each row once.
  [[nodiscard]] std::vector<std::string> in_order() const {
    std::vector<std::string> rows;
    for (const auto& [index, row] : order_) {
      if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
    }
    return rows;
  }

  // Allocations and throws are those of the whole run, also where the times are those of a part.
  void print_ratios(const char* title, bool of_parts) {
    bool titled = false;
    for (const std::string& row : in_order()) {
      const Series& hand = rows_[row]["hand"];
      const Series& planb = rows_[row]["planb"];
      if (planb.cpu.empty() || (planb.parts != 0) != of_parts) continue;
      if (!std::exchange(titled, true)) {
        std::printf("%s%-40s %10s %10s %6s %19s %19s\n", of_parts ? "\n" : "", title, "hand (ns)", "planb (ns)",
                    "ratio", "allocations", "throws");
      }
      const double by_hand = median(hand.cpu) / (of_parts ? hand.parts : 1);
      const double by_planb = median(planb.cpu) / (of_parts ? planb.parts : 1);
      std::printf("%-40s %10.1f %10.1f %6.2f %8.2f -> %7.2f %8.2f -> %7.2f\n", row.c_str(), by_hand, by_planb,
                  by_planb / by_hand, hand.allocations, planb.allocations, hand.throws, planb.throws);
    }
  }

  // By the clock on the wall, and by processor time: on a machine that is busy otherwise, only the second tells
  // something, and it does not see a thread that waits for a lock.
  void print_threads() {
    bool titled = false;
    for (const std::string& row : in_order()) {
      const Series& one = rows_[row]["threads1"];
      const Series& two = rows_[row]["threads2"];
      if (two.cpu.empty()) continue;
      if (!std::exchange(titled, true)) std::printf("\n%-40s %43s\n", "two threads", "throughput");
      std::printf("%-40s %5.2f times one thread (by processor time %.2f), allocations %.2f\n", row.c_str(),
                  median(one.wall) / median(two.wall), 2 * median(one.cpu) / median(two.cpu), two.allocations);
    }
  }

  std::map<std::int64_t, std::string> order_;  // that of registration, in which interleaved runs do not come
  std::map<std::string, std::map<std::string, Series>> rows_;
};

}  // namespace

int run_ratios(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  for (const char* const word :
       {"--benchmark_enable_random_interleaving=true", "--benchmark_repetitions=15", "--benchmark_min_time=0.02"}) {
    words.insert(words.begin() + 1, word);
  }
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  if (benchmark::ReportUnrecognizedArguments(count, pointers.data())) return 1;
  RatioReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  return 0;
}

}  // namespace bench
