// expect-first: planb: an error's `message` does not fit
#include <planb/error/cause.hpp>

struct MuteError {
#ifdef TWIN
  const char* message() const { return "mute"; }
#else
  void message() const {}
#endif
};

const planb::Cause cause = planb::Cause::of(MuteError());
