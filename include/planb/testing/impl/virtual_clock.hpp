// SPDX-License-Identifier: MIT
// The definitions of virtual_clock.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/testing/virtual_clock.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace planb::inline PLANB_ABI::testing {

PLANB_DECL TimePoint VirtualClock::now() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->now;
}

PLANB_DECL Duration VirtualClock::elapsed() const { return now().time_since_epoch(); }

PLANB_DECL void VirtualClock::advance(SaturatedDuration by) {
  if (by <= Duration::zero()) return;
  std::unique_lock<std::mutex> lock(state_->mutex);
  pass(detail::add(state_->now, by), {}, lock);
}

PLANB_DECL void VirtualClock::sleep_until(TimePoint due, StopToken stop) {
  std::unique_lock<std::mutex> lock(state_->mutex);
  if (due <= state_->now) return;
  ++state_->waits;
  pass(due, stop, lock);
}

PLANB_DECL std::size_t VirtualClock::waits() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->waits;
}

PLANB_DECL void VirtualClock::pass(TimePoint due, const StopToken& stop, std::unique_lock<std::mutex>& lock) {
  while (!stop.stop_requested()) {
    detail::TimerHeap<Entry>& pending = state_->pending;
    if (pending.empty() || pending.first_due() > due) {
      state_->now = (std::max)(state_->now, due);
      return;
    }
    if (state_->called_elsewhere()) {
      state_->done.wait(lock);
      continue;  // the entry may have ended meanwhile
    }
    state_->now = (std::max)(state_->now, pending.first_due());
    Entry& entry = pending.first();
    pending.remove(entry);
    state_->fire(entry, lock);
  }
}

PLANB_DECL VirtualClock::Entry::Entry(std::shared_ptr<State> s, detail::Function<void()> f)
    : state(std::move(s)), fn(std::move(f)) {}

PLANB_DECL VirtualClock::Entry::~Entry() { state->cancel(*this); }

PLANB_DECL bool VirtualClock::Entry::move_to(TimePoint to) { return state->move(*this, to); }

PLANB_DECL bool VirtualClock::State::called_elsewhere() const {
  return running != nullptr && runner != std::this_thread::get_id();
}

PLANB_DECL void VirtualClock::State::fire(Entry& entry, std::unique_lock<std::mutex>& lock) {
  Call call{&entry, running};
  running = &call;
  runner = std::this_thread::get_id();
  {
    const detail::Function<void()> fn = std::move(entry.fn);  // the entry may end during its own call
    lock.unlock();
    fn();
  }
  lock.lock();
  running = call.outer;
  done.notify_all();
}

PLANB_DECL bool VirtualClock::State::move(Entry& entry, TimePoint to) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (to <= now || !pending.holds(entry)) return false;
  pending.move(entry, to);
  return true;
}

PLANB_DECL void VirtualClock::State::cancel(Entry& entry) {
  std::unique_lock<std::mutex> lock(mutex);
  if (pending.holds(entry)) pending.remove(entry);
  while (Call* const call = call_of(entry)) {
    // From within its own call there is nothing to wait for, and its place may soon be another timer's.
    if (std::this_thread::get_id() == runner) {
      call->entry = nullptr;
    } else {
      done.wait(lock);
    }
  }
}

PLANB_DECL auto VirtualClock::State::call_of(const Entry& entry) const -> Call* {
  Call* call = running;
  while (call != nullptr && call->entry != &entry) call = call->outer;
  return call;
}

PLANB_DECL Timer VirtualClock::make_timer(TimePoint due, detail::Function<void()> fn) {
  auto entry = std::make_unique<Entry>(state_, std::move(fn));
  std::unique_lock<std::mutex> lock(state_->mutex);
  if (due <= state_->now) {
    while (state_->called_elsewhere()) state_->done.wait(lock);
    state_->fire(*entry, lock);
  } else {
    state_->pending.reserve();
    state_->pending.add(*entry, due);
  }
  lock.unlock();
  return Timer(std::move(entry));
}

}  // namespace planb::inline PLANB_ABI::testing
