// SPDX-License-Identifier: MIT
// The definitions of schedule.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/schedule/schedule.hpp>

#include <cstring>
#include <optional>
#include <utility>

namespace planb::inline PLANB_ABI {

PLANB_DECL ScheduleRun& ScheduleRun::operator=(ScheduleRun&& other) noexcept {
  if (this != &other) take(other);
  return *this;
}

PLANB_DECL std::optional<Duration> ScheduleRun::next(TimePoint now, const Cause& cause) {
  if (node_ == nullptr) return std::nullopt;
  if (!started_) start();
  const detail::Answer answer = node_->next(state(), detail::ScheduleAsk{now, cause, random_});
  if (!answer) {
    node_ = nullptr;
    return std::nullopt;
  }
  return answer->delay;
}

PLANB_DECL void ScheduleRun::start() {
  if (node_->slot_count() > room) large_.reset(new detail::StateSlot[node_->slot_count()]);
  node_->start(state());
  started_ = true;
}

PLANB_DECL void ScheduleRun::take(ScheduleRun& other) noexcept {
  node_ = std::exchange(other.node_, nullptr);
  random_ = other.random_;
  started_ = std::exchange(other.started_, false);
  large_ = std::move(other.large_);
  if (started_ && large_ == nullptr) std::memcpy(small_, other.small_, sizeof small_);  // states are trivial
}

}  // namespace planb::inline PLANB_ABI
