// expect-first: planb: an error's `retryable` does not fit
#include <planb/run.hpp>

struct UnsureError {
#ifdef TWIN
  std::optional<bool> retryable() const { return false; }
#else
  std::optional<bool> retryable() { return false; }
#endif
};

const planb::Cause cause = planb::Cause::of(UnsureError());
