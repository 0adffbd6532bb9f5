// SPDX-License-Identifier: MIT
// The definitions of clock.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/detail/timer_queue.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

namespace planb::inline PLANB_ABI {

PLANB_DECL TimePoint SteadyClock::now() const { return std::chrono::steady_clock::now(); }

PLANB_COLD PLANB_DECL void SteadyClock::sleep_until(TimePoint due, StopToken stop) {
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
  std::unique_lock<std::mutex> lock(mutex);
  for (TimePoint t = now(); !stopped && t < due; t = now()) {
    // In slices: some implementations overflow on a time point that is centuries away.
    wake.wait_until(lock, (std::min)(due, detail::add(t, std::chrono::hours(1))));
  }
}

PLANB_COLD PLANB_DECL Timer SteadyClock::make_timer(TimePoint due, detail::Function<void()> fn) {
  return Timer(detail::TimerQueue::instance().add(due, std::move(fn)));
}

PLANB_DECL SteadyClock& SteadyClock::instance() {
  static SteadyClock& clock = *new SteadyClock;
  return clock;
}

PLANB_COLD PLANB_DECL Timer Clock::make_timer(TimePoint due, detail::Function<void()> fn) {
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
