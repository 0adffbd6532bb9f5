// expect: conver
// expect: AttemptStart
#include <planb/report/event.hpp>

#ifdef TWIN
const planb::Event event{planb::AttemptStart{}};
#else
const planb::Event event = planb::AttemptStart{};
#endif
