// Opens a plug-in, has it use timers, closes it, and goes on for longer than its timers had left.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>  // the standard library stays when the plug-in goes
#include <thread>

#ifdef SHARING
#include <planb/run.hpp>
#endif

namespace {

#ifdef SHARING
constexpr bool sharing = true;
#else
constexpr bool sharing = false;
#endif
int failures = 0;

void check(bool right, const char* what) {
  if (right) return;
  ++failures;
  std::cout << "host: not so: " << what << std::endl;
}

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

void try_plugin(const char* path, int mode, bool may_stay) {
  for (int round = 0; round != 12; ++round) {
    void* const plugin = dlopen(path, RTLD_NOW | mode);
    if (plugin == nullptr) return check(false, dlerror());
    check(find<int()>(plugin, "ask")() == 1, "the plug-in answers");
    if (round % 2 == 1) check(find<bool()>(plugin, "call")(), "a timer of the plug-in's calls");
    // In a shared queue that would be called after all.
    if (round % 3 == 2 && !sharing) find<void()>(plugin, "leave_a_timer")();
    if (round % 4 == 3) find<void()>(plugin, "use_a_timer_at_the_end")();
    check(dlclose(plugin) == 0, "it can be closed");
    if (!may_stay) check(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == nullptr, "it is unloaded");
    // What the plug-in had registered for a fork() must have gone with it.
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int status = 1;
    waitpid(child, &status, 0);
    check(status == 0, "a child ends well");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
}

}  // namespace

int main() {
#ifdef SHARING
  planb::Clock& clock = planb::SteadyClock::instance();
  const planb::Timer timer = clock.call_at(clock.now() + std::chrono::hours(1), [] {});
#endif
  for (const int mode : {RTLD_LOCAL, RTLD_GLOBAL}) {
    try_plugin(PLUGIN, mode, sharing);      // shared symbols may keep it
    try_plugin(HIDDEN_PLUGIN, mode, true);  // GCC's unique symbols are visible ones, and keep it
  }
  return failures == 0 ? 0 : 1;
}
