// SPDX-License-Identifier: MIT
// The schedules that are not made of others: each a rule, that is, its parameters, the state that it steps through, and
// one step. Here is the one that has a function of the caller's.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/schedule/detail/args.hpp>
#include <planb/schedule/detail/node.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/time/clock.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// Time since the first question.
struct Stopwatch {
  TimePoint start;
  bool started = false;

  Duration elapsed(TimePoint now) noexcept;
};

// Keeps what a ScheduleInput holds.
struct InputState {
  Stopwatch watch;
  Duration previous_delay{};
  int attempt = 0;

  ScheduleInput input(const ScheduleAsk& ask) noexcept;
};

[[nodiscard]] constexpr Duration bounded(Duration delay, Duration cap) noexcept {
  if (delay < Duration::zero()) return Duration::zero();
  return delay > cap ? cap : delay;
}

template <class Rule>
class LeafNode final : public ScheduleNode {
 public:
  using State = typename Rule::State;

  explicit LeafNode(Rule rule) : ScheduleNode(slots_for<State>, Rule::ends, 1, 1), rule_(std::move(rule)) {}

  void start(StateSlot* state) const noexcept override { start_state<State>(state, rule_.start()); }

  Answer next(StateSlot* state, const ScheduleAsk& ask) const override {
    Answer wait = rule_.next(state_at<State>(state), ask);
    if (wait) wait->delay = bounded(wait->delay, ask.cap);
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

template <class F>
struct Custom {
  static constexpr bool ends = true;  // as far as can be known
  using State = InputState;

  std::string name;
  F fn;

  static State start() noexcept { return {}; }

  Answer next(State& state, const ScheduleAsk& ask) const {
    const std::optional<Duration> delay = to_optional_duration(fn(state.input(ask)));
    if (!delay) return std::nullopt;
    return state.previous_delay = bounded(*delay, ask.cap);
  }

  [[nodiscard]] std::string_view label() const noexcept { return name; }
};

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/schedule/impl/detail_leaves.hpp>  // IWYU pragma: export
#endif
