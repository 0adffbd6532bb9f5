// Runs the registered benchmarks interleaved, counts allocations and throws, and prints each row as a ratio to the
// hand-written loop.
#pragma once

namespace bench {

// Benchmarks are named "ROW|hand" and "ROW|planb".
int run_ratios(int argc, char** argv);

}  // namespace bench
