// A plug-in that uses timers in all the ways in which it may leave something behind.
#include <planb/run.hpp>

#include <chrono>
#include <mutex>
#include <new>
#include <thread>

using namespace std::chrono_literals;

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

// Whether a timer calls, waited for with patience.
bool timer_calls() {
  std::mutex mutex;
  bool called = false;
  planb::Clock& clock = planb::SteadyClock::instance();
  const planb::Timer timer = clock.call_at(clock.now() + 1ms, [&] {
    const std::lock_guard lock(mutex);
    called = true;
  });
  for (int i = 0; i != 3000; ++i) {
    std::this_thread::sleep_for(1ms);
    const std::lock_guard lock(mutex);
    if (called) return true;
  }
  return false;
}

// Made before all else in here, so destroyed after that: its destructor uses a timer while the plug-in is unloaded.
struct Last {
  bool uses_a_timer = false;
  ~Last() {
    if (uses_a_timer) static_cast<void>(timer_calls());
  }
} last;

}  // namespace

// The attempt's token starts the timer thread, which then sleeps until that attempt's timeout.
EXPORTED int ask() {
  const planb::ExecutionPlan<int> plan{{.name = "only", .provide = 1, .timeout = 30ms}};
  return planb::run_with_plan(plan, [](int& answer, const planb::Attempt& attempt) {
    return attempt.stop_token().stop_requested() ? 0 : answer;
  });
}

EXPORTED bool call() { return timer_calls(); }

// A timer that nobody ever destroys.
EXPORTED void leave_a_timer() {
  alignas(planb::Timer) static unsigned char room[sizeof(planb::Timer)];
  planb::Clock& clock = planb::SteadyClock::instance();
  ::new (static_cast<void*>(room)) planb::Timer(clock.call_at(clock.now() + 30ms, [] {}));
}

EXPORTED void use_a_timer_at_the_end() { last.uses_a_timer = true; }
