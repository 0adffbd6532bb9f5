// expect-first: planb: a plan's predicates must be copyable
#include <planb/plan/plan.hpp>

#include <memory>

#ifdef TWIN
const planb::Step<int> step{.provide = 1, .retry_while = [p = std::make_shared<int>(1)](const planb::Cause&) { return *p > 0; }};
#else
const planb::Step<int> step{.provide = 1, .retry_while = [p = std::make_unique<int>(1)](const planb::Cause&) { return *p > 0; }};
#endif
