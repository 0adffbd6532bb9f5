// SPDX-License-Identifier: MIT
// The definitions of circuit_breaker.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/catch.hpp>
#include <planb/gate/circuit_breaker.hpp>
#include <planb/gate/detail/outcome_window.hpp>
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
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI {

PLANB_DECL std::shared_ptr<CircuitBreaker> circuit_breaker(CircuitBreakerOptions options) {
  return std::make_shared<CircuitBreaker>(std::move(options));
}

PLANB_DECL CircuitBreaker::CircuitBreaker(CircuitBreakerOptions options)
    : options_([&] {
        if (const std::string fault = detail::options_fault(options); !fault.empty()) detail::refuse(fault);
        options.failure_threshold = detail::failure_threshold_of(options.failure_threshold, options.failure_ratio);
        return std::move(options);
      }()),
      window_(options_.failure_ratio || options_.slow_call ? std::make_unique<detail::OutcomeWindow>(options_.window)
                                                           : nullptr),
      probe_timeout_(options_.probe_timeout.value_or(options_.open_for.fixed().value_or((Duration::max)()))) {
  if (window_ != nullptr) window_->restart(generation_of(first));
  set_consecutive(0);
}

PLANB_DECL CircuitBreaker::~CircuitBreaker() = default;

// Gives a half-open probe slot back on every way out; after a change of state there is none to give back.
struct CircuitBreaker::SlotKeeper {
  CircuitBreaker& breaker;
  Word ticket;

  SlotKeeper(CircuitBreaker& b, Word t) noexcept : breaker(b), ticket(t) {}
  SlotKeeper(const SlotKeeper&) = delete;
  SlotKeeper& operator=(const SlotKeeper&) = delete;
  ~SlotKeeper() { breaker.on_dropped(ticket, true); }
};

PLANB_DECL bool CircuitBreaker::is_current(Word ticket) const noexcept {
  if (!is_probe(ticket)) return word_.load(std::memory_order_relaxed) == ticket;
  return std::any_of(probes_.begin(), probes_.end(), [=](const Probe& probe) { return probe.ticket == ticket; });
}

// Half-open, each permit becomes a success, a change of state, or a slot that is free again.
PLANB_DECL bool CircuitBreaker::has_slot(TimePoint now) const noexcept {
  const auto out = std::count_if(probes_.begin(), probes_.end(), [=](const Probe& p) { return !p.is_over(now); });
  return out < options_.half_open_probes - succeeded_;
}

PLANB_DECL TimePoint CircuitBreaker::next_slot() const noexcept {
  TimePoint earliest = never;
  for (const Probe& probe : probes_) earliest = (std::min)(earliest, probe.ends);
  return earliest;
}

PLANB_DECL void CircuitBreaker::end_probe(Word ticket) noexcept {
  probes_.erase(
      std::remove_if(probes_.begin(), probes_.end(), [=](const Probe& probe) { return probe.ticket == ticket; }),
      probes_.end());
}

PLANB_DECL void CircuitBreaker::end_late_probes(TimePoint now) noexcept {
  probes_.erase(std::remove_if(probes_.begin(), probes_.end(), [=](const Probe& p) { return p.is_over(now); }),
                probes_.end());
}

PLANB_DECL Admission CircuitBreaker::admit(const GateRequest& request) {
  const TimePoint now = request.now;
  if (const Word word = word_.load(std::memory_order_acquire); state_of(word) == CircuitState::closed) {
    return Permit(*this, word, now);
  }
  Lock lock(mutex_);
  if (state() == CircuitState::open) {
    if (!is_over(now)) return GateRefusal{.opens_at = open_until_, .reason = GateReason::circuit_open};
    change(CircuitState::half_open, now, {}, false);
  }
  Word ticket = word_.load(std::memory_order_relaxed);
  if (is_probe(ticket)) {
    if (!has_slot(now)) return GateRefusal{.opens_at = next_slot(), .reason = GateReason::probe_running};
    end_late_probes(now);
    ticket = (tickets_ + 1) << 2U | static_cast<Word>(CircuitState::half_open);
    probes_.push_back({ticket, detail::add(now, probe_timeout_)});
    ++tickets_;
  }
  Permit permit(*this, ticket, now);
  notify(lock);
  lock.unlock();
  return permit;
}

PLANB_DECL TimePoint CircuitBreaker::opens_at(const GateRequest& request) const {
  return state() == CircuitState::closed ? request.now : refusal(request).opens_at;
}

PLANB_DECL GateRefusal CircuitBreaker::refusal(const GateRequest& request) const {
  const TimePoint now = request.now;
  const LockGuard lock(mutex_);
  switch (state()) {
    case CircuitState::closed: break;
    case CircuitState::open:
      return GateRefusal{.opens_at = is_over(now) ? now : open_until_, .reason = GateReason::circuit_open};
    case CircuitState::half_open:
      return GateRefusal{.opens_at = has_slot(now) ? now : next_slot(), .reason = GateReason::probe_running};
  }
  return GateRefusal{.opens_at = now, .reason = GateReason::circuit_open};
}

PLANB_DECL CircuitState CircuitBreaker::state(TimePoint now) const {
  const LockGuard lock(mutex_);
  return state() == CircuitState::open && is_over(now) ? CircuitState::half_open : state();
}

PLANB_DECL CircuitSnapshot CircuitBreaker::snapshot() const {
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

PLANB_DECL void CircuitBreaker::describe(GateSnapshot& snapshot) const {
  const LockGuard lock(mutex_);
  snapshot.kind = "circuit_breaker";
  snapshot.state = to_label(state());
  if (state() == CircuitState::open) snapshot.open_until = open_until_;
}

PLANB_DECL void CircuitBreaker::reset(std::optional<TimePoint> now) {
  Lock lock(mutex_);
  change(CircuitState::closed, now ? *now : latest_.value_or(TimePoint{}), {}, true);
  notify(lock);
}

PLANB_DECL void CircuitBreaker::force_open(std::optional<TimePoint> until, std::optional<TimePoint> now) {
  Lock lock(mutex_);
  const TimePoint end = until.value_or(never);
  if (state() == CircuitState::open) {
    open_until_ = (std::max)(open_until_, end);
  } else {
    change(CircuitState::open, now ? *now : latest_.value_or(TimePoint{}), end, true);
  }
  notify(lock);
}

PLANB_DECL void CircuitBreaker::on_outcome(std::uint64_t ticket, const GateOutcome& outcome) {
  if (outcome.cause == nullptr) {
    succeeded(ticket, outcome);
  } else {
    failed(ticket, *outcome.cause, outcome.now);
  }
}

PLANB_DECL void CircuitBreaker::succeeded(Word ticket, const GateOutcome& outcome) {
  if (!may_be_current(ticket)) return;
  if (is_probe(ticket)) return probe_succeeded(ticket, outcome.now);
  const bool slow = is_slow(outcome);
  if (window_ != nullptr && !slow) window_->add_success(generation_of(ticket), outcome.now);
  if (!slow && consecutive_.load(std::memory_order_relaxed) == 0) return;
  Lock lock(mutex_);
  if (!is_current(ticket)) return;
  set_consecutive(0);
  if (!slow) return;
  const detail::OutcomeWindow::Counts counts = window_->add_slow_success(outcome.now);
  if (counts.all >= static_cast<std::uint64_t>(options_.minimum_calls) &&
      static_cast<double>(counts.slow) / static_cast<double>(counts.all) >= options_.slow_ratio) {
    open(ticket, nullptr, outcome.now, lock);
  }
  notify(lock);
}

// The provider has answered. For a closed breaker the answer's end counts.
PLANB_DECL void CircuitBreaker::on_first_output(std::uint64_t ticket, TimePoint now) {
  if (is_probe(ticket) && may_be_current(ticket)) probe_succeeded(ticket, now);
}

// Once for each probe: after that its ticket is known no more.
PLANB_DECL void CircuitBreaker::probe_succeeded(Word ticket, TimePoint now) {
  Lock lock(mutex_);
  end_late_probes(now);
  if (!is_current(ticket)) return;
  if (succeeded_ + 1 == options_.half_open_probes) {
    change(CircuitState::closed, now, {}, false);
  } else {
    end_probe(ticket);
    ++succeeded_;
  }
  notify(lock);
}

PLANB_DECL void CircuitBreaker::failed(Word ticket, const Cause& cause, TimePoint now) {
  const SlotKeeper slot(*this, ticket);
  if (!may_be_current(ticket) && !(options_.honour_retry_after && state() == CircuitState::open)) return;
  if (cause.kind() == CauseKind::interrupted || cause.kind() == CauseKind::defect) return;
  if (options_.counts_as_failure && !options_.counts_as_failure(cause)) return;
  Lock lock(mutex_);
  if (is_probe(ticket)) end_late_probes(now);
  if (!is_current(ticket)) return extend(&cause, now, lock);
  if (is_probe(ticket) || count_failure(now)) open(ticket, &cause, now, lock);
  notify(lock);
}

PLANB_DECL void CircuitBreaker::on_dropped(std::uint64_t ticket, bool /*used*/) noexcept {
  if (!is_probe(ticket) || !may_be_current(ticket)) return;
  const LockGuard lock(mutex_);
  end_probe(ticket);
}

// Whether this one opens the breaker.
PLANB_DECL bool CircuitBreaker::count_failure(TimePoint now) {
  bool opens = false;
  if (options_.failure_threshold) opens = count_consecutive(now) >= *options_.failure_threshold;
  if (window_ != nullptr) {
    const detail::OutcomeWindow::Counts counts = window_->add_failure(now);
    opens =
        opens || (options_.failure_ratio && counts.all >= static_cast<std::uint64_t>(options_.minimum_calls) &&
                  static_cast<double>(counts.failures) / static_cast<double>(counts.all) >= *options_.failure_ratio);
  }
  return opens;
}

// How many consecutive failures there are, this one included.
PLANB_DECL int CircuitBreaker::count_consecutive(TimePoint now) {
  const int most = *options_.failure_threshold;
  if (!options_.failure_memory) {
    set_consecutive((std::min)(consecutive_.load(std::memory_order_relaxed) + 1, most));
  } else {
    recent_.push_back(now);
    const TimePoint latest = *std::max_element(recent_.begin(), recent_.end());
    const auto is_old = [&](TimePoint failure) { return detail::between(failure, latest) > *options_.failure_memory; };
    recent_.erase(std::remove_if(recent_.begin(), recent_.end(), is_old), recent_.end());
    if (recent_.size() > static_cast<std::size_t>(most)) recent_.erase(recent_.begin());
    set_consecutive(static_cast<int>(recent_.size()));
  }
  return consecutive_.load(std::memory_order_relaxed);
}

PLANB_DECL CircuitCounts CircuitBreaker::counts() const noexcept {
  CircuitCounts counts{.consecutive_failures = consecutive_.load(std::memory_order_relaxed)};
  if (window_ != nullptr) {
    const detail::OutcomeWindow::Counts window = window_->counts();
    counts.calls = window.all;
    counts.failures = window.failures;
    counts.slow = window.slow;
  }
  return counts;
}

PLANB_DECL void CircuitBreaker::open(Word ticket, const Cause* cause, TimePoint now, Lock& lock) {
  const int openings = openings_ < (std::numeric_limits<int>::max)() ? openings_ + 1 : openings_;
  Duration period{};
  Duration asked_for{};
  std::optional<Cause> kept;
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
        kept = *cause;
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
  change(CircuitState::open, now, detail::add(now, (std::max)(period, asked_for)), false, std::move(kept));
  openings_ = openings;
  if (!options_.probe_timeout) probe_timeout_ = period > Duration::zero() ? period : (Duration::max)();
}

// For how long a failure asks to be left alone.
PLANB_DECL Duration CircuitBreaker::hint(const Cause* cause) const {
  if (cause == nullptr || !options_.honour_retry_after) return Duration::zero();
  return (std::min<Duration>)(cause->retry_after().value_or(Duration::zero()), options_.longest_hint);
}

// A failure of a call that was let through before the breaker opened.
PLANB_DECL void CircuitBreaker::extend(const Cause* cause, TimePoint now, Lock& lock) {
  if (state() != CircuitState::open) return;
  lock.unlock();
  const Duration wait = hint(cause);
  lock.lock();
  if (wait > Duration::zero() && state() == CircuitState::open) {
    open_until_ = (std::max)(open_until_, detail::add(now, wait));
  }
}

// Closed, without a failure that counts, and without a window to count in, a success changes nothing.
PLANB_DECL void CircuitBreaker::set_consecutive(int failures) noexcept {
  consecutive_.store(failures, std::memory_order_relaxed);
  if (failures == 0) recent_.clear();
  const Word word = word_.load(std::memory_order_relaxed);
  const bool passes = failures == 0 && window_ == nullptr && state_of(word) == CircuitState::closed;
  pass_.store(passes ? word : 0, std::memory_order_release);
}

PLANB_DECL void CircuitBreaker::change(CircuitState to, TimePoint now, TimePoint open_until, bool forced,
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
  set_consecutive(0);
}

PLANB_DECL void CircuitBreaker::notify(Lock& lock) {
  if (notifying_) return;  // who does will come to it
  notifying_ = true;
  while (notified_ != changes_.size()) {
    const CircuitChange next = std::move(changes_[notified_++]);
    lock.unlock();
#if PLANB_HAS_EXCEPTIONS
    try {
#endif
      options_.on_change(next);
#if PLANB_HAS_EXCEPTIONS
    } catch (...) {
      if (detail::unwinding()) {  // the thread is being unwound: the next one goes on
        lock.lock();
        notifying_ = false;
        lock.unlock();
        throw;
      }
    }
#endif
    lock.lock();
  }
  changes_.clear();
  notified_ = 0;
  notifying_ = false;
}

}  // namespace planb::inline PLANB_ABI
