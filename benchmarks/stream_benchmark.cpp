// Streams against the loop that hands each element straight on. A row is a stream of 1000 elements: its difference is
// what 1000 elements cost.
#include "rows.hpp"

#include <planb/stream.hpp>

#include <benchmark/benchmark.h>

#include <ranges>

namespace bench {

namespace {

constexpr int elements = 1000;

struct Source {
  int first = 0;
};

const planb::ExecutionPlan<Source>& plan() {
  static const planb::ExecutionPlan<Source> plan{{.name = "one", .provide = [] { return Source{1}; }},
                                                 {.name = "two", .provide = [] { return Source{2}; }}};
  return plan;
}

// Neither side may be computed ahead: each element is looked at.
struct Sum {
  long total = 0;

  void operator()(int element) {
    benchmark::DoNotOptimize(element);
    total += element;
  }
};

auto numbers(const Source& source) {
  return std::views::iota(source.first, source.first + elements) | std::views::transform([](int i) {
           benchmark::DoNotOptimize(i);
           return i;
         });
}

}  // namespace

void add_stream_rows() {
  const auto push = [](int& from, auto& emit) {
    for (int i = from; i != from + elements; ++i) emit(i);
  };
  add("1000 elements pushed", "hand", [push](int& from) {
    Sum sum;
    push(from, sum);
    return sum.total;
  });
  add("1000 elements pushed", "planb", [push](int& from) {
    Sum sum;
    planb::push_with_plan(
        plan(), [&](Source&, auto& emit) { push(from, emit); }, sum);
    return sum.total;
  });
  add("1000 elements pulled", "hand", [](int& from) {
    Sum sum;
    for (const int element : numbers(Source{from})) sum(element);
    return sum.total;
  });
  add("1000 elements pulled", "planb", [](int& from) {
    Sum sum;
    for (const int element : planb::stream_with_plan(plan(), [&](Source&) { return numbers(Source{from}); })) {
      sum(element);
    }
    return sum.total;
  });
}

}  // namespace bench
