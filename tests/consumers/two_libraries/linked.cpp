#include "everything.hpp"
#include "libraries.hpp"

#include <cstdio>
#include <thread>

namespace {

int failures = 0;
int calls = 0;

void check(bool right, const char* what) {
  if (right) return;
  ++failures;
  std::printf("linked: not so: %s\n", what);
}

bool is(Seen seen, int attempt, int step_index) { return seen.attempt == attempt && seen.step_index == step_index; }

Seen program_sees() {
  const planb::Metadata here = planb::CurrentMetadata::get();
  return {here.attempt, here.step_index};
}

void inside(int attempt, int step_index) {
  ++calls;
  check(is(first_sees(), attempt, step_index), "the library that runs the plan sees the attempt");
  check(is(second_sees(), attempt, step_index), "the other library sees the attempt");
  check(is(program_sees(), attempt, step_index), "the program sees the attempt");
  std::thread([] {
    check(is(first_sees(), 0, 0) && is(second_sees(), 0, 0) && is(program_sees(), 0, 0), "another thread sees nothing");
  }).join();
}

}  // namespace

int main() {
  first_run(inside);
  check(calls == 3, "three attempts were made");
  check(is(first_sees(), 0, 0) && is(second_sees(), 0, 0) && is(program_sees(), 0, 0), "nothing is left of the run");

  {
    const planb::CurrentMetadata::Scope scope({7, 3});
    check(is(first_sees(), 7, 3) && is(second_sees(), 7, 3), "both libraries see what the program carried over");
  }

  check(second_catches(first_exhaust), "one library catches by its type what the other throws");
  check(second_runs(first_plan(), first_handler()) == 2, "one library runs the other's plan");
  check(first_counted() == 1, "and its handler knows the error by its type");
  try {
    first_exhaust();
    check(false, "an exhausted plan throws");
  } catch (const planb::PlanError&) {
  } catch (...) {
    check(false, "the program catches by its base what a library throws");
  }
  return failures == 0 ? 0 : 1;
}
