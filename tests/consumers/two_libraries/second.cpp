#include "libraries.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

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
