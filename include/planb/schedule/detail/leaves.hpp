// The schedules that are not made of others: each a rule, that is, its parameters, the state that it steps through, and
// one step.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/schedule/detail/args.hpp>
#include <planb/schedule/detail/node.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/time/clock.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

// Time since the first question.
struct Stopwatch {
  TimePoint start;
  bool started = false;

  Duration elapsed(TimePoint now) noexcept {
    if (!started) {
      start = now;
      started = true;
    }
    return (std::max)(between(start, now), Duration::zero());
  }
};

// Keeps what a ScheduleInput tells.
struct InputState {
  Stopwatch watch;
  Duration previous_delay{};
  int attempt = 0;

  ScheduleInput input(const ScheduleAsk& ask) noexcept {
    if (attempt < (std::numeric_limits<int>::max)()) ++attempt;
    return {attempt, watch.elapsed(ask.now), previous_delay, ask.now, ask.cause};
  }
};

template <class Rule>
class LeafNode final : public ScheduleNode {
 public:
  using State = typename Rule::State;

  explicit LeafNode(Rule rule) : ScheduleNode(slots_for<State>, Rule::ends, 1, 1), rule_(std::move(rule)) {}

  void start(StateSlot* state) const noexcept override { start_state<State>(state, rule_.start()); }

  Answer next(StateSlot* state, const ScheduleAsk& ask) const override {
    Answer wait = rule_.next(state_at<State>(state), ask);
    if (wait) wait->delay = (std::clamp)(wait->delay, Duration::zero(), ask.cap);
    return wait;
  }

  void describe(ScheduleWriter& out) const override {
    if constexpr (requires { rule_.label(); }) {
      out.word(rule_.label());
    } else {
      out.open(Rule::name);
      rule_.describe(out);
      out.close();
    }
  }

 private:
  Rule rule_;
};

template <class Rule>
[[nodiscard]] Schedule leaf(Rule rule) {
  return ScheduleAccess::take(new LeafNode<Rule>(std::move(rule)));
}

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
  static constexpr std::string_view name = "once";  // cppcheck-suppress duplInheritedMember ; in place of the other

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

template <class F>
struct Custom {
  static constexpr bool ends = true;  // as far as one can tell
  using State = InputState;

  std::string name;
  F fn;

  static State start() noexcept { return {}; }

  Answer next(State& state, const ScheduleAsk& ask) const {
    const std::optional<Duration> delay = to_optional_duration(fn(state.input(ask)));
    if (!delay) return std::nullopt;
    return state.previous_delay = (std::clamp)(*delay, Duration::zero(), ask.cap);
  }

  [[nodiscard]] std::string_view label() const noexcept { return name; }
};

}  // namespace planb::inline PLANB_ABI::detail
