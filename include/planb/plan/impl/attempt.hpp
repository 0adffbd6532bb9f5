// SPDX-License-Identifier: MIT
// The definitions of attempt.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/detail/step_policy.hpp>

#include <atomic>
#include <cstring>
#include <memory>
#include <optional>

namespace planb::inline PLANB_ABI::detail {

#if PLANB_HAS_STOP_TOKEN
PLANB_COLD PLANB_DECL AttemptStop::AttemptStop(const StopToken& callers, Clock& clock, TimePoint deadline)
    : forward_(callers, Request{source_}), timer_(clock.call_at(deadline, Request{source_})) {}

PLANB_COLD PLANB_DECL void AttemptStop::move_to(Clock& clock, TimePoint deadline) {
  if (!timer_.move_to(deadline)) timer_ = clock.call_at(deadline, Request{source_});
}

#endif

}  // namespace planb::inline PLANB_ABI::detail

namespace planb::inline PLANB_ABI {

PLANB_DECL std::optional<Duration> Attempt::timeout() const {
  const std::optional<TimePoint> due = deadline();
  if (!due) return std::nullopt;
  const Duration left = detail::between(site_->clock->now(), *due);
  return left > Duration::zero() ? left : Duration::zero();
}

PLANB_COLD PLANB_DECL std::optional<bool> Attempt::last_of_step() const noexcept {
  if (policy_ == nullptr) return std::nullopt;
  if (output_ends_step_ && delivered() != 0) return true;
  if (policy_->max_attempts != unlimited && step_attempt >= policy_->max_attempts) return true;
  if (policy_->schedule != nullptr || policy_->retry_while != nullptr || policy_->classify != nullptr) {
    return std::nullopt;
  }
  return false;
}

PLANB_COLD PLANB_DECL std::optional<bool> Attempt::last_of_run() const noexcept {
  if (policy_ == nullptr) return std::nullopt;
  const std::optional<bool> last = last_of_step();
  detail::Later later = entry_asks_ ? policy_->later_if_asked : policy_->later;
  if (output_ends_plan_ && delivered() != 0) later = detail::Later::nothing;
  switch (later) {
    case detail::Later::nothing: return last;
    case detail::Later::guarded_steps: return last == false ? last : std::nullopt;
    case detail::Later::steps: return policy_->classify != nullptr ? std::nullopt : std::optional<bool>(false);
  }
  return std::nullopt;
}

PLANB_COLD PLANB_DECL StopToken Attempt::stop_token() const {
  if (site_ == nullptr) return {};
#if PLANB_HAS_STOP_TOKEN
  if (site_->clock != nullptr) {
    if (site_->own_stop == nullptr) {
      site_->own_stop = std::make_unique<detail::AttemptStop>(
          *site_->stop, *site_->clock, site_->deadline.load(std::memory_order_relaxed));
    }
    return site_->own_stop->token();
  }
#endif
  return site_->stop != nullptr ? *site_->stop : StopToken{};
}

}  // namespace planb::inline PLANB_ABI
