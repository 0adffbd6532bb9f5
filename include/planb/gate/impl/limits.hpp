// SPDX-License-Identifier: MIT
// The definitions of limits.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/decimal.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/gate/detail/mutex.hpp>
#include <planb/gate/gate.hpp>
#include <planb/gate/limits.hpp>
#include <planb/gate/snapshot.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/duration.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace planb::inline PLANB_ABI {

// --- Rate

PLANB_DECL std::shared_ptr<RateLimit> rate_limit(RateLimitOptions options) {
  return std::make_shared<RateLimit>(std::move(options));
}

PLANB_DECL std::string detail::options_fault(const RateLimitOptions& options) {
  const std::string gate = "rate limit: ";
  if (options.permits < 1) {
    return gate + "`permits` is " + std::to_string(options.permits) +
           "; give how many attempts a period has, 1 or more";
  }
  if (options.period <= Duration::zero()) return gate + "`period` must be above zero; give the time for its `permits`";
  if (options.burst && *options.burst < 1) {
    return gate + "`burst` is " + std::to_string(*options.burst) + "; without one nothing could ever pass: 1 or more";
  }
  if (options.patience < Duration::zero()) return gate + "`patience` is negative; zero waits for no admission";
  // What RateLimit counts with must fit.
  const std::int64_t times = std::int64_t{detail::burst_of(options)} - 1;
  const std::int64_t parts = times * (options.period.count() % options.permits);
  const std::int64_t most = ((std::numeric_limits<std::int64_t>::max)() - parts / options.permits);
  if (times != 0 && options.period.count() / options.permits > most / times) {
    return gate + "`burst` would take centuries to come back; give fewer, or a shorter `period`";
  }
  return {};
}

PLANB_DECL RateLimit::RateLimit(RateLimitOptions options)
    : options_([&] {
        if (const std::string fault = detail::options_fault(options); !fault.empty()) detail::refuse(fault);
        options.burst = detail::burst_of(options);
        return std::move(options);
      }()),
      permits_(options_.permits),
      step_(options_.period.count() / permits_),
      step_rest_(options_.period.count() % permits_) {
  // (burst - 1) steps, and what the parts make. Both products of the parts fit: they are below 2^62.
  const std::int64_t times = *options_.burst - 1;
  const std::int64_t parts = times * step_rest_;
  slack_ = Duration(times * step_ + parts / permits_);
  slack_rest_ = parts % permits_;
}

// Later than now exactly where there is no permit.
PLANB_DECL TimePoint RateLimit::opening(TimePoint now) const noexcept {
  const Moment full = full_again(now);
  const Duration missing = detail::between(now, full.at);
  if (missing < slack_ || (missing == slack_ && full.rest <= slack_rest_)) return now;
  return detail::add(full.at, Duration(full.rest > slack_rest_ ? 1 : 0) - slack_);  // the next whole nanosecond
}

PLANB_DECL Admission RateLimit::admit(const GateRequest& request) {
  const std::lock_guard<detail::Mutex> lock(mutex_);
  latest_ = (std::max)(latest_, request.now);
  if (const TimePoint opens = opening(request.now); opens > request.now) {
    return GateRefusal{.opens_at = opens, .reason = GateReason::rate_limited};
  }
  Moment full = full_again(request.now);
  full.rest += step_rest_;
  const bool carry = full.rest >= permits_;
  if (carry) full.rest -= permits_;
  full.at = detail::add(full.at, Duration(step_ + (carry ? 1 : 0)));
  full_at_ = full;
  return Permit(*this, 1, request.now);
}

PLANB_DECL GateRefusal RateLimit::refusal(const GateRequest& request) const {
  const std::lock_guard<detail::Mutex> lock(mutex_);
  return {.opens_at = opening(request.now), .reason = GateReason::rate_limited};
}

// An attempt that never began gives its permit back. Where the bucket has become full meanwhile, that adds nothing.
PLANB_DECL void RateLimit::on_dropped(std::uint64_t /*ticket*/, bool used) noexcept {
  if (used) return;
  const std::lock_guard<detail::Mutex> lock(mutex_);
  if (full_at_.at == long_ago) return;  // full: it was reset
  full_at_.rest -= step_rest_;
  const bool borrow = full_at_.rest < 0;
  if (borrow) full_at_.rest += permits_;
  full_at_.at = detail::add(full_at_.at, -Duration(step_ + (borrow ? 1 : 0)));
}

PLANB_DECL void RateLimit::reset(std::optional<TimePoint> now) {
  const std::lock_guard<detail::Mutex> lock(mutex_);
  full_at_ = {long_ago, 0};
  latest_ = now.value_or(long_ago);  // what comes next may be of another clock
}

PLANB_DECL void RateLimit::describe(GateSnapshot& snapshot) const {
  const std::lock_guard<detail::Mutex> lock(mutex_);
  snapshot.kind = "rate_limit";
  snapshot.limit = *options_.burst;
  // What is missing, in whole permits, rounded up: the time until it is full, over the time for one.
  const Moment full = full_again(latest_);
  const double one = static_cast<double>(options_.period.count()) / static_cast<double>(permits_);
  const double missing = static_cast<double>(detail::between(latest_, full.at).count()) / one;
  const auto whole = static_cast<std::int64_t>(missing);
  const std::int64_t gone = whole + (missing > static_cast<double>(whole) + 1e-9 ? 1 : 0);
  snapshot.available = (std::max)(std::int64_t{0}, *snapshot.limit - gone);
}

// --- Concurrency

PLANB_DECL std::shared_ptr<ConcurrencyLimit> concurrency_limit(ConcurrencyLimitOptions options) {
  return std::make_shared<ConcurrencyLimit>(std::move(options));
}

PLANB_DECL std::string detail::options_fault(const ConcurrencyLimitOptions& options) {
  const std::string gate = "concurrency limit: ";
  if (options.limit < 1) {
    return gate + "`limit` is " + std::to_string(options.limit) + "; give how many attempts may run at once, 1 or more";
  }
  if (options.patience < Duration::zero()) return gate + "`patience` is negative; zero waits for no admission";
  return {};
}

PLANB_DECL ConcurrencyLimit::ConcurrencyLimit(ConcurrencyLimitOptions options)
    : options_([&] {
        if (const std::string fault = detail::options_fault(options); !fault.empty()) detail::refuse(fault);
        return std::move(options);
      }()) {}

// One word, changed in one step only where there is room: it never counts above the limit, not for a moment.
PLANB_DECL Admission ConcurrencyLimit::admit(const GateRequest& request) {
  int running = running_.load(std::memory_order_relaxed);
  do {
    if (running >= options_.limit) {
      return GateRefusal{.opens_at = (TimePoint::max)(), .reason = GateReason::concurrency_limited};
    }
  } while (!running_.compare_exchange_weak(running, running + 1, std::memory_order_acquire, std::memory_order_relaxed));
  return Permit(*this, 1, request.now);
}

PLANB_DECL void ConcurrencyLimit::describe(GateSnapshot& snapshot) const {
  snapshot.kind = "concurrency_limit";
  snapshot.limit = options_.limit;
  snapshot.available = options_.limit - running();
}

// --- Retries

PLANB_DECL std::shared_ptr<RetryBudget> retry_budget(RetryBudgetOptions options) {
  return std::make_shared<RetryBudget>(std::move(options));
}

PLANB_DECL std::string detail::options_fault(const RetryBudgetOptions& options) {
  const std::string gate = "retry budget: ";
  if (!(options.ratio >= 0 && options.ratio <= 1000)) {
    return gate + "`ratio` is " + detail::with_point(std::to_string(options.ratio)) +
           "; it is how many retries a success allows, from 0 to 1000";
  }
  if (options.burst < 1) {
    return gate + "`burst` is " + std::to_string(options.burst) + "; without one there could be no retry: 1 or more";
  }
  if (options.patience < Duration::zero()) return gate + "`patience` is negative; zero waits for no admission";
  return {};
}

PLANB_DECL RetryBudget::RetryBudget(RetryBudgetOptions options)
    : options_([&] {
        if (const std::string fault = detail::options_fault(options); !fault.empty()) detail::refuse(fault);
        return std::move(options);
      }()),
      most_(options_.burst * one),
      ratio_(static_cast<std::int64_t>(options_.ratio * static_cast<double>(one) + 0.5)),
      left_(most_) {}

// The number is all that is shared, and nothing else is read by what it says: relaxed.
PLANB_DECL Admission RetryBudget::admit(const GateRequest& request) {
  if (request.step_attempt <= 1) return Permit(*this, free, request.now);
  std::int64_t left = left_.load(std::memory_order_relaxed);
  do {
    if (left < one) return GateRefusal{.opens_at = (TimePoint::max)(), .reason = GateReason::retry_budget_spent};
  } while (!left_.compare_exchange_weak(left, left - one, std::memory_order_relaxed, std::memory_order_relaxed));
  return Permit(*this, paid, request.now);
}

// Full, as it is while all is well, it is only read: threads do not disturb each other.
PLANB_DECL void RetryBudget::add(std::int64_t millionths) noexcept {
  std::int64_t left = left_.load(std::memory_order_relaxed);
  while (left < most_ && !left_.compare_exchange_weak(left, (std::min)(left + millionths, most_),
                                                      std::memory_order_relaxed, std::memory_order_relaxed)) {
  }
}

PLANB_DECL void RetryBudget::reset(std::optional<TimePoint> /*now*/) { left_.store(most_, std::memory_order_relaxed); }

PLANB_DECL void RetryBudget::describe(GateSnapshot& snapshot) const {
  snapshot.kind = "retry_budget";
  snapshot.limit = options_.burst;
  snapshot.available = left_.load(std::memory_order_relaxed) / one;
}

}  // namespace planb::inline PLANB_ABI
