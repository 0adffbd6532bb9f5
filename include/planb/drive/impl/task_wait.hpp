// SPDX-License-Identifier: MIT
// The definitions of task_wait.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/drive/detail/task_wait.hpp>

#include <exception>
#include <mutex>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL void LastCall::promise_type::unhandled_exception() {
#if PLANB_HAS_EXCEPTIONS
  if (std::current_exception() != nullptr) std::terminate();
    // The thread goes away, and nobody on its stack knows this frame.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wexit-time-destructors"  // it is for the thread's end
#endif
  thread_local LeftFrames left;
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
  next = std::exchange(left.first, this);
  throw;
#else
  std::terminate();
#endif
}

PLANB_DECL std::coroutine_handle<> BlockedThread::wake() {
  const std::lock_guard<std::mutex> lock(mutex_);  // held over the notification: then *this is gone
  woken_ = true;
  wake_.notify_one();
  return std::noop_coroutine();
}

PLANB_DECL void BlockedThread::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  wake_.wait(lock, [&] { return woken_; });
}

}  // namespace planb::inline PLANB_ABI::detail
