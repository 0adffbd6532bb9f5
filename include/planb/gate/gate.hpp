// SPDX-License-Identifier: MIT
// Gate: asked before every attempt of a step, told after it. A circuit breaker is one; a rate limiter could be another.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/cause.hpp>
#include <planb/time/clock.hpp>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>

namespace planb::inline PLANB_ABI {

class Gate;

namespace detail {
template <class Now>
concept GivesTime = requires(Now& now) {
  { now() } -> std::same_as<TimePoint>;
};
}  // namespace detail

// Leave for one attempt. It is told the outcome once; dropped untold it is neutral, and gives back whatever it took.
// The gate must outlive it.
class [[nodiscard]] Permit {
 public:
  // `ticket` is the gate's own mark, such as the generation in which the permit was given.
  Permit(Gate& gate, std::uint64_t ticket) noexcept : gate_(&gate), ticket_(ticket) {}
  Permit(Permit&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)), ticket_(other.ticket_) {}
  Permit& operator=(Permit&& other) noexcept {
    Permit taken(std::move(other));
    taken.swap(*this);
    return *this;
  }
  ~Permit();

  // May throw what the gate's own callables throw; the permit is spent all the same.
  void succeeded(TimePoint now);
  void failed(const Cause& cause, TimePoint now);

  // Of a stream: its first element is about to reach the consumer. The attempt goes on, and its end is to be told too.
  void first_output(TimePoint now);

  // The same, for a driver that has not read its clock yet: `now()` is called only where the gate wants to hear of it.
  template <class Now>
    requires detail::GivesTime<Now>
  void succeeded(Now& now);
  template <class Now>
    requires detail::GivesTime<Now>
  void first_output(Now& now);

 private:
  void swap(Permit& other) noexcept {
    std::swap(gate_, other.gate_);
    std::swap(ticket_, other.ticket_);
  }

  Gate* gate_;
  std::uint64_t ticket_;
};

// What admit() answers: a permit, or the earliest time at which there may be one.
struct Admission {
  std::optional<Permit> permit;
  TimePoint opens_at{};  // of a refusal: later than now, and TimePoint's maximum where nobody knows
};

// Shared by plans and threads: implementations must be safe to call from several threads at once, and quick.
class PLANB_VISIBLE Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  virtual ~Gate() = default;

  // Asked at the moment of an attempt; the permit is held until the attempt is over.
  [[nodiscard]] virtual Admission admit(TimePoint now) = 0;

  // The earliest time at which admit() may give a permit: `now` where it may at once, and only there; TimePoint's
  // maximum where nobody knows. Takes nothing.
  [[nodiscard]] virtual TimePoint opens_at(TimePoint now) const = 0;

  // The ticket of an attempt that may be made without admit(), or zero: see pass_.
  [[nodiscard]] std::uint64_t pass() const noexcept { return pass_.load(std::memory_order_acquire); }

 protected:
  // For gates that wait for failures alone while all is well: it saves every such attempt two readings of the clock.
  // While it is not zero, an attempt may be made without asking, with this as its permit's ticket; and where it is
  // still the same when the attempt has succeeded, or has its first output, that is not told.
  std::atomic<std::uint64_t> pass_{0};

 private:
  friend class Permit;

  // Exactly one of these is called for each permit.
  virtual void on_success(std::uint64_t ticket, TimePoint now) = 0;
  virtual void on_failure(std::uint64_t ticket, const Cause& cause, TimePoint now) = 0;
  virtual void on_dropped(std::uint64_t ticket) noexcept = 0;

  // Before that, once in a stream's attempt that has output.
  virtual void on_first_output(std::uint64_t /*ticket*/, TimePoint /*now*/) {}
};

inline Permit::~Permit() {
  if (gate_ != nullptr) gate_->on_dropped(ticket_);
}

inline void Permit::succeeded(TimePoint now) {
  if (Gate* const gate = std::exchange(gate_, nullptr)) gate->on_success(ticket_, now);
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
  if (gate_ != nullptr) gate_->on_first_output(ticket_, now);
}

template <class Now>
  requires detail::GivesTime<Now>
void Permit::first_output(Now& now) {
  if (gate_ == nullptr || (ticket_ != 0 && gate_->pass() == ticket_)) return;
  const TimePoint at = now();
  first_output(at);
}

inline void Permit::failed(const Cause& cause, TimePoint now) {
  if (Gate* const gate = std::exchange(gate_, nullptr)) gate->on_failure(ticket_, cause, now);
}

}  // namespace planb::inline PLANB_ABI
