// expect-first: planb: accepting() needs a callable that returns a value, not void
#include <planb/run.hpp>

int main() {
#ifdef TWIN
  planb::retry({.attempts = 2}, planb::accepting([] { return 1; }, [](int n) { return n == 1; }));
#else
  planb::retry({.attempts = 2}, planb::accepting([] {}, [] { return true; }));
#endif
}
