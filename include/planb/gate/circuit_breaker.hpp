// SPDX-License-Identifier: MIT
// CircuitBreaker: a gate that keeps calls away from a provider that is failing.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/function.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/catch.hpp>
#include <planb/error/predicate.hpp>
#include <planb/gate/detail/outcome_window.hpp>
#include <planb/gate/gate.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/duration.hpp>
#include <planb/time/optional_duration.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI {

enum class CircuitState : unsigned char {
  closed,     // calls pass, failures are counted
  open,       // no call passes until the open period is over
  half_open,  // a few calls pass, to find out
};

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

// Called as hook(from, to, at), where `at` is the time that the breaker was told.
class CircuitHook {
 public:
  CircuitHook() noexcept = default;

  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, CircuitHook>)
      CircuitHook(F&& hook) {  // NOLINT(google-explicit-constructor): options are written with lambdas
    using Target = std::decay_t<F>;
    static_assert(std::is_invocable_v<Target&, CircuitState, CircuitState, TimePoint>,
                  "planb: `on_change` is called as on_change(planb::CircuitState from, planb::CircuitState to, "
                  "planb::TimePoint at)");
    static_assert(std::is_copy_constructible_v<Target>,
                  "planb: `on_change` must be copyable; hand over std::ref(hook) for one that is not");
    call_ = detail::Function<void(CircuitState, CircuitState, TimePoint)>(Adapter<Target>{std::forward<F>(hook)});
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }

  void operator()(CircuitState from, CircuitState to, TimePoint at) const { call_(from, to, at); }

 private:
  template <class F>
  struct Adapter {
    mutable F hook;  // may be a mutable lambda

    void operator()(CircuitState from, CircuitState to, TimePoint at) const { static_cast<void>(hook(from, to, at)); }
  };

  detail::Function<void(CircuitState, CircuitState, TimePoint)> call_;
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

  // Told of every change of state, in order, by one thread at a time and outside the breaker's lock, so it may use the
  // breaker. It is called by the thread that made the change, or by one that is telling an earlier change at the time.
  // What it throws is dropped.
  CircuitHook on_change = {};
};

// Closed, it counts failures; open, it refuses at once, without a call or a wait; half-open, it lets `half_open_probes`
// calls through and closes or opens again by what becomes of them. A success ends a run of consecutive failures.
//
// Each change of state begins a new generation: what comes of a call that was let through before changes nothing, but
// that its wait hint may make an open period longer. A call that ends neutral (its permit is dropped, its failure does
// not count) gives its place among the probes back. A probe's first output, in a stream, is its success, and closes the
// breaker where it is the last that was missing; what becomes of that stream afterwards is neither.
//
// It keeps no clock and starts no thread: it knows only the times that it is handed, and becomes half-open when it is
// asked for a permit after its open period. Share one for all plans that use the same provider, by std::shared_ptr.
class PLANB_VISIBLE CircuitBreaker final : public Gate {
 public:
  // Refuses options that make no sense, with std::invalid_argument.
  explicit CircuitBreaker(CircuitBreakerOptions options = {});

  [[nodiscard]] Admission admit(TimePoint now) override;

  // `now` where a permit may be had at once, and otherwise the end of the open period. TimePoint's maximum where nobody
  // knows: all probes are out, or only reset() ends the period.
  [[nodiscard]] TimePoint opens_at(TimePoint now) const override;

  // The last known state; open also after the open period, until somebody asks for a permit.
  [[nodiscard]] CircuitState state() const noexcept { return state_of(word_.load(std::memory_order_acquire)); }

  // The state that a call made now would meet.
  [[nodiscard]] CircuitState state(TimePoint now) const;

  // Closed, as if new. `now` is for the hook; not given: the latest time that a change told it.
  void reset(std::optional<TimePoint> now = std::nullopt);

  // Open until `until`, or until reset() where that is not given. Never shortens an open period. `now` is for the hook;
  // not given: the latest time that a change told it.
  void force_open(std::optional<TimePoint> until = std::nullopt, std::optional<TimePoint> now = std::nullopt);

 private:
  // The state in the two lowest bits, above it the generation. It is a permit's ticket too; but that of a probe has its
  // own number there, so that each of them can be told apart.
  using Word = std::uint64_t;

  struct Change {
    CircuitState from;
    CircuitState to;
    TimePoint at;
  };

  // Gives a probe's place back on every way out; after a change of state there is none to give back.
  struct PlaceKeeper {
    CircuitBreaker& breaker;
    Word ticket;

    PlaceKeeper(CircuitBreaker& b, Word t) noexcept : breaker(b), ticket(t) {}
    PlaceKeeper(const PlaceKeeper&) = delete;
    PlaceKeeper& operator=(const PlaceKeeper&) = delete;
    ~PlaceKeeper() { breaker.on_dropped(ticket); }
  };

  using Lock = std::unique_lock<std::mutex>;

  static constexpr Word first = Word{1} << 2U;  // closed, in the generation 1: zero is no ticket of a pass
  static constexpr TimePoint never = (TimePoint::max)();

  static constexpr CircuitState state_of(Word word) noexcept { return static_cast<CircuitState>(word & 3U); }
  static constexpr std::uint64_t generation_of(Word word) noexcept { return word >> 2U; }
  static constexpr bool is_probe(Word ticket) noexcept { return state_of(ticket) == CircuitState::half_open; }

  // Without the lock: false only where it is not current, and will not be again.
  [[nodiscard]] bool may_be_current(Word ticket) const noexcept {
    const Word word = word_.load(std::memory_order_acquire);
    return is_probe(ticket) ? is_probe(word) : word == ticket;
  }

  void on_success(std::uint64_t ticket, TimePoint now) override;
  void on_first_output(std::uint64_t ticket, TimePoint now) override;
  void on_failure(std::uint64_t ticket, const Cause& cause, TimePoint now) override;
  void on_dropped(std::uint64_t ticket) noexcept override;

  void probe_succeeded(Word ticket, TimePoint now);
  // Whether its open period is over, where it is open.
  [[nodiscard]] bool is_over(TimePoint now) const noexcept { return now >= open_until_ && open_until_ != never; }
  [[nodiscard]] Duration hint(const Cause& cause) const;

  // Under the lock.
  [[nodiscard]] bool is_current(Word ticket) const noexcept {
    if (!is_probe(ticket)) return word_.load(std::memory_order_relaxed) == ticket;
    return std::find(running_.begin(), running_.end(), ticket) != running_.end();
  }
  // Half-open, each permit becomes a success, a change of state, or a place that is free again.
  [[nodiscard]] bool has_place() const noexcept {
    return running_.size() + static_cast<std::size_t>(succeeded_) < static_cast<std::size_t>(options_.half_open_probes);
  }
  void end_probe(Word ticket) noexcept { running_.erase(std::find(running_.begin(), running_.end(), ticket)); }
  [[nodiscard]] bool count_failure(TimePoint now) noexcept;
  void open(Word ticket, const Cause& cause, TimePoint now, Lock& lock);
  void extend(const Cause& cause, TimePoint now, Lock& lock);
  void set_row(int failures) noexcept;
  void change(CircuitState to, TimePoint now);
  void tell(Lock& lock);

  static void check(const CircuitBreakerOptions& options);

  // What a healthy provider's calls read, and nobody writes then.
  std::atomic<Word> word_{first};
  std::atomic<int> row_{0};  // of counted failures; written under the lock
  const CircuitBreakerOptions options_;
  const std::unique_ptr<detail::OutcomeWindow> window_;

  mutable std::mutex mutex_;
  int openings_ = 0;  // since it was last closed
  TimePoint open_until_{};
  std::vector<Word> running_;                       // the tickets of the probes that are out
  int succeeded_ = 0;                               // probes that have succeeded
  std::uint64_t probes_ = 0;                        // that there ever were
  std::optional<TimePoint> latest_ = std::nullopt;  // the latest time of a change
  std::vector<Change> changes_;
  std::size_t told_ = 0;  // of them
  bool telling_ = false;
};

// A breaker to be shared: .gate = planb::circuit_breaker({.failure_threshold = 3}).
[[nodiscard]] inline std::shared_ptr<CircuitBreaker> circuit_breaker(CircuitBreakerOptions options = {}) {
  return std::make_shared<CircuitBreaker>(std::move(options));
}

inline CircuitBreaker::CircuitBreaker(CircuitBreakerOptions options)
    : options_([&] {
        check(options);
        if (!options.failure_threshold && !options.failure_ratio) options.failure_threshold = 5;
        return std::move(options);
      }()),
      window_(options_.failure_ratio ? std::make_unique<detail::OutcomeWindow>(options_.window) : nullptr) {
  if (window_ != nullptr) window_->restart(generation_of(first));
  set_row(0);
}

inline Admission CircuitBreaker::admit(TimePoint now) {
  if (const Word word = word_.load(std::memory_order_acquire); state_of(word) == CircuitState::closed) {
    return {Permit(*this, word), now};
  }
  Admission admission;
  {
    Lock lock(mutex_);
    if (state() == CircuitState::open) {
      if (!is_over(now)) return {std::nullopt, open_until_};
      change(CircuitState::half_open, now);
    }
    Word ticket = word_.load(std::memory_order_relaxed);
    if (is_probe(ticket)) {
      if (!has_place()) return {std::nullopt, never};
      ticket = (probes_ + 1) << 2U | static_cast<Word>(CircuitState::half_open);
      running_.push_back(ticket);
      ++probes_;
    }
    admission.permit.emplace(*this, ticket);
    admission.opens_at = now;
    tell(lock);
  }
  return admission;
}

inline TimePoint CircuitBreaker::opens_at(TimePoint now) const {
  if (state() == CircuitState::closed) return now;
  const Lock lock(mutex_);
  switch (state()) {
    case CircuitState::closed: break;
    case CircuitState::open: return (std::max)(open_until_, now);
    case CircuitState::half_open: return has_place() ? now : never;
  }
  return now;
}

inline CircuitState CircuitBreaker::state(TimePoint now) const {
  const Lock lock(mutex_);
  return state() == CircuitState::open && is_over(now) ? CircuitState::half_open : state();
}

inline void CircuitBreaker::reset(std::optional<TimePoint> now) {
  Lock lock(mutex_);
  change(CircuitState::closed, now ? *now : latest_.value_or(TimePoint{}));
  tell(lock);
}

inline void CircuitBreaker::force_open(std::optional<TimePoint> until, std::optional<TimePoint> now) {
  Lock lock(mutex_);
  const TimePoint end = until.value_or(never);
  if (state() == CircuitState::open) {
    open_until_ = (std::max)(open_until_, end);
  } else {
    change(CircuitState::open, now ? *now : latest_.value_or(TimePoint{}));
    open_until_ = end;
  }
  tell(lock);
}

inline void CircuitBreaker::on_success(std::uint64_t ticket, TimePoint now) {
  if (!may_be_current(ticket)) return;
  if (is_probe(ticket)) return probe_succeeded(ticket, now);
  if (window_ != nullptr) window_->add_success(generation_of(ticket), now);
  if (row_.load(std::memory_order_relaxed) == 0) return;
  const Lock lock(mutex_);
  if (is_current(ticket)) set_row(0);
}

// The provider has answered. For a closed breaker the answer's end counts.
inline void CircuitBreaker::on_first_output(std::uint64_t ticket, TimePoint now) {
  if (is_probe(ticket) && may_be_current(ticket)) probe_succeeded(ticket, now);
}

// Once for each probe: after that its ticket is known no more.
inline void CircuitBreaker::probe_succeeded(Word ticket, TimePoint now) {
  Lock lock(mutex_);
  if (!is_current(ticket)) return;
  if (succeeded_ + 1 == options_.half_open_probes) {
    change(CircuitState::closed, now);
  } else {
    end_probe(ticket);
    ++succeeded_;
  }
  tell(lock);
}

inline void CircuitBreaker::on_failure(std::uint64_t ticket, const Cause& cause, TimePoint now) {
  const PlaceKeeper place(*this, ticket);
  if (!may_be_current(ticket) && !(options_.honour_retry_after && state() == CircuitState::open)) return;
  if (cause.kind() == CauseKind::interrupted || cause.kind() == CauseKind::defect) return;
  if (options_.counts_as_failure && !options_.counts_as_failure(cause)) return;
  Lock lock(mutex_);
  if (!is_current(ticket)) return extend(cause, now, lock);
  if (is_probe(ticket) || count_failure(now)) open(ticket, cause, now, lock);
  tell(lock);
}

inline void CircuitBreaker::on_dropped(std::uint64_t ticket) noexcept {
  if (!is_probe(ticket) || !may_be_current(ticket)) return;
  const Lock lock(mutex_);
  if (is_current(ticket)) end_probe(ticket);
}

// Whether this one opens the breaker.
inline bool CircuitBreaker::count_failure(TimePoint now) noexcept {
  bool opens = false;
  if (options_.failure_threshold) {
    const int row = row_.load(std::memory_order_relaxed);
    if (row < *options_.failure_threshold) set_row(row + 1);
    opens = row + 1 >= *options_.failure_threshold;
  }
  if (window_ != nullptr) {
    const detail::OutcomeWindow::Counts counts = window_->add_failure(now);
    opens =
        opens || (counts.all >= static_cast<std::uint64_t>(options_.minimum_calls) &&
                  static_cast<double>(counts.failures) / static_cast<double>(counts.all) >= *options_.failure_ratio);
  }
  return opens;
}

inline void CircuitBreaker::open(Word ticket, const Cause& cause, TimePoint now, Lock& lock) {
  const int openings = openings_ < (std::numeric_limits<int>::max)() ? openings_ + 1 : openings_;
  Duration period{};
  if (const std::optional<Duration> fixed = options_.open_for.fixed(); fixed && !options_.honour_retry_after) {
    period = *fixed;
  } else {  // the caller's own code: not under the lock
    lock.unlock();
    period = options_.open_for(openings);
    period = (std::max)(period, hint(cause));
    lock.lock();
    if (!is_current(ticket)) return extend(cause, now, lock);
  }
  change(CircuitState::open, now);
  openings_ = openings;
  open_until_ = detail::add(now, period);
}

// For how long a failure asks to be left alone.
inline Duration CircuitBreaker::hint(const Cause& cause) const {
  if (!options_.honour_retry_after) return Duration::zero();
  return (std::min<Duration>)(cause.retry_after().value_or(Duration::zero()), options_.longest_hint);
}

// A failure of a call that was let through before the breaker opened.
inline void CircuitBreaker::extend(const Cause& cause, TimePoint now, Lock& lock) {
  if (state() != CircuitState::open) return;
  lock.unlock();
  const Duration wait = hint(cause);
  lock.lock();
  if (wait > Duration::zero() && state() == CircuitState::open) {
    open_until_ = (std::max)(open_until_, detail::add(now, wait));
  }
}

// Closed, without a failure in the row, and without a window to count in, a success changes nothing.
inline void CircuitBreaker::set_row(int failures) noexcept {
  row_.store(failures, std::memory_order_relaxed);
  const Word word = word_.load(std::memory_order_relaxed);
  const bool passes = failures == 0 && window_ == nullptr && state_of(word) == CircuitState::closed;
  pass_.store(passes ? word : 0, std::memory_order_release);
}

inline void CircuitBreaker::change(CircuitState to, TimePoint now) {
  const Word word = word_.load(std::memory_order_relaxed);
  const std::uint64_t generation = generation_of(word) + 1;
  const TimePoint at = latest_ ? (std::max)(*latest_, now) : now;
  if (options_.on_change && to != state_of(word)) changes_.push_back({state_of(word), to, at});
  latest_ = at;
  if (to == CircuitState::closed) openings_ = 0;
  running_.clear();
  succeeded_ = 0;
  if (window_ != nullptr) window_->restart(generation);
  word_.store(generation << 2U | static_cast<Word>(to), std::memory_order_release);  // last: it lets others in
  set_row(0);
}

inline void CircuitBreaker::tell(Lock& lock) {
  if (telling_) return;  // who does will come to it
  telling_ = true;
  while (told_ != changes_.size()) {
    const Change next = changes_[told_++];
    lock.unlock();
#if PLANB_HAS_EXCEPTIONS
    try {
#endif
      options_.on_change(next.from, next.to, next.at);
#if PLANB_HAS_EXCEPTIONS
    } catch (...) {
      if (detail::unwinding()) {  // the thread is being unwound: the next one goes on
        lock.lock();
        telling_ = false;
        lock.unlock();
        throw;
      }
    }
#endif
    lock.lock();
  }
  changes_.clear();
  told_ = 0;
  telling_ = false;
}

inline void CircuitBreaker::check(const CircuitBreakerOptions& options) {
  const auto refuse = [](const std::string& what) { detail::refuse("circuit breaker: " + what); };
  if (options.failure_threshold && *options.failure_threshold < 1) {
    refuse("`failure_threshold` is " + std::to_string(*options.failure_threshold) +
           "; it is how many consecutive failures open it, so it must be 1 or more");
  }
  if (options.failure_ratio && !(*options.failure_ratio > 0 && *options.failure_ratio <= 1)) {
    refuse("`failure_ratio` is " + std::to_string(*options.failure_ratio) +
           "; it is a share of the calls, so it must be above 0 and at most 1");
  }
  if (options.window <= Duration::zero()) refuse("`window` must be above zero; give the time to look back over");
  if (options.minimum_calls < 1) {
    refuse("`minimum_calls` is " + std::to_string(options.minimum_calls) + "; it must be 1 or more calls");
  }
  if (const std::optional<Duration> fixed = options.open_for.fixed(); fixed && *fixed <= Duration::zero()) {
    refuse("`open_for` must be above zero; give the time for which nothing is to pass");
  }
  if (options.half_open_probes < 1) {
    refuse("`half_open_probes` is " + std::to_string(options.half_open_probes) +
           "; without one it could never close again: 1 or more");
  }
  if (options.longest_hint < Duration::zero()) {
    refuse("`longest_hint` is negative; `honour_retry_after = false` leaves wait hints aside");
  }
}

}  // namespace planb::inline PLANB_ABI
