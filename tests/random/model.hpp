// A second opinion on what a run does: section by section from the contract, as plainly as it can be said, for a plan
// that is described and not built. No code is shared with the library.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "case.hpp"
#include "lines.hpp"
#include "stage.hpp"

namespace model {

class Model : Stage {
 public:
  Model(const Case& c, Shape shape, Draws draws = {}) : Stage(c), shape_(shape), draws_(std::move(draws)) {}

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
    out_.outcome = consumer_threw_ ? "throws sink" : outcome(end);
    return out_;
  }

 private:
  struct StepState {
    int index = 0;
    int attempts = 0;
    std::optional<Failure> cause;
    std::optional<SkipReason> skipped;
    LeaveReason left = LeaveReason::none;
    bool alert = false;
    std::optional<Duration> opens_at;
    std::optional<Duration> opens_in;

    void refused(Duration opens, Duration now) {
      opens_at = opens;
      opens_in = opens - now;
    }
  };

  struct Decision {
    enum { retry, next, end } kind = end;
    Duration delay{};
    RunEnd run_end = RunEnd::exhausted;
    LeaveReason reason = LeaveReason::none;
    std::optional<Verdict> verdict;
    bool rule_threw = false;

    [[nodiscard]] Action action() const { return verdict ? verdict->action : Action::retry; }
  };

  // How a step was over: it ended the run, or the next one is due.
  struct Left {
    std::optional<RunEnd> end;
    LeaveReason reason = LeaveReason::none;
    bool guarded = false;
  };

  static std::string text_of(const std::optional<Failure>& failure) {
    return failure ? text(failure->kind, failure->status) : "-";
  }
  static RunEnd end_for(LeaveReason reason) {
    return reason == LeaveReason::out_of_time ? RunEnd::deadline : RunEnd::exhausted;
  }

  // --- Steps ---

  RunEnd steps() {
    RunEnd if_no_step_is_left = RunEnd::exhausted;
    bool guarded = false;
    bool accepted = false;
    for (std::size_t i = 0; i != case_.steps.size(); ++i) {
      if (stopped_) return RunEnd::interrupted;
      if (budget_gone()) return RunEnd::deadline;
      const auto skip = [&](SkipReason reason, std::optional<Duration> opens_at = std::nullopt) {
        passed_over(i, reason, opens_at);
        if_no_step_is_left = reason == SkipReason::out_of_time ? RunEnd::deadline : RunEnd::exhausted;
      };
      if (!welcome(i, guarded)) {
        skip(SkipReason::declined);
        continue;
      }
      accepted = true;
      asked_ = 0;
      const std::optional<Duration> delay = entry_delay(i);
      if (!delay) {
        skip(SkipReason::declined);
        continue;
      }
      if (const auto limit = time_limit(i); limit && (*limit <= now_ || *delay >= *limit - now_)) {
        skip(SkipReason::out_of_time);
        continue;
      }
      if (*delay > Duration::zero()) {
        if (const auto opens_at = closed_after(*delay, case_.steps[i].gate)) {
          skip(SkipReason::gate_closed, opens_at);
          continue;
        }
        if (!stopped_) wait(*delay);
      }
      if (stopped_) return RunEnd::interrupted;
      if (const auto opens_at = refused(case_.steps[i].gate)) {
        skip(SkipReason::gate_closed, opens_at);
        continue;
      }
      const Left left = step(i);
      if (left.end) return *left.end;
      if_no_step_is_left = end_for(left.reason);
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

  // In the scheduled entry a step's predicate and schedule are first asked with the failure before the step: none where
  // they decline.
  std::optional<Duration> entry_delay(std::size_t i) {
    const Step& step = case_.steps[i];
    if (!case_.scheduled || !previous_) return Duration::zero();
    if (step.retry_while && !says_yes("retry_while", i, *step.retry_while, *previous_)) return std::nullopt;
    if (step.waits == Waits::none) return Duration::zero();
    const std::optional<Duration> delay = ask_schedule(i, *previous_);
    return delay && step.max_wait && *delay > *step.max_wait ? std::nullopt : delay;
  }

  bool says_yes(const char* name, std::size_t i, const Rule& rule, const Failure& failure) {
    if (rule.typed && !failure.provider_error) return false;
    ask(rule_line(name, static_cast<int>(i), rule.typed ? text(failure.status) : text_of(failure)));
    return model::says_yes(rule.statuses, failure.status);
  }

  std::optional<Duration> ask_schedule(std::size_t i, const Failure& failure) {
    const Step& step = case_.steps[i];
    const int index = static_cast<int>(i);
    ++asked_;
    if (step.waits == Waits::custom) ask(schedule_line(index, asked_, text_of(failure)));
    if (step.waits == Waits::endless) return step.delays[0];
    if (static_cast<std::size_t>(asked_) > step.delays.size()) return std::nullopt;
    const auto draw = draws_.find({index, asked_});
    return draw != draws_.end() ? draw->second : step.delays[static_cast<std::size_t>(asked_) - 1];
  }

  void passed_over(std::size_t i, SkipReason reason, std::optional<Duration> opens_at) {
    StepState state;
    state.index = static_cast<int>(i);
    state.skipped = reason;
    if (opens_at) state.refused(*opens_at, now_);
    steps_.push_back(state);
    event(skipped_line(state.index, case_.steps[i].name, reason, opens_at));
  }

  // Of a stream that has given output: what may follow.
  [[nodiscard]] bool no_other_step() const { return delivered_ != 0 && case_.stream.partial != PartialStream::allow; }
  [[nodiscard]] bool nothing_more() const {
    return delivered_ != 0 && case_.stream.partial == PartialStream::prevent_retry;
  }

  Left step(std::size_t i) {
    const Step& step = case_.steps[i];
    steps_.push_back({});
    steps_.back().index = static_cast<int>(i);
    for (int tries = 1;; ++tries) {
      const Duration started = now_;
      std::optional<Failure> failure = attempt(i, tries);
      if (failure && failure->kind == CauseKind::timeout && budget_first_ && now_ >= *share_) failure->by_budget = true;
      const bool told = tell_gate(step.gate, failure);
      steps_.back().opens_at = steps_.back().opens_in = std::nullopt;
      if (!failure) {
        event(success_line(attempts_, static_cast<int>(i), tries, step.name, now_ - started));
        return {RunEnd::succeeded};
      }
      steps_.back().cause = failure;
      previous_ = failure;
      const Decision decision = decide(i, tries, *failure);
      if (decision.verdict && decision.verdict->alert) steps_.back().alert = true;
      steps_.back().left = decision.reason;
      if (const auto opens_at = shut_until(step.gate); opens_at && told && !decision.rule_threw) {
        steps_.back().refused(*opens_at, now_);
      }
      event(failure_line(attempts_, static_cast<int>(i), tries, step.name, now_ - started, text_of(failure),
                         decision.verdict, next_text(i, decision)));
      if (decision.rule_threw) rule_threw_ = true;
      if (decision.run_end == RunEnd::defect) return {RunEnd::defect};
      if (stopped_) return {RunEnd::interrupted};
      if (decision.kind == Decision::end) return {decision.run_end};
      if (decision.kind == Decision::next) {
        if (no_other_step()) return {end_for(decision.reason)};
        return {std::nullopt, decision.reason, decision.action() == Action::next_guarded};
      }
      if (decision.delay > Duration::zero()) wait(decision.delay);
      if (stopped_) return {RunEnd::interrupted};
      if (const auto opens_at = refused(step.gate)) {
        steps_.back().left = LeaveReason::gate_closed;
        steps_.back().refused(*opens_at, now_);
        if (no_other_step()) return {RunEnd::exhausted};
        return {std::nullopt, LeaveReason::gate_closed};
      }
    }
  }

  // An event tells of a step that is the last, or that partial output makes the last, as of the end that this means.
  [[nodiscard]] std::string next_text(std::size_t i, const Decision& decision) const {
    if (decision.kind == Decision::retry) return retry_text(decision.delay);
    if (decision.kind == Decision::end) return end_text(decision.run_end, decision.reason);
    const bool last = i + 1 == case_.steps.size();
    if (!last && !no_other_step()) return next_step_text(decision.reason);
    const bool tells_reason = last || decision.reason == LeaveReason::out_of_time;
    return end_text(end_for(decision.reason), tells_reason ? decision.reason : LeaveReason::partial_output);
  }

  // --- One attempt ---

  static std::optional<Duration> sooner(const std::optional<Duration>& a, const std::optional<Duration>& b) {
    const std::optional<Duration> limit = a && b ? (std::min)(*a, *b) : a ? a : b;
    return limit == forever ? std::nullopt : limit;
  }
  [[nodiscard]] std::optional<Duration> timeout_of(const Step& step) const {
    if (!step.timeout || *step.timeout >= forever - now_) return std::nullopt;
    return now_ + *step.timeout;
  }
  [[nodiscard]] std::optional<Duration> first_timeout_of(const Step& step) const {
    if (*step.first_timeout >= forever - now_) return std::nullopt;
    return now_ + *step.first_timeout;
  }
  void limit(const std::optional<Duration>& share, const std::optional<Duration>& timeout) {
    limit_ = sooner(share, timeout);
    share_ = share;
    budget_first_ = share && (!timeout || *share < *timeout);
  }
  [[nodiscard]] std::optional<Duration> left() const {
    if (!limit_) return std::nullopt;
    return (std::max)(*limit_ - now_, Duration::zero());
  }

  std::optional<Failure> attempt(std::size_t i, int tries) {
    const Step& step = case_.steps[i];
    const int index = static_cast<int>(i);
    ++attempts_;
    ++steps_.back().attempts;
    output_ = false;
    const bool may_stream = case_.form != Form::call || case_.by_hand;
    first_due_ = may_stream && step.first_timeout && *step.first_timeout != forever;
    limit(time_limit(i), first_due_ ? first_timeout_of(step) : timeout_of(step));
    event(start_line(attempts_, index, tries, step.name));
    Failure failure;
    failure.own_error = false;
    failure.kind = CauseKind::interrupted;
    if (stopped_) return failure;

    const Call call = call_of(case_, attempts_, step.provide, shape_);
    bool failed =
        call.does == Does::factory_throws || call.does == Does::factory_returns || call.does == Does::factory_defect;
    if (step.provide != Provide::value) {
      line(factory_line(index, left(), text_of(previous_)));
      pass(call.factory_takes);
      stop_if(StopAt::factory, attempts_);
    }
    bool has_value = false;
    try {
      if (!failed) {
        line(call_line(index, left(), text_of(previous_)));
        switch (elements(i, call)) {
          case Cut::none: failed = call.does != Does::answers; break;
          case Cut::enough: return std::nullopt;
          case Cut::consumer_threw:
            consumer_threw_ = true;
            if (case_.form == Form::pull) return std::nullopt;  // it walks away
            return failure;
          case Cut::no_more_time: failure.kind = stopped_ ? CauseKind::interrupted : CauseKind::timeout; return failure;
        }
      }
      if (case_.accepting && (call.does == Does::answers || call.does == Does::rejected)) {
        failure.value = failed;
        if (failed) failure.verdict = call.verdict;
        has_value = true;
        ask(accept_line(attempts_));
      }
    } catch (const RuleThrew& threw) {  // what it threw is the failure, or the value that it was asked about
      failed = true;
      failure.value = has_value && !threw.defect;
      failure.verdict.reset();
      failure.check_threw = true;
      failure.check_threw_defect = threw.defect;
    }
    if (!failed) return std::nullopt;
    failure.own_error = true;
    const bool defect = (!failure.check_threw && (call.does == Does::defect || call.does == Does::factory_defect)) ||
                        failure.check_threw_defect;
    failure.kind = defect                      ? CauseKind::defect
                   : stopped_                  ? CauseKind::interrupted
                   : failure.value             ? CauseKind::rejected  // a late value is as good as any other
                   : failure.check_threw       ? CauseKind::error
                   : limit_ && now_ >= *limit_ ? CauseKind::timeout
                                               : CauseKind::error;
    if (failure.check_threw) return failure;
    failure.returned = call.does == Does::returns || call.does == Does::factory_returns;
    failure.provider_error = call.does == Does::throws || call.does == Does::factory_throws;
    if (failure.returned || failure.provider_error) {
      failure.status = call.status;
      failure.hint = call.hint;
    }
    return failure;
  }

  // --- The elements of a stream ---

  // What kept an attempt from coming to its source's end.
  enum class Cut { none, enough, consumer_threw, no_more_time };

  // The call itself, and the elements before it.
  Cut elements(std::size_t i, const Call& call) {
    const bool streams = case_.form != Form::call;
    std::deque<int> held;
    bool committed = !case_.stream.prelude;
    const int count = streams ? static_cast<int>(call.elements.size()) : 0;
    for (int k = 0; k != count; ++k) {
      line(source_line(k, left(), delivered_));
      pass(call.elements[static_cast<std::size_t>(k)]);
      const int element = element_of(attempts_, k);
      if (!committed) {
        if (static_cast<int>(held.size()) < case_.stream.prelude_limit) ask(commits_line(element));
        committed = k >= (std::min)(*case_.stream.prelude, case_.stream.prelude_limit);
      }
      held.push_back(element);
      if (committed) {
        if (const Cut cut = deliver(i, held); cut != Cut::none) return cut;
      } else if (!go_on(i, true)) {
        return Cut::no_more_time;
      }
    }
    if (streams) line(source_line(count, left(), delivered_));
    pass(call.takes);
    stop_if(StopAt::call, attempts_);
    return call.does == Does::answers ? deliver(i, held) : Cut::none;
  }

  Cut deliver(std::size_t i, std::deque<int>& held) {
    for (; !held.empty(); held.pop_front()) {
      if (!go_on(i, false)) return Cut::no_more_time;
      ++delivered_;
      line(element_line(held.front()));
      pass(case_.stream.pace);
      stop_if(StopAt::element, static_cast<int>(delivered_));
      if (static_cast<int>(delivered_) == case_.stream.wanted) {
        return case_.stream.throws ? Cut::consumer_threw : Cut::enough;
      }
      if (!go_on(i, true)) return Cut::no_more_time;
    }
    return Cut::none;
  }

  // Between two elements. The timeout bounds the source's silence, from the first output on where there is a
  // first_timeout; the time that is reserved for other steps is free where none may follow.
  bool go_on(std::size_t i, bool source_has_the_floor) {
    if (stopped_ || budget_gone()) return false;
    if (first_due_ && source_has_the_floor) return !(limit_ && now_ >= *limit_);
    first_due_ = false;
    const std::optional<Duration> share = no_other_step() ? budget_end_ : time_limit(i);
    limit(share, source_has_the_floor ? timeout_of(case_.steps[i]) : std::nullopt);
    if (!source_has_the_floor && !std::exchange(output_, true)) tell_gate_of_output(case_.steps[i].gate);
    return true;
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
    if (failure.kind == CauseKind::defect) return end(RunEnd::defect);
    if (failure.kind == CauseKind::interrupted) return end(RunEnd::interrupted);
    if (failure.check_threw) {
      decision.rule_threw = true;
      return end(RunEnd::aborted);
    }
    if (budget_gone()) return end(RunEnd::deadline);
    try {
      if (failure.verdict) {
        decision.verdict = failure.verdict;
      } else if (!step.classify.empty()) {
        ask(rule_line("classify", static_cast<int>(i), text_of(failure)));
        decision.verdict = Verdict();
        for (const auto& [status, verdict] : step.classify) {
          if (failure.status != status) continue;
          decision.verdict = verdict;
          break;
        }
      }
      if (decision.action() == Action::abort) return end(RunEnd::aborted);
      if (nothing_more()) {
        decision.reason = LeaveReason::partial_output;
        return end(RunEnd::exhausted);
      }
      if (decision.action() == Action::next_guarded) {
        bool guards = false;
        for (std::size_t later = i + 1; later < case_.steps.size(); ++later) {
          if (case_.steps[later].enter_when) guards = true;
        }
        if (!guards) return end(RunEnd::aborted);
      }
      if (decision.action() != Action::retry) return next(LeaveReason::classified);
      if (step.retry_while && !says_yes("retry_while", i, *step.retry_while, failure)) {
        return next(LeaveReason::not_retryable);
      }
      const int attempts = step.attempts ? *step.attempts : step.waits == Waits::none ? 1 : unlimited;
      if (tries >= attempts) return next(LeaveReason::attempts_spent);
      Duration delay{};
      if (step.waits != Waits::none) {
        const std::optional<Duration> answer = ask_schedule(i, failure);
        if (!answer) return next(LeaveReason::schedule_ended);
        delay = *answer;
      }
      const bool hinted = failure.hint && *failure.hint > delay;
      if (hinted) delay = *failure.hint;
      if (step.max_wait ? delay > *step.max_wait : hinted && delay > std::chrono::minutes(1)) {
        return next(LeaveReason::wait_too_long);
      }
      if (const auto limit = time_limit(i); limit && delay >= *limit - now_) return next(LeaveReason::out_of_time);
      if (hinted && step.waits == Waits::jittered) delay = spread(i, delay);
      if (closed_after(delay, step.gate)) return next(LeaveReason::gate_closed);
      decision.kind = Decision::retry;
      decision.delay = delay;
      return decision;
    } catch (const RuleThrew& threw) {
      decision.rule_threw = true;
      return end(threw.defect ? RunEnd::defect : RunEnd::aborted);
    }
  }

  // What was made of a hint: up to a tenth longer, within max_wait and the time that is left. Otherwise the hint.
  [[nodiscard]] Duration spread(std::size_t i, Duration hint) const {
    const auto draw = draws_.find({static_cast<int>(i), -attempts_});
    if (draw == draws_.end() || draw->second < hint || draw->second > hint + hint / 10) return hint;
    if (const auto& max_wait = case_.steps[i].max_wait; max_wait && draw->second > *max_wait) return hint;
    if (const auto limit = time_limit(i); limit && draw->second >= *limit - now_) return hint;
    return draw->second;
  }

  // --- How it ended ---

  void report(RunEnd end) {
    std::optional<int> answered;
    if (end == RunEnd::succeeded) answered = steps_.back().index;
    out_.report.push_back(run_line(end, attempts_, answered, text_of(previous_), delivered_, rule_threw_));
    for (const StepState& state : steps_) {
      out_.report.push_back(step_line(state.index, case_.steps[static_cast<std::size_t>(state.index)].name,
                                      state.attempts, text_of(state.cause), state.skipped, state.left, state.alert,
                                      state.opens_at, state.opens_in));
    }
  }

  [[nodiscard]] std::string outcome(RunEnd end) const {
    const bool gives_result = case_.form == Form::call || case_.form == Form::push;
    if (end == RunEnd::succeeded) return gives_result ? "gives " + std::to_string(attempts_) : "ends";
    if (end == RunEnd::defect) return "throws Defect";
    const bool original = case_.original && (end == RunEnd::exhausted || end == RunEnd::aborted);
    if (original && rule_threw_) return "throws rule";
    if (const auto returned = last_returned(); gives_result && shape_ == Shape::returning && returned) {
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
    if (previous_ && previous_->kind == CauseKind::timeout && !previous_->own_error) return "timeout";
    if (!previous_ || !previous_->own_error) return "";
    if (previous_->check_threw) return "rule";
    return previous_->value ? "value" : text(previous_->status);
  }

  const Shape shape_;
  const Draws draws_;
  std::vector<StepState> steps_;
  std::optional<Duration> limit_;  // of the attempt
  std::optional<Duration> share_;  // of the budget, in it
  bool budget_first_ = false;      // that ends the attempt, before the step's timeout does
  bool first_due_ = false;         // until its first output, which first_timeout bounds
  bool output_ = false;            // it has given some
  int asked_ = 0;                  // the step's schedule
  int attempts_ = 0;
  std::size_t delivered_ = 0;
  bool rule_threw_ = false;
  bool consumer_threw_ = false;
  std::optional<Failure> previous_;
};

}  // namespace model
