// SPDX-License-Identifier: MIT
// VirtualClock: time that passes only when somebody waits for it.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/detail/timer_heap.hpp>
#include <planb/time/duration.hpp>
#include <planb/time/optional_duration.hpp>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>

namespace planb::inline PLANB_ABI::testing {

// Starts at TimePoint{} and jumps ahead whenever a run waits, so hours of backoff take microseconds. Timers fire, on
// the thread that advances the clock, in the order of their times. May be shared by threads.
class VirtualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override;

  // The time since the clock was made.
  [[nodiscard]] Duration elapsed() const;

  void advance(SaturatedDuration by);

  // Jumps to `due`, firing what is due on the way; a stop that comes of it holds the clock there.
  void sleep_until(TimePoint due, StopToken stop) override;

  // How often somebody has waited.
  [[nodiscard]] std::size_t waits() const;

 private:
  struct State;

  void pass(TimePoint due, const StopToken& stop, std::unique_lock<std::mutex>& lock);

  struct Entry final : Timer::Pending {
    Entry(std::shared_ptr<State> s, detail::Function<void()> f);
    ~Entry() override;
    bool move_to(TimePoint to) override;

    std::shared_ptr<State> state;
    std::size_t heap_place = detail::TimerHeap<Entry>::nowhere;
    detail::Function<void()> fn;
  };

  // A call that is running, on the stack of its thread.
  struct Call {
    const Entry* entry;
    Call* outer;  // the call from within which this one came
  };

  struct State {
    // One thread calls at a time. It may call again from within a call: by waiting, or by setting a timer that is due.
    [[nodiscard]] bool called_elsewhere() const;

    void fire(Entry& entry, std::unique_lock<std::mutex>& lock);

    bool move(Entry& entry, TimePoint to);

    void cancel(Entry& entry);

    [[nodiscard]] Call* call_of(const Entry& entry) const;

    std::mutex mutex;
    std::condition_variable done;
    TimePoint now{};
    std::size_t waits = 0;
    detail::TimerHeap<Entry> pending;
    Call* running = nullptr;  // the innermost of calls within calls, all on one thread
    std::thread::id runner;
  };

  Timer make_timer(TimePoint due, detail::Function<void()> fn) override;

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace planb::inline PLANB_ABI::testing

#if !PLANB_SEPARATE_COMPILATION
#include <planb/testing/impl/virtual_clock.hpp>  // IWYU pragma: export
#endif
