// expect-first: planb: error_traits<E>::retry_after does not fit
#include <planb/error/cause.hpp>

struct ConstantError {
  std::chrono::seconds retry_after{2};
};

#ifndef TWIN
template <>
struct planb::error_traits<ConstantError> {
  static constexpr std::chrono::seconds retry_after{2};
};
#endif

const planb::Cause constant = planb::Cause::of(ConstantError());
