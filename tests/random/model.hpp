// A second opinion on what a run does: section by section from the contract, as plainly as it can be said, for a plan
// that is described and not built. No code is shared with the library.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "case.hpp"

namespace model {

class Model {
 public:
  Model(const Case& c, Shape shape) : case_(c), shape_(shape), stopped_(c.stop.at == StopAt::before) {
    for (const GateScript& script : c.gates) gates_.push_back({script});
    if (c.budget) budget_end_ = *c.budget;
    look_at_time();
  }

  Expected run() {
    RunEnd end = RunEnd::running;
    try {
      end = steps();
    } catch (const RuleThrew& threw) {
      rule_threw_ = true;
      end = threw.defect ? RunEnd::defect : RunEnd::aborted;
    }
    out_.end = end;
    out_.finished = now_;
    report(end);
    out_.plan_error = "throws " + text(end) + (last_error().empty() ? "" : " nesting " + last_error());
    out_.outcome = outcome(end);
    return out_;
  }

 private:
  struct RuleThrew {
    bool defect;
  };

  struct StepState {
    int index = 0;
    int attempts = 0;
    int asked = 0;  // its schedule
    std::optional<Failure> cause;
    std::optional<SkipReason> skipped;
    LeaveReason left = LeaveReason::none;
    bool alert = false;
    std::optional<Duration> opens_at;
    std::optional<Duration> opens_in;
  };

  struct Decision {
    enum { retry, next, end } kind = end;
    Duration delay{};
    RunEnd run_end = RunEnd::exhausted;
    LeaveReason reason = LeaveReason::none;
    Verdict verdict;
    std::optional<Duration> opens_at;
    bool rule_threw = false;
  };

  // How a step was over: it ended the run, or the next one is due.
  struct Left {
    std::optional<RunEnd> end;
    LeaveReason reason = LeaveReason::none;
    bool guarded = false;
  };

  // --- Time and stops ---

  void look_at_time() {
    if (case_.stop.at == StopAt::time && case_.stop.time <= now_) stopped_ = true;
  }
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
  void gate(int index, const char* what) {
    if (case_.gates[static_cast<std::size_t>(index)].breaker) return;  // it does not tell
    out_.gates.push_back(at(now_, gate_line(index, what)));
  }

  static std::string text_of(const std::optional<Failure>& failure) {
    return failure ? text(failure->kind, failure->status) : "-";
  }

  // --- Steps ---

  RunEnd steps() {
    RunEnd if_no_step_is_left = RunEnd::exhausted;
    bool guarded = false;
    bool accepted = false;
    for (std::size_t i = 0; i != case_.steps.size(); ++i) {
      if (stopped_) return RunEnd::interrupted;
      if (budget_gone()) return RunEnd::deadline;
      if (!welcome(i, guarded)) {
        skip(i, SkipReason::declined);
        if_no_step_is_left = RunEnd::exhausted;
        continue;
      }
      if (stopped_) return RunEnd::interrupted;  // by the guard
      accepted = true;
      if (const auto limit = time_limit(i); limit && *limit <= now_) {
        skip(i, SkipReason::out_of_time);
        if_no_step_is_left = RunEnd::deadline;
        continue;
      }
      if (const auto opens_at = refused(i)) {
        skip(i, SkipReason::gate_closed, opens_at);
        if_no_step_is_left = RunEnd::exhausted;
        continue;
      }
      const Left left = step(i);
      if (left.end) return *left.end;
      if_no_step_is_left = left.reason == LeaveReason::out_of_time ? RunEnd::deadline : RunEnd::exhausted;
      guarded = left.guarded;
      accepted = false;
    }
    if (stopped_) return RunEnd::interrupted;
    if (guarded && !accepted) return RunEnd::aborted;
    return if_no_step_is_left;
  }

  bool welcome(std::size_t i, bool guarded) {
    const Step& step = case_.steps[i];
    if (!step.enter_when) return !guarded;
    if (!previous_) return false;
    return says_yes("enter_when", i, *step.enter_when, *previous_);
  }

  bool says_yes(const char* name, std::size_t i, const Rule& rule, const Failure& failure) {
    if (rule.typed && !failure.provider_error) return false;
    ask(rule_line(name, static_cast<int>(i), rule.typed ? text(failure.status) : text_of(failure)));
    return model::says_yes(rule.statuses, failure.status);
  }

  void skip(std::size_t i, SkipReason reason, std::optional<Duration> opens_at = std::nullopt) {
    StepState state;
    state.index = static_cast<int>(i);
    state.skipped = reason;
    state.opens_at = opens_at;
    if (opens_at) state.opens_in = *opens_at - now_;
    steps_.push_back(state);
    event(skipped_line(state.index, case_.steps[i].name, reason, opens_at));
  }

  // Asks the step's gate for a permit; when it may open, where it refuses.
  std::optional<Duration> refused(std::size_t i) {
    const int index = case_.steps[i].gate;
    if (index < 0) return std::nullopt;
    GateState& state = gates_[static_cast<std::size_t>(index)];
    const Duration opens_at = state.opens_at(now_);
    gate(index, opens_at > now_ ? "refuses" : "admits");
    if (opens_at > now_) return opens_at;
    state.admitted();
    return std::nullopt;
  }

  Left step(std::size_t i) {
    const Step& step = case_.steps[i];
    steps_.push_back({});
    steps_.back().index = static_cast<int>(i);
    for (int tries = 1;; ++tries) {
      const Duration started = now_;
      const std::optional<Failure> failure = attempt(i, tries);
      tell_gate(step.gate, failure);
      if (!failure) {
        event(success_line(attempts_, static_cast<int>(i), tries, step.name, now_ - started));
        return {RunEnd::succeeded};
      }
      steps_.back().cause = failure;
      previous_ = failure;
      const Decision decision = decide(i, tries, *failure);
      if (decision.verdict.alert) steps_.back().alert = true;
      steps_.back().left = decision.reason;
      steps_.back().opens_at = decision.opens_at;
      if (decision.opens_at) steps_.back().opens_in = *decision.opens_at - now_;
      event(failure_line(attempts_, static_cast<int>(i), tries, step.name, now_ - started, text_of(failure),
                         decision.verdict, next_text(i, decision)));
      if (decision.rule_threw) rule_threw_ = true;
      if (decision.run_end == RunEnd::defect) return {RunEnd::defect};
      if (stopped_) return {RunEnd::interrupted};
      if (decision.kind == Decision::end) return {decision.run_end};
      if (decision.kind == Decision::next) {
        return {std::nullopt, decision.reason, decision.verdict.action == Action::next_guarded};
      }
      if (decision.delay > Duration::zero()) wait(decision.delay);
      if (stopped_) return {RunEnd::interrupted};
      if (const auto opens_at = refused(i)) {
        steps_.back().left = LeaveReason::gate_closed;
        steps_.back().opens_at = opens_at;
        steps_.back().opens_in = *opens_at - now_;
        return {std::nullopt, LeaveReason::gate_closed};
      }
    }
  }

  // An event tells of a step that was the last as of the end that this means.
  [[nodiscard]] std::string next_text(std::size_t i, const Decision& decision) const {
    if (decision.kind == Decision::retry) return retry_text(decision.delay);
    if (decision.kind == Decision::end) return end_text(decision.run_end, decision.reason);
    if (i + 1 != case_.steps.size()) return next_step_text(decision.reason);
    return end_text(decision.reason == LeaveReason::out_of_time ? RunEnd::deadline : RunEnd::exhausted,
                    decision.reason);
  }

  void tell_gate(int index, const std::optional<Failure>& failure) {
    if (index < 0) return;
    if (!failure) {
      gate(index, "told success");
      gates_[static_cast<std::size_t>(index)].succeeded();
    } else if (failure->kind == CauseKind::interrupted || failure->kind == CauseKind::defect || failure->check_threw) {
      gate(index, "dropped");
    } else {
      gate(index, "told failure");
      gates_[static_cast<std::size_t>(index)].failed(now_);
    }
  }

  // --- One attempt ---

  std::optional<Failure> attempt(std::size_t i, int tries) {
    const Step& step = case_.steps[i];
    const int index = static_cast<int>(i);
    ++attempts_;
    ++steps_.back().attempts;
    std::optional<Duration> limit = time_limit(i);
    if (step.timeout && *step.timeout < forever - now_) {
      limit = limit ? (std::min)(*limit, now_ + *step.timeout) : now_ + *step.timeout;
    }
    if (limit == forever) limit.reset();
    const auto left = [&]() -> std::optional<Duration> {
      if (!limit) return std::nullopt;
      return (std::max)(*limit - now_, Duration::zero());
    };
    event(start_line(attempts_, index, tries, step.name));
    if (stopped_) {
      Failure failure;
      failure.kind = CauseKind::interrupted;
      failure.own_error = false;
      return failure;
    }
    const Call call = call_of(case_, attempts_, step.provide, shape_);
    bool failed =
        call.does == Does::factory_throws || call.does == Does::factory_returns || call.does == Does::factory_defect;
    if (step.provide != Provide::value) {
      line(factory_line(index, left(), text_of(previous_)));
      pass(call.factory_takes);
      stop_if(StopAt::factory, attempts_);
    }
    if (!failed) {
      line(call_line(index, left(), text_of(previous_)));
      pass(call.takes);
      stop_if(StopAt::call, attempts_);
      failed = call.does != Does::answers;
    }
    Failure failure;
    if (case_.accepting && (call.does == Does::answers || call.does == Does::rejected)) {
      failure.value = true;
      if (failed) failure.verdict = call.verdict;
      try {
        ask(accept_line(attempts_));
      } catch (const RuleThrew& threw) {
        failed = true;
        failure.value = false;  // what it threw is the failure
        failure.check_threw = true;
        failure.check_threw_defect = threw.defect;
      }
    }
    if (!failed) return std::nullopt;
    const bool defect = call.does == Does::defect || call.does == Does::factory_defect || failure.check_threw_defect;
    failure.kind = defect                    ? CauseKind::defect
                   : stopped_                ? CauseKind::interrupted
                   : failure.value           ? CauseKind::rejected  // a late value is as good as any other
                   : failure.check_threw     ? CauseKind::error
                   : limit && now_ >= *limit ? CauseKind::timeout
                                             : CauseKind::error;
    failure.returned = call.does == Does::returns || call.does == Does::factory_returns;
    failure.provider_error = call.does == Does::throws || call.does == Does::factory_throws;
    if (failure.returned || failure.provider_error) {
      failure.status = call.status;
      failure.hint = call.hint;
    }
    return failure;
  }

  // --- After a failed attempt ---

  Decision decide(std::size_t i, int tries, const Failure& failure) {
    const Step& step = case_.steps[i];
    Decision decision;
    const auto end = [&](RunEnd run_end) {
      decision.kind = Decision::end;
      decision.run_end = run_end;
      return decision;
    };
    const auto next = [&](LeaveReason reason) {
      decision.kind = Decision::next;
      decision.reason = reason;
      return decision;
    };
    if (failure.check_threw) {
      decision.rule_threw = true;
      return end(failure.check_threw_defect ? RunEnd::defect : RunEnd::aborted);
    }
    if (failure.kind == CauseKind::defect) return end(RunEnd::defect);
    if (stopped_) return end(RunEnd::interrupted);
    if (budget_gone()) return end(RunEnd::deadline);
    try {
      if (failure.verdict || !step.classify.empty()) {
        if (failure.verdict) {
          decision.verdict = *failure.verdict;
        } else {
          ask(rule_line("classify", static_cast<int>(i), text_of(failure)));
          for (const auto& [status, verdict] : step.classify) {
            if (failure.status != status) continue;
            decision.verdict = verdict;
            break;
          }
        }
        bool guards = false;
        for (std::size_t later = i + 1; later < case_.steps.size(); ++later) {
          if (case_.steps[later].enter_when) guards = true;
        }
        if (decision.verdict.action == Action::abort) return end(RunEnd::aborted);
        if (decision.verdict.action == Action::next_guarded && !guards) return end(RunEnd::aborted);
        if (decision.verdict.action != Action::retry) return next(LeaveReason::classified);
      }
      if (step.retry_while && !says_yes("retry_while", i, *step.retry_while, failure)) {
        return next(LeaveReason::not_retryable);
      }
      const int attempts = step.attempts ? *step.attempts : step.waits == Waits::none ? 1 : unlimited;
      if (tries >= attempts) return next(LeaveReason::attempts_spent);
      Duration delay{};
      if (step.waits != Waits::none) {
        const int asked = ++steps_.back().asked;
        if (step.waits == Waits::custom) ask(schedule_line(static_cast<int>(i), asked, text_of(failure)));
        const bool endless = step.waits == Waits::endless;
        if (!endless && static_cast<std::size_t>(asked) > step.delays.size()) return next(LeaveReason::schedule_ended);
        delay = step.delays[endless ? 0 : static_cast<std::size_t>(asked) - 1];
      }
      const bool hinted = failure.hint && *failure.hint > delay;
      if (hinted) delay = *failure.hint;
      if (step.max_wait ? delay > *step.max_wait : hinted && delay > std::chrono::minutes(1)) {
        return next(LeaveReason::wait_too_long);
      }
      if (const auto limit = time_limit(i); limit && delay >= *limit - now_) return next(LeaveReason::out_of_time);
      if (step.gate >= 0) {
        const Duration opens_at = gates_[static_cast<std::size_t>(step.gate)].opens_at(now_);
        if (opens_at > now_ + delay) {
          decision.opens_at = opens_at;
          return next(LeaveReason::gate_closed);
        }
      }
      decision.kind = Decision::retry;
      decision.delay = delay;
      return decision;
    } catch (const RuleThrew& threw) {
      decision.rule_threw = true;
      return end(threw.defect ? RunEnd::defect : RunEnd::aborted);
    }
  }

  // --- How it ended ---

  void report(RunEnd end) {
    std::optional<int> answered;
    if (end == RunEnd::succeeded) answered = steps_.back().index;
    out_.report.push_back(run_line(end, attempts_, answered, text_of(previous_), rule_threw_));
    for (const StepState& state : steps_) {
      out_.report.push_back(step_line(state.index, case_.steps[static_cast<std::size_t>(state.index)].name,
                                      state.attempts, text_of(state.cause), state.skipped, state.left, state.alert,
                                      state.opens_at, state.opens_in));
    }
  }

  [[nodiscard]] std::string outcome(RunEnd end) const {
    if (end == RunEnd::succeeded) return "gives " + std::to_string(attempts_);
    if (end == RunEnd::defect) return "throws Defect";
    const bool original = case_.original && (end == RunEnd::exhausted || end == RunEnd::aborted);
    if (original && rule_threw_) return "throws rule";
    if (const auto returned = last_returned(); shape_ == Shape::returning && returned) {
      return "returns " + text(returned->status);
    }
    if (original && !last_error().empty()) return "throws " + last_error();
    return out_.plan_error;
  }

  // Known: of each step only the last failure is kept, so an error that was returned before a thrown one, in the same
  // step, does not surface, and neither does one before a stop in the handler of a start.
  [[nodiscard]] std::optional<Failure> last_returned() const {
    for (std::size_t i = steps_.size(); i-- != 0;) {
      if (steps_[i].cause && steps_[i].cause->returned) return steps_[i].cause;
    }
    return std::nullopt;
  }

  // What is nested: empty where no attempt left an error.
  [[nodiscard]] std::string last_error() const {
    if (rule_threw_) return "rule";
    if (!previous_ || !previous_->own_error) return "";
    return previous_->value ? "value" : text(previous_->status);
  }

  const Case& case_;
  Shape shape_;
  Expected out_;
  std::vector<GateState> gates_;
  std::vector<StepState> steps_;
  Duration now_{};
  std::optional<Duration> budget_end_;
  bool stopped_;
  bool rule_threw_ = false;
  int attempts_ = 0;
  int events_ = 0;
  int rules_ = 0;
  std::optional<Failure> previous_;
};

}  // namespace model
