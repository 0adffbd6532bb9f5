#include "ratio_main.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace bench {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

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
      if (rows_.count(row) == 0) order_.push_back(row);
      rows_[row][name.substr(bar + 1, end - bar - 1)].push_back(run.GetAdjustedCPUTime());
    }
  }

  void Finalize() override {
    std::printf("%-40s %12s %12s %8s\n", "", "hand (ns)", "planb (ns)", "ratio");
    for (const std::string& row : order_) {
      const double hand = median(rows_[row]["hand"]);
      const double planb = median(rows_[row]["planb"]);
      std::printf("%-40s %12.1f %12.1f %8.2f\n", row.c_str(), hand, planb, planb / hand);
    }
  }

 private:
  std::vector<std::string> order_;
  std::map<std::string, std::map<std::string, std::vector<double>>> rows_;
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
