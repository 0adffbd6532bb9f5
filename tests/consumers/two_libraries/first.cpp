#include "everything.hpp"
#include "libraries.hpp"

#include <stdexcept>

namespace {

int counted = 0;

bool is_refusal(const planb::Cause& cause) {
  const Refusal* const refusal = cause.get_if<Refusal>();
  return refusal != nullptr && refusal->status == 503;
}

}  // namespace

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

const void* first_plan() {
  static const planb::ExecutionPlan<int> plan{{.name = "a", .provide = 1},
                                              {.name = "b", .provide = [] { return 2; }, .enter_when = is_refusal}};
  return &plan;
}

const void* first_handler() {
  static const planb::EventHandler handler = [](const planb::Event& event) {
    const auto* const failure = event.get_if<planb::AttemptFailure>();
    if (failure != nullptr && is_refusal(failure->cause)) ++counted;
  };
  return &handler;
}

int first_counted() { return counted; }
