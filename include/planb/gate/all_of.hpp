// SPDX-License-Identifier: MIT
// all_of: several gates as one.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/gate/gate.hpp>
#include <planb/time/clock.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
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

  void reset(std::optional<TimePoint> now = std::nullopt) override;

 private:
  // What an admission has taken, in the order of the gates; given back from the last to the first. The ticket holds its
  // address.
  using Taken = std::unique_ptr<std::optional<Permit>[]>;
  static_assert(sizeof(Taken::pointer) <= sizeof(std::uint64_t));
  [[nodiscard]] static std::uint64_t ticket_of(Taken::pointer permits) noexcept;
  [[nodiscard]] static Taken::pointer taken(std::uint64_t ticket) noexcept;

  void on_outcome(std::uint64_t ticket, const GateOutcome& outcome) override;
  void on_first_output(std::uint64_t ticket, TimePoint now) override;
  void on_dropped(std::uint64_t ticket, bool used) noexcept override;
  void describe(GateSnapshot& snapshot) const override;

  // As its gate at `which` refuses; no sooner than the others open.
  [[nodiscard]] GateRefusal refused(GateRefusal refusal, std::size_t which, const GateRequest& request) const;
  // Calls f for each permit, also where it throws for one of them; the first of these goes on.
  template <class F>
  void each_of(Taken::pointer permits, const F& f) const;

  const std::vector<std::shared_ptr<Gate>> gates_;
};

// Gates to be shared as one: .gate = planb::all_of(breaker, limit).
[[nodiscard]] std::shared_ptr<AllOf> all_of(std::vector<std::shared_ptr<Gate>> gates);
template <class... Gates>
requires(sizeof...(Gates) != 0 && (std::derived_from<Gates, Gate> && ...))
    [[nodiscard]] std::shared_ptr<AllOf> all_of(std::shared_ptr<Gates>... gates) {
  std::vector<std::shared_ptr<Gate>> list;
  list.reserve(sizeof...(Gates));
  (list.push_back(std::move(gates)), ...);
  return all_of(std::move(list));
}

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/gate/impl/all_of.hpp>  // IWYU pragma: export
#endif
