// SPDX-License-Identifier: MIT
// The definitions of schedule.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/schedule/schedule.hpp>

#include <cstring>
#include <optional>
#include <string_view>
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

namespace detail {

class JitterSeeker final : public ScheduleWriter {
 public:
  bool found = false;

  void word(std::string_view) override {}
  void open(std::string_view name) override {
    found =
        found || name == "jittered" || name == "full_jitter" || name == "equal_jitter" || name == "decorrelated_jitter";
  }
  void add(Duration) override {}
  void add(double) override {}
  void add(int) override {}
  void add(const ScheduleNode& inner) override { inner.describe(*this); }
  void add_function() override {}
  void close() override {}
};

PLANB_DECL bool has_jitter(const Schedule& schedule) {
  JitterSeeker seeker;
  ScheduleAccess::node(schedule)->describe(seeker);
  return seeker.found;
}

}  // namespace detail

PLANB_DECL Duration ScheduleRun::spread(Duration hint) noexcept {
  return random_.between(hint, detail::add(hint, hint / 10));
}

}  // namespace planb::inline PLANB_ABI
