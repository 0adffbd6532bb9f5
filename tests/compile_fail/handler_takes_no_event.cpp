// expect-first: planb: an event handler must take one of AttemptStart, FirstOutput, AttemptSuccess, AttemptFailure
#include <planb/engine/run_options.hpp>

#include <string>

#ifdef TWIN
const planb::RunOptions options{.on_event = [](const planb::AttemptFailure&) {}};
#else
const planb::RunOptions options{.on_event = [](const std::string&) {}};
#endif
