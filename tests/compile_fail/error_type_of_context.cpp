// expect-first: planb: an error's `retry_after` does not fit
#include <planb/plan/plan.hpp>

struct ClientError {
#ifdef TWIN
  planb::Duration retry_after{30};
#else
  double retry_after = 30;
#endif
};
struct Client {
  using error_type = ClientError;
};

const planb::ExecutionPlan<Client> plan{{.provide = Client{}}};
