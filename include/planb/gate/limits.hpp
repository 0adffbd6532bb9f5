// SPDX-License-Identifier: MIT
// Limits: so many attempts in a time, so many at once, so many retries for each success.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/gate/detail/atomic.hpp>
#include <planb/gate/detail/mutex.hpp>
#include <planb/gate/gate.hpp>
#include <planb/gate/snapshot.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/duration.hpp>
#include <planb/time/optional_duration.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

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
[[nodiscard]] std::shared_ptr<RateLimit> rate_limit(RateLimitOptions options);
[[nodiscard]] std::shared_ptr<ConcurrencyLimit> concurrency_limit(ConcurrencyLimitOptions options);
[[nodiscard]] std::shared_ptr<RetryBudget> retry_budget(RetryBudgetOptions options = {});

namespace detail {

// As it is meant where it is not given.
[[nodiscard]] constexpr int burst_of(const RateLimitOptions& options) noexcept {
  return options.burst.value_or(options.permits);
}

// What makes no sense in the options, or an empty text.
[[nodiscard]] std::string options_fault(const RateLimitOptions& options);
[[nodiscard]] std::string options_fault(const ConcurrencyLimitOptions& options);
[[nodiscard]] std::string options_fault(const RetryBudgetOptions& options);

}  // namespace detail

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/gate/impl/limits.hpp>  // IWYU pragma: export
#endif
