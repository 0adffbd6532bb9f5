// An event loop for coroutines.
#pragma once

#include <planb/drive/task.hpp>
#include <planb/testing.hpp>
#include <planb/time/duration.hpp>

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <utility>
#include <vector>

#include "catch.hpp"

namespace event_loop {

// An event loop of one thread on virtual time: what sleeps is resumed in the order of its time.
class Loop {
 public:
  planb::testing::VirtualClock clock;

  class [[nodiscard]] Nap {
   public:
    Nap(Loop& loop, planb::Duration time, const planb::StopToken& stop) : loop_(loop), time_(time), stop_(stop) {}
    Nap(const Nap&) = delete;
    Nap& operator=(const Nap&) = delete;
    ~Nap() { std::erase(loop_.naps_, this); }

    static bool await_ready() noexcept { return false; }
    void await_suspend(std::coroutine_handle<> who) {
      who_ = who;
      due_ = loop_.clock.now() + time_;
      loop_.naps_.push_back(this);
    }
    static void await_resume() noexcept {}

   private:
    friend class Loop;
    Loop& loop_;
    planb::Duration time_;
    planb::StopToken stop_;
    planb::TimePoint due_;
    std::coroutine_handle<> who_;
  };

  Nap sleep(planb::Duration time, const planb::StopToken& stop = {}) { return {*this, time, stop}; }

  // Until nobody sleeps any more.
  void run() {
    while (step()) {
    }
  }

  // Resumes the one that is due first. False: there is none.
  bool step() {
    if (naps_.empty()) return false;
    const auto due = [this](const Nap* nap) { return nap->stop_.stop_requested() ? clock.now() : nap->due_; };
    const auto first =
        std::min_element(naps_.begin(), naps_.end(), [&](const Nap* a, const Nap* b) { return due(a) < due(b); });
    Nap* const nap = *first;
    const planb::Duration ahead = due(nap) - clock.now();
    naps_.erase(first);
    clock.advance(ahead);
    nap->who_.resume();
    return true;
  }

  [[nodiscard]] std::size_t sleeping() const { return naps_.size(); }

 private:
  std::vector<Nap*> naps_;
};

// Runs the task to its end, and gives the result.
template <class T>
T finish(Loop& loop, planb::Task<T> task) {
  task.start();
  loop.run();
  REQUIRE(task.done());
  return task.get();
}

}  // namespace event_loop
