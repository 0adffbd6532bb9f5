// SPDX-License-Identifier: MIT
// The schedules that are made of others: what they stand on, and those that have a function of the caller's.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/predicate.hpp>
#include <planb/schedule/detail/args.hpp>
#include <planb/schedule/detail/leaves.hpp>
#include <planb/schedule/detail/node.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/time/clock.hpp>

#include <string_view>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// The node of a schedule that goes into another, which has so many other parts.
[[nodiscard]] NodePtr inner_node(std::string_view outer, const Schedule& schedule, int others = 1);

// A delay that may have outgrown the cap: within it, and where it had been drawn, drawn again rather than cut off.
[[nodiscard]] Duration within(Duration cap, const Wait& wait, Random& random);

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

// A cap further out bounds the sum; one further in, what is added to.
[[nodiscard]] Wait lengthen(Wait wait, Duration extra, const ScheduleAsk& ask);

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
    if (wait->cap < wait->delay) wait->cap = wait->delay;
    state.previous_delay = wait->delay;
    return wait;
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

template <class... S>
concept Schedules = sizeof...(S) != 0 && (std::is_convertible_v<const S&, Schedule> && ...);

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/schedule/impl/detail_combinators.hpp>  // IWYU pragma: export
#endif
