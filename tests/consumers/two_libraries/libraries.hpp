// What the two libraries export: plain functions, so that a program can also look them up by name.
#pragma once

#define EXPORTED extern "C" __attribute__((visibility("default")))

struct Seen {
  int attempt;
  int step_index;
};

// Runs a plan of two failing attempts in step 0 and one in step 1, and calls `inside` in each.
EXPORTED void first_run(void (*inside)(int attempt, int step_index));
// Throws planb::PlanExhausted.
EXPORTED void first_exhaust();
EXPORTED Seen first_sees();

EXPORTED Seen second_sees();
// Whether it catches as planb::PlanExhausted what `thrower` throws.
EXPORTED bool second_catches(void (*thrower)());
