#include "libraries.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <stdexcept>

void first_run(void (*inside)(int attempt, int step_index)) {
  const planb::ExecutionPlan<int> plan{{.name = "a", .provide = 1, .attempts = 2}, {.name = "b", .provide = 2}};
  planb::run_with_plan(plan, [&](int& context, const planb::Attempt& attempt) {
    inside(attempt.attempt, attempt.step_index);
    if (context == 1) throw std::runtime_error("503");
  });
}

void first_exhaust() {
  const planb::ExecutionPlan<int> plan{{.name = "a", .provide = 1}};
  planb::run_with_plan(plan, [](int&) { throw std::runtime_error("503"); });
}

Seen first_sees() {
  const planb::Metadata here = planb::CurrentMetadata::get();
  return {here.attempt, here.step_index};
}
