// SPDX-License-Identifier: MIT
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

// Who is notified when a task has ended.
class TaskWaiter {
 public:
  TaskWaiter() noexcept = default;
  TaskWaiter(const TaskWaiter&) = delete;
  TaskWaiter& operator=(const TaskWaiter&) = delete;
  virtual ~TaskWaiter() = default;

  // What goes on now. May destroy this and the task.
  virtual std::coroutine_handle<> wake() = 0;
};

// A coroutine that makes one call and is gone: what unwinds the thread in there goes out by whoever resumed the task,
// and does not meet the end of that, which is noexcept.
class LastCall {
 public:
  struct promise_type {
    promise_type* next = nullptr;

    [[nodiscard]] LastCall get_return_object() noexcept {
      return LastCall(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    static std::suspend_always initial_suspend() noexcept { return {}; }
    static std::suspend_never final_suspend() noexcept { return {}; }
    static void return_void() noexcept {}
    [[noreturn]] void unhandled_exception();
  };

  LastCall(LastCall&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  LastCall& operator=(LastCall&&) = delete;
  ~LastCall() {
    if (frame_) frame_.destroy();
  }

  // Its caller resumes it, and it ends itself.
  [[nodiscard]] std::coroutine_handle<> release() noexcept { return std::exchange(frame_, nullptr); }

 private:
  friend promise_type;  // which is one anyway: said for compilers that warn of a class which nobody can make

  struct LeftFrames {
    promise_type* first = nullptr;

    LeftFrames() noexcept = default;
    LeftFrames(const LeftFrames&) = delete;
    LeftFrames& operator=(const LeftFrames&) = delete;
    ~LeftFrames() {
      while (first != nullptr) {
        promise_type& ended = *std::exchange(first, first->next);
        std::coroutine_handle<promise_type>::from_promise(ended).destroy();
      }
    }
  };

  explicit LastCall(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

  std::coroutine_handle<promise_type> frame_;
};

template <class F>
class TaskCallback final : public TaskWaiter {
 public:
  explicit TaskCallback(F&& fn) : fn_(std::move(fn)), last_call_(make(*this)) {}

  std::coroutine_handle<> wake() override { return last_call_.release(); }
  // The same, not at the end of the task.
  void call() {
    F fn = std::move(fn_);
    fn();
  }

 private:
  static LastCall make(TaskCallback& callback) {
    callback.call();
    co_return;
  }

  F fn_;
  LastCall last_call_;
};

class BlockedThread final : public TaskWaiter {
 public:
  std::coroutine_handle<> wake() override;
  void wait();

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

#if !PLANB_SEPARATE_COMPILATION
#include <planb/drive/impl/task_wait.hpp>  // IWYU pragma: export
#endif
