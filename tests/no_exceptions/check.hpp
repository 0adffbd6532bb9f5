// Checks for programs in which no test framework builds.
#pragma once

#include <cstdio>

namespace check {

inline int failures = 0;

inline void expect(bool good, const char* what, const char* file, int line) {
  if (good) return;
  ++failures;
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
}

// For main() to return: prints `ok` where everything was as expected.
[[nodiscard]] inline int result() {
  if (failures == 0) std::puts("ok");
  return failures == 0 ? 0 : 1;
}

}  // namespace check

#define EXPECT(...) ::check::expect(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
