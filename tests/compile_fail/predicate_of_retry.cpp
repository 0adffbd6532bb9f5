// expect-first: planb: a predicate takes `const planb::Cause&` or one concrete error type by const reference
#include <planb/run.hpp>

#ifdef TWIN
int main() { return planb::retry({.attempts = 2, .retry_while = [](int) { return true; }}, [] { return 0; }); }
#else
int main() { return planb::retry({.attempts = 2, .retry_while = [](int&) { return true; }}, [] { return 0; }); }
#endif
