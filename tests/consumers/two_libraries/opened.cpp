#include "libraries.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <initializer_list>

namespace {

int failures = 0;
int calls = 0;
Seen (*first)() = nullptr;
Seen (*second)() = nullptr;

void check(bool right, const char* what) {
  if (right) return;
  ++failures;
  std::printf("opened: not so: %s\n", what);
}

// Global, as a program opens libraries that share types. What is opened with RTLD_LOCAL sees only itself.
void* open(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) std::printf("opened: %s\n", dlerror());
  return library;
}

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

void inside(int attempt, int step_index) {
  ++calls;
  for (const Seen seen : {first(), second()}) {
    check(seen.attempt == attempt && seen.step_index == step_index, "both libraries see the attempt");
  }
}

}  // namespace

int main() {
  void* const one = open(FIRST);
  void* const two = open(SECOND);
  if (one == nullptr || two == nullptr) return 1;
  first = find<decltype(first_sees)>(one, "first_sees");
  second = find<decltype(second_sees)>(two, "second_sees");

  find<decltype(first_run)>(one, "first_run")(inside);
  check(calls == 3, "three attempts were made");
  check(find<decltype(second_catches)>(two, "second_catches")(find<decltype(first_exhaust)>(one, "first_exhaust")),
        "one library catches by its type what the other throws");
  check(find<decltype(second_runs)>(two, "second_runs")(find<decltype(first_plan)>(one, "first_plan")(),
                                                        find<decltype(first_handler)>(one, "first_handler")()) == 2,
        "one library runs the other's plan");
  check(find<decltype(first_counted)>(one, "first_counted")() == 1, "and its handler knows the error by its type");
  return failures == 0 ? 0 : 1;
}
