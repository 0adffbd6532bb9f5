// SPDX-License-Identifier: MIT
// Task: a coroutine type for programs that have none of their own.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/drive/detail/coro_await.hpp>
#include <planb/drive/detail/task_wait.hpp>
#include <planb/error/detail/misuse.hpp>
#include <planb/plan/detail/view.hpp>
#include <planb/plan/metadata.hpp>

#include <atomic>
#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace planb::inline PLANB_ABI {

template <class T = void>
class Task;

namespace detail {

template <class T>
class TaskPromise;
template <class T>
class TaskAwaiter;
template <class T>
struct AwaitTaskInPlace;
struct TaskAccess;

}  // namespace detail

// A coroutine that returns a T: a value, a reference or void. Lazy: it runs when it is awaited or started, on whichever
// thread that is, and goes on where what it awaits resumes it. It has no threads and no executor.
//
//   planb::Task<int> twice(Client& client) { co_return 2 * co_await client.ask(); }
//
// CurrentMetadata belongs to the task: set at its start to what it was there, kept over every co_await, also when the
// task is resumed on another thread, whose own value is put back when the task suspends.
//
// Awaiting one that completes at once costs no stack: in a loop, a million of them are as good as one. A chain of tasks
// that await one another costs stack as a chain of calls does.
template <class T>
class [[nodiscard]] Task {
  static_assert(!std::is_rvalue_reference_v<T>, "planb: a Task returns a value, an lvalue reference or void");

 public:
  using promise_type = detail::TaskPromise<T>;

  Task() noexcept = default;
  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    Task(std::move(other)).swap(*this);
    return *this;
  }
  // A task that is suspended half-way ends there: what it holds is destroyed, down to the innermost task it awaits.
  // It must not be running.
  ~Task() {
    if (!static_cast<bool>(frame_)) return;
    const CurrentMetadata::Scope scope(CurrentMetadata::get());  // it may hold scopes of its own
    frame_.destroy();
  }

  // In any coroutine: takes the task over, starts it where it was not started, and gives what it returns or throws what
  // it throws.
  [[nodiscard]] detail::TaskAwaiter<T> operator co_await() && {
    refuse_second_waiter();
    return detail::TaskAwaiter<T>(std::move(*this));
  }

  // Runs it up to its first suspension. The Task stays the owner; await it later, or look at done() and get().
  void start();

  // The same for event loops: `on_done()` is called once when the task has ended, on the thread where it did, or here
  // where it ends at once. It must not throw. It may destroy the Task, which nobody else may do once it is ending: do
  // not poll done() from another thread for that.
  template <class F>
    requires std::invocable<F&>
  void start(F on_done);

  [[nodiscard]] bool done() const noexcept { return static_cast<bool>(frame_) && frame_.promise().done(); }

  // Of a task that is done, once: what it returned; throws what it threw.
  T get();

 private:
  friend class detail::TaskPromise<T>;
  friend class detail::TaskAwaiter<T>;
  friend struct detail::TaskAccess;
  template <class U>
  friend struct detail::AwaitTaskInPlace;

  using Frame = std::coroutine_handle<promise_type>;

  explicit Task(Frame frame) noexcept : frame_(frame) {}
  void refuse_second_waiter() const {
    if (frame_) frame_.promise().refuse_second_waiter();
  }
  void swap(Task& other) noexcept { std::swap(frame_, other.frame_); }

  Frame frame_;
};

// Runs the task and blocks this thread until it is done: for main() and for tests.
template <class T>
T sync_wait(Task<T> task);

namespace detail {

class TaskPromiseBase;

// Something that any coroutine can await; the handle stands for that of any.
template <class A>
concept AwaitableInTask = Awaitable<A> && requires(AwaiterOf<A> awaiter, std::coroutine_handle<TaskPromiseBase> frame) {
  awaiter.await_suspend(frame);
};

class TaskPromiseBase {
 public:
  TaskPromiseBase() noexcept = default;
  TaskPromiseBase(const TaskPromiseBase&) = delete;
  TaskPromiseBase& operator=(const TaskPromiseBase&) = delete;

  struct Initial {
    TaskPromiseBase& promise;
    static constexpr bool await_ready() noexcept { return false; }
    static constexpr void await_suspend(std::coroutine_handle<>) noexcept {}
    void await_resume() const noexcept { promise.scope_.emplace(CurrentMetadata::get()); }
  };

  // Goes over to whoever waits instead of calling it: what unwinds the waiter must not meet this, which is noexcept. A
  // task that ends at once has nobody waiting yet, so a loop of such tasks never comes this way.
  struct Final {
    TaskPromiseBase& promise;
    static constexpr bool await_ready() noexcept { return false; }
    PLANB_NOINLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept {
      TaskPromiseBase& task = promise;
      task.scope_.reset();
      if (task.state_.exchange(State::done, std::memory_order_acq_rel) != State::awaited) {
        return std::noop_coroutine();
      }
      return task.waiter_->wake();
    }
    static constexpr void await_resume() noexcept {}
  };

  [[nodiscard]] Initial initial_suspend() noexcept { return {*this}; }
  [[nodiscard]] Final final_suspend() noexcept { return {*this}; }

  template <class A>
    requires AwaitableInTask<A>
  [[nodiscard]] auto await_transform(A&& awaitable) {
    using Awaiter = decltype(detail::awaiter_of(static_cast<A&&>(awaitable)));
    return TaskAwait<Awaiter>{detail::awaiter_of(static_cast<A&&>(awaitable)), scope_};
  }
  template <class A>
    requires(!AwaitableInTask<A>)
  NotAwaitable await_transform(A&&) {
    static_assert(std::is_void_v<A>,
                  "planb: a Task can await what has await_ready(), await_suspend() and await_resume(), or an operator "
                  "co_await; another Task as an rvalue: co_await std::move(task). What belongs to the coroutines of one "
                  "library, such as asio::awaitable, can only be awaited in these");
    return {};
  }

  [[nodiscard]] bool done() const noexcept { return state_.load(std::memory_order_acquire) == State::done; }

  void refuse_second_waiter() const {
    if (waiter_ != nullptr) misuse("a Task that is waited for already was awaited or started with a callback");
  }

  void start(std::coroutine_handle<> frame) {
    if (std::exchange(started_, true)) misuse("a Task was started twice");
    frame.resume();
  }

  // Starts the task where it was not. False: it is done. Otherwise the waiter will be woken, or has been, and the task
  // may be gone.
  [[nodiscard]] bool wait(std::coroutine_handle<> frame, TaskWaiter& waiter) {
    refuse_second_waiter();
    waiter_ = &waiter;
    if (!std::exchange(started_, true)) frame.resume();
    return !done() && state_.exchange(State::awaited, std::memory_order_acq_rel) != State::done;
  }

  template <class F>
  void start(std::coroutine_handle<> frame, F&& on_done) {
    refuse_second_waiter();
    auto owner = std::make_unique<TaskCallback<F>>(std::forward<F>(on_done));
    TaskCallback<F>& callback = *owner;
    callback_ = std::move(owner);
    if (!wait(frame, callback)) callback.call();
  }

 protected:
  ~TaskPromiseBase() = default;

  std::optional<CurrentMetadata::Scope> scope_;

 private:
  enum class State : unsigned char { pending, awaited, done };

  std::atomic<State> state_ = State::pending;
  bool started_ = false;
  TaskWaiter* waiter_ = nullptr;
  std::unique_ptr<TaskWaiter> callback_;
};

template <class T>
struct task_stored {
  using type = T;
};
template <class T>
struct task_stored<T&> {
  using type = T*;
};
template <>
struct task_stored<void> {
  using type = std::monostate;
};

template <class T>
class TaskPromiseResult : public TaskPromiseBase {
 public:
  void unhandled_exception() {
#if PLANB_HAS_EXCEPTIONS
    std::exception_ptr error = std::current_exception();
    if (error == nullptr) {  // glibc's forced unwind goes on through whoever resumed the task
      this->scope_.reset();
      throw;
    }
    result_.template emplace<2>(std::move(error));
#else
    std::terminate();
#endif
  }

  T take() {
    typename task_stored<T>::type& stored = outcome();
    if constexpr (std::is_void_v<T>) {
      result_.template emplace<0>();
    } else if constexpr (std::is_lvalue_reference_v<T>) {
      T value = *stored;
      result_.template emplace<0>();
      return value;
    } else {
      T value = std::move(stored);
      result_.template emplace<0>();
      return value;
    }
  }

  // What the task returned, where it is; throws what it threw.
  [[nodiscard]] typename task_stored<T>::type& outcome() {
#if PLANB_HAS_EXCEPTIONS
    if (std::exception_ptr* const error = std::get_if<2>(std::addressof(result_))) {
      std::exception_ptr thrown = std::move(*error);
      result_.template emplace<0>();
      std::rethrow_exception(std::move(thrown));
    }
#endif
    typename task_stored<T>::type* const stored = std::get_if<1>(std::addressof(result_));
    if (stored == nullptr) misuse("a Task's result was asked for twice, or before the Task was done");
    return *stored;
  }

 protected:
  ~TaskPromiseResult() = default;

  struct Nothing {};
  static_assert(alignof(typename task_stored<T>::type) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
                "planb: a Task's value that is aligned beyond what operator new gives (`alignas`) would be misaligned in "
                "the coroutine's frame; keep it behind a pointer");
  using Result = std::variant<Nothing, typename task_stored<T>::type, std::exception_ptr>;

  Result result_;
};

template <class T>
class TaskPromise : public TaskPromiseResult<T> {
 public:
  [[nodiscard]] Task<T> get_return_object() noexcept {
    return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
  }

  template <class U = T>
    requires std::is_convertible_v<U&&, T>
  void return_value(U&& value) {
    static_assert(!views_temporary<U, T>,
                  "planb: a Task of a view or a pointer would refer to a temporary or a local of its coroutine, which "
                  "ends with it; let the task return what owns that, such as a std::string");
    this->result_.template emplace<1>(std::forward<U>(value));
  }
};

template <class T>
class TaskPromise<T&> : public TaskPromiseResult<T&> {
 public:
  [[nodiscard]] Task<T&> get_return_object() noexcept {
    return Task<T&>(std::coroutine_handle<TaskPromise>::from_promise(*this));
  }

  void return_value(T& value) noexcept { this->result_.template emplace<1>(std::addressof(value)); }

  // Else a temporary would be bound to a const T&.
  template <class U>
    requires(std::is_const_v<T> && std::is_convertible_v<U &&, T&> && !RefersTo<U&&, T&>)
  void return_value(U&&) {
    static_assert(std::is_void_v<U>,
                  "planb: a Task of a reference would refer to a temporary or a local of its coroutine, which ends with "
                  "it; let the task return a value");
  }
};

template <>
class TaskPromise<void> : public TaskPromiseResult<void> {
 public:
  [[nodiscard]] inline Task<void> get_return_object() noexcept;

  void return_void() noexcept { this->result_.emplace<1>(); }
};

inline Task<void> TaskPromise<void>::get_return_object() noexcept {
  return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

template <class T>
class TaskAwaiter : public TaskWaiter {
 public:
  explicit TaskAwaiter(Task<T>&& task) noexcept : task_(std::move(task)) {}

  [[nodiscard]] bool await_ready() const {
    if (!static_cast<bool>(task_.frame_)) misuse("an empty Task was awaited");
    return task_.done();
  }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> awaiting) {
    awaiting_ = awaiting;
    return task_.frame_.promise().wait(task_.frame_, *this);
  }
  T await_resume() { return task_.frame_.promise().take(); }

  std::coroutine_handle<> wake() override { return awaiting_; }

 protected:
  [[nodiscard]] TaskPromise<T>& promise() noexcept { return task_.frame_.promise(); }

 private:
  Task<T> task_;  // ends with the await, also where the coroutine that awaits is destroyed
  std::coroutine_handle<> awaiting_;
};

// Gives what the task returned where it is, in the task's frame, which ends with the await.
template <class T>
class TaskInPlace final : public TaskAwaiter<T> {
 public:
  using TaskAwaiter<T>::TaskAwaiter;
  T&& await_resume() { return std::move(this->promise().outcome()); }
};
template <class T>
struct AwaitTaskInPlace {
  Task<T>&& task;
  explicit AwaitTaskInPlace(Task<T>&& of) noexcept : task(std::move(of)) {}
  [[nodiscard]] TaskInPlace<T> operator co_await() && {
    task.refuse_second_waiter();
    return TaskInPlace<T>(std::move(task));
  }
};
template <class Promise, class T>
  requires(std::is_object_v<T> && (std::is_base_of_v<TaskPromiseBase, Promise> || !NamesAwaitTransform<Promise>))
struct answer_in_place<Promise, Task<T>> {
  using type = AwaitTaskInPlace<T>;
};

struct TaskAccess {
  template <class T>
  [[nodiscard]] static std::coroutine_handle<TaskPromise<T>> frame(const Task<T>& task) {
    if (!static_cast<bool>(task.frame_)) misuse("an empty Task was used");
    return task.frame_;
  }
};

}  // namespace detail

template <class T>
void Task<T>::start() {
  const Frame frame = detail::TaskAccess::frame(*this);
  frame.promise().start(frame);
}

template <class T>
template <class F>
  requires std::invocable<F&>
void Task<T>::start(F on_done) {
  const Frame frame = detail::TaskAccess::frame(*this);
  frame.promise().start(frame, std::move(on_done));
}

template <class T>
T Task<T>::get() {
  const Frame frame = detail::TaskAccess::frame(*this);
  if (!frame.promise().done()) detail::misuse("a Task's result was asked for before the Task was done");
  return frame.promise().take();
}

template <class T>
T sync_wait(Task<T> task) {
  const auto frame = detail::TaskAccess::frame(task);
  detail::BlockedThread thread;
  if (frame.promise().wait(frame, thread)) thread.wait();
  return frame.promise().take();
}

}  // namespace planb::inline PLANB_ABI
