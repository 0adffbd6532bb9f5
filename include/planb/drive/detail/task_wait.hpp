// How a Task waits and is waited for.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/plan/metadata.hpp>

#include <condition_variable>
#include <coroutine>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// Who is told that a task has ended.
class TaskWaiter {
 public:
  TaskWaiter() noexcept = default;
  TaskWaiter(const TaskWaiter&) = delete;
  TaskWaiter& operator=(const TaskWaiter&) = delete;
  virtual ~TaskWaiter() = default;

  // What goes on now. May destroy this and the task.
  virtual std::coroutine_handle<> wake() = 0;
};

template <class F>
class TaskCallback final : public TaskWaiter {
 public:
  explicit TaskCallback(F&& fn) : fn_(std::move(fn)) {}
  std::coroutine_handle<> wake() override {
    F fn = std::move(fn_);
    fn();
    return std::noop_coroutine();
  }

 private:
  F fn_;
};

class BlockedThread final : public TaskWaiter {
 public:
  std::coroutine_handle<> wake() override {
    const std::lock_guard<std::mutex> lock(mutex_);  // held over the notification: then *this is gone
    woken_ = true;
    wake_.notify_one();
    return std::noop_coroutine();
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    wake_.wait(lock, [&] { return woken_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false;
};

// An awaiter within a Task: gives the thread its own metadata back while the task is suspended.
// noinline: what is on await_suspend's stack must not end up in the frame, which may be gone when it returns (older
// versions of Clang put it there).
template <class Awaiter>
struct TaskAwait {
  Awaiter awaiter;
  std::optional<CurrentMetadata::Scope>& scope;  // of the task; empty while it is suspended
  Metadata own = {};
  bool suspended = false;

  bool await_ready() { return static_cast<bool>(awaiter.await_ready()); }

  template <class Promise>
  PLANB_NOINLINE auto await_suspend(std::coroutine_handle<Promise> frame) {
    using Result = decltype(awaiter.await_suspend(frame));
    struct Undo {  // where awaiter.await_suspend() throws, the task goes on
      TaskAwait* await;
      ~Undo() {
        if (await != nullptr) await->enter();
      }
    } undo{this};
    const Metadata mine = own = CurrentMetadata::get();
    suspended = true;
    scope.reset();
    const CurrentMetadata::Scope here(mine);  // what is started in there belongs to the task
    if constexpr (std::is_void_v<Result>) {
      awaiter.await_suspend(frame);
      undo.await = nullptr;
    } else if constexpr (std::is_same_v<Result, bool>) {
      const bool away = awaiter.await_suspend(frame);
      if (away) undo.await = nullptr;
      return away;
    } else {
      Result next = awaiter.await_suspend(frame);
      undo.await = nullptr;
      return next;
    }
  }

  decltype(auto) await_resume() {
    if (suspended) enter();
    return awaiter.await_resume();
  }

  void enter() noexcept {
    suspended = false;
    scope.emplace(own);
  }
};

}  // namespace planb::inline PLANB_ABI::detail
