// Threads that resume coroutines.
#pragma once

#include <planb/plan/metadata.hpp>

#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

// Two threads that resume what is posted to them, and look at their own metadata in between.
class Pool {
 public:
  Pool() {
    for (int i = 0; i != 2; ++i) {
      threads_.emplace_back([this, mine = planb::Metadata{100 + i, i}] { work(mine); });
    }
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { stop(); }

  // Goes on, on one of the threads.
  auto hop() {
    struct Hop {
      Pool& pool;
      static bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<> who) const { pool.post(who); }
      static void await_resume() noexcept {}
    };
    return Hop{*this};
  }

  // When all that was posted has been done: the number of resumptions after which a thread did not have its metadata
  // back.
  int stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      wake_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return wrong_;
  }

 private:
  void post(std::coroutine_handle<> work) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(work);
    wake_.notify_one();
  }

  void work(planb::Metadata mine) {
    const planb::CurrentMetadata::Scope scope(mine);
    for (;;) {
      std::coroutine_handle<> next;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return stopped_ || !queue_.empty(); });
        if (queue_.empty()) return;
        next = queue_.front();
        queue_.pop_front();
      }
      next.resume();
      if (planb::CurrentMetadata::get() != mine) ++wrong_;
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::coroutine_handle<>> queue_;
  bool stopped_ = false;
  std::atomic<int> wrong_ = 0;
  std::vector<std::thread> threads_;
};
