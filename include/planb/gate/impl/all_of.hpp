// SPDX-License-Identifier: MIT
// The definitions of all_of.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/detail/catch.hpp>
#include <planb/gate/all_of.hpp>
#include <planb/gate/gate.hpp>
#include <planb/gate/snapshot.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/duration.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI {

PLANB_DECL std::shared_ptr<AllOf> all_of(std::vector<std::shared_ptr<Gate>> gates) {
  return std::make_shared<AllOf>(std::move(gates));
}

PLANB_DECL AllOf::AllOf(std::vector<std::shared_ptr<Gate>> gates) : gates_(std::move(gates)) {
  if (gates_.empty()) detail::refuse("all_of: there is no gate in it; give one or more");
  if (std::find(gates_.begin(), gates_.end(), nullptr) != gates_.end()) {
    detail::refuse("all_of: one of its gates is null; leave it out");
  }
}

PLANB_DECL std::uint64_t AllOf::ticket_of(Taken::pointer permits) noexcept {
  std::uint64_t ticket = 0;
  std::memcpy(&ticket, static_cast<const void*>(&permits), sizeof permits);
  return ticket;
}

PLANB_DECL AllOf::Taken::pointer AllOf::taken(std::uint64_t ticket) noexcept {
  Taken::pointer permits = nullptr;
  std::memcpy(static_cast<void*>(&permits), &ticket, sizeof permits);
  return permits;
}

PLANB_DECL Admission AllOf::admit(const GateRequest& request) {
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

PLANB_DECL TimePoint AllOf::opens_at(const GateRequest& request) const {
  TimePoint latest = request.now;
  for (const std::shared_ptr<Gate>& gate : gates_) latest = (std::max)(latest, gate->opens_at(request));
  return latest;
}

PLANB_DECL GateRefusal AllOf::refusal(const GateRequest& request) const {
  for (std::size_t i = 0; i != gates_.size(); ++i) {
    if (gates_[i]->opens_at(request) > request.now) return refused(gates_[i]->refusal(request), i, request);
  }
  return {.opens_at = request.now};
}

PLANB_DECL GateRefusal AllOf::refused(GateRefusal refusal, std::size_t which, const GateRequest& request) const {
  const Gate& gate = *gates_[which];
  if (refusal.gate.empty()) refusal.gate = gate.name();
  if (!refusal.patience) refusal.patience = gate.patience();
  if (refusal.opens_at <= request.now) refusal.opens_at = (TimePoint::max)();  // it does not know
  refusal.opens_at = (std::max)(refusal.opens_at, opens_at(request));
  return refusal;
}

PLANB_DECL Duration AllOf::patience() const {
  Duration longest{};
  for (const std::shared_ptr<Gate>& gate : gates_) longest = (std::max)(longest, gate->patience());
  return longest;
}

PLANB_DECL void AllOf::reset(std::optional<TimePoint> now) {
  for (const std::shared_ptr<Gate>& gate : gates_) gate->reset(now);
}

template <class F>
void AllOf::each_of(Taken::pointer permits, const F& f) const {
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

PLANB_DECL void AllOf::on_outcome(std::uint64_t ticket, const GateOutcome& outcome) {
  const Taken permits(taken(ticket));
  for (std::size_t i = 0; i != gates_.size(); ++i) permits[i]->use();
  each_of(permits.get(), [&](Permit& permit) { permit.ended(outcome); });
}

PLANB_DECL void AllOf::on_first_output(std::uint64_t ticket, TimePoint now) {
  each_of(taken(ticket), [&](Permit& permit) { permit.first_output(now); });
}

PLANB_DECL void AllOf::on_dropped(std::uint64_t ticket, bool used) noexcept {
  const Taken permits(taken(ticket));
  for (std::size_t i = 0; used && i != gates_.size(); ++i) permits[i]->use();
}

PLANB_DECL void AllOf::describe(GateSnapshot& snapshot) const { snapshot.kind = "all_of"; }

}  // namespace planb::inline PLANB_ABI
