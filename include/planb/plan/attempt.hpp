// SPDX-License-Identifier: MIT
// Attempt: what a running attempt knows of itself.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/cause.hpp>
#include <planb/time/clock.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace planb::inline PLANB_ABI {

namespace detail {

#if PLANB_HAS_STOP_TOKEN
// A stop source that fires when the caller's token does, or at the attempt's deadline.
class AttemptStop {
 public:
  AttemptStop(const StopToken& callers, Clock& clock, TimePoint deadline);

  [[nodiscard]] StopToken token() const noexcept { return source_.get_token(); }

  // Once fired, it stays fired.
  void move_to(Clock& clock, TimePoint deadline);

 private:
  struct Request {
    std::stop_source source;
    // Through a copy: a callback of the stop may end the attempt, and this with it.
    void operator()() const noexcept { std::stop_source(source).request_stop(); }
  };

  std::stop_source source_;
  std::stop_callback<Request> forward_;
  Timer timer_;
};
#endif

class Engine;
struct StepPolicy;

inline constexpr TimePoint no_deadline = (TimePoint::max)();

// What the engine knows of the attempt that is running. `stop` and `previous` are the run's.
struct AttemptSite {
  Clock* clock = nullptr;  // where the attempt's time is limited
  // Of a stream both change while its source may look at them from a thread of its own.
  std::atomic<TimePoint> deadline = no_deadline;
  std::atomic<std::size_t> delivered = 0;  // in all attempts of the run
  const StopToken* stop = nullptr;
  const Cause* previous = nullptr;
#if PLANB_HAS_STOP_TOKEN
  std::unique_ptr<AttemptStop> own_stop;  // made when it is first asked for
#endif
};

}  // namespace detail

// Handed to factories and callables that ask for it. May be copied and taken to another thread; its functions may be
// called until the attempt is over, by one thread at a time.
class Attempt {
 public:
  int attempt = 1;       // across all steps, from 1
  int step_attempt = 1;  // within the step, from 1
  int step_index = 0;    // from 0

 private:
  friend class detail::Engine;

  // What the run's options say of what may follow. Here, where there is room between two others.
  bool entry_asks_ = false;        // a step's schedule and retry_while are asked before its first attempt
  bool output_ends_plan_ = false;  // once there was output, no other step follows
  bool output_ends_step_ = false;  // and no other attempt

 public:
  std::string_view step_name;  // lives as long as the plan

  // The failure before this attempt, in this step or an earlier one; null at the first attempt of a run.
  [[nodiscard]] const Cause* previous() const noexcept { return site_ != nullptr ? site_->previous : nullptr; }

  // When the attempt's time is up: the smaller of Step::timeout and what the budget leaves to the step. None: no limit.
  // In a stream it moves with each element, since there Step::timeout bounds the source's silence; until the first
  // output, Step::first_timeout stands in its place where the step has one.
  [[nodiscard]] std::optional<TimePoint> deadline() const noexcept {
    const TimePoint due = site_ != nullptr ? site_->deadline.load(std::memory_order_relaxed) : detail::no_deadline;
    if (due == detail::no_deadline) return std::nullopt;
    return due;
  }

  // What is left of that time now, never negative: to be handed to the client library. A client that gives up a moment
  // early, since it rounds down, fails with an error of its own and not by timeout.
  [[nodiscard]] std::optional<Duration> timeout() const;

  // Of a stream: how many elements the consumer has already, from this attempt and those before it. A provider that can
  // resume starts from there.
  [[nodiscard]] std::size_t delivered() const noexcept {
    return site_ != nullptr ? site_->delivered.load(std::memory_order_relaxed) : 0;
  }

  // Whether the step can make no further attempt if this one fails: true, false, or unknown where a schedule, a
  // predicate or a classifier decides. As things stand: the end of the run's time, a stop, a closed gate, an error that
  // asks for no retry or for too long a wait, a verdict of accepting(), or, with StreamOptions::partial, output that is
  // still to come may make it the last after all.
  [[nodiscard]] std::optional<bool> last_of_step() const noexcept;
  // Whether the run can make none. Unknown also where only steps follow that may be passed over: those with enter_when
  // and, in StepEntry::scheduled, those whose schedule or retry_while is asked first.
  [[nodiscard]] std::optional<bool> last_of_run() const noexcept;

  // Fires when the caller stops the run, or when the attempt's time is up. Its callbacks may run on the clock's timer
  // thread, and hold up every other timer while they do: they must be quick. In a stream, ask for it first on the
  // thread that makes the attempt.
  [[nodiscard]] StopToken stop_token() const;

  Attempt() noexcept = default;
  Attempt(int number, int number_in_step, int index, std::string_view name, detail::AttemptSite* site = nullptr,
          const detail::StepPolicy* policy = nullptr) noexcept
      : attempt(number),
        step_attempt(number_in_step),
        step_index(index),
        step_name(name),
        site_(site),
        policy_(policy) {}

 private:
  detail::AttemptSite* site_ = nullptr;
  const detail::StepPolicy* policy_ = nullptr;  // of its step; lives as long as the plan
};

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/plan/impl/attempt.hpp>  // IWYU pragma: export
#endif
