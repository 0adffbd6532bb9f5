// expect-first: planb: what call_at() is to call must be copyable
#include <planb/time/clock.hpp>

#include <memory>

inline planb::Timer timer(planb::Clock& clock) {
#ifdef TWIN
  return clock.call_at(clock.now(), [p = std::make_shared<int>(1)] { static_cast<void>(*p); });
#else
  return clock.call_at(clock.now(), [p = std::make_unique<int>(1)] { static_cast<void>(*p); });
#endif
}
