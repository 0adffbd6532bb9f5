// expect-first: planb: an event handler must be copyable; hand over std::ref(handler) for one that is not
#include <planb/engine/run_options.hpp>

#include <functional>
#include <memory>
#include <utility>

auto handler = [count = std::make_unique<int>(0)](const planb::AttemptStart&) { ++*count; };

#ifdef TWIN
const planb::RunOptions options{.on_event = std::ref(handler)};
#else
const planb::RunOptions options{.on_event = std::move(handler)};
#endif
