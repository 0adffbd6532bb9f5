// What the two libraries export: plain functions, so that a program can also look them up by name.
#pragma once

#define VISIBLE __attribute__((visibility("default")))
#define EXPORTED extern "C" VISIBLE

struct Seen {
  int attempt;
  int step_index;
};

// Thrown by one library and looked for by the other, so it must be visible: libc++ compares types by their address.
struct VISIBLE Refusal {
  int status;
};

// Runs a plan of two failing attempts in step 0 and one in step 1, and calls `inside` in each.
EXPORTED void first_run(void (*inside)(int attempt, int step_index));
// Throws planb::PlanExhausted.
EXPORTED void first_exhaust();
EXPORTED Seen first_sees();
// An ExecutionPlan<int> whose second step is only for a Refusal with 503, and an EventHandler that counts those. As
// `const void*`, because this header is also for a program that knows nothing of planb.
EXPORTED const void* first_plan();
EXPORTED const void* first_handler();
EXPORTED int first_counted();

EXPORTED Seen second_sees();
// Whether it catches as planb::PlanExhausted what `thrower` throws.
EXPORTED bool second_catches(void (*thrower)());
// Runs the plan, throws a Refusal in its first step and returns what the second one provides.
EXPORTED int second_runs(const void* plan, const void* handler);
