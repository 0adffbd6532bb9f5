// Goes through all interleavings of a few threads at their atomic steps: every load, store and exchange of an Atomic,
// and every lock of a Mutex, is a place where another thread may go on. The threads are contexts on one thread, so that
// a choice is a function call; what a weak memory order may do besides is left to the argument in the code and to TSan.
//
// Of interleavings that differ only in the order of steps that do not touch each other, one is run (sleep sets). A load
// under a lock is no step: what the library loads there is written under that lock alone.
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

// What a thread is about to do.
struct Step {
  const void* object = nullptr;
  bool writes = false;
  const Mutex* locks = nullptr;

  [[nodiscard]] bool independent_of(const Step& other) const noexcept {
    return object != other.object || (!writes && !other.writes);
  }
};

class Explorer {
 public:
  using Threads = std::vector<std::function<void()>>;

  // Runs the threads that `make()` gives, in each interleaving, and calls `check()` after each. How many there were.
  template <class Make, class Check>
  std::size_t run(const Make& make, const Check& check) {
    nodes_.clear();
    std::size_t count = 0;
    do {
      if (run_once(make())) {
        check();
        ++count;
      }
      if (count > 1'000'000) throw std::logic_error("too many interleavings: use fewer threads or steps");
    } while (go_on());
    return count;
  }

  static Explorer* current() noexcept { return current_; }

  // Of the running thread: another may go on first.
  void step(const Step& next) {
    Fiber& self = *fibers_[running_];
    self.next = next;
    swapcontext(&self.context, &home_);
  }
  [[nodiscard]] int& locks_held() { return fibers_[running_]->locks_held; }

 private:
  using Set = unsigned;  // of threads, a bit for each

  struct Fiber {
    ucontext_t context{};
    std::function<void()> body;
    std::unique_ptr<char[]> stack = std::make_unique<char[]>(stack_size);
    Step next{};
    int locks_held = 0;
    bool done = false;
  };
  struct Node {
    Set ready;
    Set asleep;  // what they would do next has been seen, in another order
    Set tried;
    std::size_t taken;
  };
  static constexpr std::size_t stack_size = 64 * 1024;
  static constexpr std::size_t none = 99;

  static Set bit(std::size_t thread) noexcept { return Set{1} << thread; }
  static std::size_t first_of(Set set) noexcept {
    for (std::size_t i = 0; i != 8; ++i) {
      if ((set & bit(i)) != 0) return i;
    }
    return none;
  }

  static void enter() {
    Explorer& self = *current_;
    Fiber& fiber = *self.fibers_[self.running_];
    fiber.body();
    fiber.done = true;
    swapcontext(&fiber.context, &self.home_);
  }

  void resume(std::size_t thread) {
    running_ = thread;
    current_ = this;
    swapcontext(&home_, &fibers_[thread]->context);
    current_ = nullptr;
  }

  bool run_once(Threads threads);

  // The next path through the tree; false: there is none.
  bool go_on() {
    while (!nodes_.empty()) {
      Node& node = nodes_.back();
      node.tried |= bit(node.taken);
      node.taken = first_of(node.ready & ~node.asleep & ~node.tried);
      if (node.taken != none) return true;
      nodes_.pop_back();
    }
    return false;
  }

  inline static Explorer* current_ = nullptr;
  ucontext_t home_{};
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::size_t running_ = 0;
  std::vector<Node> nodes_;
};

class Mutex {
 public:
  void lock() {
    if (Explorer* const explorer = Explorer::current()) {
      explorer->step({this, true, this});
      ++explorer->locks_held();
    }
    if (held_) throw std::logic_error("locked twice");
    held_ = true;
  }
  void unlock() noexcept {
    if (Explorer* const explorer = Explorer::current()) --explorer->locks_held();
    held_ = false;
  }
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

  T load(std::memory_order = std::memory_order_seq_cst) const noexcept {
    Explorer* const explorer = Explorer::current();
    if (explorer != nullptr && explorer->locks_held() == 0) explorer->step({this, false});
    return value_;
  }
  void store(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
    change();
    value_ = value;
  }
  T fetch_add(T more, std::memory_order = std::memory_order_seq_cst) noexcept {
    change();
    return std::exchange(value_, static_cast<T>(value_ + more));
  }
  T fetch_sub(T less, std::memory_order = std::memory_order_seq_cst) noexcept {
    change();
    return std::exchange(value_, static_cast<T>(value_ - less));
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order, std::memory_order) noexcept {
    change();
    if (value_ != expected) {
      expected = value_;
      return false;
    }
    value_ = desired;
    return true;
  }

 private:
  void change() const noexcept {
    if (Explorer* const explorer = Explorer::current()) explorer->step({this, true});
  }

  T value_{};
};

// False: its rest has been seen in another order.
inline bool Explorer::run_once(Threads threads) {
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
  for (std::size_t i = 0; i != fibers_.size(); ++i) resume(i);  // to its first step
  Set asleep = 0;
  bool pruned = false;
  for (std::size_t depth = 0;; ++depth) {
    Set left = 0;
    Set ready = 0;
    for (std::size_t i = 0; i != fibers_.size(); ++i) {
      const Fiber& fiber = *fibers_[i];
      if (fiber.done) continue;
      left |= bit(i);
      if (fiber.next.locks == nullptr || !fiber.next.locks->held()) ready |= bit(i);
    }
    if (left == 0) return !pruned;
    if (ready == 0) throw std::logic_error("deadlock");
    if (pruned) {  // to the end, for the destructors
      resume(first_of(ready));
      continue;
    }
    if (depth == nodes_.size()) {
      const std::size_t taken = first_of(ready & ~asleep);
      if (taken == none) {
        pruned = true;
        continue;
      }
      nodes_.push_back({ready, asleep, 0, taken});
    }
    const Node& node = nodes_[depth];
    if (node.ready != ready) throw std::logic_error("the threads do not do the same each time");
    asleep = 0;
    for (std::size_t i = 0; i != fibers_.size(); ++i) {
      const bool seen = ((node.asleep | node.tried) & bit(i)) != 0;
      if (seen && fibers_[i]->next.independent_of(fibers_[node.taken]->next)) asleep |= bit(i);
    }
    resume(node.taken);
  }
}

}  // namespace interleavings
