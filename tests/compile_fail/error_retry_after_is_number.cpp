// expect-first: planb: an error's `retry_after` does not fit
#include <planb/plan/plan.hpp>

struct HttpError {
  int status = 429;
#ifdef TWIN
  planb::Duration retry_after{30};
#else
  int retry_after = 30;
#endif
};

const planb::Step<int> step{.provide = 1, .retry_while = [](const HttpError& e) { return e.status == 429; }};
