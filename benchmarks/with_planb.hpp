// The same calls as hand_written.hpp has, with planb: in a file of their own, too.
#pragma once

#include "hand_written.hpp"

#include <planb/plan/plan.hpp>

namespace bench {

[[nodiscard]] int call_with_planb(const planb::ExecutionPlan<Client>& plan, int prompt);
[[nodiscard]] Reply try_call_with_planb(const planb::ExecutionPlan<Client>& plan, int prompt);

}  // namespace bench
