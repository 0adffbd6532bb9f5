// A second translation unit with every header in it: whatever is not inline is defined twice, and does not link.
#include <planb/planb.hpp>
#include <planb/testing.hpp>
#if __has_include(<planb/coro.hpp>)
#include <planb/coro.hpp>
#endif
