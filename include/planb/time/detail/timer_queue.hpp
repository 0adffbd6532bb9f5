// SPDX-License-Identifier: MIT
// TimerQueue: the thread that calls what is due in real time.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/function.hpp>
#include <planb/time/detail/timer_heap.hpp>
#include <planb/time/duration.hpp>
#include <planb/time/timer.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#if PLANB_HAS_POSIX_THREADS
#include <pthread.h>

#include <csignal>
#else
#include <thread>
#endif
#if !PLANB_HAS_EXCEPTIONS
#include <cstdio>
#include <cstdlib>
#endif

namespace planb::inline PLANB_ABI::detail {

// The timers of SteadyClock: one thread calls what is due, in order. The first timer starts it; it ends when there has
// been nothing to do for a while, and the next timer starts another. It blocks all signals: those are the program's.
//
// Hidden, so that each shared library has a queue and a thread of its own: the thread must never run code of a library
// that may be unloaded before the one that stops it.
//
// After a fork() the child begins with an empty queue, since neither the thread nor a consistent state came along. What
// was pending is the parent's: it never calls in the child, where destroying it does nothing.
class PLANB_HIDDEN TimerQueue {
 public:
  // Never destroyed: runs may take place while the program ends.
  [[nodiscard]] static TimerQueue& instance() {
    static TimerQueue& queue = []() -> TimerQueue& {
      alignas(TimerQueue) static std::byte room[sizeof(TimerQueue)];
      return *::new (static_cast<void*>(room)) TimerQueue;
    }();
    return queue;
  }

  [[nodiscard]] std::unique_ptr<Timer::Pending> add(TimePoint due, Function<void()> fn) {
    auto entry = std::make_unique<Entry>(*this, std::move(fn));
    const std::lock_guard<std::mutex> lock(mutex_);
    heap_.reserve();
    if (!serving_) start();
    heap_.add(*entry, due);
    changed(due);
    return entry;
  }

 private:
#if PLANB_HAS_POSIX_THREADS
  using ThreadId = pthread_t;
  [[nodiscard]] static ThreadId this_thread() noexcept { return pthread_self(); }
  [[nodiscard]] static bool same(ThreadId a, ThreadId b) noexcept { return pthread_equal(a, b) != 0; }
#else
  using ThreadId = std::thread::id;
  [[nodiscard]] static ThreadId this_thread() noexcept { return std::this_thread::get_id(); }
  [[nodiscard]] static bool same(ThreadId a, ThreadId b) noexcept { return a == b; }
#endif

  struct Entry final : Timer::Pending {
    Entry(TimerQueue& q, Function<void()> f) : queue(q), fn(std::move(f)) {}
    ~Entry() override { queue.cancel(*this); }
    bool move_to(TimePoint to) override { return queue.move(*this, to); }

    TimerQueue& queue;
    const unsigned process = process_.load(std::memory_order_relaxed);
    std::size_t heap_place = TimerHeap<Entry>::nowhere;
    Function<void()> fn;
  };

  static constexpr std::chrono::seconds idle{1};

  TimerQueue() = default;

  // A timer is due at `due` now. Mostly the thread is awake before that anyway, and need not be woken.
  void changed(TimePoint due) noexcept {
    used_ = true;
    if (due < wakes_at_) wake_.notify_all();
  }

  bool move(Entry& entry, TimePoint due) noexcept {
    if (inherited(entry)) return false;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!heap_.holds(entry)) return false;
    heap_.move(entry, due);
    changed(due);
    return true;
  }

  void cancel(Entry& entry) noexcept {
    if (inherited(entry)) return;
    std::unique_lock<std::mutex> lock(mutex_);
    if (heap_.holds(entry)) heap_.remove(entry);
    while (running_ == &entry) {
      // From within its own call there is nothing to wait for, and its place may soon be another timer's.
      if (same(this_thread(), thread_)) {
        running_ = nullptr;
      } else {
        done_.wait(lock);
      }
    }
  }

  // Whether it is from before a fork(): then the mutex that it knew is gone, too.
  [[nodiscard]] static bool inherited(const Entry& entry) noexcept {
    return entry.process != process_.load(std::memory_order_relaxed);
  }

  PLANB_COLD void run() {
    const unsigned process = process_.load(std::memory_order_relaxed);
    std::unique_lock<std::mutex> lock(mutex_);
#if PLANB_HAS_POSIX_THREADS
    const Former former = std::exchange(former_, {});
#else
    thread_ = this_thread();
#endif
    used_ = true;
    while (!stopping_) {
      const TimePoint now = std::chrono::steady_clock::now();
      if (heap_.empty() || heap_.first_due() > now) {
        if (heap_.empty() && !std::exchange(used_, false)) break;
        sleep(now, lock);
        continue;
      }
      call(heap_.first(), lock);
      if (process != process_.load(std::memory_order_relaxed)) return;  // the call has forked, and this is the child
    }
    if (heap_.empty()) heap_.release();
    serving_ = stopping_ = false;
    done_.notify_all();
    lock.unlock();
#if PLANB_HAS_POSIX_THREADS
    if (former.joinable) pthread_join(former.thread, nullptr);  // so that the last one stands for all
#endif
  }

  void sleep(TimePoint now, std::unique_lock<std::mutex>& lock) {
    // In slices, as SteadyClock does.
    const TimePoint slice = detail::add(now, heap_.empty() ? Duration(idle) : Duration(std::chrono::hours(1)));
    const TimePoint until = heap_.empty() ? slice : (std::min)(heap_.first_due(), slice);
    wakes_at_ = until;
    wake_.wait_until(lock, until);
    wakes_at_ = (TimePoint::min)();
  }

  void call(Entry& entry, std::unique_lock<std::mutex>& lock) {
    const unsigned process = entry.process;
    heap_.remove(entry);
    used_ = true;
    running_ = &entry;
    {
      const Function<void()> fn = std::move(entry.fn);  // the entry may end during its own call
      lock.unlock();
      fn();
    }
    if (process != process_.load(std::memory_order_relaxed)) return;
    lock.lock();
    running_ = nullptr;
    done_.notify_all();
  }

#if PLANB_HAS_POSIX_THREADS
  // There when the code is loaded, before what uses it, so destroyed after that: when the program ends, or just before
  // the code is unloaded. It knows stop() once there is a thread: files that use no timer need not contain that.
  struct Guard {
    constexpr Guard() noexcept : stop(nullptr) {}
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() {
      if (void (*const call)() = stop.load(std::memory_order_acquire)) call();
    }

    std::atomic<void (*)()> stop;
  };

  struct Former {
    pthread_t thread{};
    bool joinable = false;
  };

  struct SignalsBlocked {
    SignalsBlocked() noexcept {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

    sigset_t before;
  };

  PLANB_COLD void start() {
    // Where the code may be unloaded, the C library forgets this with it.
    if (!watches_forks_) check(pthread_atfork(nullptr, nullptr, [] { instance().begin_in_child(); }));
    watches_forks_ = true;
    guard_.stop.store([] { instance().stop(); }, std::memory_order_release);
    pthread_t thread{};
    {
      const SignalsBlocked blocked;  // the thread inherits that
      check(pthread_create(
          &thread, nullptr,
          [](void* queue) -> void* {
            static_cast<TimerQueue*>(queue)->run();
            return nullptr;
          },
          this));
    }
    former_ = {thread_, joinable_};
    thread_ = thread;
    joinable_ = serving_ = true;
  }

  // Waits until the thread is gone. A later timer starts another, which serves also what is pending then.
  PLANB_COLD void stop() noexcept {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!joinable_ || same(this_thread(), thread_)) return;  // the second: a call ends the program
    stopping_ = serving_;
    wake_.notify_all();
    while (serving_) done_.wait(lock);
    joinable_ = false;
    const pthread_t thread = thread_;
    lock.unlock();
    pthread_join(thread, nullptr);
  }

  // The mutex may have been held by a thread that the child does not have, so all begins anew.
  PLANB_COLD void begin_in_child() noexcept {
    process_.fetch_add(1, std::memory_order_relaxed);
    ::new (static_cast<void*>(this)) TimerQueue;
  }

  Former former_;
  bool joinable_ = false;
  static inline bool watches_forks_ = false;
#else
  PLANB_COLD void start() {
    std::thread([this] { run(); }).detach();
    serving_ = true;
  }
#endif

  static PLANB_COLD void check(int error) {
    if (error == 0) return;
#if PLANB_HAS_EXCEPTIONS
    throw std::system_error(error, std::generic_category(), "planb: the timer thread cannot be started");
#else
    std::fputs("planb: the timer thread cannot be started\n", stderr);
    std::abort();
#endif
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  TimerHeap<Entry> heap_;
  Entry* running_ = nullptr;
  ThreadId thread_{};
  TimePoint wakes_at_ = (TimePoint::min)();  // when the thread sleeps
  bool serving_ = false;                     // there is a thread that will look at the heap again
  bool stopping_ = false;
  bool used_ = false;  // since the thread last found nothing to do

  static inline std::atomic<unsigned> process_ = 0;  // how many fork()s there were on the way to this process
#if PLANB_HAS_POSIX_THREADS
  // Its end is what it is for: it comes when the code is unloaded.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wexit-time-destructors"
#pragma clang diagnostic ignored "-Wglobal-constructors"
#endif
  static inline Guard guard_;
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
#endif
};

}  // namespace planb::inline PLANB_ABI::detail
