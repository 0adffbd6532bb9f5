// SPDX-License-Identifier: MIT
// CircuitBreaker: a gate that keeps calls away from a provider that is failing.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/cause.hpp>
#include <planb/gate/circuit_breaker_options.hpp>
#include <planb/gate/detail/atomic.hpp>
#include <planb/gate/detail/mutex.hpp>
#include <planb/gate/gate.hpp>
#include <planb/gate/snapshot.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/duration.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace planb::inline PLANB_ABI {

namespace detail {
class OutcomeWindow;
}  // namespace detail

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
  CircuitBreaker(const CircuitBreaker&) = delete;
  CircuitBreaker& operator=(const CircuitBreaker&) = delete;
  ~CircuitBreaker() override;

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

  // Closed, as if new. `now` is for the hook; not given: the time of the latest change.
  void reset(std::optional<TimePoint> now = std::nullopt) override;

  // Open until `until`, or until reset() where that is not given. Never shortens an open period. `now` is for the hook;
  // not given: the time of the latest change.
  void force_open(std::optional<TimePoint> until = std::nullopt, std::optional<TimePoint> now = std::nullopt);

 private:
  // The state in the two lowest bits, above it the generation. It is a permit's ticket too; but that of a probe has its
  // own number there, so that each of them is known.
  //
  // The word is all that is read without the lock, and it is written under the lock alone, last of everything that a
  // change of state writes (release): whoever reads `closed` (acquire) and goes on without the lock sees a window that
  // belongs to this generation or a later one. Such a reader may act on a word that has just been replaced. That is the
  // same as having come before the change: an admission carries the old generation, which counts for nothing when it
  // ends, and an outcome is looked at again under the lock (is_current). pass_ follows the word in the same way.
  using Word = std::uint64_t;

  static constexpr TimePoint never = (TimePoint::max)();

  struct Probe {
    Word ticket;
    TimePoint ends;  // its slot is free then

    [[nodiscard]] bool is_over(TimePoint now) const noexcept { return now >= ends && ends != never; }
  };

  struct SlotKeeper;

  using Lock = std::unique_lock<detail::Mutex>;
  using LockGuard = std::lock_guard<detail::Mutex>;

  static constexpr Word first = Word{1} << 2U;  // closed, in the generation 1: zero is no ticket of a pass

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
  [[nodiscard]] Duration hint(const Cause* cause) const;

  // Under the lock.
  [[nodiscard]] bool is_current(Word ticket) const noexcept;
  [[nodiscard]] bool is_over(TimePoint now) const noexcept { return now >= open_until_ && open_until_ != never; }
  [[nodiscard]] bool has_slot(TimePoint now) const noexcept;
  [[nodiscard]] TimePoint next_slot() const noexcept;
  void end_probe(Word ticket) noexcept;
  void end_late_probes(TimePoint now) noexcept;
  [[nodiscard]] bool count_failure(TimePoint now);
  [[nodiscard]] int count_consecutive(TimePoint now);
  [[nodiscard]] CircuitCounts counts() const noexcept;
  void open(Word ticket, const Cause* cause, TimePoint now, Lock& lock);
  void extend(const Cause* cause, TimePoint now, Lock& lock);
  void set_consecutive(int failures) noexcept;
  void change(CircuitState to, TimePoint now, TimePoint open_until, bool forced,
              std::optional<Cause> cause = std::nullopt);
  void notify(Lock& lock);

  // What a healthy provider's calls read, and nobody writes then.
  detail::Atomic<Word> word_{first};
  detail::Atomic<int> consecutive_{0};  // of counted failures; written under the lock
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
  std::size_t notified_ = 0;  // of them
  bool notifying_ = false;
};

// A breaker to be shared: .gate = planb::circuit_breaker({.failure_threshold = 3}).
[[nodiscard]] std::shared_ptr<CircuitBreaker> circuit_breaker(CircuitBreakerOptions options = {});

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/gate/impl/circuit_breaker.hpp>  // IWYU pragma: export
#endif
