// SPDX-License-Identifier: MIT
// CircuitBreaker: a gate that keeps calls away from a provider that is failing.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/catch.hpp>
#include <planb/gate/circuit_breaker_options.hpp>
#include <planb/gate/detail/outcome_window.hpp>
#include <planb/gate/detail/sync.hpp>
#include <planb/gate/gate.hpp>
#include <planb/gate/snapshot.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/duration.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI {

// Closed, it counts failures; open, it refuses at once, without a call or a wait; half-open, it lets `half_open_probes`
// calls through and closes or opens again by what becomes of them. A success ends a run of consecutive failures.
//
// Each change of state begins a new generation: what comes of a call that was let through before changes nothing, but
// that its wait hint may make an open period longer. A call that ends neutral (its permit is dropped, its failure does
// not count), and one that is older than `probe_timeout`, gives its half-open probe slot back. A probe's first output,
// in a stream, is its success, and closes the breaker where it is the last that was missing; what becomes of that
// stream afterwards is neither.
//
// It keeps no clock and starts no thread: it knows only the times that it is handed, and becomes half-open when it is
// asked for a permit after its open period. Share one for all plans that use the same provider, by std::shared_ptr.
class PLANB_VISIBLE CircuitBreaker final : public Gate {
 public:
  // Refuses options that make no sense, with std::invalid_argument.
  explicit CircuitBreaker(CircuitBreakerOptions options = {});

  [[nodiscard]] Admission admit(const GateRequest& request) override;

  // `now` where a permit may be had at once, and otherwise the end of the open period, or, where all probes are out,
  // the earliest time at which one of them has lasted for `probe_timeout`. TimePoint's maximum where nobody knows: only
  // reset() ends the period.
  [[nodiscard]] TimePoint opens_at(const GateRequest& request) const override;
  [[nodiscard]] GateRefusal refusal(const GateRequest& request) const override;

  [[nodiscard]] std::string_view name() const override { return options_.name; }
  [[nodiscard]] Duration patience() const override { return options_.patience; }

  // The last known state; open also after the open period, until somebody asks for a permit.
  [[nodiscard]] CircuitState state() const noexcept { return state_of(word_.load(std::memory_order_acquire)); }

  // The state that a call made now would meet.
  [[nodiscard]] CircuitState state(TimePoint now) const;

  [[nodiscard]] CircuitSnapshot snapshot() const;

  // Closed, as if new. `now` is for the hook; not given: the latest time that a change told it.
  void reset(std::optional<TimePoint> now = std::nullopt) override;

  // Open until `until`, or until reset() where that is not given. Never shortens an open period. `now` is for the hook;
  // not given: the latest time that a change told it.
  void force_open(std::optional<TimePoint> until = std::nullopt, std::optional<TimePoint> now = std::nullopt);

 private:
  // The state in the two lowest bits, above it the generation. It is a permit's ticket too; but that of a probe has its
  // own number there, so that each of them can be told apart.
  //
  // The word is all that is read without the lock, and it is written under the lock alone, last of everything that a
  // change of state writes (release): whoever reads `closed` (acquire) and goes on without the lock sees a window that
  // belongs to this generation or a later one. Such a reader may act on a word that has just been replaced. That is the
  // same as having come before the change: an admission carries the old generation, which counts for nothing when it
  // ends, and an outcome is looked at again under the lock (is_current). pass_ follows the word in the same way.
  using Word = std::uint64_t;

  struct Probe {
    Word ticket;
    TimePoint ends;  // its slot is free then
  };

  // Gives a half-open probe slot back on every way out; after a change of state there is none to give back.
  struct SlotKeeper {
    CircuitBreaker& breaker;
    Word ticket;

    SlotKeeper(CircuitBreaker& b, Word t) noexcept : breaker(b), ticket(t) {}
    SlotKeeper(const SlotKeeper&) = delete;
    SlotKeeper& operator=(const SlotKeeper&) = delete;
    ~SlotKeeper() { breaker.on_dropped(ticket, true); }
  };

  using Lock = std::unique_lock<detail::Mutex>;
  using LockGuard = std::lock_guard<detail::Mutex>;

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

  void on_outcome(std::uint64_t ticket, const GateOutcome& outcome) override;
  void on_first_output(std::uint64_t ticket, TimePoint now) override;
  void on_dropped(std::uint64_t ticket, bool used) noexcept override;
  void describe(GateSnapshot& snapshot) const override;

  void succeeded(Word ticket, const GateOutcome& outcome);
  void failed(Word ticket, const Cause& cause, TimePoint now);
  void probe_succeeded(Word ticket, TimePoint now);
  [[nodiscard]] bool is_slow(const GateOutcome& outcome) const noexcept {
    return options_.slow_call &&
           detail::between(outcome.started, outcome.first_output.value_or(outcome.now)) >= *options_.slow_call;
  }
  // Whether its open period is over, where it is open.
  [[nodiscard]] bool is_over(TimePoint now) const noexcept { return now >= open_until_ && open_until_ != never; }
  [[nodiscard]] static bool is_over(const Probe& probe, TimePoint now) noexcept {
    return now >= probe.ends && probe.ends != never;
  }
  [[nodiscard]] Duration hint(const Cause* cause) const;

  // Under the lock.
  [[nodiscard]] bool is_current(Word ticket) const noexcept {
    if (!is_probe(ticket)) return word_.load(std::memory_order_relaxed) == ticket;
    return std::any_of(probes_.begin(), probes_.end(), [=](const Probe& probe) { return probe.ticket == ticket; });
  }
  // Half-open, each permit becomes a success, a change of state, or a slot that is free again.
  [[nodiscard]] bool has_slot(TimePoint now) const noexcept {
    const auto out = std::count_if(probes_.begin(), probes_.end(), [=](const Probe& p) { return !is_over(p, now); });
    return out < options_.half_open_probes - succeeded_;
  }
  [[nodiscard]] TimePoint next_slot() const noexcept {
    TimePoint earliest = never;
    for (const Probe& probe : probes_) earliest = (std::min)(earliest, probe.ends);
    return earliest;
  }
  [[nodiscard]] GateRefusal refuse(TimePoint opens_at, GateReason reason) const {
    return {.opens_at = opens_at, .reason = reason};
  }
  void end_probe(Word ticket) noexcept {
    probes_.erase(
        std::remove_if(probes_.begin(), probes_.end(), [=](const Probe& probe) { return probe.ticket == ticket; }),
        probes_.end());
  }
  void end_late_probes(TimePoint now) noexcept {
    probes_.erase(std::remove_if(probes_.begin(), probes_.end(), [=](const Probe& p) { return is_over(p, now); }),
                  probes_.end());
  }
  [[nodiscard]] bool count_failure(TimePoint now);
  [[nodiscard]] int count_in_row(TimePoint now);
  [[nodiscard]] CircuitCounts counts() const noexcept;
  void open(Word ticket, const Cause* cause, TimePoint now, Lock& lock);
  void extend(const Cause* cause, TimePoint now, Lock& lock);
  void set_row(int failures) noexcept;
  void change(CircuitState to, TimePoint now, TimePoint open_until, bool forced,
              std::optional<Cause> cause = std::nullopt);
  void tell(Lock& lock);

  // What a healthy provider's calls read, and nobody writes then.
  detail::Atomic<Word> word_{first};
  detail::Atomic<int> row_{0};  // of counted failures; written under the lock
  const CircuitBreakerOptions options_;
  const std::unique_ptr<detail::OutcomeWindow> window_;

  mutable detail::Mutex mutex_;
  int openings_ = 0;  // since it was last closed
  TimePoint open_until_{};
  Duration probe_timeout_;
  std::vector<Probe> probes_;                       // that are out
  int succeeded_ = 0;                               // probes that have succeeded
  std::uint64_t tickets_ = 0;                       // of probes that there ever were
  std::vector<TimePoint> recent_;                   // the consecutive failures, where failures are forgotten
  std::optional<TimePoint> latest_ = std::nullopt;  // the latest time of a change
  bool forced_ = false;                             // the last change was
  std::vector<CircuitChange> changes_;
  std::size_t told_ = 0;  // of them
  bool telling_ = false;
};

// A breaker to be shared: .gate = planb::circuit_breaker({.failure_threshold = 3}).
[[nodiscard]] inline std::shared_ptr<CircuitBreaker> circuit_breaker(CircuitBreakerOptions options = {}) {
  return std::make_shared<CircuitBreaker>(std::move(options));
}

namespace detail {

// What makes no sense in the options, or an empty text.
[[nodiscard]] inline std::string options_fault(const CircuitBreakerOptions& options) {
  const std::string gate = "circuit breaker: ";
  if (options.failure_threshold && *options.failure_threshold < 1) {
    return gate + "`failure_threshold` is " + std::to_string(*options.failure_threshold) +
           "; it is how many consecutive failures open it, so it must be 1 or more";
  }
  if (options.failure_ratio && !(*options.failure_ratio > 0 && *options.failure_ratio <= 1)) {
    return gate + "`failure_ratio` is " + std::to_string(*options.failure_ratio) +
           "; it is a share of the calls, so it must be above 0 and at most 1";
  }
  if (options.window <= Duration::zero()) return gate + "`window` must be above zero; give the time to look back over";
  if (options.minimum_calls < 1) {
    return gate + "`minimum_calls` is " + std::to_string(options.minimum_calls) + "; it must be 1 or more calls";
  }
  if (const std::optional<Duration> fixed = options.open_for.fixed(); fixed && *fixed <= Duration::zero()) {
    return gate + "`open_for` must be above zero; give the time for which nothing is to pass";
  }
  if (options.half_open_probes < 1) {
    return gate + "`half_open_probes` is " + std::to_string(options.half_open_probes) +
           "; without one it could never close again: 1 or more";
  }
  if (options.longest_hint < Duration::zero()) {
    return gate + "`longest_hint` is negative; `honour_retry_after = false` leaves wait hints aside";
  }
  if (options.slow_call && *options.slow_call <= Duration::zero()) {
    return gate + "`slow_call` must be above zero; give the time from which on a success is slow";
  }
  if (!(options.slow_ratio > 0 && options.slow_ratio <= 1)) {
    return gate + "`slow_ratio` is " + std::to_string(options.slow_ratio) +
           "; it is a share of the calls, so it must be above 0 and at most 1";
  }
  if (options.probe_timeout && *options.probe_timeout <= Duration::zero()) {
    return gate + "`probe_timeout` must be above zero; give the time after which a probe is given up";
  }
  if (options.failure_memory && *options.failure_memory < Duration::zero()) {
    return gate + "`failure_memory` is negative; leave it out where failures are not forgotten";
  }
  if (options.patience < Duration::zero()) return gate + "`patience` is negative; zero waits for no admission";
  return {};
}

}  // namespace detail

inline CircuitBreaker::CircuitBreaker(CircuitBreakerOptions options)
    : options_([&] {
        if (const std::string fault = detail::options_fault(options); !fault.empty()) detail::refuse(fault);
        if (!options.failure_threshold && !options.failure_ratio) options.failure_threshold = 5;
        return std::move(options);
      }()),
      window_(options_.failure_ratio || options_.slow_call ? std::make_unique<detail::OutcomeWindow>(options_.window)
                                                           : nullptr),
      probe_timeout_(options_.probe_timeout.value_or(options_.open_for.fixed().value_or((Duration::max)()))) {
  if (window_ != nullptr) window_->restart(generation_of(first));
  set_row(0);
}

inline Admission CircuitBreaker::admit(const GateRequest& request) {
  const TimePoint now = request.now;
  if (const Word word = word_.load(std::memory_order_acquire); state_of(word) == CircuitState::closed) {
    return Permit(*this, word, now);
  }
  Lock lock(mutex_);
  if (state() == CircuitState::open) {
    if (!is_over(now)) return refuse(open_until_, GateReason::circuit_open);
    change(CircuitState::half_open, now, {}, false);
  }
  Word ticket = word_.load(std::memory_order_relaxed);
  if (is_probe(ticket)) {
    if (!has_slot(now)) return refuse(next_slot(), GateReason::probe_running);
    end_late_probes(now);
    ticket = (tickets_ + 1) << 2U | static_cast<Word>(CircuitState::half_open);
    probes_.push_back({ticket, detail::add(now, probe_timeout_)});
    ++tickets_;
  }
  Permit permit(*this, ticket, now);
  tell(lock);
  lock.unlock();
  return permit;
}

inline TimePoint CircuitBreaker::opens_at(const GateRequest& request) const {
  return state() == CircuitState::closed ? request.now : refusal(request).opens_at;
}

inline GateRefusal CircuitBreaker::refusal(const GateRequest& request) const {
  const TimePoint now = request.now;
  const LockGuard lock(mutex_);
  switch (state()) {
    case CircuitState::closed: break;
    case CircuitState::open: return refuse(is_over(now) ? now : open_until_, GateReason::circuit_open);
    case CircuitState::half_open: return refuse(has_slot(now) ? now : next_slot(), GateReason::probe_running);
  }
  return refuse(now, GateReason::circuit_open);
}

inline CircuitState CircuitBreaker::state(TimePoint now) const {
  const LockGuard lock(mutex_);
  return state() == CircuitState::open && is_over(now) ? CircuitState::half_open : state();
}

inline CircuitSnapshot CircuitBreaker::snapshot() const {
  const LockGuard lock(mutex_);
  CircuitSnapshot snapshot{.name = options_.name,
                           .state = state(),
                           .counts = counts(),
                           .openings = openings_,
                           .probes_running = static_cast<int>(probes_.size()),
                           .probes_succeeded = succeeded_,
                           .forced = forced_,
                           .changed_at = latest_};
  if (snapshot.state == CircuitState::open) snapshot.open_until = open_until_;
  return snapshot;
}

inline void CircuitBreaker::describe(GateSnapshot& snapshot) const {
  const LockGuard lock(mutex_);
  snapshot.kind = "circuit_breaker";
  snapshot.state = to_string(state());
  if (state() == CircuitState::open) snapshot.open_until = open_until_;
}

inline void CircuitBreaker::reset(std::optional<TimePoint> now) {
  Lock lock(mutex_);
  change(CircuitState::closed, now ? *now : latest_.value_or(TimePoint{}), {}, true);
  tell(lock);
}

inline void CircuitBreaker::force_open(std::optional<TimePoint> until, std::optional<TimePoint> now) {
  Lock lock(mutex_);
  const TimePoint end = until.value_or(never);
  if (state() == CircuitState::open) {
    open_until_ = (std::max)(open_until_, end);
  } else {
    change(CircuitState::open, now ? *now : latest_.value_or(TimePoint{}), end, true);
  }
  tell(lock);
}

inline void CircuitBreaker::on_outcome(std::uint64_t ticket, const GateOutcome& outcome) {
  if (outcome.cause == nullptr) {
    succeeded(ticket, outcome);
  } else {
    failed(ticket, *outcome.cause, outcome.now);
  }
}

inline void CircuitBreaker::succeeded(Word ticket, const GateOutcome& outcome) {
  if (!may_be_current(ticket)) return;
  if (is_probe(ticket)) return probe_succeeded(ticket, outcome.now);
  const bool slow = is_slow(outcome);
  if (window_ != nullptr && !slow) window_->add_success(generation_of(ticket), outcome.now);
  if (!slow && row_.load(std::memory_order_relaxed) == 0) return;
  Lock lock(mutex_);
  if (!is_current(ticket)) return;
  set_row(0);
  if (!slow) return;
  const detail::OutcomeWindow::Counts counts = window_->add_slow_success(outcome.now);
  if (counts.all >= static_cast<std::uint64_t>(options_.minimum_calls) &&
      static_cast<double>(counts.slow) / static_cast<double>(counts.all) >= options_.slow_ratio) {
    open(ticket, nullptr, outcome.now, lock);
  }
  tell(lock);
}

// The provider has answered. For a closed breaker the answer's end counts.
inline void CircuitBreaker::on_first_output(std::uint64_t ticket, TimePoint now) {
  if (is_probe(ticket) && may_be_current(ticket)) probe_succeeded(ticket, now);
}

// Once for each probe: after that its ticket is known no more.
inline void CircuitBreaker::probe_succeeded(Word ticket, TimePoint now) {
  Lock lock(mutex_);
  end_late_probes(now);
  if (!is_current(ticket)) return;
  if (succeeded_ + 1 == options_.half_open_probes) {
    change(CircuitState::closed, now, {}, false);
  } else {
    end_probe(ticket);
    ++succeeded_;
  }
  tell(lock);
}

inline void CircuitBreaker::failed(Word ticket, const Cause& cause, TimePoint now) {
  const SlotKeeper slot(*this, ticket);
  if (!may_be_current(ticket) && !(options_.honour_retry_after && state() == CircuitState::open)) return;
  if (cause.kind() == CauseKind::interrupted || cause.kind() == CauseKind::defect) return;
  if (options_.counts_as_failure && !options_.counts_as_failure(cause)) return;
  Lock lock(mutex_);
  if (is_probe(ticket)) end_late_probes(now);
  if (!is_current(ticket)) return extend(&cause, now, lock);
  if (is_probe(ticket) || count_failure(now)) open(ticket, &cause, now, lock);
  tell(lock);
}

inline void CircuitBreaker::on_dropped(std::uint64_t ticket, bool /*used*/) noexcept {
  if (!is_probe(ticket) || !may_be_current(ticket)) return;
  const LockGuard lock(mutex_);
  end_probe(ticket);
}

// Whether this one opens the breaker.
inline bool CircuitBreaker::count_failure(TimePoint now) {
  bool opens = false;
  if (options_.failure_threshold) opens = count_in_row(now) >= *options_.failure_threshold;
  if (window_ != nullptr) {
    const detail::OutcomeWindow::Counts counts = window_->add_failure(now);
    opens =
        opens || (options_.failure_ratio && counts.all >= static_cast<std::uint64_t>(options_.minimum_calls) &&
                  static_cast<double>(counts.failures) / static_cast<double>(counts.all) >= *options_.failure_ratio);
  }
  return opens;
}

// How many failures there are in a row, this one included.
inline int CircuitBreaker::count_in_row(TimePoint now) {
  const int most = *options_.failure_threshold;
  if (!options_.failure_memory) {
    set_row((std::min)(row_.load(std::memory_order_relaxed) + 1, most));
  } else {
    recent_.push_back(now);
    const TimePoint latest = *std::max_element(recent_.begin(), recent_.end());
    const auto is_old = [&](TimePoint failure) { return detail::between(failure, latest) > *options_.failure_memory; };
    recent_.erase(std::remove_if(recent_.begin(), recent_.end(), is_old), recent_.end());
    if (recent_.size() > static_cast<std::size_t>(most)) recent_.erase(recent_.begin());
    set_row(static_cast<int>(recent_.size()));
  }
  return row_.load(std::memory_order_relaxed);
}

inline CircuitCounts CircuitBreaker::counts() const noexcept {
  CircuitCounts counts{.consecutive_failures = row_.load(std::memory_order_relaxed)};
  if (window_ != nullptr) {
    const detail::OutcomeWindow::Counts window = window_->counts();
    counts.calls = window.all;
    counts.failures = window.failures;
    counts.slow = window.slow;
  }
  return counts;
}

inline void CircuitBreaker::open(Word ticket, const Cause* cause, TimePoint now, Lock& lock) {
  const int openings = openings_ < (std::numeric_limits<int>::max)() ? openings_ + 1 : openings_;
  Duration period{};
  Duration asked_for{};
  std::optional<Cause> told;
  if (const std::optional<Duration> fixed = options_.open_for.fixed();
      fixed && !options_.honour_retry_after && !options_.on_change) {
    period = *fixed;
  } else {  // the caller's own code: not under the lock
    lock.unlock();
    period = options_.open_for(openings);
    asked_for = hint(cause);
    if (options_.on_change && cause != nullptr) {
#if PLANB_HAS_EXCEPTIONS
      try {
#endif
        told = *cause;
#if PLANB_HAS_EXCEPTIONS
      } catch (...) {  // an error whose copy throws
        if (detail::unwinding()) throw;
      }
#endif
    }
    lock.lock();
    if (is_probe(ticket)) end_late_probes(now);
    if (!is_current(ticket)) return extend(cause, now, lock);
  }
  change(CircuitState::open, now, detail::add(now, (std::max)(period, asked_for)), false, std::move(told));
  openings_ = openings;
  if (!options_.probe_timeout) probe_timeout_ = period > Duration::zero() ? period : (Duration::max)();
}

// For how long a failure asks to be left alone.
inline Duration CircuitBreaker::hint(const Cause* cause) const {
  if (cause == nullptr || !options_.honour_retry_after) return Duration::zero();
  return (std::min<Duration>)(cause->retry_after().value_or(Duration::zero()), options_.longest_hint);
}

// A failure of a call that was let through before the breaker opened.
inline void CircuitBreaker::extend(const Cause* cause, TimePoint now, Lock& lock) {
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
  if (failures == 0) recent_.clear();
  const Word word = word_.load(std::memory_order_relaxed);
  const bool passes = failures == 0 && window_ == nullptr && state_of(word) == CircuitState::closed;
  pass_.store(passes ? word : 0, std::memory_order_release);
}

inline void CircuitBreaker::change(CircuitState to, TimePoint now, TimePoint open_until, bool forced,
                                   std::optional<Cause> cause) {
  const Word word = word_.load(std::memory_order_relaxed);
  const std::uint64_t generation = generation_of(word) + 1;
  const TimePoint at = latest_ ? (std::max)(*latest_, now) : now;
  if (options_.on_change && to != state_of(word)) {
    CircuitChange& change = changes_.emplace_back();
    change.name = options_.name;
    change.from = state_of(word);
    change.to = to;
    change.cause = std::move(cause);
    change.counts = counts();
    if (to == CircuitState::open) change.open_until = open_until;
    change.forced = forced;
    change.at = at;
  }
  latest_ = at;
  forced_ = forced;
  open_until_ = open_until;
  if (to == CircuitState::closed) openings_ = 0;
  probes_.clear();
  succeeded_ = 0;
  if (window_ != nullptr) window_->restart(generation);
  word_.store(generation << 2U | static_cast<Word>(to), std::memory_order_release);  // last: it lets others in
  set_row(0);
}

inline void CircuitBreaker::tell(Lock& lock) {
  if (telling_) return;  // who does will come to it
  telling_ = true;
  while (told_ != changes_.size()) {
    const CircuitChange next = std::move(changes_[told_++]);
    lock.unlock();
#if PLANB_HAS_EXCEPTIONS
    try {
#endif
      options_.on_change(next);
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

}  // namespace planb::inline PLANB_ABI
