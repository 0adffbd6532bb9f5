// Time as a run sees it: one monotonic clock, injected.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/function.hpp>
#include <planb/time/detail/timer_queue.hpp>
#include <planb/time/duration.hpp>
#include <planb/time/timer.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#if PLANB_HAS_STOP_TOKEN
#include <stop_token>
#endif

namespace planb::inline PLANB_ABI {

#if PLANB_HAS_STOP_TOKEN
using StopToken = std::stop_token;
#else
// Stands in for std::stop_token where the standard library has none: never stops.
struct StopToken {
  [[nodiscard]] static constexpr bool stop_requested() noexcept { return false; }
  [[nodiscard]] static constexpr bool stop_possible() noexcept { return false; }
  friend constexpr bool operator==(StopToken, StopToken) noexcept = default;
};
#endif

// Where a run reads the time and waits. Implementations must be monotonic and safe to use from several threads, and
// must not throw. A clock must outlive the runs that use it.
class PLANB_VISIBLE Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  [[nodiscard]] virtual TimePoint now() const = 0;

  // Returns at `due`, or as soon as `stop` is requested; never earlier otherwise.
  virtual void sleep_until(TimePoint due, StopToken stop) = 0;

  // Calls `fn` once at `due`, or at once where that has passed, on a thread of the clock's choice. `fn` must not throw.
  template <class F>
  Timer call_at(TimePoint due, F fn) {
    static_assert(std::is_copy_constructible_v<F>,
                  "planb: what call_at() is to call must be copyable; hand over a std::shared_ptr to what is not");
    static_assert(std::is_invocable_v<const F&>,
                  "planb: call_at() calls `fn()` through const: a lambda that is not mutable, and takes no argument");
    if constexpr (std::is_copy_constructible_v<F> && std::is_invocable_v<const F&>) {
      return make_timer(due, detail::Function<void()>(std::move(fn)));
    } else {
      return Timer();
    }
  }

 private:
  // Without an override, the call comes on SteadyClock's timer thread after the real time from now() to `due`.
  inline virtual Timer make_timer(TimePoint due, detail::Function<void()> fn);
};

// The default clock: std::chrono::steady_clock, so a change of the wall clock changes nothing.
class PLANB_VISIBLE SteadyClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }

  void sleep_until(TimePoint due, StopToken stop) override {
    std::mutex mutex;
    std::condition_variable wake;
    bool stopped = false;
#if PLANB_HAS_STOP_TOKEN
    const std::stop_callback on_stop(stop, [&] {
      const std::lock_guard<std::mutex> lock(mutex);
      stopped = true;
      wake.notify_all();
    });
#else
    static_cast<void>(stop);
#endif
    std::unique_lock<std::mutex> lock(mutex);  // cppcheck-suppress localMutex ; on_stop shares it with another thread
    for (TimePoint t = now(); !stopped && t < due; t = now()) {
      // In slices: some implementations overflow on a time point that is centuries away.
      wake.wait_until(lock, (std::min)(due, detail::add(t, std::chrono::hours(1))));
    }
  }

  // One thread serves all timers. The first starts it, and it ends when there has been nothing to do for a while.
  Timer make_timer(TimePoint due, detail::Function<void()> fn) override {
    return Timer(detail::TimerQueue::instance().add(due, std::move(fn)));
  }

  // The one instance that runs use when they are given no other. Never destroyed.
  [[nodiscard]] static SteadyClock& instance() {
    static SteadyClock& clock = *new SteadyClock;
    return clock;
  }
};

inline Timer Clock::make_timer(TimePoint due, detail::Function<void()> fn) {
  struct Translated final : Timer::Pending {  // from this clock's time to the real one
    Translated(const Clock& c, TimePoint d, detail::Function<void()> f)
        : clock(c), timer(SteadyClock::instance().call_at(real(d), std::move(f))) {}
    bool move_to(TimePoint to) override { return timer.move_to(real(to)); }
    [[nodiscard]] TimePoint real(TimePoint time) const {
      return detail::add(SteadyClock::instance().now(), detail::between(clock.now(), time));
    }

    const Clock& clock;
    Timer timer;
  };
  return Timer(std::make_unique<Translated>(*this, due, std::move(fn)));
}

}  // namespace planb::inline PLANB_ABI
