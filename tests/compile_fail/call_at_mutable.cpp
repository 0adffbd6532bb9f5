// expect-first: planb: call_at() calls `fn()` through const
#include <planb/time/clock.hpp>

inline planb::Timer timer(planb::Clock& clock) {
#ifdef TWIN
  return clock.call_at(clock.now(), [] {});
#else
  return clock.call_at(clock.now(), [n = 0]() mutable { ++n; });
#endif
}
