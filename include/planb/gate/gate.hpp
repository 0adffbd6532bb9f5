// SPDX-License-Identifier: MIT
// Gate: asked before every attempt of a step, notified after it. Circuit breakers and limits are gates.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/cause.hpp>
#include <planb/gate/detail/atomic.hpp>
#include <planb/gate/reason.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/duration.hpp>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace planb::inline PLANB_ABI {

class Gate;
struct GateSnapshot;

namespace detail {
template <class Now>
concept GivesTime = requires(Now& now) {
  { now() } -> std::same_as<TimePoint>;
};
}  // namespace detail

// What a gate is asked about: the attempt that would come next.
struct GateRequest {
  constexpr GateRequest() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a time alone asks about a first attempt
  constexpr GateRequest(TimePoint at, int attempt_of_run = 1, int attempt_of_step = 1) noexcept
      : now(at), attempt(attempt_of_run), step_attempt(attempt_of_step) {}

  TimePoint now{};
  int attempt = 1;       // across all steps, from 1
  int step_attempt = 1;  // within the step, from 1: above it, a retry
};

// Why there is no permit.
struct GateRefusal {
  TimePoint opens_at{};  // the earliest time at which there may be one: after now; TimePoint's maximum: nobody knows
  GateReason reason = GateReason::other;
  std::string text = {};  // of GateReason::other: for people, such as "maintenance"

  // Of a gate that asks others: the name and the patience of the one that refuses. Not given: those of the gate itself.
  std::string gate = {};
  std::optional<Duration> patience = std::nullopt;
};

// How an attempt ended.
struct GateOutcome {
  TimePoint started{};  // where nobody read the clock before the attempt, the same as now
  TimePoint now{};
  std::optional<TimePoint> first_output = std::nullopt;  // of a stream
  const Cause* cause = nullptr;                          // the failure; null: it succeeded
};

// Permission for one attempt. It hears of the outcome once. Destroyed before that, it counts as neither success nor
// failure, and the gate takes back what it gave. The gate must outlive it.
class [[nodiscard]] Permit {
 public:
  // `ticket` is the gate's own mark, such as the generation in which the permit was given. `started` is the time of the
  // admission, where the gate knows it: the attempt's start, until somebody says another.
  Permit(Gate& gate, std::uint64_t ticket, TimePoint started = unknown) noexcept
      : gate_(&gate), ticket_(ticket), started_(started) {}
  Permit(Permit&& other) noexcept
      : gate_(std::exchange(other.gate_, nullptr)),
        ticket_(other.ticket_),
        started_(other.started_),
        first_output_(other.first_output_),
        used_(other.used_) {}
  Permit& operator=(Permit&& other) noexcept {
    Permit taken(std::move(other));
    taken.swap(*this);
    return *this;
  }
  ~Permit();

  // The attempt begins: from here on the permit counts as used, however it ends.
  void use() noexcept { used_ = true; }
  void starts_at(TimePoint now) noexcept { started_ = now; }

  // May throw what the gate's own callables throw; the permit is spent all the same.
  void succeeded(TimePoint now) { end(now, nullptr); }
  void failed(const Cause& cause, TimePoint now) { end(now, &cause); }
  void ended(const GateOutcome& outcome);  // either

  // Of a stream: its first element is about to reach the consumer. The attempt goes on, and the permit hears of its end
  // too.
  void first_output(TimePoint now);

  // The same, for a driver that has not read its clock yet: `now()` is called only where the gate wants to hear of it.
  template <class Now>
  requires detail::GivesTime<Now>
  void succeeded(Now& now);
  template <class Now>
  requires detail::GivesTime<Now>
  void first_output(Now& now);

 private:
  static constexpr TimePoint unknown = (TimePoint::min)();

  void end(TimePoint now, const Cause* cause) {
    GateOutcome outcome{.started = started_ == unknown ? now : started_, .now = now, .cause = cause};
    if (first_output_ != unknown) outcome.first_output = first_output_;
    ended(outcome);
  }
  void swap(Permit& other) noexcept {
    std::swap(gate_, other.gate_);
    std::swap(ticket_, other.ticket_);
    std::swap(started_, other.started_);
    std::swap(first_output_, other.first_output_);
    std::swap(used_, other.used_);
  }

  Gate* gate_;
  std::uint64_t ticket_;
  TimePoint started_;
  TimePoint first_output_ = unknown;
  bool used_ = false;
};

// What admit() answers: a permit or a refusal.
struct Admission {
  // NOLINTBEGIN(google-explicit-constructor): a gate returns one or the other
  Admission(Permit given) noexcept : permit(std::move(given)) {}
  Admission(GateRefusal refused) noexcept : refusal(std::move(refused)) {}
  // NOLINTEND(google-explicit-constructor)

  std::optional<Permit> permit = std::nullopt;
  std::optional<GateRefusal> refusal = std::nullopt;
};

// Shared by plans and threads: implementations must be safe to call from several threads at once, and quick.
class PLANB_VISIBLE Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  virtual ~Gate() = default;

  // Asked at the moment of an attempt; the permit is held until the attempt is over.
  [[nodiscard]] virtual Admission admit(const GateRequest& request) = 0;

  // The earliest time at which admit() may give a permit: `request.now` where it may at once, and only there;
  // TimePoint's maximum where nobody knows. Takes nothing.
  [[nodiscard]] virtual TimePoint opens_at(const GateRequest& request) const = 0;

  // What admit() would refuse with, where opens_at() is after now. Takes nothing.
  [[nodiscard]] virtual GateRefusal refusal(const GateRequest& request) const {
    return {.opens_at = opens_at(request), .reason = GateReason::other};
  }

  // For events, reports and lists.
  [[nodiscard]] virtual std::string_view name() const { return {}; }

  // For how long a step waits for an admission before it is passed over or left.
  [[nodiscard]] virtual Duration patience() const { return Duration::zero(); }

  // As if new, but for the permits that are out. `now` is for those whom the gate notifies of it.
  virtual void reset(std::optional<TimePoint> now = std::nullopt) { static_cast<void>(now); }

  // What it shows of itself; in gate/snapshot.hpp.
  [[nodiscard]] GateSnapshot snapshot() const;

  // The ticket of an attempt that may be made without admit(), or zero: see pass_.
  [[nodiscard]] std::uint64_t pass() const noexcept { return pass_.load(std::memory_order_acquire); }

 protected:
  // For gates that wait for failures alone while all is well: it saves every such attempt two readings of the clock.
  // While it is not zero, an attempt may be made without asking, with this as its permit's ticket; and where it is
  // still the same when the attempt has succeeded, or has its first output, it does not hear of that.
  detail::Atomic<std::uint64_t> pass_{0};

 private:
  friend class Permit;

  // Exactly one of these two is called for each permit. `used`: the attempt had begun (handlers had its AttemptStart).
  virtual void on_outcome(std::uint64_t ticket, const GateOutcome& outcome) = 0;
  virtual void on_dropped(std::uint64_t ticket, bool used) noexcept = 0;

  // Before that, once in a stream's attempt that has output.
  virtual void on_first_output(std::uint64_t /*ticket*/, TimePoint /*now*/) {}

  // Fills in what snapshot() does not know; `kind` is "gate" and `name` is name() before.
  virtual void describe(GateSnapshot& /*snapshot*/) const {}
};

inline Permit::~Permit() {
  if (gate_ != nullptr) gate_->on_dropped(ticket_, used_);
}

inline void Permit::ended(const GateOutcome& outcome) {
  if (Gate* const gate = std::exchange(gate_, nullptr)) gate->on_outcome(ticket_, outcome);
}

template <class Now>
requires detail::GivesTime<Now>
void Permit::succeeded(Now& now) {
  if (gate_ == nullptr) return;
  if (ticket_ != 0 && gate_->pass() == ticket_) {
    gate_ = nullptr;
  } else {
    const TimePoint at = now();
    succeeded(at);
  }
}

inline void Permit::first_output(TimePoint now) {
  if (gate_ == nullptr) return;
  if (first_output_ == unknown) first_output_ = now;
  gate_->on_first_output(ticket_, now);
}

template <class Now>
requires detail::GivesTime<Now>
void Permit::first_output(Now& now) {
  if (gate_ == nullptr || (ticket_ != 0 && gate_->pass() == ticket_)) return;
  const TimePoint at = now();
  first_output(at);
}

}  // namespace planb::inline PLANB_ABI
