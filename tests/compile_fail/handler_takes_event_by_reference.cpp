// expect-first: planb: an event handler must take one of AttemptStart, AttemptSuccess, AttemptFailure, StepSkipped or Event
#include <planb/planb.hpp>

#ifdef TWIN
const planb::RunOptions options{.on_event = [](const planb::Event&) {}};
#else
const planb::RunOptions options{.on_event = [](planb::Event&) {}};
#endif
