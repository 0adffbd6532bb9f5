// expect-first: planb: `on_change` is called as on_change(const planb::CircuitChange& change)
#include <planb/gate/circuit_breaker.hpp>

#ifdef TWIN
const planb::CircuitBreakerOptions options{.on_change = [](const planb::CircuitChange&) {}};
#else
const planb::CircuitBreakerOptions options{.on_change = [](planb::CircuitState, planb::CircuitState) {}};
#endif
