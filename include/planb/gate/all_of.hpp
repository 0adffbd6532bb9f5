// SPDX-License-Identifier: MIT
// all_of: several gates as one.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/detail/catch.hpp>
#include <planb/gate/gate.hpp>
#include <planb/gate/snapshot.hpp>
#include <planb/time/clock.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI {

// Lets an attempt pass where all of its gates do. They are asked in the order given; where one refuses, those before it
// get back what they gave, as unused, and the refusal has that gate's reason, name and patience. Each hears of the
// outcome as if it were alone. All that it has of its own is the list: it needs no lock.
class PLANB_VISIBLE AllOf final : public Gate {
 public:
  // Refuses an empty list and null pointers, with std::invalid_argument.
  explicit AllOf(std::vector<std::shared_ptr<Gate>> gates);

  [[nodiscard]] Admission admit(const GateRequest& request) override;

  // The latest of its gates' times.
  [[nodiscard]] TimePoint opens_at(const GateRequest& request) const override;
  [[nodiscard]] GateRefusal refusal(const GateRequest& request) const override;

  // The longest of its gates' patiences. A refusal has that of the gate that refuses.
  [[nodiscard]] Duration patience() const override;

  void reset(std::optional<TimePoint> now = std::nullopt) override {
    for (const std::shared_ptr<Gate>& gate : gates_) gate->reset(now);
  }

 private:
  // What an admission has taken, in the order of the gates; given back from the last to the first. The ticket holds its
  // address.
  using Taken = std::unique_ptr<std::optional<Permit>[]>;
  static_assert(sizeof(Taken::pointer) <= sizeof(std::uint64_t));
  [[nodiscard]] static std::uint64_t ticket_of(Taken::pointer permits) noexcept {
    std::uint64_t ticket = 0;
    std::memcpy(&ticket, &permits, sizeof permits);
    return ticket;
  }
  [[nodiscard]] static Taken::pointer taken(std::uint64_t ticket) noexcept {
    Taken::pointer permits = nullptr;
    std::memcpy(&permits, &ticket, sizeof permits);
    return permits;
  }

  void on_outcome(std::uint64_t ticket, const GateOutcome& outcome) override;
  void on_first_output(std::uint64_t ticket, TimePoint now) override;
  void on_dropped(std::uint64_t ticket, bool used) noexcept override;
  void describe(GateSnapshot& snapshot) const override;

  // As its gate at `which` refuses; no sooner than the others open.
  [[nodiscard]] GateRefusal refused(GateRefusal refusal, std::size_t which, const GateRequest& request) const;
  // Calls f for each permit, also where it throws for one of them; the first of these goes on.
  template <class F>
  void tell_each(Taken::pointer permits, const F& f) const;

  const std::vector<std::shared_ptr<Gate>> gates_;
};

// Gates to be shared as one: .gate = planb::all_of(breaker, limit).
[[nodiscard]] inline std::shared_ptr<AllOf> all_of(std::vector<std::shared_ptr<Gate>> gates) {
  return std::make_shared<AllOf>(std::move(gates));
}
template <class... Gates>
requires(sizeof...(Gates) != 0 && (std::derived_from<Gates, Gate> && ...))
    [[nodiscard]] std::shared_ptr<AllOf> all_of(std::shared_ptr<Gates>... gates) {
  std::vector<std::shared_ptr<Gate>> list;
  list.reserve(sizeof...(Gates));
  (list.push_back(std::move(gates)), ...);
  return std::make_shared<AllOf>(std::move(list));
}

inline AllOf::AllOf(std::vector<std::shared_ptr<Gate>> gates) : gates_(std::move(gates)) {
  if (gates_.empty()) detail::refuse("all_of: there is no gate in it; give one or more");
  if (std::find(gates_.begin(), gates_.end(), nullptr) != gates_.end()) {
    detail::refuse("all_of: one of its gates is null; leave it out");
  }
}

inline Admission AllOf::admit(const GateRequest& request) {
  Taken taken = std::make_unique<std::optional<Permit>[]>(gates_.size());
  for (std::size_t i = 0; i != gates_.size(); ++i) {
    Admission admission = gates_[i]->admit(request);
    if (!admission.permit) {
      taken.reset();  // before the others are asked when they open
      return refused(std::move(admission.refusal).value_or(GateRefusal{}), i, request);
    }
    taken[i].emplace(std::move(*admission.permit));
  }
  return Permit(*this, ticket_of(taken.release()), request.now);
}

inline TimePoint AllOf::opens_at(const GateRequest& request) const {
  TimePoint latest = request.now;
  for (const std::shared_ptr<Gate>& gate : gates_) latest = (std::max)(latest, gate->opens_at(request));
  return latest;
}

inline GateRefusal AllOf::refusal(const GateRequest& request) const {
  for (std::size_t i = 0; i != gates_.size(); ++i) {
    if (gates_[i]->opens_at(request) > request.now) return refused(gates_[i]->refusal(request), i, request);
  }
  return {.opens_at = request.now};
}

inline GateRefusal AllOf::refused(GateRefusal refusal, std::size_t which, const GateRequest& request) const {
  const Gate& gate = *gates_[which];
  if (refusal.gate.empty()) refusal.gate = gate.name();
  if (!refusal.patience) refusal.patience = gate.patience();
  if (refusal.opens_at <= request.now) refusal.opens_at = (TimePoint::max)();  // it does not know
  refusal.opens_at = (std::max)(refusal.opens_at, opens_at(request));
  return refusal;
}

inline Duration AllOf::patience() const {
  Duration longest{};
  for (const std::shared_ptr<Gate>& gate : gates_) longest = (std::max)(longest, gate->patience());
  return longest;
}

template <class F>
void AllOf::tell_each(Taken::pointer permits, const F& f) const {
#if PLANB_HAS_EXCEPTIONS
  std::exception_ptr first;
  for (std::size_t i = 0; i != gates_.size(); ++i) {
    try {
      f(*permits[i]);
    } catch (...) {
      if (detail::unwinding()) throw;
      if (first == nullptr) first = std::current_exception();
    }
  }
  if (first != nullptr) std::rethrow_exception(first);
#else
  for (std::size_t i = 0; i != gates_.size(); ++i) f(*permits[i]);
#endif
}

inline void AllOf::on_outcome(std::uint64_t ticket, const GateOutcome& outcome) {
  const Taken permits(taken(ticket));
  for (std::size_t i = 0; i != gates_.size(); ++i) permits[i]->use();
  tell_each(permits.get(), [&](Permit& permit) { permit.ended(outcome); });
}

inline void AllOf::on_first_output(std::uint64_t ticket, TimePoint now) {
  tell_each(taken(ticket), [&](Permit& permit) { permit.first_output(now); });
}

inline void AllOf::on_dropped(std::uint64_t ticket, bool used) noexcept {
  const Taken permits(taken(ticket));
  for (std::size_t i = 0; used && i != gates_.size(); ++i) permits[i]->use();
}

inline void AllOf::describe(GateSnapshot& snapshot) const { snapshot.kind = "all_of"; }

}  // namespace planb::inline PLANB_ABI
