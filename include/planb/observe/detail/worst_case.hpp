// SPDX-License-Identifier: MIT
// The worst case of one step: how many calls, how long in waits, how long in all; and what keeps it from more.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/observe/detail/schedule_bounds.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/time/clock.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

namespace planb::inline PLANB_ABI::detail {

inline constexpr long long countless = (std::numeric_limits<long long>::max)();

// Saturated: with what has no bound, neither has the sum nor the product.
[[nodiscard]] inline Duration times(Duration each, long long count) noexcept {
  if (each <= Duration()) return Duration();
  if (count > boundless / each) return boundless;
  return Duration{each.count() * static_cast<Duration::rep>(count)};
}
[[nodiscard]] inline long long plus(long long a, long long b) noexcept { return a > countless - b ? countless : a + b; }

// The longest wait hint that a step heeds: Engine::heed_hint() and, where a jitter spreads hints, a tenth above it. A
// step's max_wait takes its place.
inline constexpr Duration longest_heeded_hint = std::chrono::minutes(1);

// How long each attempt of the step may wait for its gate.
[[nodiscard]] inline Duration longest_admission(const StepPolicy& step) {
  if (step.gate == nullptr) return Duration();
  const Duration patience = (std::max)(step.gate->patience(), Duration::zero());
  return step.max_wait && *step.max_wait < patience ? *step.max_wait : patience;
}

// What a step is given by its run.
struct StepRoom {
  Duration time_left = boundless;     // no more than the budget leaves it
  Duration attempt_time = boundless;  // no attempt takes longer
  bool asked_at_entry = false;        // its schedule is asked before its first attempt
};

// Why there is no further attempt.
enum class WorstEnd : unsigned char { attempts_spent, schedule_ended, wait_too_long, out_of_time, unknown };

struct StepWorst {
  long long calls = 0;
  Duration waits{};
  Duration time{};
  WorstEnd end = WorstEnd::unknown;
  Duration wait{};  // that is too long, at least
};

class StepWalk {
 public:
  StepWalk(const StepPolicy& step, const StepRoom& room)
      : step_(step),
        room_(room),
        admission_(detail::longest_admission(step)),
        attempt_time_(add(admission_, room.attempt_time)),
        longest_hint_(step.schedule != nullptr && detail::has_jitter(*step.schedule)
                          ? longest_heeded_hint + longest_heeded_hint / 10
                          : longest_heeded_hint) {
    if (step.schedule != nullptr) schedule_.emplace(*step.schedule);
  }

  [[nodiscard]] StepWorst walk() {
    if (room_.time_left <= Duration()) return {.end = WorstEnd::out_of_time};
    for (long long left = walk_limit(); left != 0; --left) {
      if ((worst_.calls != 0 || (room_.asked_at_entry && schedule_)) && !wait()) return finish();
      attempt(1);
      if (step_.max_attempts != unlimited && worst_.calls >= step_.max_attempts) {
        worst_.end = WorstEnd::attempts_spent;
        return finish();
      }
    }
    go_on_alike();
    return finish();
  }

 private:
  // So many attempts are looked at one by one.
  [[nodiscard]] long long walk_limit() const {
    const int parts = step_.schedule == nullptr ? 1 : ScheduleAccess::node(*step_.schedule)->parts();
    return (std::max)(1'000, 100'000 / parts);
  }

  // The longest that this wait may be made by a hint, or is by itself. At its entry a step is given no hints.
  [[nodiscard]] Duration longest(Duration delay) const {
    const bool hinted = worst_.calls != 0;
    if (step_.max_wait) return hinted ? *step_.max_wait : (std::min)(delay, *step_.max_wait);
    if (!hinted) return delay;
    return (std::max)(delay, longest_hint_);
  }

  // False: no attempt follows.
  [[nodiscard]] bool wait() {
    DelayBounds delay;
    if (schedule_) {
      Duration since{};
      if (!first_ask_) {
        first_ask_ = time_;
        first_waits_ = waits_;
      } else {
        since = time_ == boundless ? boundless : time_ - *first_ask_;
      }
      delay = schedule_->next({.low_gap = low_gap_, .high_gap = high_gap_, .since = since});
      if (!delay.may_recur) return stop(WorstEnd::schedule_ended);
      time_ = (std::min)(time_, add(*first_ask_, delay.until));
      waits_ = (std::min)(waits_, add(first_waits_, delay.until));
    }
    worst_.wait = delay.low;
    if (step_.max_wait && delay.low > *step_.max_wait) return stop(WorstEnd::wait_too_long);
    low_time_ = add(low_time_, delay.low);
    if (low_time_ >= room_.time_left && room_.time_left != boundless) return stop(WorstEnd::out_of_time);
    const Duration most = longest(delay.high);
    time_ = add(time_, most);
    waits_ = add(waits_, most);
    low_gap_ = delay.low;
    high_gap_ = add(most, attempt_time_);
    return true;
  }

  [[nodiscard]] bool stop(WorstEnd end) noexcept {
    worst_.end = end;
    return false;
  }

  void attempt(long long count) noexcept {
    worst_.calls = plus(worst_.calls, count);
    time_ = add(time_, detail::times(attempt_time_, count));
    waits_ = add(waits_, detail::times(admission_, count));
    worst_.time = (std::max)(worst_.time, time_);
    worst_.waits = (std::max)(worst_.waits, waits_);
  }

  // What is left of a long row of attempts, each with the longest wait that there may be.
  void go_on_alike() {
    const DelayBounds delay = schedule_ ? schedule_->anywhen() : DelayBounds();
    long long more = step_.max_attempts == unlimited ? countless : step_.max_attempts - worst_.calls;
    if (schedule_) {
      if (const std::optional<long long> most = schedule_->most()) {
        more = (std::min)(more, (std::max)(*most + 1 - worst_.calls, 0LL));
      }
    }
    if (delay.low > Duration() && room_.time_left != boundless) {
      more = (std::min<long long>)(more, (room_.time_left - Duration(1) - low_time_) / delay.low);  // as in wait()
    }
    const Duration waited = detail::times(longest(delay.high), more);
    waits_ = add(waits_, waited);
    time_ = add(time_, waited);
    attempt(more);
  }

  [[nodiscard]] StepWorst finish() noexcept {
    if (room_.time_left != boundless) worst_.waits = (std::min)(worst_.waits, room_.time_left - Duration(1));
    worst_.time = (std::min)(worst_.time, room_.time_left);
    return worst_;
  }

  const StepPolicy& step_;
  const StepRoom room_;
  const Duration admission_;     // the longest wait for the gate, before each attempt
  const Duration attempt_time_;  // with that
  const Duration longest_hint_;  // where the step has no max_wait
  std::optional<ScheduleBounds> schedule_;
  StepWorst worst_;
  std::optional<Duration> first_ask_;  // of the schedule: when it was
  Duration first_waits_{};             // and what had been waited by then
  Duration time_{};                    // until now, at most
  Duration low_time_{};                // and at least
  Duration waits_{};                   // at most
  Duration low_gap_{};
  Duration high_gap_{};
};

// The one or the other, whichever is worse.
[[nodiscard]] inline StepWorst worse(const StepWorst& a, const StepWorst& b) noexcept {
  StepWorst both = a.calls >= b.calls ? a : b;
  both.waits = (std::max)(a.waits, b.waits);
  both.time = (std::max)(a.time, b.time);
  return both;
}

}  // namespace planb::inline PLANB_ABI::detail
