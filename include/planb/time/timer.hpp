// SPDX-License-Identifier: MIT
// Timer: a call that is to come.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/time/duration.hpp>

#include <memory>
#include <utility>

namespace planb::inline PLANB_ABI {

// A call that is to come. Destroying it cancels the call, and waits for one that is running on another thread. From
// within its own call there is nothing to wait for: that may destroy, replace or move its Timer.
class [[nodiscard]] Timer {
 public:
  // What a clock keeps for a timer; its destructor does what Timer's promises.
  struct Pending {
    Pending() = default;
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;
    virtual ~Pending() = default;

    // False: cannot, or the call has begun.
    virtual bool move_to(TimePoint) { return false; }
  };

  Timer() noexcept = default;
  explicit Timer(std::unique_ptr<Pending> pending) noexcept : pending_(std::move(pending)) {}

  // Sets another time for the call, without an allocation. False: it has begun, or its clock cannot do that; set
  // another timer then.
  bool move_to(TimePoint due) { return pending_ != nullptr && pending_->move_to(due); }

 private:
  std::unique_ptr<Pending> pending_;
};

}  // namespace planb::inline PLANB_ABI
