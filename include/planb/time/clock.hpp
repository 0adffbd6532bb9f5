// SPDX-License-Identifier: MIT
// Time as a run sees it: one monotonic clock, injected.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/function.hpp>
#include <planb/time/duration.hpp>
#include <planb/time/timer.hpp>

#include <memory>
#include <type_traits>
#include <utility>

#if PLANB_HAS_STOP_TOKEN
#include <stop_token>
#endif

namespace planb::inline PLANB_ABI {

#if PLANB_HAS_STOP_TOKEN
using StopToken = std::stop_token;
#else
// Stands in for std::stop_token where the standard library has none: never stops.
struct StopToken {
  [[nodiscard]] static constexpr bool stop_requested() noexcept { return false; }
  [[nodiscard]] static constexpr bool stop_possible() noexcept { return false; }
  friend constexpr bool operator==(StopToken, StopToken) noexcept = default;
};
#endif

// Where a run reads the time and waits. Implementations must be monotonic and safe to use from several threads, and
// must not throw. A clock must outlive the runs that use it.
class PLANB_VISIBLE Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  [[nodiscard]] virtual TimePoint now() const = 0;

  // Returns at `due`, or as soon as `stop` is requested; never earlier otherwise.
  virtual void sleep_until(TimePoint due, StopToken stop) = 0;

  // Calls `fn` once at `due`, or at once where that has passed, on a thread of the clock's choice. `fn` must not throw.
  template <class F>
  Timer call_at(TimePoint due, F fn) {
    static_assert(std::is_copy_constructible_v<F>,
                  "planb: what call_at() is to call must be copyable; hand over a std::shared_ptr to what is not");
    static_assert(std::is_invocable_v<const F&>,
                  "planb: call_at() calls `fn()` through const: a lambda that is not mutable, and takes no argument");
    if constexpr (std::is_copy_constructible_v<F> && std::is_invocable_v<const F&>) {
      return make_timer(due, detail::Function<void()>(std::move(fn)));
    } else {
      return Timer();
    }
  }

 private:
  // Without an override, the call comes on SteadyClock's timer thread after the real time from now() to `due`.
  virtual Timer make_timer(TimePoint due, detail::Function<void()> fn);
};

// The default clock: std::chrono::steady_clock, so a change of the wall clock changes nothing.
class PLANB_VISIBLE SteadyClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override;

  void sleep_until(TimePoint due, StopToken stop) override;

  // One thread serves all timers. The first starts it, and it ends when there has been nothing to do for a while.
  Timer make_timer(TimePoint due, detail::Function<void()> fn) override;

  // The one instance that runs use when they are given no other. Never destroyed.
  [[nodiscard]] static SteadyClock& instance();
};

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/time/impl/clock.hpp>  // IWYU pragma: export
#endif
