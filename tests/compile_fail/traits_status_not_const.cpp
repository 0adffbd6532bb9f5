// expect-first: planb: error_traits<E>::status does not fit
#include <planb/error/cause.hpp>

struct SilentError {
  int status = 0;
};

#ifndef TWIN
template <>
struct planb::error_traits<SilentError> {
  static int status(SilentError& e) { return e.status; }
};
#endif

const planb::Cause silent = planb::Cause::of(SilentError());
