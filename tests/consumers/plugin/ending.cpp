// Runs with timers while the program ends: on a thread that a static object joins, and in what is called at exit.
#include <planb/run.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

using namespace std::chrono_literals;

namespace {

// Whether the attempt's token fires at its timeout.
bool fires(std::chrono::milliseconds timeout) {
  const planb::ExecutionPlan<int> plan{{.name = "only", .provide = 1, .timeout = timeout}};
  return planb::run_with_plan(plan, [](int&, const planb::Attempt& attempt) {
    const planb::StopToken token = attempt.stop_token();
    for (int i = 0; i != 3000 && !token.stop_requested(); ++i) std::this_thread::sleep_for(1ms);
    return token.stop_requested() || !token.stop_possible();  // not every standard library has stop tokens
  });
}

void check(bool right, const char* what) {
  if (right) return;
  std::printf("ending: not so: %s\n", what);
  std::fflush(stdout);
  std::_Exit(1);
}

// Destroyed last of all: later than all timers.
struct Last {
  ~Last() { check(fires(5ms), "a token fires in the last destructor"); }
} last;

std::atomic<bool> begun = false;

// Its attempt begins before the end, and is over within it.
struct Worker {
  std::thread thread{[] {
    begun = true;
    check(fires(100ms), "a token fires on a thread that ends with the program");
  }};
  ~Worker() { thread.join(); }
} worker;

struct Restless {
  std::thread thread{[] {
    for (;;) static_cast<void>(fires(1ms));
  }};
} restless;

}  // namespace

int main() {
  restless.thread.detach();
  std::atexit([] { check(fires(5ms), "a token fires in what is called at exit"); });
  while (!begun) std::this_thread::yield();
  check(fires(5ms), "a token fires");
}
