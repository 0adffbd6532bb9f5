// expect-first: planb: an event handler returns something that is still to be awaited (a task, a future)
#include <planb/coro.hpp>
#include <planb/run.hpp>

#ifdef TWIN
inline const planb::RunOptions options{.on_event = [](const planb::AttemptStart&) { return 1; }};
#else
inline const planb::RunOptions options{
    .on_event = [](const planb::AttemptStart&) -> planb::Task<> { co_return; }};
#endif
