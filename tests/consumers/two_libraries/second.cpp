#include "everything.hpp"
#include "libraries.hpp"

Seen second_sees() {
  const planb::Metadata here = planb::CurrentMetadata::get();
  return {here.attempt, here.step_index};
}

bool second_catches(void (*thrower)()) {
  try {
    thrower();
  } catch (const planb::PlanExhausted&) {
    return true;
  } catch (...) {
  }
  return false;
}

int second_runs(const void* plan, const void* handler) {
  return planb::run_with_plan(*static_cast<const planb::ExecutionPlan<int>*>(plan),
                              [](int& context) {
                                if (context == 1) throw Refusal{503};
                                return context;
                              },
                              {.on_event = *static_cast<const planb::EventHandler*>(handler)});
}
