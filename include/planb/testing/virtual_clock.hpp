// VirtualClock: time that passes only when somebody waits for it.
#pragma once

#include <planb/clock.hpp>
#include <planb/detail/config.hpp>
#include <planb/detail/time.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::testing {

// Starts at TimePoint{} and jumps ahead whenever a run waits, so hours of backoff take microseconds. Timers fire, on
// the thread that advances the clock, in the order of their times. May be shared by threads.
class VirtualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override {
    const std::lock_guard lock(state_->mutex);
    return state_->now;
  }

  // The time since the clock was made.
  [[nodiscard]] Duration elapsed() const { return now().time_since_epoch(); }

  void advance(Duration by) {
    if (by <= Duration::zero()) return;
    std::unique_lock lock(state_->mutex);
    pass(detail::add(state_->now, by), {}, lock);
  }

  // Jumps to `due`, firing what is due on the way; a stop that comes of it holds the clock there.
  void sleep_until(TimePoint due, StopToken stop) override {
    std::unique_lock lock(state_->mutex);
    if (due <= state_->now) return;
    ++state_->waits;
    pass(due, stop, lock);
  }

  // How often somebody has waited.
  [[nodiscard]] std::size_t waits() const {
    const std::lock_guard lock(state_->mutex);
    return state_->waits;
  }

 private:
  struct State;

  void pass(TimePoint due, const StopToken& stop, std::unique_lock<std::mutex>& lock) {
    while (!stop.stop_requested()) {
      Entry* const entry = state_->first_due(due);
      if (entry == nullptr) {
        state_->now = (std::max)(state_->now, due);
        return;
      }
      if (state_->called_elsewhere()) {
        state_->done.wait(lock);
        continue;  // the entry may have ended meanwhile
      }
      state_->now = (std::max)(state_->now, entry->due);
      state_->fire(*entry, lock);
    }
  }

  struct Entry final : Timer::Pending {
    Entry(std::shared_ptr<State> s, TimePoint d, detail::Function<void()> f)
        : state(std::move(s)), due(d), fn(std::move(f)) {}
    ~Entry() override { state->cancel(*this); }
    bool move_to(TimePoint to) override { return state->move(*this, to); }

    std::shared_ptr<State> state;
    TimePoint due;
    detail::Function<void()> fn;
  };

  struct State {
    [[nodiscard]] Entry* first_due(TimePoint until) const {
      const auto first = std::min_element(entries.begin(), entries.end(),
                                          [](const Entry* a, const Entry* b) { return a->due < b->due; });
      return first != entries.end() && (*first)->due <= until ? *first : nullptr;
    }

    // One thread calls at a time. It may call again from within a call: by waiting, or by setting a timer that is due.
    [[nodiscard]] bool called_elsewhere() const { return !running.empty() && runner != std::this_thread::get_id(); }

    void fire(Entry& entry, std::unique_lock<std::mutex>& lock) {
      std::erase(entries, &entry);
      running.push_back(&entry);
      runner = std::this_thread::get_id();
      {
        const detail::Function<void()> fn = std::move(entry.fn);  // the entry may end during its own call
        lock.unlock();
        fn();
      }
      lock.lock();
      running.pop_back();
      done.notify_all();
    }

    bool move(Entry& entry, TimePoint to) {
      const std::lock_guard lock(mutex);
      if (to <= now || std::find(entries.begin(), entries.end(), &entry) == entries.end()) return false;
      entry.due = to;
      return true;
    }

    void cancel(Entry& entry) {
      std::unique_lock lock(mutex);
      std::erase(entries, &entry);
      if (std::this_thread::get_id() == runner) return;
      while (std::find(running.begin(), running.end(), &entry) != running.end()) done.wait(lock);
    }

    std::mutex mutex;
    std::condition_variable done;
    TimePoint now{};
    std::size_t waits = 0;
    std::vector<Entry*> entries;
    std::vector<Entry*> running;  // calls within calls, all on one thread
    std::thread::id runner;
  };

  Timer make_timer(TimePoint due, detail::Function<void()> fn) override {
    auto entry = std::make_unique<Entry>(state_, due, std::move(fn));
    std::unique_lock lock(state_->mutex);
    if (due <= state_->now) {
      while (state_->called_elsewhere()) state_->done.wait(lock);
      state_->fire(*entry, lock);
    } else {
      state_->entries.push_back(entry.get());
    }
    lock.unlock();
    return Timer(std::move(entry));
  }

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace planb::inline PLANB_ABI::testing
