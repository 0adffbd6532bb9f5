// expect-first: planb: error_traits<E>::code does not fit
#include <planb/error/cause.hpp>

struct OwnError {
  const char* code = "own";
};

#ifndef TWIN
template <>
struct planb::error_traits<OwnError> {
  const char* code(const OwnError&) { return "limit"; }
};
#endif

const planb::Cause own = planb::Cause::of(OwnError());
