// Runs the registered benchmarks interleaved, counts allocations and throws, and prints each row as a ratio: to the
// hand-written loop, or to one thread.
#pragma once

#include <cstdint>

namespace bench {

// Of this thread, since it started. Throws are counted where the C++ library lets itself be asked (libstdc++ and
// libc++ on Linux); elsewhere there are none.
struct Counts {
  std::uint64_t allocations = 0;
  std::uint64_t throws = 0;
};
[[nodiscard]] Counts counts() noexcept;

// Benchmarks are named "ROW|hand" and "ROW|planb", or "ROW|threads" for one that is run with one thread and with two.
int run_ratios(int argc, char** argv);

}  // namespace bench
