// SPDX-License-Identifier: MIT
// The schedules that are made of others, each with its rule.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/predicate.hpp>
#include <planb/schedule/combinators.hpp>
#include <planb/schedule/detail/args.hpp>
#include <planb/schedule/detail/combinators.hpp>
#include <planb/schedule/detail/leaves.hpp>
#include <planb/schedule/detail/node.hpp>
#include <planb/schedule/schedule.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

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

namespace planb::inline PLANB_ABI {

PLANB_DECL Schedule concat(const Schedule& first, const Schedule& second) {
  return detail::pair_up<detail::Concat>("concat", first, second);
}

PLANB_DECL Schedule both(const Schedule& a, const Schedule& b) { return detail::pair_up<detail::Both>("both", a, b); }

PLANB_DECL Schedule either(const Schedule& a, const Schedule& b) {
  return detail::pair_up<detail::Either>("either", a, b);
}

PLANB_DECL Schedule up_to(const Schedule& schedule, int times) {
  return detail::wrap(schedule, detail::UpToTimes{detail::checked_count("up_to", times)});
}

PLANB_DECL Schedule up_to(const Schedule& schedule, detail::DurationArg elapsed) {
  return detail::wrap(schedule, detail::UpToElapsed{detail::checked("up_to", "time", elapsed)});
}

PLANB_DECL Schedule capped(const Schedule& schedule, detail::DurationArg max) {
  return detail::wrap(schedule, detail::Capped{detail::checked("capped", "cap", max)});
}

PLANB_DECL Schedule add_delay(const Schedule& schedule, detail::DurationArg extra) {
  return detail::wrap(schedule, detail::AddDelay{detail::checked("add_delay", "delay", extra)});
}

PLANB_DECL Schedule while_input(const Schedule& schedule, detail::ErrorPredicate predicate) {
  if (!predicate) detail::refuse("while_input: there is no predicate; give one");
  return detail::wrap(schedule, detail::WhileInput{std::move(predicate)});
}

}  // namespace planb::inline PLANB_ABI
