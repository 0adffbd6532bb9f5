// VirtualClock: time that passes only when somebody waits for it.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/detail/timer_heap.hpp>
#include <planb/time/duration.hpp>
#include <planb/time/optional_duration.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace planb::inline PLANB_ABI::testing {

// Starts at TimePoint{} and jumps ahead whenever a run waits, so hours of backoff take microseconds. Timers fire, on
// the thread that advances the clock, in the order of their times. May be shared by threads.
class VirtualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    return state_->now;
  }

  // The time since the clock was made.
  [[nodiscard]] Duration elapsed() const { return now().time_since_epoch(); }

  void advance(SaturatedDuration by) {
    if (by <= Duration::zero()) return;
    std::unique_lock<std::mutex> lock(state_->mutex);
    pass(detail::add(state_->now, by), {}, lock);
  }

  // Jumps to `due`, firing what is due on the way; a stop that comes of it holds the clock there.
  void sleep_until(TimePoint due, StopToken stop) override {
    std::unique_lock<std::mutex> lock(state_->mutex);
    if (due <= state_->now) return;
    ++state_->waits;
    pass(due, stop, lock);
  }

  // How often somebody has waited.
  [[nodiscard]] std::size_t waits() const {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    return state_->waits;
  }

 private:
  struct State;

  void pass(TimePoint due, const StopToken& stop, std::unique_lock<std::mutex>& lock) {
    while (!stop.stop_requested()) {
      detail::TimerHeap<Entry>& pending = state_->pending;
      if (pending.empty() || pending.first_due() > due) {
        state_->now = (std::max)(state_->now, due);
        return;
      }
      if (state_->called_elsewhere()) {
        state_->done.wait(lock);
        continue;  // the entry may have ended meanwhile
      }
      state_->now = (std::max)(state_->now, pending.first_due());
      Entry& entry = pending.first();
      pending.remove(entry);
      state_->fire(entry, lock);
    }
  }

  struct Entry final : Timer::Pending {
    Entry(std::shared_ptr<State> s, detail::Function<void()> f) : state(std::move(s)), fn(std::move(f)) {}
    ~Entry() override { state->cancel(*this); }
    bool move_to(TimePoint to) override { return state->move(*this, to); }

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
    [[nodiscard]] bool called_elsewhere() const { return running != nullptr && runner != std::this_thread::get_id(); }

    void fire(Entry& entry, std::unique_lock<std::mutex>& lock) {
      Call call{&entry, running};
      running = &call;
      runner = std::this_thread::get_id();
      {
        const detail::Function<void()> fn = std::move(entry.fn);  // the entry may end during its own call
        lock.unlock();
        fn();
      }
      lock.lock();
      running = call.outer;
      done.notify_all();
    }

    bool move(Entry& entry, TimePoint to) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (to <= now || !pending.holds(entry)) return false;
      pending.move(entry, to);
      return true;
    }

    void cancel(Entry& entry) {
      std::unique_lock<std::mutex> lock(mutex);
      if (pending.holds(entry)) pending.remove(entry);
      while (Call* const call = call_of(entry)) {
        // From within its own call there is nothing to wait for, and its place may soon be another timer's.
        if (std::this_thread::get_id() == runner) {
          call->entry = nullptr;
        } else {
          done.wait(lock);
        }
      }
    }

    [[nodiscard]] Call* call_of(const Entry& entry) const {
      Call* call = running;
      while (call != nullptr && call->entry != &entry) call = call->outer;
      return call;
    }

    std::mutex mutex;
    std::condition_variable done;
    TimePoint now{};
    std::size_t waits = 0;
    detail::TimerHeap<Entry> pending;
    Call* running = nullptr;  // the innermost of calls within calls, all on one thread
    std::thread::id runner;
  };

  Timer make_timer(TimePoint due, detail::Function<void()> fn) override {
    auto entry = std::make_unique<Entry>(state_, std::move(fn));
    std::unique_lock<std::mutex> lock(state_->mutex);
    if (due <= state_->now) {
      while (state_->called_elsewhere()) state_->done.wait(lock);
      state_->fire(*entry, lock);
    } else {
      state_->pending.reserve();
      state_->pending.add(*entry, due);
    }
    lock.unlock();
    return Timer(std::move(entry));
  }

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace planb::inline PLANB_ABI::testing
