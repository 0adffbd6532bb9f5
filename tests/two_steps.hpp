// The plan of many tests: steps whose contexts are told apart by a number, one attempt each.
#pragma once

#include <planb/plan/plan.hpp>

namespace two {

struct Client {
  int id = 0;
};

[[nodiscard]] inline planb::ExecutionPlan<Client> two_steps() {
  return {{.name = "one", .provide = Client{1}}, {.name = "two", .provide = Client{2}}};
}

}  // namespace two
