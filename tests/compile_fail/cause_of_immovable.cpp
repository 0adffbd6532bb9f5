// expect-first: planb: an error must be movable to be kept in a Cause
#include <planb/error/cause.hpp>

struct Error {
  Error() = default;
#ifndef TWIN
  Error(const Error&) = delete;
#endif
  int status = 503;
};

const planb::Cause cause = planb::Cause::of(Error{});
