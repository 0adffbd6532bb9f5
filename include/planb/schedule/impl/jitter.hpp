// SPDX-License-Identifier: MIT
// The rules of the jitters.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/schedule/detail/args.hpp>
#include <planb/schedule/detail/combinators.hpp>
#include <planb/schedule/detail/leaves.hpp>
#include <planb/schedule/detail/node.hpp>
#include <planb/schedule/jitter.hpp>
#include <planb/schedule/schedule.hpp>

#include <algorithm>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

// Draws from [d - d × below, d + d × above], as far as the caps allow.
template <class Kind>
struct Jitter {
  static constexpr std::string_view name = Kind::name;
  static constexpr bool ends = false;
  using State = NoState;

  static Answer next(State&, const ScheduleAsk& ask, const Inner& inner) {
    Answer wait = inner(ask);
    if (!wait) return wait;
    const Duration high = (std::min)({Kind::high(wait->delay), wait->cap, ask.cap});
    wait->delay = ask.random.between((std::min)(Kind::low(wait->delay), high), high);
    wait->spread *= Kind::spread;
    return wait;
  }

  static void describe(ScheduleWriter&) {}
};

struct ByAFifth {
  static constexpr std::string_view name = "jittered";
  static constexpr double spread = 0.8;
  static Duration low(Duration d) noexcept { return d - d / 5; }
  static Duration high(Duration d) noexcept { return add(d, d / 5); }
};

struct DownToZero {
  static constexpr std::string_view name = "full_jitter";
  static constexpr double spread = 0;
  static Duration low(Duration) noexcept { return Duration::zero(); }
  static Duration high(Duration d) noexcept { return d; }
};

struct DownToHalf {
  static constexpr std::string_view name = "equal_jitter";
  static constexpr double spread = 0.5;
  static Duration low(Duration d) noexcept { return d / 2; }
  static Duration high(Duration d) noexcept { return d; }
};

struct Decorrelated {
  static constexpr std::string_view name = "decorrelated_jitter";
  static constexpr bool ends = false;
  struct State {
    Duration previous;
  };

  Duration base;
  Duration cap;

  State start() const noexcept { return {base}; }

  Answer next(State& state, const ScheduleAsk& ask) const {
    const Duration previous = state.previous;
    const Duration high = (std::min)({add(add(previous, previous), previous), cap, ask.cap});
    // A cap further out that leaves no room above the base: the spread of the first draw, below that cap.
    const Duration low = ask.cap <= base && base < cap ? ask.cap / 3 : (std::min)(base, ask.cap);
    Wait wait = ask.random.between(low, high);
    wait.cap = cap;
    wait.spread = high > Duration::zero() ? static_cast<double>(low.count()) / static_cast<double>(high.count()) : 1;
    state.previous = (std::max)(wait.delay, base);
    return wait;
  }

  void describe(ScheduleWriter& out) const {
    out.add(base);
    out.add(cap);
  }
};

}  // namespace planb::inline PLANB_ABI::detail

namespace planb::inline PLANB_ABI {

PLANB_DECL Schedule jittered(const Schedule& schedule) {
  return detail::wrap(schedule, detail::Jitter<detail::ByAFifth>{});
}

PLANB_DECL Schedule full_jitter(const Schedule& schedule) {
  return detail::wrap(schedule, detail::Jitter<detail::DownToZero>{});
}

PLANB_DECL Schedule equal_jitter(const Schedule& schedule) {
  return detail::wrap(schedule, detail::Jitter<detail::DownToHalf>{});
}

PLANB_DECL Schedule decorrelated_jitter(detail::DurationArg base, detail::DurationArg cap) {
  const detail::Decorrelated rule{detail::checked("decorrelated_jitter", "base", base),
                                  detail::checked("decorrelated_jitter", "cap", cap)};
  if (rule.cap < rule.base) detail::refuse("decorrelated_jitter: the cap is below the base; give at least the base");
  return detail::leaf(rule);
}

}  // namespace planb::inline PLANB_ABI
