// Goes through all interleavings of a few threads at their atomic steps: every load, store and exchange of an Atomic,
// and every lock of a Mutex, is a place where another thread may go on. The threads are contexts on one thread, so that
// a choice is a function call; what a weak memory order may do besides is left to the argument in the code and to TSan.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <ucontext.h>

namespace interleavings {

class Mutex;

class Explorer {
 public:
  using Threads = std::vector<std::function<void()>>;

  // Calls `make()` for each interleaving, which gives the threads, runs them in it, and calls `check()` then. How many
  // there were.
  template <class Make, class Check>
  std::size_t run(const Make& make, const Check& check) {
    choices_.clear();
    std::size_t count = 0;
    do {
      next_choice_ = 0;
      run_once(make());
      check();
      ++count;
      if (count > 2'000'000) throw std::logic_error("too many interleavings: use fewer threads or steps");
    } while (go_on());
    return count;
  }

  static Explorer* current() noexcept { return current_; }

  // Of the running thread: another may go on first.
  void step(const Mutex* wanted = nullptr) {
    Fiber& self = *fibers_[running_];
    self.wants = wanted;
    swapcontext(&self.context, &home_);
  }

 private:
  struct Fiber {
    ucontext_t context{};
    std::function<void()> body;
    std::unique_ptr<char[]> stack = std::make_unique<char[]>(stack_size);
    const Mutex* wants = nullptr;
    bool done = false;
  };
  struct Choice {
    std::size_t taken;
    std::size_t of;
  };
  static constexpr std::size_t stack_size = 128 * 1024;

  static void enter() {
    Explorer& self = *current_;
    Fiber& fiber = *self.fibers_[self.running_];
    fiber.body();
    fiber.done = true;
    swapcontext(&fiber.context, &self.home_);
  }

  void run_once(Threads threads);

  std::size_t choose(std::size_t of) {
    if (next_choice_ == choices_.size()) choices_.push_back({0, of});
    if (choices_[next_choice_].of != of) throw std::logic_error("the threads do not do the same each time");
    return choices_[next_choice_++].taken;
  }
  // The next path through the tree of choices; false: there is none.
  bool go_on() {
    while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().of) choices_.pop_back();
    if (choices_.empty()) return false;
    ++choices_.back().taken;
    return true;
  }

  inline static Explorer* current_ = nullptr;
  ucontext_t home_{};
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::size_t running_ = 0;
  std::vector<Choice> choices_;
  std::size_t next_choice_ = 0;
};

inline void step() {
  if (Explorer* const explorer = Explorer::current()) explorer->step();
}

class Mutex {
 public:
  void lock() {
    if (Explorer* const explorer = Explorer::current()) explorer->step(this);
    if (held_) throw std::logic_error("locked twice");
    held_ = true;
  }
  void unlock() noexcept { held_ = false; }
  [[nodiscard]] bool held() const noexcept { return held_; }

 private:
  bool held_ = false;
};

template <class T>
class Atomic {
 public:
  Atomic() = default;
  Atomic(T value) noexcept : value_(value) {}  // NOLINT(google-explicit-constructor): as std::atomic
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order = std::memory_order_seq_cst) const noexcept { return step(), value_; }
  void store(T value, std::memory_order = std::memory_order_seq_cst) noexcept { step(), value_ = value; }
  T fetch_add(T more, std::memory_order = std::memory_order_seq_cst) noexcept {
    return step(), std::exchange(value_, static_cast<T>(value_ + more));
  }
  T fetch_sub(T less, std::memory_order = std::memory_order_seq_cst) noexcept {
    return step(), std::exchange(value_, static_cast<T>(value_ - less));
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order, std::memory_order) noexcept {
    step();
    if (value_ != expected) return expected = value_, false;
    value_ = desired;
    return true;
  }

 private:
  T value_{};
};

inline void Explorer::run_once(Threads threads) {
  fibers_.clear();
  for (std::function<void()>& body : threads) {
    Fiber& fiber = *fibers_.emplace_back(std::make_unique<Fiber>());
    fiber.body = std::move(body);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = stack_size;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, &enter, 0);
  }
  for (;;) {
    std::vector<std::size_t> ready;
    std::size_t left = 0;
    for (std::size_t i = 0; i != fibers_.size(); ++i) {
      if (fibers_[i]->done) continue;
      ++left;
      if (fibers_[i]->wants == nullptr || !fibers_[i]->wants->held()) ready.push_back(i);
    }
    if (left == 0) break;
    if (ready.empty()) throw std::logic_error("deadlock");
    running_ = ready[ready.size() == 1 ? 0 : choose(ready.size())];
    fibers_[running_]->wants = nullptr;
    current_ = this;
    swapcontext(&home_, &fibers_[running_]->context);
    current_ = nullptr;
  }
}

}  // namespace interleavings
