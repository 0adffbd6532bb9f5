// SPDX-License-Identifier: MIT
// Limits: so many attempts in a time, so many at once, so many retries for each success.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/gate/detail/sync.hpp>
#include <planb/gate/gate.hpp>
#include <planb/gate/snapshot.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/duration.hpp>
#include <planb/time/optional_duration.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace planb::inline PLANB_ABI {

struct RateLimitOptions {
  int permits = 0;                              // so many attempts
  SaturatedDuration period = Duration::zero();  // in each such time
  std::optional<int> burst = std::nullopt;      // so many at once, after a rest; not given: `permits`
  std::string name = {};
  SaturatedDuration patience = Duration::zero();  // for how long a step waits for it

  friend bool operator==(const RateLimitOptions&, const RateLimitOptions&) = default;
};

// A bucket of `burst` permits, full at first, to which `permits` come back evenly in each `period`. No window as long
// as one period sees more than permits + burst. A permit whose attempt has begun is spent, however it ends.
class PLANB_VISIBLE RateLimit final : public Gate {
 public:
  // Refuses options that make no sense, with std::invalid_argument.
  explicit RateLimit(RateLimitOptions options);

  [[nodiscard]] Admission admit(const GateRequest& request) override;
  [[nodiscard]] TimePoint opens_at(const GateRequest& request) const override { return refusal(request).opens_at; }
  [[nodiscard]] GateRefusal refusal(const GateRequest& request) const override;
  [[nodiscard]] std::string_view name() const override { return options_.name; }
  [[nodiscard]] Duration patience() const override { return options_.patience; }
  void reset(std::optional<TimePoint> now = std::nullopt) override;

 private:
  // A time in nanoseconds and `rest` / `permits` of another: exact for any rate.
  struct Moment {
    TimePoint at;
    std::int64_t rest;
  };

  static constexpr TimePoint long_ago = (TimePoint::min)();

  void on_outcome(std::uint64_t /*ticket*/, const GateOutcome& /*outcome*/) override {}
  void on_dropped(std::uint64_t ticket, bool used) noexcept override;
  void describe(GateSnapshot& snapshot) const override;

  // Under the lock.
  [[nodiscard]] Moment full_again(TimePoint now) const noexcept {
    return full_at_.at < now ? Moment{now, 0} : full_at_;
  }
  [[nodiscard]] TimePoint opening(TimePoint now) const noexcept;

  const RateLimitOptions options_;
  const std::int64_t permits_;
  const std::int64_t step_;       // one permit comes back in so many nanoseconds
  const std::int64_t step_rest_;  // and so many parts
  Duration slack_{};              // for which the bucket may be short of full, and still give a permit
  std::int64_t slack_rest_ = 0;

  mutable detail::Mutex mutex_;
  Moment full_at_{long_ago, 0};  // when the bucket is full again
  TimePoint latest_ = long_ago;  // that it was asked at
};

struct ConcurrencyLimitOptions {
  int limit = 0;  // so many attempts at once
  std::string name = {};
  SaturatedDuration patience = Duration::zero();  // for how long a step waits for it

  friend bool operator==(const ConcurrencyLimitOptions&, const ConcurrencyLimitOptions&) = default;
};

// A place is taken from the start of an attempt to its end, however it ends; that of a pulled stream for as long as its
// consumer takes.
class PLANB_VISIBLE ConcurrencyLimit final : public Gate {
 public:
  // Refuses options that make no sense, with std::invalid_argument.
  explicit ConcurrencyLimit(ConcurrencyLimitOptions options);

  [[nodiscard]] Admission admit(const GateRequest& request) override;
  // Nobody knows when one of them ends.
  [[nodiscard]] TimePoint opens_at(const GateRequest& request) const override {
    return running() < options_.limit ? request.now : (TimePoint::max)();
  }
  [[nodiscard]] GateRefusal refusal(const GateRequest& request) const override {
    return {.opens_at = opens_at(request), .reason = GateReason::concurrency_limited};
  }
  [[nodiscard]] std::string_view name() const override { return options_.name; }
  [[nodiscard]] Duration patience() const override { return options_.patience; }

  // How many attempts hold a permit now.
  [[nodiscard]] int running() const noexcept { return running_.load(std::memory_order_relaxed); }

 private:
  void on_outcome(std::uint64_t /*ticket*/, const GateOutcome& /*outcome*/) override { leave(); }
  void on_dropped(std::uint64_t /*ticket*/, bool /*used*/) noexcept override { leave(); }
  void describe(GateSnapshot& snapshot) const override;
  // What the attempt did is to be seen by the one that takes its place: release here, acquire in admit().
  void leave() noexcept { running_.fetch_sub(1, std::memory_order_release); }

  const ConcurrencyLimitOptions options_;
  detail::Atomic<int> running_{0};
};

struct RetryBudgetOptions {
  double ratio = 0.2;  // so many retries for each success, in the long run
  int burst = 10;      // and so many before the first
  std::string name = {};
  SaturatedDuration patience = Duration::zero();  // for how long a step waits for it
};

// Holds `burst` retries at first and at most. Each success adds `ratio`; an attempt that is not its step's first takes
// one. First attempts, those of fallback steps too, are free.
class PLANB_VISIBLE RetryBudget final : public Gate {
 public:
  // Refuses options that make no sense, with std::invalid_argument.
  explicit RetryBudget(RetryBudgetOptions options = {});

  [[nodiscard]] Admission admit(const GateRequest& request) override;
  // Nobody knows when there are successes.
  [[nodiscard]] TimePoint opens_at(const GateRequest& request) const override {
    return request.step_attempt <= 1 || left_.load(std::memory_order_relaxed) >= one ? request.now : (TimePoint::max)();
  }
  [[nodiscard]] GateRefusal refusal(const GateRequest& request) const override {
    return {.opens_at = opens_at(request), .reason = GateReason::retry_budget_spent};
  }
  [[nodiscard]] std::string_view name() const override { return options_.name; }
  [[nodiscard]] Duration patience() const override { return options_.patience; }
  void reset(std::optional<TimePoint> now = std::nullopt) override;

 private:
  static constexpr std::int64_t one = 1'000'000;  // a retry: the budget is counted in millionths
  static constexpr std::uint64_t free = 1;        // the tickets
  static constexpr std::uint64_t paid = 2;

  void on_outcome(std::uint64_t /*ticket*/, const GateOutcome& outcome) override {
    if (outcome.cause == nullptr) add(ratio_);
  }
  void on_dropped(std::uint64_t ticket, bool used) noexcept override {
    if (ticket == paid && !used) add(one);
  }
  void describe(GateSnapshot& snapshot) const override;
  void add(std::int64_t millionths) noexcept;

  const RetryBudgetOptions options_;
  const std::int64_t most_;
  const std::int64_t ratio_;
  detail::Atomic<std::int64_t> left_;
};

// Limits to be shared: .gate = planb::rate_limit({.permits = 500, .period = 1min}).
[[nodiscard]] inline std::shared_ptr<RateLimit> rate_limit(RateLimitOptions options) {
  return std::make_shared<RateLimit>(std::move(options));
}
[[nodiscard]] inline std::shared_ptr<ConcurrencyLimit> concurrency_limit(ConcurrencyLimitOptions options) {
  return std::make_shared<ConcurrencyLimit>(std::move(options));
}
[[nodiscard]] inline std::shared_ptr<RetryBudget> retry_budget(RetryBudgetOptions options = {}) {
  return std::make_shared<RetryBudget>(std::move(options));
}

// --- Rate

namespace detail {

// What makes no sense in the options, or an empty text.
[[nodiscard]] inline std::string options_fault(const RateLimitOptions& options) {
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
  const std::int64_t times = std::int64_t{options.burst.value_or(options.permits)} - 1;
  const std::int64_t parts = times * (options.period.count() % options.permits);
  const std::int64_t most = ((std::numeric_limits<std::int64_t>::max)() - parts / options.permits);
  if (times != 0 && options.period.count() / options.permits > most / times) {
    return gate + "`burst` would take centuries to come back; give fewer, or a shorter `period`";
  }
  return {};
}

}  // namespace detail

inline RateLimit::RateLimit(RateLimitOptions options)
    : options_([&] {
        if (const std::string fault = detail::options_fault(options); !fault.empty()) detail::refuse(fault);
        if (!options.burst) options.burst = options.permits;
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
inline TimePoint RateLimit::opening(TimePoint now) const noexcept {
  const Moment full = full_again(now);
  const Duration missing = detail::between(now, full.at);
  if (missing < slack_ || (missing == slack_ && full.rest <= slack_rest_)) return now;
  return detail::add(full.at, Duration(full.rest > slack_rest_ ? 1 : 0) - slack_);  // the next whole nanosecond
}

inline Admission RateLimit::admit(const GateRequest& request) {
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

inline GateRefusal RateLimit::refusal(const GateRequest& request) const {
  const std::lock_guard<detail::Mutex> lock(mutex_);
  return {.opens_at = opening(request.now), .reason = GateReason::rate_limited};
}

// An attempt that never began gives its permit back. Where the bucket has become full meanwhile, that adds nothing.
inline void RateLimit::on_dropped(std::uint64_t /*ticket*/, bool used) noexcept {
  if (used) return;
  const std::lock_guard<detail::Mutex> lock(mutex_);
  if (full_at_.at == long_ago) return;  // full: it was reset
  full_at_.rest -= step_rest_;
  const bool borrow = full_at_.rest < 0;
  if (borrow) full_at_.rest += permits_;
  full_at_.at = detail::add(full_at_.at, -Duration(step_ + (borrow ? 1 : 0)));
}

inline void RateLimit::reset(std::optional<TimePoint> now) {
  const std::lock_guard<detail::Mutex> lock(mutex_);
  full_at_ = {long_ago, 0};
  if (now) latest_ = *now;
}

inline void RateLimit::describe(GateSnapshot& snapshot) const {
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

namespace detail {

// What makes no sense in the options, or an empty text.
[[nodiscard]] inline std::string options_fault(const ConcurrencyLimitOptions& options) {
  const std::string gate = "concurrency limit: ";
  if (options.limit < 1) {
    return gate + "`limit` is " + std::to_string(options.limit) + "; give how many attempts may run at once, 1 or more";
  }
  if (options.patience < Duration::zero()) return gate + "`patience` is negative; zero waits for no admission";
  return {};
}

}  // namespace detail

inline ConcurrencyLimit::ConcurrencyLimit(ConcurrencyLimitOptions options)
    : options_([&] {
        if (const std::string fault = detail::options_fault(options); !fault.empty()) detail::refuse(fault);
        return std::move(options);
      }()) {}

// One word, changed in one step only where there is room: it never counts above the limit, not for a moment.
inline Admission ConcurrencyLimit::admit(const GateRequest& request) {
  int running = running_.load(std::memory_order_relaxed);
  do {
    if (running >= options_.limit) {
      return GateRefusal{.opens_at = (TimePoint::max)(), .reason = GateReason::concurrency_limited};
    }
  } while (!running_.compare_exchange_weak(running, running + 1, std::memory_order_acquire, std::memory_order_relaxed));
  return Permit(*this, 1, request.now);
}

inline void ConcurrencyLimit::describe(GateSnapshot& snapshot) const {
  snapshot.kind = "concurrency_limit";
  snapshot.limit = options_.limit;
  snapshot.available = options_.limit - running();
}

// --- Retries

namespace detail {

// What makes no sense in the options, or an empty text.
[[nodiscard]] inline std::string options_fault(const RetryBudgetOptions& options) {
  const std::string gate = "retry budget: ";
  if (!(options.ratio >= 0 && options.ratio <= 1000)) {
    return gate + "`ratio` is " + std::to_string(options.ratio) +
           "; it is how many retries a success allows, from 0 to 1000";
  }
  if (options.burst < 1) {
    return gate + "`burst` is " + std::to_string(options.burst) + "; without one there could be no retry: 1 or more";
  }
  if (options.patience < Duration::zero()) return gate + "`patience` is negative; zero waits for no admission";
  return {};
}

}  // namespace detail

inline RetryBudget::RetryBudget(RetryBudgetOptions options)
    : options_([&] {
        if (const std::string fault = detail::options_fault(options); !fault.empty()) detail::refuse(fault);
        return std::move(options);
      }()),
      most_(options_.burst * one),
      ratio_(static_cast<std::int64_t>(options_.ratio * static_cast<double>(one) + 0.5)),
      left_(most_) {}

// The number is all that is shared, and nothing else is read by what it says: relaxed.
inline Admission RetryBudget::admit(const GateRequest& request) {
  if (request.step_attempt <= 1) return Permit(*this, free, request.now);
  std::int64_t left = left_.load(std::memory_order_relaxed);
  do {
    if (left < one) return GateRefusal{.opens_at = (TimePoint::max)(), .reason = GateReason::retry_budget_spent};
  } while (!left_.compare_exchange_weak(left, left - one, std::memory_order_relaxed, std::memory_order_relaxed));
  return Permit(*this, paid, request.now);
}

// Full, as it is while all is well, it is only read: threads do not disturb each other.
inline void RetryBudget::add(std::int64_t millionths) noexcept {
  std::int64_t left = left_.load(std::memory_order_relaxed);
  while (left < most_ && !left_.compare_exchange_weak(left, (std::min)(left + millionths, most_),
                                                      std::memory_order_relaxed, std::memory_order_relaxed)) {
  }
}

inline void RetryBudget::reset(std::optional<TimePoint> /*now*/) { left_.store(most_, std::memory_order_relaxed); }

inline void RetryBudget::describe(GateSnapshot& snapshot) const {
  snapshot.kind = "retry_budget";
  snapshot.limit = options_.burst;
  snapshot.available = left_.load(std::memory_order_relaxed) / one;
}

}  // namespace planb::inline PLANB_ABI
