// The schedules that are made of others.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/predicate.hpp>
#include <planb/schedule/detail/args.hpp>
#include <planb/schedule/detail/leaves.hpp>
#include <planb/schedule/detail/node.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/time/clock.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// The node of a schedule that goes into another, which has so many other parts.
[[nodiscard]] inline NodePtr inner_node(std::string_view outer, const Schedule& schedule, int others = 1) {
  if (!schedule) refuse(std::string(outer) + ": there is no schedule to work on; give one, such as spaced(10ms)");
  const NodePtr& node = ScheduleAccess::node(schedule);
  if (node->depth() >= max_schedule_depth || node->parts() > max_schedule_parts - others) {
    refuse(std::string(outer) + ": schedules nest at most " + std::to_string(max_schedule_depth) +
           " deep and have at most " + std::to_string(max_schedule_parts) +
           " parts; write this one with Schedule::from or delays");
  }
  return node;
}

// A delay that may have outgrown the cap: within it, and where it had been drawn, drawn again rather than cut off.
[[nodiscard]] inline Duration within(Duration cap, const Wait& wait, Random& random) {
  if (wait.delay <= cap) return (std::max)(wait.delay, Duration::zero());
  if (wait.spread >= 1) return cap;
  return random.between(Duration{static_cast<Duration::rep>(static_cast<double>(cap.count()) * wait.spread)}, cap);
}

// Asks an inner schedule.
struct Inner {
  const ScheduleNode& node;
  StateSlot* state;

  Answer operator()(const ScheduleAsk& ask) const { return node.next(state, ask); }
};

// One schedule inside another.
template <class Rule>
class WrapNode final : public ScheduleNode {
 public:
  using State = typename Rule::State;

  WrapNode(Rule rule, NodePtr inner)
      : ScheduleNode(slots_for<State> + inner->slot_count(), Rule::ends || inner->ends(), inner->depth() + 1,
                     inner->parts() + 1),
        rule_(std::move(rule)),
        inner_(std::move(inner)) {}

  void start(StateSlot* state) const noexcept override {
    start_state<State>(state, State{});
    inner_->start(state + slots_for<State>);
  }

  Answer next(StateSlot* state, const ScheduleAsk& ask) const override {
    return rule_.next(state_at<State>(state), ask, Inner{*inner_, state + slots_for<State>});
  }

  void describe(ScheduleWriter& out) const override {
    out.open(Rule::name);
    out.add(*inner_);
    rule_.describe(out);
    out.close();
  }

 private:
  Rule rule_;
  NodePtr inner_;
};

template <class Rule>
[[nodiscard]] Schedule wrap(const Schedule& schedule, Rule rule) {
  return ScheduleAccess::take(new WrapNode<Rule>(std::move(rule), inner_node(Rule::name, schedule)));
}

struct UpToTimes {
  static constexpr std::string_view name = "up_to";
  static constexpr bool ends = true;
  struct State {
    int times;
  };

  int times;

  Answer next(State& state, const ScheduleAsk& ask, const Inner& inner) const {
    if (state.times >= times) return std::nullopt;
    ++state.times;
    return inner(ask);
  }

  void describe(ScheduleWriter& out) const { out.add(times); }
};

struct UpToElapsed {
  static constexpr std::string_view name = "up_to";
  static constexpr bool ends = true;
  using State = Stopwatch;

  Duration time;

  Answer next(State& state, const ScheduleAsk& ask, const Inner& inner) const {
    if (state.elapsed(ask.now) > time) return std::nullopt;
    return inner(ask);
  }

  void describe(ScheduleWriter& out) const { out.add(time); }
};

struct Capped {
  static constexpr std::string_view name = "capped";
  static constexpr bool ends = false;
  using State = NoState;

  Duration max;

  Answer next(State&, ScheduleAsk ask, const Inner& inner) const {
    ask.cap = (std::min)(ask.cap, max);
    Answer wait = inner(ask);
    if (wait) wait->cap = (std::min)(wait->cap, max);
    return wait;
  }

  void describe(ScheduleWriter& out) const { out.add(max); }
};

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

// A cap further out bounds the sum; one further in, what is added to.
[[nodiscard]] inline Wait lengthen(Wait wait, Duration extra, const ScheduleAsk& ask) {
  extra = (std::max)(extra, Duration::zero());
  if (extra < ask.cap) {
    wait.delay = extra + within(ask.cap - extra, wait, ask.random);
  } else {
    wait.delay = extra;
    wait.delay = within(ask.cap, wait, ask.random);
  }
  wait.cap = add(wait.cap, extra);
  return wait;
}

struct AddDelay {
  static constexpr std::string_view name = "add_delay";
  static constexpr bool ends = false;
  using State = NoState;

  Duration extra;

  Answer next(State&, const ScheduleAsk& ask, const Inner& inner) const {
    Answer wait = inner(ask);
    if (wait) wait = lengthen(*wait, extra, ask);
    return wait;
  }

  void describe(ScheduleWriter& out) const { out.add(extra); }
};

template <class F>
struct AddDelayBy {
  static constexpr std::string_view name = "add_delay";
  static constexpr bool ends = false;
  using State = InputState;

  F fn;

  Answer next(State& state, const ScheduleAsk& ask, const Inner& inner) const {
    const ScheduleInput input = state.input(ask);
    Answer wait = inner(ask);
    if (!wait) return wait;
    Duration extra;
    if constexpr (TakesNothing<F>) {
      extra = to_plain_duration(fn());
    } else {
      extra = to_plain_duration(fn(input));
    }
    wait = lengthen(*wait, extra, ask);
    state.previous_delay = wait->delay;
    return wait;
  }

  static void describe(ScheduleWriter& out) { out.add_function(); }
};

template <class F>
struct ModifyDelay {
  static constexpr std::string_view name = "modify_delay";
  static constexpr bool ends = false;
  using State = InputState;

  F fn;

  Answer next(State& state, const ScheduleAsk& ask, const Inner& inner) const {
    const ScheduleInput input = state.input(ask);
    ScheduleAsk uncapped = ask;
    uncapped.cap = no_cap;  // a cap further out bounds what the function gives, not what it is given
    Answer wait = inner(uncapped);
    if (!wait) return wait;
    if constexpr (TakesDelayAndInput<F>) {
      wait->delay = to_plain_duration(fn(wait->delay, input));
    } else {
      wait->delay = to_plain_duration(fn(wait->delay));
    }
    wait->delay = within(ask.cap, *wait, ask.random);
    wait->cap = (std::max)(wait->cap, wait->delay);
    state.previous_delay = wait->delay;
    return wait;
  }

  static void describe(ScheduleWriter& out) { out.add_function(); }
};

struct WhileInput {
  static constexpr std::string_view name = "while_input";
  static constexpr bool ends = false;
  using State = NoState;

  ErrorPredicate predicate;

  Answer next(State&, const ScheduleAsk& ask, const Inner& inner) const {
    if (!predicate(ask.cause)) return std::nullopt;
    return inner(ask);
  }

  static void describe(ScheduleWriter& out) { out.add_function(); }
};

template <class F>
struct Tap {
  static constexpr std::string_view name = "tap";
  static constexpr bool ends = false;
  using State = InputState;

  F fn;

  Answer next(State& state, const ScheduleAsk& ask, const Inner& inner) const {
    const ScheduleInput input = state.input(ask);
    const Answer wait = inner(ask);
    if (!wait) return wait;
    if constexpr (TakesDelayAndInput<F>) {
      static_cast<void>(fn(wait->delay, input));
    } else if constexpr (TakesDelay<F>) {
      static_cast<void>(fn(wait->delay));
    } else {
      static_cast<void>(fn(input));
    }
    state.previous_delay = wait->delay;
    return wait;
  }

  static void describe(ScheduleWriter& out) { out.add_function(); }
};

// Two schedules inside another.
template <class Rule>
class PairNode final : public ScheduleNode {
 public:
  using State = typename Rule::State;

  PairNode(NodePtr a, NodePtr b)
      : ScheduleNode(slots_for<State> + a->slot_count() + b->slot_count(), Rule::ends(a->ends(), b->ends()),
                     (std::max)(a->depth(), b->depth()) + 1, a->parts() + b->parts() + 1),
        a_(std::move(a)),
        b_(std::move(b)) {}

  void start(StateSlot* state) const noexcept override {
    start_state<State>(state, State{});
    a_->start(state + slots_for<State>);
    b_->start(state + slots_for<State> + a_->slot_count());
  }

  Answer next(StateSlot* state, const ScheduleAsk& ask) const override {
    return Rule::next(state_at<State>(state), ask, Inner{*a_, state + slots_for<State>},
                      Inner{*b_, state + slots_for<State> + a_->slot_count()});
  }

  void describe(ScheduleWriter& out) const override {
    out.open(Rule::name);
    out.add(*a_);
    out.add(*b_);
    out.close();
  }

 private:
  NodePtr a_;
  NodePtr b_;
};

template <class... S>
concept Schedules = sizeof...(S) != 0 && (std::is_convertible_v<const S&, Schedule> && ...);

template <class Rule>
[[nodiscard]] Schedule pair_up(std::string_view name, const Schedule& a, const Schedule& b) {
  NodePtr first = inner_node(name, a);
  const int others = first->parts() + 1;
  return ScheduleAccess::take(new PairNode<Rule>(std::move(first), inner_node(name, b, others)));
}

struct Concat {
  static constexpr std::string_view name = "concat";
  static constexpr bool ends(bool a, bool b) noexcept { return a && b; }
  struct State {
    bool in_second;
  };

  static Answer next(State& state, const ScheduleAsk& ask, const Inner& first, const Inner& second) {
    if (!state.in_second) {
      if (const Answer wait = first(ask)) return wait;
      state.in_second = true;
    }
    return second(ask);
  }
};

struct Both {
  static constexpr std::string_view name = "max";
  static constexpr bool ends(bool a, bool b) noexcept { return a || b; }
  using State = NoState;

  static Answer next(State&, const ScheduleAsk& ask, const Inner& a, const Inner& b) {
    const Answer x = a(ask);
    if (!x) return std::nullopt;
    const Answer y = b(ask);
    if (!y) return std::nullopt;
    if (x->delay != y->delay) return x->delay > y->delay ? x : y;
    return x->cap >= y->cap ? x : y;
  }
};

struct Either {
  static constexpr std::string_view name = "min";
  static constexpr bool ends(bool a, bool b) noexcept { return a && b; }
  struct State {
    bool a_ended, b_ended;
  };

  static Answer next(State& state, const ScheduleAsk& ask, const Inner& a, const Inner& b) {
    Answer x;
    Answer y;
    if (!state.a_ended) x = a(ask);
    if (!state.b_ended) y = b(ask);
    state = {!x, !y};
    if (!x || !y) return x ? x : y;
    if (x->delay != y->delay) return x->delay < y->delay ? x : y;
    return x->cap <= y->cap ? x : y;
  }
};

}  // namespace planb::inline PLANB_ABI::detail
