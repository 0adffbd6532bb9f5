// The timer thread beside what a POSIX program does to its process: signals, fork(), and looking at its threads.
#include <planb/planb.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "catch.hpp"

#if !defined(_WIN32) && __has_include(<pthread.h>)
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iterator>

// ThreadSanitizer has no threads in a child, and an allocator of a sanitizer's may be locked there.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TESTS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TESTS_SANITIZED 1
#endif
#endif

using namespace std::chrono_literals;
using planb::Duration;
using planb::SteadyClock;
using planb::TimePoint;
using planb::Timer;

namespace {

TimePoint in(Duration d) { return SteadyClock::instance().now() + d; }

// Whether it comes true within the tests' patience.
template <class Condition>
bool soon(Condition condition) {
  for (int i = 0; i != 10'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return condition();
}

bool timer_calls() {
  std::atomic<bool> called = false;
  const Timer timer = SteadyClock::instance().call_at(in(1ms), [&] { called = true; });
  return soon([&] { return called.load(); });
}

volatile std::sig_atomic_t handled = 0;

#if !defined(TESTS_SANITIZED)
// Whether `fn` is true in a child of this process.
template <class Fn>
bool true_in_child(Fn fn) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // not for ever
    _exit(fn() ? 0 : 1);
  }
  int status = 1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
#endif

}  // namespace

TEST_CASE("signals are not handled on the timer thread", "[realtime][process]") {
  const Timer timer = SteadyClock::instance().call_at(in(1h), [] {});  // the thread is there
  const auto before = std::signal(SIGUSR1, [](int) { handled = 1; });
  sigset_t mine;
  sigset_t was;
  sigemptyset(&mine);
  sigaddset(&mine, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &mine, &was);
  CHECK(sigismember(&was, SIGUSR1) == 0);  // starting the thread has left this one's mask as it was
  CHECK(kill(getpid(), SIGUSR1) == 0);
  const auto pending = [] {
    sigset_t signals;
    sigpending(&signals);
    return sigismember(&signals, SIGUSR1) == 1;
  };
  CHECK(soon([&] { return handled == 1 || pending(); }));
  CHECK(handled == 0);
  int taken = 0;
  if (pending()) sigwait(&mine, &taken);
  CHECK(taken == SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &was, nullptr);
  std::signal(SIGUSR1, before);

  // A call sees all that can be blocked blocked.
  std::atomic<int> blocked = -1;
  const Timer asks = SteadyClock::instance().call_at(in(0s), [&] {
    sigset_t here;
    pthread_sigmask(SIG_BLOCK, nullptr, &here);
    blocked = sigismember(&here, SIGTERM) + sigismember(&here, SIGINT) + sigismember(&here, SIGCHLD);
  });
  CHECK(soon([&] { return blocked != -1; }));
  CHECK(blocked == 3);
}

#if defined(__linux__)
TEST_CASE("the timer thread ends when it has nothing to do for a while, and starts again", "[realtime][process]") {
  const auto threads = [] {
    using Iterator = std::filesystem::directory_iterator;
    return std::distance(Iterator("/proc/self/task"), Iterator());
  };
  CHECK(timer_calls());
  const auto with_it = threads();
  CHECK(soon([&] { return threads() == with_it - 1; }));
  CHECK(timer_calls());
  CHECK(threads() == with_it);
  {
    const Timer pending = SteadyClock::instance().call_at(in(1h), [] {});
    std::this_thread::sleep_for(2500ms);
    CHECK(threads() == with_it);  // there is something to wait for
  }
}
#endif

#if !defined(TESTS_SANITIZED)
TEST_CASE("after a fork() timers call in the child, and in the parent as before", "[realtime][process]") {
  CHECK(timer_calls());
  CHECK(true_in_child([] { return timer_calls() && timer_calls(); }));
  CHECK(true_in_child([] { return timer_calls() && true_in_child([] { return timer_calls(); }); }));  // a grandchild
  CHECK(timer_calls());
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("an attempt's token fires in a child, also where its thread forked within the attempt",
          "[realtime][process]") {
  const planb::ExecutionPlan<int> plan{{.provide = 1, .timeout = 20ms}};
  const auto fires = [](const planb::Attempt& attempt) {
    const planb::StopToken token = attempt.stop_token();
    return soon([&] { return token.stop_requested(); });
  };
  CHECK(planb::run_with_plan(plan, [&](int&, const planb::Attempt& attempt) { return fires(attempt); }));
  CHECK(true_in_child(
      [&] { return planb::run_with_plan(plan, [&](int&, const planb::Attempt& attempt) { return fires(attempt); }); }));
  CHECK(planb::run_with_plan(
      plan, [&](int&, const planb::Attempt& attempt) { return true_in_child([&] { return fires(attempt); }); }));
}
#endif

TEST_CASE("what was pending at a fork() stays with the parent", "[realtime][process]") {
  std::atomic<int> calls = 0;
  std::atomic<bool> goes_on = false;
  std::optional<Timer> pending = SteadyClock::instance().call_at(in(300ms), [&] { ++calls; });
  std::optional<Timer> running = SteadyClock::instance().call_at(in(0s), [&] {
    calls = 1;
    while (!goes_on) std::this_thread::yield();
  });
  CHECK(soon([&] { return calls == 1; }));
  CHECK(true_in_child([&] {
    if (pending->move_to(in(0s)) || !timer_calls()) return false;
    running.reset();  // its call will never return here
    std::this_thread::sleep_for(400ms);
    const bool quiet = calls == 1;
    pending.reset();
    return quiet && timer_calls();
  }));
  goes_on = true;
  CHECK(soon([&] { return calls == 2; }));
}

TEST_CASE("a fork() may come at any time", "[realtime][process]") {
  std::atomic<bool> over = false;
  std::vector<std::thread> busy;
  for (int t = 0; t != 2; ++t) {
    busy.emplace_back([&] {
      while (!over) {
        Timer timer = SteadyClock::instance().call_at(in(1h), [] {});
        static_cast<void>(timer.move_to(in(0s)));
      }
    });
  }
  int good = 0;
  for (int i = 0; i != 50; ++i) good += true_in_child([] { return timer_calls(); }) ? 1 : 0;
  over = true;
  for (std::thread& thread : busy) thread.join();
  CHECK(good == 50);
}

TEST_CASE("a call may fork()", "[realtime][process]") {
  std::atomic<int> good = -1;
  const Timer timer =
      SteadyClock::instance().call_at(in(0s), [&] { good = true_in_child([] { return timer_calls(); }) ? 1 : 0; });
  CHECK(soon([&] { return good != -1; }));
  CHECK(good == 1);
}
#endif

#endif
