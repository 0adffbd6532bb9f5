// SPDX-License-Identifier: MIT
// What a circuit breaker is given, and what it shows: its options, states, changes and counts.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/function.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/predicate.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/duration.hpp>
#include <planb/time/optional_duration.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

enum class CircuitState : unsigned char {
  closed,     // calls pass, failures are counted
  open,       // no call passes until the open period is over
  half_open,  // a few calls pass, to find out
};

[[nodiscard]] constexpr std::string_view to_label(CircuitState value) noexcept {
  switch (value) {
    case CircuitState::closed: return "closed";
    case CircuitState::open: return "open";
    case CircuitState::half_open: return "half_open";
  }
  return {};
}

[[nodiscard]] constexpr const char* to_string(CircuitState state) noexcept {
  switch (state) {
    case CircuitState::closed: return "closed";
    case CircuitState::open: return "open";
    case CircuitState::half_open: return "half-open";
  }
  return "unknown";
}

// How long a breaker stays open: a duration, or a function of how many times it has opened since it was last closed (1,
// 2, ...), such as [](int n) { return n * 10s; }.
class OpenPeriod {
 public:
  template <class Rep, class Period>
  OpenPeriod(std::chrono::duration<Rep, Period> period)  // NOLINT(google-explicit-constructor): an option's value
      : fixed_(detail::to_duration(period)) {}

  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, OpenPeriod> && !detail::is_duration<std::remove_cvref_t<F>>)
      OpenPeriod(F&& of_openings) {  // NOLINT(google-explicit-constructor): an option's value
    using Target = std::decay_t<F>;
    constexpr bool fits = requires(const Target& target) {
      requires detail::is_duration<std::remove_cvref_t<decltype(target(1))>>;
    };
    static_assert(fits && std::is_copy_constructible_v<Target>,
                  "planb: `open_for` is a duration, or a copyable function from the number of openings (int) to a "
                  "duration, called through const");
    if constexpr (fits) {
      function_ = detail::Function<Duration(int)>([target = Target(std::forward<F>(of_openings))](int openings) {
        return detail::to_duration(target(openings));
      });
    }
  }

  // The period, where it is the same for every opening.
  [[nodiscard]] std::optional<Duration> fixed() const noexcept {
    return function_ ? std::nullopt : std::optional<Duration>(fixed_);
  }

  // Never negative. Throws what the function throws.
  [[nodiscard]] Duration operator()(int openings) const {
    return function_ ? (std::max)(function_(openings), Duration::zero()) : fixed_;
  }

 private:
  Duration fixed_{};
  detail::Function<Duration(int)> function_;
};

// What a breaker has counted since it was last closed.
struct CircuitCounts {
  int consecutive_failures = 0;

  // In the window; zero without `failure_ratio` and `slow_call`.
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;
  std::uint64_t slow = 0;  // slow successes

  friend bool operator==(const CircuitCounts&, const CircuitCounts&) = default;
};

// A change of state.
struct CircuitChange {
  std::string name = {};  // CircuitBreakerOptions::name
  CircuitState from = CircuitState::closed;
  CircuitState to = CircuitState::closed;
  std::optional<Cause> cause = std::nullopt;  // the failure that opened it; none: slow calls did, or it was not opened
  CircuitCounts counts = {};                  // when it changed
  std::optional<TimePoint> open_until = std::nullopt;  // of one that has opened; TimePoint's maximum: until reset()
  bool forced = false;                                 // by reset() or force_open()
  TimePoint at{};                                      // by the times that the breaker was given
};

// What a breaker shows of itself.
struct CircuitSnapshot {
  std::string name = {};
  CircuitState state = CircuitState::closed;  // the last known: open also after the open period, until somebody asks
  CircuitCounts counts = {};
  int openings = 0;          // since it was last closed
  int probes_running = 0;    // half-open
  int probes_succeeded = 0;  // half-open
  std::optional<TimePoint> open_until = std::nullopt;
  bool forced = false;                                 // the last change of state was
  std::optional<TimePoint> changed_at = std::nullopt;  // the time of it
};

// Called as hook(const CircuitChange&).
class CircuitHook {
 public:
  CircuitHook() noexcept = default;

  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, CircuitHook>)
      CircuitHook(F&& hook) {  // NOLINT(google-explicit-constructor): options are written with lambdas
    using Target = std::decay_t<F>;
    constexpr bool fits = std::is_invocable_v<Target&, const CircuitChange&>;
    static_assert(fits, "planb: `on_change` is called as on_change(const planb::CircuitChange& change)");
    static_assert(std::is_copy_constructible_v<Target>,
                  "planb: `on_change` must be copyable; hand over std::ref(hook) for one that is not");
    if constexpr (fits) call_ = detail::Function<void(const CircuitChange&)>(Adapter<Target>{std::forward<F>(hook)});
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }

  void operator()(const CircuitChange& change) const { call_(change); }

 private:
  template <class F>
  struct Adapter {
    mutable F hook;  // may be a mutable lambda

    void operator()(const CircuitChange& change) const { static_cast<void>(hook(change)); }
  };

  detail::Function<void(const CircuitChange&)> call_;
};

// Write it with designated initialisers: {.failure_threshold = 3, .open_for = 10s}.
struct CircuitBreakerOptions {
  // Opens after this many consecutive counted failures. Neither this nor `failure_ratio` given: 5.
  std::optional<int> failure_threshold = std::nullopt;

  // Opens where this share of the calls in the last `window` are counted failures (above 0, at most 1), and there were
  // at least `minimum_calls` of them, this failure included. Given together with `failure_threshold`: whichever comes
  // first.
  std::optional<double> failure_ratio = std::nullopt;
  int minimum_calls = 10;
  SaturatedDuration window = std::chrono::minutes(1);

  // The time for which nothing passes.
  OpenPeriod open_for = std::chrono::seconds(30);

  // Half-open, this many calls pass and no more; it closes when as many have succeeded. One counted failure opens it
  // again. A stream has succeeded with its first output.
  int half_open_probes = 1;

  // Which failures count, in the forms of Step::retry_while. The others are neutral, neither failures nor successes, as
  // are interruptions and defects, about which it is not asked. Not given: errors, timeouts and refused values count.
  detail::ErrorPredicate counts_as_failure = {};

  // Whether the wait hint of the failure that opens it makes the open period longer, up to `longest_hint`. So does that
  // of a counted failure which comes later, of a call that was let through before, from the time of that failure.
  bool honour_retry_after = true;
  SaturatedDuration longest_hint = std::chrono::hours(1);

  // A success that took as long as this, or longer, is slow; a stream takes until its first output. Opens where this
  // share of the calls in the last `window` are slow successes, and there were at least `minimum_calls` of them, this
  // one included. A slow success ends a run of consecutive failures, and is a probe's success.
  OptionalDuration slow_call = std::nullopt;
  double slow_ratio = 0.5;

  // A probe that is older gives its slot to another one, and its outcome counts for nothing then. Not given: as long as
  // `open_for` says for the period before it.
  OptionalDuration probe_timeout = std::nullopt;

  // Of consecutive failures, those that are older than this at the latest one do not count.
  OptionalDuration failure_memory = std::nullopt;

  // For changes, events, reports and lists.
  std::string name = {};

  // For how long a step waits for it to let the attempt through.
  SaturatedDuration patience = Duration::zero();

  // Told of every change of state, in order, by one thread at a time and outside the breaker's lock, so it may use the
  // breaker. It is called by the thread that made the change, or by one that is at an earlier change.
  // What it throws is dropped.
  CircuitHook on_change = {};
};

namespace detail {

// As it is meant where it is not given: five, without a ratio.
[[nodiscard]] constexpr std::optional<int> failure_threshold_of(std::optional<int> given,
                                                                std::optional<double> ratio) noexcept {
  return given || ratio ? given : std::optional<int>(5);
}

// What makes no sense in the options, or an empty text.
[[nodiscard]] std::string options_fault(const CircuitBreakerOptions& options);

}  // namespace detail

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/gate/impl/circuit_breaker_options.hpp>  // IWYU pragma: export
#endif
