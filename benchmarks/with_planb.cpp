#include "with_planb.hpp"

#include <planb/run.hpp>

namespace bench {

int call_with_planb(const planb::ExecutionPlan<Client>& plan, int prompt) {
  return planb::run_with_plan(plan, [prompt](Client& client) { return client.complete(prompt); });
}

Reply try_call_with_planb(const planb::ExecutionPlan<Client>& plan, int prompt) {
  return planb::run_with_plan(plan, [prompt](Client& client) { return client.try_complete(prompt); });
}

}  // namespace bench
