// expect-first: planb: retry() calls `fn()` or `fn(const planb::Attempt&)`; this callable takes neither
#include <planb/run.hpp>

#ifdef TWIN
int main() { return planb::retry({.attempts = 2}, [](const planb::Attempt& a) { return a.attempt; }); }
#else
int main() { return planb::retry({.attempts = 2}, [](int n) { return n; }); }
#endif
