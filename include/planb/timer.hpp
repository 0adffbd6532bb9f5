// Timer: a call that is to come, and the thread that makes such calls in real time.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/function.hpp>
#include <planb/detail/time.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace planb::inline PLANB_ABI {

// A call that is to come. Destroying it cancels the call, and waits for one that is running on another thread.
class [[nodiscard]] Timer {
 public:
  // What a clock keeps for a timer; its destructor does what Timer's promises.
  struct Pending {
    Pending() = default;
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;
    virtual ~Pending() = default;

    // False: cannot, or the call has begun.
    virtual bool move_to(TimePoint) { return false; }
  };

  Timer() noexcept = default;
  explicit Timer(std::unique_ptr<Pending> pending) noexcept : pending_(std::move(pending)) {}

  // Sets another time for the call, without an allocation. False: it has begun, or its clock cannot do that; set
  // another timer then.
  bool move_to(TimePoint due) { return pending_ != nullptr && pending_->move_to(due); }

 private:
  std::unique_ptr<Pending> pending_;
};

namespace detail {

// The timer thread of SteadyClock: calls what is due, in order. Lives until the process ends.
class TimerQueue {
 public:
  [[nodiscard]] static TimerQueue& instance() {
    static TimerQueue& queue = *new TimerQueue;
    return queue;
  }

  [[nodiscard]] std::unique_ptr<Timer::Pending> add(TimePoint due, Function<void()> fn) {
    auto entry = std::make_unique<Entry>(*this, due, std::move(fn));
    const std::lock_guard lock(mutex_);
    if (!started_) {
      std::thread([this] { run(); }).detach();
      started_ = true;
    }
    place(*entry);
    return entry;
  }

 private:
  struct Entry final : Timer::Pending {
    Entry(TimerQueue& q, TimePoint d, Function<void()> f) : queue(q), due(d), fn(std::move(f)) {}
    ~Entry() override { queue.cancel(*this); }
    bool move_to(TimePoint to) override { return queue.move(*this, to); }

    TimerQueue& queue;
    TimePoint due;
    Function<void()> fn;
    bool queued = false;
    Entry* before = nullptr;
    Entry* behind = nullptr;
  };

  TimerQueue() = default;

  void place(Entry& entry) noexcept {
    Entry* after = last_;  // later timers are mostly due later: look from the end
    while (after != nullptr && after->due > entry.due) after = after->before;
    link(entry, after);
    if (first_ == &entry) wake_.notify_all();
  }

  void link(Entry& entry, Entry* after) noexcept {
    entry.before = after;
    entry.behind = after != nullptr ? after->behind : first_;
    (after != nullptr ? after->behind : first_) = &entry;
    (entry.behind != nullptr ? entry.behind->before : last_) = &entry;
    entry.queued = true;
  }

  void unlink(Entry& entry) noexcept {
    (entry.before != nullptr ? entry.before->behind : first_) = entry.behind;
    (entry.behind != nullptr ? entry.behind->before : last_) = entry.before;
    entry.queued = false;
  }

  bool move(Entry& entry, TimePoint due) noexcept {
    const std::lock_guard lock(mutex_);
    if (!entry.queued) return false;
    unlink(entry);
    entry.due = due;
    place(entry);
    return true;
  }

  void cancel(Entry& entry) noexcept {
    std::unique_lock lock(mutex_);
    if (entry.queued) unlink(entry);
    if (std::this_thread::get_id() == thread_) return;  // from within a call: there is nothing to wait for
    while (running_ == &entry) done_.wait(lock);
  }

  void run() {
    std::unique_lock lock(mutex_);
    thread_ = std::this_thread::get_id();
    for (;;) {
      if (first_ == nullptr) {
        wake_.wait(lock);
        continue;
      }
      const TimePoint now = std::chrono::steady_clock::now();
      if (first_->due > now) {
        // A copy: while this thread sleeps, the entry may go. In slices, as SteadyClock does.
        const TimePoint until = (std::min)(first_->due, detail::add(now, std::chrono::hours(1)));
        wake_.wait_until(lock, until);
        continue;
      }
      Entry& entry = *first_;
      unlink(entry);
      running_ = &entry;
      {
        const Function<void()> fn = std::move(entry.fn);  // the entry may end during its own call
        lock.unlock();
        fn();
      }
      lock.lock();
      running_ = nullptr;
      done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  Entry* first_ = nullptr;
  Entry* last_ = nullptr;
  Entry* running_ = nullptr;
  std::thread::id thread_;
  bool started_ = false;
};

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
