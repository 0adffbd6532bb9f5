// SPDX-License-Identifier: MIT
// The schedules that stand by themselves: each a rule, that is, its parameters, the state that it steps through, and
// one step.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/schedule/detail/args.hpp>
#include <planb/schedule/detail/leaves.hpp>
#include <planb/schedule/detail/node.hpp>
#include <planb/schedule/leaves.hpp>
#include <planb/schedule/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

struct Spaced {
  static constexpr std::string_view name = "spaced";
  static constexpr bool ends = false;
  using State = NoState;

  Duration delay;

  static State start() noexcept { return {}; }
  Answer next(State&, const ScheduleAsk&) const { return delay; }
  void describe(ScheduleWriter& out) const { out.add(delay); }
};

struct Exponential {
  static constexpr std::string_view name = "exponential";
  static constexpr bool ends = false;
  static constexpr long double longest = static_cast<long double>((Duration::max)().count());
  struct State {
    long double next;
  };

  Duration base;
  double factor;
  bool factor_given;  // only so that to_string gives back what was written

  State start() const noexcept { return {static_cast<long double>(base.count())}; }

  Answer next(State& state, const ScheduleAsk&) const {
    const long double delay = state.next;
    state.next = (std::min)(delay * static_cast<long double>(factor), longest);
    if (delay >= longest) return (Duration::max)();
    // It is never negative. NOLINTNEXTLINE(bugprone-incorrect-roundings)
    return Duration{static_cast<Duration::rep>(delay + 0.5L)};
  }

  void describe(ScheduleWriter& out) const {
    out.add(base);
    if (factor_given) out.add(factor);
  }
};

struct Fibonacci {
  static constexpr std::string_view name = "fibonacci";
  static constexpr bool ends = false;
  struct State {
    Duration current, following;
  };

  Duration base;

  State start() const noexcept { return {base, base}; }

  Answer next(State& state, const ScheduleAsk&) const {
    const Duration delay = state.current;
    state = {state.following, add(state.current, state.following)};
    return delay;
  }

  void describe(ScheduleWriter& out) const { out.add(base); }
};

struct Linear {
  static constexpr std::string_view name = "linear";
  static constexpr bool ends = false;
  struct State {
    Duration previous;
  };

  Duration base;

  static State start() noexcept { return {}; }
  Answer next(State& state, const ScheduleAsk&) const { return state.previous = add(state.previous, base); }
  void describe(ScheduleWriter& out) const { out.add(base); }
};

struct Fixed {
  static constexpr std::string_view name = "fixed";
  static constexpr bool ends = false;
  struct State {
    Stopwatch watch;
    Duration due{};  // when the last recurrence was to be, on the watch
  };

  Duration interval;

  static State start() noexcept { return {}; }

  Answer next(State& state, const ScheduleAsk& ask) const {
    if (interval == Duration::zero()) return interval;
    const bool first = !state.watch.started;
    const Duration now = state.watch.elapsed(ask.now);
    const bool behind = !first && now > add(state.due, interval);
    const Duration delay = behind ? Duration::zero() : interval - now % interval;
    state.due = add(now, delay);
    return delay;
  }

  void describe(ScheduleWriter& out) const { out.add(interval); }
};

struct Windowed {
  static constexpr std::string_view name = "windowed";
  static constexpr bool ends = false;
  using State = Stopwatch;

  Duration interval;

  static State start() noexcept { return {}; }

  Answer next(State& state, const ScheduleAsk& ask) const {
    if (interval == Duration::zero()) return interval;
    return interval - state.elapsed(ask.now) % interval;
  }

  void describe(ScheduleWriter& out) const { out.add(interval); }
};

struct Recurs {
  static constexpr std::string_view name = "recurs";
  static constexpr bool ends = true;
  struct State {
    int times;
  };

  int times;

  static State start() noexcept { return {}; }

  Answer next(State& state, const ScheduleAsk&) const {
    if (state.times >= times) return std::nullopt;
    ++state.times;
    return Duration::zero();
  }

  void describe(ScheduleWriter& out) const { out.add(times); }
};

struct Once : Recurs {
  static constexpr std::string_view name = "once";  // in place of the other

  Once() noexcept : Recurs{1} {}

  static void describe(ScheduleWriter&) {}
};

struct Forever {
  static constexpr std::string_view name = "forever";
  static constexpr bool ends = false;
  using State = NoState;

  static State start() noexcept { return {}; }
  static Answer next(State&, const ScheduleAsk&) { return Duration::zero(); }
  static void describe(ScheduleWriter&) {}
};

struct During {
  static constexpr std::string_view name = "during";
  static constexpr bool ends = true;
  using State = Stopwatch;

  Duration time;

  static State start() noexcept { return {}; }

  Answer next(State& state, const ScheduleAsk& ask) const {
    if (state.elapsed(ask.now) > time) return std::nullopt;
    return Duration::zero();
  }

  void describe(ScheduleWriter& out) const { out.add(time); }
};

struct OnceAfter {
  static constexpr std::string_view name = "duration";
  static constexpr bool ends = true;
  struct State {
    bool done;
  };

  Duration delay;

  static State start() noexcept { return {}; }

  Answer next(State& state, const ScheduleAsk&) const {
    if (state.done) return std::nullopt;
    state.done = true;
    return delay;
  }

  void describe(ScheduleWriter& out) const { out.add(delay); }
};

struct Delays {
  static constexpr std::string_view name = "delays";
  static constexpr bool ends = true;
  struct State {
    std::size_t next;
  };

  std::vector<Duration> list;

  static State start() noexcept { return {}; }

  Answer next(State& state, const ScheduleAsk&) const {
    if (state.next >= list.size()) return std::nullopt;
    return list[state.next++];
  }

  void describe(ScheduleWriter& out) const {
    for (const Duration delay : list) out.add(delay);
  }
};

}  // namespace planb::inline PLANB_ABI::detail

namespace planb::inline PLANB_ABI {

PLANB_DECL Schedule spaced(detail::DurationArg delay) {
  return detail::leaf(detail::Spaced{detail::checked("spaced", "delay", delay)});
}

PLANB_DECL Schedule exponential(detail::DurationArg base, double factor) {
  return detail::leaf(detail::Exponential{detail::checked("exponential", "base", base),
                                          detail::checked_factor("exponential", factor), true});
}

PLANB_DECL Schedule exponential(detail::DurationArg base) {
  return detail::leaf(detail::Exponential{detail::checked("exponential", "base", base), 2, false});
}

PLANB_DECL Schedule fibonacci(detail::DurationArg base) {
  return detail::leaf(detail::Fibonacci{detail::checked("fibonacci", "base", base)});
}

PLANB_DECL Schedule linear(detail::DurationArg base) {
  return detail::leaf(detail::Linear{detail::checked("linear", "base", base)});
}

PLANB_DECL Schedule fixed(detail::DurationArg interval) {
  return detail::leaf(detail::Fixed{detail::checked("fixed", "interval", interval)});
}

PLANB_DECL Schedule windowed(detail::DurationArg interval) {
  return detail::leaf(detail::Windowed{detail::checked("windowed", "interval", interval)});
}

PLANB_DECL Schedule recurs(int times) { return detail::leaf(detail::Recurs{detail::checked_count("recurs", times)}); }

PLANB_DECL Schedule once() { return detail::leaf(detail::Once{}); }

#pragma push_macro("forever")
#undef forever
PLANB_DECL Schedule forever() { return detail::leaf(detail::Forever{}); }
#pragma pop_macro("forever")

PLANB_DECL Schedule during(detail::DurationArg time) {
  return detail::leaf(detail::During{detail::checked("during", "time", time)});
}

PLANB_DECL Schedule duration(detail::DurationArg delay) {
  return detail::leaf(detail::OnceAfter{detail::checked("duration", "delay", delay)});
}

}  // namespace planb::inline PLANB_ABI

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL Schedule all_delays(std::vector<Duration> list) { return detail::leaf(detail::Delays{std::move(list)}); }

}  // namespace planb::inline PLANB_ABI::detail

namespace planb::inline PLANB_ABI {

PLANB_DECL Schedule delays(std::initializer_list<detail::DurationArg> list) {
  std::vector<Duration> all;
  for (const detail::DurationArg& delay : list) all.push_back(detail::checked("delays", "delay", delay));
  return detail::all_delays(std::move(all));
}

}  // namespace planb::inline PLANB_ABI
