// What the model's run is played on: time, stops, gates, and what the caller sees of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "case.hpp"
#include "lines.hpp"

namespace model {

struct RuleThrew {
  bool defect;
};

class Stage {
 public:
  explicit Stage(const Case& c) : case_(c), stopped_(c.stop.at == StopAt::before) {
    for (const GateScript& script : c.gates) gates_.push_back({script});
    if (c.budget && *c.budget != forever) budget_end_ = *c.budget;
    look_at_time();
  }

 protected:
  // --- Time and stops ---

  void pass(Duration d) {
    now_ += d;
    look_at_time();
  }
  void wait(Duration d) {
    const Duration due = now_ + d;
    line(wait_line(due));
    now_ = case_.stop.at == StopAt::time ? (std::min)(due, case_.stop.time) : due;
    look_at_time();
  }
  void stop_if(StopAt place, int number) {
    if (case_.stop.at == place && case_.stop.number == number) stopped_ = true;
  }

  [[nodiscard]] bool budget_gone() const { return budget_end_ && now_ >= *budget_end_; }

  // The end of the time that a step has: what is left of the budget less the reserve of every later step.
  [[nodiscard]] std::optional<Duration> time_limit(std::size_t step) const {
    if (!budget_end_) return std::nullopt;
    Duration limit = *budget_end_;
    for (std::size_t later = step + 1; later < case_.steps.size(); ++later) {
      const Duration reserve = case_.steps[later].reserve;
      if (reserve == forever) return -forever;
      limit -= reserve;
    }
    return limit;
  }

  // --- What the caller sees ---

  void line(const std::string& what) { out_.lines.push_back(at(now_, what)); }
  void event(const std::string& what) {
    line(what);
    stop_if(StopAt::event, ++events_);
  }
  void ask(const std::string& rule) {
    line(rule);
    stop_if(StopAt::rule, ++rules_);
    if (case_.fault == rules_) throw RuleThrew{case_.fault_is_defect};
  }

  // --- Gates ---

  // Asks a gate for a permit; when it may open, where it refuses. A negative index: there is no gate.
  std::optional<Duration> refused(int index) {
    if (index < 0) return std::nullopt;
    GateState& state = gates_[static_cast<std::size_t>(index)];
    const Duration opens_at = state.opens_at(now_);
    gate_line(index, opens_at > now_ ? "refuses" : "admits");
    if (opens_at > now_) return opens_at;
    state.admitted();
    return std::nullopt;
  }
  // When a gate opens, where that is not before a wait is over.
  [[nodiscard]] std::optional<Duration> closed_after(Duration delay, int index) const {
    if (index < 0) return std::nullopt;
    const Duration opens_at = gates_[static_cast<std::size_t>(index)].opens_at(now_);
    return opens_at > now_ + delay ? std::optional(opens_at) : std::nullopt;
  }
  // When a gate opens that is closed now.
  [[nodiscard]] std::optional<Duration> shut_until(int index) const {
    if (index < 0) return std::nullopt;
    const Duration opens_at = gates_[static_cast<std::size_t>(index)].opens_at(now_);
    return opens_at > now_ ? std::optional(opens_at) : std::nullopt;
  }
  // A probe's first output settles it, and its end says nothing more.
  void tell_gate_of_output(int index) {
    if (index < 0) return;
    GateState& state = gates_[static_cast<std::size_t>(index)];
    if (!state.probing) return;
    state.succeeded();
    settled_ = true;
  }
  // Whether it was told of a failure.
  bool tell_gate(int index, const std::optional<Failure>& failure) {
    const bool settled = std::exchange(settled_, false);
    if (index < 0) return false;
    const bool neutral = failure && (failure->kind == CauseKind::interrupted || failure->kind == CauseKind::defect ||
                                     failure->check_threw || failure->by_budget);
    if (settled) return failure && !neutral;
    if (!failure) {
      gate_line(index, "told success");
      gates_[static_cast<std::size_t>(index)].succeeded();
    } else if (neutral) {
      gate_line(index, "dropped");
    } else {
      gate_line(index, "told failure");
      gates_[static_cast<std::size_t>(index)].failed(now_);
    }
    return failure && !neutral;
  }

  const Case& case_;
  Expected out_;
  Duration now_{};
  std::optional<Duration> budget_end_;
  bool stopped_;

 private:
  void look_at_time() {
    if (case_.stop.at == StopAt::time && case_.stop.time <= now_) stopped_ = true;
  }
  void gate_line(int index, const char* what) {
    if (case_.gates[static_cast<std::size_t>(index)].breaker) return;  // it does not tell
    out_.gates.push_back(at(now_, model::gate_line(index, what)));
  }

  std::vector<GateState> gates_;
  bool settled_ = false;
  int events_ = 0;
  int rules_ = 0;
};

}  // namespace model
