// The engine: decides which attempt comes next, how long to wait, and when a run is over. It makes no attempt, does not
// wait and starts no thread. All drivers are made of it.
#pragma once

#include <planb/attempt.hpp>
#include <planb/cause.hpp>
#include <planb/clock.hpp>
#include <planb/detail/config.hpp>
#include <planb/detail/inline_vector.hpp>
#include <planb/detail/misuse.hpp>
#include <planb/detail/options_view.hpp>
#include <planb/detail/step_policy.hpp>
#include <planb/event.hpp>
#include <planb/gate.hpp>
#include <planb/metadata.hpp>
#include <planb/report.hpp>
#include <planb/run_options.hpp>
#include <planb/schedule.hpp>
#include <planb/stream_options.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace planb::inline PLANB_ABI {

// What a run asks of its driver.
enum class RunPhase : unsigned char {
  attempt,  // make the attempt now, then say succeed() or fail()
  wait,     // come back at due()
  over,
};

namespace detail {

// What a run remembers of a step that it came to.
struct StepRecord {
  explicit StepRecord(int step) noexcept : index(step) {}

  int index;
  int attempts = 0;
  bool failed = false;
  bool alert = false;
  bool skipped = false;
  bool refused = false;  // by the gate: opens_at is known
  SkipReason skip_reason = SkipReason::declined;
  LeaveReason left = LeaveReason::none;
  Cause cause;         // the last failure
  TimePoint opens_at;  // of a gate, as learnt at refused_at
  TimePoint refused_at;

  void refuse(TimePoint opens, TimePoint now) noexcept {
    refused = true;
    opens_at = opens;
    refused_at = now;
  }
};

struct FirstAttemptMade {};

// A gate that let the attempt pass without asking, and the ticket that it gave.
struct Pass {
  Gate* gate;
  std::uint64_t ticket;
};

// The plan and the options are borrowed. One thread at a time.
class Engine {
 public:
  template <class Options>
  Engine(const PlanView& plan, const Options& options, PartialStream partial = PartialStream::allow)
      : plan_(plan),
        options_(options),
        quiet_(!options.on_event && !options.budget && !options.stop.stop_possible() &&
               options.entry == StepEntry::immediate),
        partial_(partial) {
    if (options_.budget) {
      const TimePoint start = clock().now();
      budget_end_ = *options_.budget > Duration::zero() ? add(start, *options_.budget) : start;
    }
  }

  // A run whose first attempt was made without asking, where there was nothing to ask: no options, a plain first step.
  Engine(const PlanView& plan, const RunOptions& options, FirstAttemptMade)
      : plan_(plan), options_(options), quiet_(true) {
    begin_quietly();
  }

  // The same behind a gate that let it pass.
  Engine(const PlanView& plan, const RunOptions& options, Pass pass) : Engine(plan, options, FirstAttemptMade{}) {
    permit_.emplace(*pass.gate, pass.ticket);
  }

  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // An attempt that nobody ended was abandoned.
  ~Engine() noexcept(false) { abandon(); }

  [[nodiscard]] RunPhase next();

  // The attempt succeeded.
  void succeed() {
    if (state_ != State::attempting) misuse_outside("succeed()");
    close_attempt();
    finish(RunEnd::succeeded);
    if (permit_ || options_.on_event) tell_success();
  }

  // The attempt failed. `verdict` is an acceptance check's, and stands before the classifier's.
  void fail(Cause&& cause, std::optional<Verdict> verdict = std::nullopt);

  // The attempt's acceptance check threw `error`, which ends the run.
  void fail_by_rule(Cause&& error);

  // The attempt was given up from outside: its thread or its owner goes away.
  void abandon();

  // Of a stream: the source has given an element, and the consumer is to have it. False: it must not, since a stop was
  // requested or the budget is gone. The attempt has failed then: fail(cut_short()), if it has no error of its own.
  [[nodiscard]] bool deliver() {
    if (watched_ && !watch(false)) return false;
    site_.delivered.store(delivered() + 1, std::memory_order_relaxed);
    return true;
  }
  // The consumer has had its element, and the source goes on. False: it must not, as above.
  [[nodiscard]] bool resume() { return !watched_ || watch(true); }
  [[nodiscard]] static Cause cut_short() noexcept { return Cause::timed_out(); }  // where it was a stop, fail() knows

  // `call` was made where no attempt is running.
  [[noreturn]] void misuse_outside(const char* call) const;

  [[nodiscard]] TimePoint due() const noexcept { return due_; }
  [[nodiscard]] bool attempting() const noexcept { return state_ == State::attempting; }
  // Around a factory of an attempt that is driven by hand: what it does to the run is refused.
  void begin_factory() noexcept { state_ = State::starting; }
  void end_factory() noexcept { state_ = State::attempting; }
  [[nodiscard]] int step() const noexcept { return step_; }
  // Of the last attempt.
  [[nodiscard]] Metadata metadata() const noexcept { return {attempt_, attempt_step_}; }
  [[nodiscard]] Attempt attempt() {
    if (state_ != State::attempting && state_ != State::starting) misuse_outside("attempt()");
    return {attempt_, record_->attempts, step_, plan_.steps[step_].name, &site_};
  }
  [[nodiscard]] RunEnd end() const noexcept { return state_ == State::over ? end_ : RunEnd::running; }
  [[nodiscard]] const OptionsView& options() const noexcept { return options_; }
  [[nodiscard]] Clock& clock() const { return options_.clock != nullptr ? *options_.clock : SteadyClock::instance(); }

  // The last failure, or null.
  [[nodiscard]] Cause* last_cause() noexcept { return failed_at_ < 0 ? nullptr : &records_[index(failed_at_)].cause; }
  // What a rule of the plan threw where that ended the run, or null.
  [[nodiscard]] Cause* rule_error() noexcept { return rule_error_ ? &*rule_error_ : nullptr; }
  // The last error of type E that an attempt returned, moved out: nobody is to read the run any more.
  template <class E>
  [[nodiscard]] std::optional<E> take_last_returned() {
    std::optional<E> error;
    for (std::size_t i = records_.size(); i-- > 0 && !error;) {
      if (records_[i].failed) error = CauseAccess::take_returned<E>(records_[i].cause);
    }
    return error;
  }

  [[nodiscard]] RunReport report() const;
  // The report of a success that is about to be told.
  [[nodiscard]] RunReport success_report() const {
    RunReport result = report();
    result.end = RunEnd::succeeded;
    result.answered_step = step_;
    return result;
  }

 private:
  // In `deciding` and `starting` the run is being driven already, and a handler or a rule that drives it is refused.
  enum class State : unsigned char { entering, waiting, ready, starting, attempting, deciding, over };

  static constexpr std::size_t index(int i) noexcept { return static_cast<std::size_t>(i); }

  // Reads the clock once, and only if something asks.
  class Now {
   public:
    explicit Now(const Engine& engine) noexcept : engine_(engine) {}
    [[nodiscard]] TimePoint operator()() {
      if (!now_) now_ = engine_.clock().now();
      return *now_;
    }

   private:
    const Engine& engine_;
    std::optional<TimePoint> now_;
  };

  [[noreturn]] static void misuse_from_within(const char* call);

  [[nodiscard]] const StepPolicy& policy() const noexcept { return plan_.steps[step_]; }
  // For an event, which is told also where there is no memory for a long name: then, as much of it as needs none.
  [[nodiscard]] std::string step_name() const noexcept {
    const std::string_view name = policy().name;
#if PLANB_HAS_EXCEPTIONS
    try {
      return std::string(name);
    } catch (...) {
      return std::string(name.substr(0, 15));
    }
#else
    return std::string(name);
#endif
  }
  [[nodiscard]] bool stopped() const noexcept { return options_.stop.stop_requested(); }
  [[nodiscard]] bool out_of_budget(Now& now) const { return options_.budget && now() >= budget_end_; }

  // What the budget leaves to the running step; without a budget, everything.
  [[nodiscard]] Duration time_left(Now& now) const {
    if (!options_.budget) return (Duration::max)();
    return add(between(now(), budget_end_), -policy().reserved_after);
  }

  // An attempt with nothing to ask and nothing to tell.
  void begin_quietly() {
    if (record_ == nullptr) record_ = &records_.emplace_back(step_);
    count_attempt();
    site_.clock = nullptr;
    set_deadline(no_deadline);
    watched_ = false;
    site_.previous = last_cause();
    state_ = State::attempting;
  }

  void count_attempt() noexcept {
    if (attempt_ != unlimited) ++attempt_;
    attempt_step_ = step_;
    if (record_->attempts != unlimited) ++record_->attempts;
  }

  void finish(RunEnd end) noexcept {
    end_ = end;
    state_ = State::over;
  }

  // A stop that a handler of the last failure requested counts as well.
  void finish_after(RunEnd end) noexcept { finish(end != RunEnd::defect && stopped() ? RunEnd::interrupted : end); }

  void finish_without_steps() noexcept {
    finish(guarded_ && !guard_accepted_ ? RunEnd::aborted : lacked_time_ ? RunEnd::deadline : RunEnd::exhausted);
  }

  void go_to_next_step() noexcept {
    ++step_;
    record_ = nullptr;
    state_ = State::entering;
  }

  [[nodiscard]] bool fallback_prevented() const noexcept {
    return partial_ != PartialStream::allow && delivered() != 0;
  }
  [[nodiscard]] std::size_t delivered() const noexcept { return site_.delivered.load(std::memory_order_relaxed); }
  [[nodiscard]] TimePoint deadline() const noexcept { return site_.deadline.load(std::memory_order_relaxed); }
  void set_deadline(TimePoint due) noexcept { site_.deadline.store(due, std::memory_order_relaxed); }
  // Whether an attempt that fails now failed for lack of time: its own token may have fired before a late element.
  [[nodiscard]] bool time_was_up(Now& now) const {
    if (deadline() != no_deadline && now() >= deadline()) return true;
#if PLANB_HAS_STOP_TOKEN
    return site_.own_stop != nullptr && site_.own_stop->token().stop_requested();
#else
    return false;
#endif
  }
  // Where a step that was tried is left without another failure.
  void leave_for_next_step() noexcept {
    if (fallback_prevented()) return finish_without_steps();
    go_to_next_step();
  }

  [[nodiscard]] bool watch(bool source_has_the_floor);

  [[nodiscard]] std::optional<Duration> ask_schedule(const Cause& cause, Now& now);
  [[nodiscard]] NextMove decide(Verdict& verdict, std::optional<Verdict> accepted, Now& now);
  [[nodiscard]] NextMove leave(LeaveReason reason) noexcept;
  [[nodiscard]] RunEnd end_by_rule(Cause&& error) noexcept;

  void enter();
  [[nodiscard]] bool try_enter(Now& now);
  void skip(SkipReason reason, Now& now, std::optional<TimePoint> opens_at = std::nullopt);
  [[nodiscard]] bool start();
  [[nodiscard]] bool admit(Now& now);
  void close_attempt() noexcept {
    state_ = State::deciding;
#if PLANB_HAS_STOP_TOKEN
    site_.own_stop.reset();
#endif
  }
  void remember(Cause&& cause) noexcept {
    record_->cause = std::move(cause);
    record_->failed = true;
    failed_at_ = static_cast<int>(records_.size()) - 1;
  }
  void tell_success();
  void tell_failure(const NextMove& move, Verdict verdict, Now& now);

  template <class E>
  [[nodiscard]] bool wanted() const noexcept {
    return options_.on_event.wants<E>();
  }
  void notify(const Event& event);

  PlanView plan_;
  const OptionsView options_;
  const bool quiet_;  // no handler, budget, stop token or scheduled entry: nobody has to be asked or told
  State state_ = State::entering;
  RunEnd end_ = RunEnd::running;
  bool guarded_ = false;         // next_guarded was said: only steps whose enter_when accepts the cause
  bool guard_accepted_ = false;  // and one did
  bool lacked_time_ = false;     // the last decision was for lack of time
  const PartialStream partial_ = PartialStream::allow;
  bool watched_ = false;  // a stop, the budget or a timeout may end the attempt between two elements
  int step_ = 0;
  int attempt_ = 0;
  int attempt_step_ = 0;
  int failed_at_ = -1;  // the record of the last failure
  TimePoint due_;
  TimePoint started_;
  TimePoint budget_end_;
  TimePoint attempt_end_;           // of the running attempt, whatever its timeout: the end of its share of the budget
  StepRecord* record_ = nullptr;    // of the step that is being tried
  const Cause* telling_ = nullptr;  // where the cause of *record_ is while handlers are told of it
  std::optional<Permit> permit_;
  std::optional<Cause> rule_error_;
  ScheduleRun schedule_;  // of the step at step_
  bool schedule_started_ = false;
  AttemptSite site_;
  InlineVector<StepRecord, 4> records_;
};

inline RunPhase Engine::next() {
  for (;;) {
    switch (state_) {
      case State::attempting: misuse("next() was called while an attempt is running; say succeed() or fail() first");
      case State::starting:
      case State::deciding: misuse_from_within("next()");
      case State::over: return RunPhase::over;
      case State::entering:
        if (quiet_ && step_ != plan_.size && policy().enter_when == nullptr && !guarded_) {
          schedule_started_ = lacked_time_ = false;
          state_ = State::ready;
        } else {
          enter();
        }
        break;
      case State::waiting: {
        Now now(*this);
        if (stopped()) {
          finish(RunEnd::interrupted);
        } else if (now() < due_) {
          return RunPhase::wait;
        } else {
          state_ = State::ready;
        }
        break;
      }
      case State::ready:
        if (quiet_ && policy().plain()) {
          begin_quietly();
          return RunPhase::attempt;
        }
        if (start()) return RunPhase::attempt;
        break;
    }
  }
}

// From the step at step_ on, the first that may be entered.
inline void Engine::enter() {
#if PLANB_HAS_EXCEPTIONS
  try {
#endif
    state_ = State::deciding;
    while (state_ == State::deciding) {
      Now now(*this);
      if (stopped()) {
        finish(RunEnd::interrupted);
      } else if (step_ == plan_.size) {
        finish_without_steps();
      } else if (out_of_budget(now)) {
        finish(RunEnd::deadline);
      } else {
        schedule_started_ = false;
        if (!try_enter(now)) ++step_;
      }
    }
#if PLANB_HAS_EXCEPTIONS
  } catch (...) {
    if (std::current_exception() == nullptr) throw;
    finish(end_by_rule(Cause::current()));
  }
#endif
}

// False: the step is passed over. Otherwise the state is what follows: ready, waiting or over.
inline bool Engine::try_enter(Now& now) {
  const StepPolicy& step = policy();
  const Cause* const previous = last_cause();
  if (guarded_ && step.enter_when == nullptr) return skip(SkipReason::declined, now), false;
  if (step.enter_when != nullptr && (previous == nullptr || !(*step.enter_when)(*previous))) {
    return skip(SkipReason::declined, now), false;
  }
  guard_accepted_ = guarded_;
  Duration delay{};
  if (options_.entry == StepEntry::scheduled && previous != nullptr) {
    if (step.retry_while != nullptr && !(*step.retry_while)(*previous)) return skip(SkipReason::declined, now), false;
    if (step.schedule != nullptr) {
      const std::optional<Duration> wait = ask_schedule(*previous, now);
      if (!wait || (step.max_wait && *wait > *step.max_wait)) return skip(SkipReason::declined, now), false;
      delay = *wait;
    }
  }
  if (options_.budget) {
    const Duration left = time_left(now);
    if (left <= Duration::zero() || delay >= left) return skip(SkipReason::out_of_time, now), false;
  }
  if (delay > Duration::zero() && step.gate != nullptr) {
    const TimePoint opens_at = step.gate->opens_at(now());
    if (opens_at > add(now(), delay)) return skip(SkipReason::gate_closed, now, opens_at), false;
  }
  lacked_time_ = false;
  if (delay > Duration::zero()) {
    due_ = add(now(), delay);
    state_ = State::waiting;
  } else {
    state_ = State::ready;
  }
  return true;
}

inline void Engine::skip(SkipReason reason, Now& now, std::optional<TimePoint> opens_at) {
  lacked_time_ = reason == SkipReason::out_of_time;
  StepRecord& record = records_.emplace_back(step_);
  record.skipped = true;
  record.skip_reason = reason;
  if (opens_at) record.refuse(*opens_at, now());
  if (wanted<StepSkipped>()) {
    notify(Event(StepSkipped{step_, step_name(), now(), reason, opens_at}));
  }
}

// Asks the gate. False: the step is passed over or left, and the state says what follows.
inline bool Engine::admit(Now& now) {
  Gate* const gate = policy().gate;
  if (gate == nullptr) return true;
  if (const std::uint64_t pass = gate->pass(); pass != 0) {
    permit_.emplace(*gate, pass);
    return true;
  }
  Admission admission = gate->admit(now());
  if (admission.permit) {
    permit_.emplace(std::move(*admission.permit));
    return true;
  }
  if (record_ == nullptr) {
    skip(SkipReason::gate_closed, now, admission.opens_at);
    go_to_next_step();
  } else {
    record_->left = LeaveReason::gate_closed;
    record_->refuse(admission.opens_at, now());
    lacked_time_ = false;
    leave_for_next_step();
  }
  return false;
}

// Starts an attempt. False: the state says what follows instead.
inline bool Engine::start() {
  Now now(*this);
  state_ = State::deciding;
  if (stopped()) return finish(RunEnd::interrupted), false;
  if (out_of_budget(now)) return finish(RunEnd::deadline), false;
  const Duration left = time_left(now);
  if (left <= Duration::zero()) {  // a wait that took longer than it should
    if (record_ != nullptr) {
      record_->left = LeaveReason::out_of_time;
      lacked_time_ = true;
      leave_for_next_step();
    } else {
      skip(SkipReason::out_of_time, now);
      go_to_next_step();
    }
    return false;
  }
#if PLANB_HAS_EXCEPTIONS
  try {
    if (!admit(now)) return false;
  } catch (...) {
    if (std::current_exception() == nullptr) throw;
    return finish(end_by_rule(Cause::current())), false;
  }
#else
  if (!admit(now)) return false;
#endif
  guarded_ = guard_accepted_ = false;
  if (record_ == nullptr) record_ = &records_.emplace_back(step_);
  count_attempt();
  const StepPolicy& step = policy();
  site_.clock = nullptr;
#if PLANB_HAS_STOP_TOKEN
  site_.own_stop.reset();  // of an attempt that was asked after its end
#endif
  attempt_end_ = no_deadline;
  if (options_.budget) {
    site_.clock = &clock();
    attempt_end_ = add(now(), left);
  }
  TimePoint due = attempt_end_;
  if (step.timeout) {
    site_.clock = &clock();
    due = (std::min)(add(now(), *step.timeout), attempt_end_);
  }
  set_deadline(due);
  watched_ = site_.clock != nullptr || options_.stop.stop_possible();
  site_.stop = &options_.stop;
  site_.previous = last_cause();
  if (options_.on_event) started_ = now();
  if (wanted<AttemptStart>()) {
    state_ = State::starting;
    notify(Event(AttemptStart{attempt_, record_->attempts, step_, step_name(), now()}));
    state_ = State::attempting;
    if (stopped()) return fail(Cause()), false;
  }
  state_ = State::attempting;
  return true;
}

inline void Engine::tell_success() {
  Now now(*this);
#if PLANB_HAS_EXCEPTIONS
  // The answer is there, and a gate's callable cannot take it back. But a defect leaves, and so does an unwind, which
  // must not be caught for good.
  std::exception_ptr defect;
  try {
    if (permit_) permit_->succeeded(clock());
  } catch (const Defect&) {
    defect = std::current_exception();
  } catch (...) {
    if (std::current_exception() == nullptr) {
      permit_.reset();
      tell_success();
      throw;
    }
  }
#else
  if (permit_) permit_->succeeded(clock());
#endif
  permit_.reset();
  if (wanted<AttemptSuccess>()) {
    notify(Event(AttemptSuccess{attempt_, record_->attempts, step_, step_name(), now(),
                                between(started_, now())}));
  }
#if PLANB_HAS_EXCEPTIONS
  if (defect != nullptr) std::rethrow_exception(defect);
#endif
}

inline void Engine::fail(Cause&& cause, std::optional<Verdict> accepted) {
  if (state_ != State::attempting) misuse_outside("fail()");
  Now now(*this);
  if (cause.kind() != CauseKind::defect && !(quiet_ && site_.clock == nullptr)) {
    if (stopped()) {
      CauseAccess::set_kind(cause, CauseKind::interrupted);
    } else if (cause.kind() == CauseKind::error && time_was_up(now)) {
      CauseAccess::set_kind(cause, CauseKind::timeout);
    }
  }
  close_attempt();
  CauseAccess::name(cause, plan_.named.first, plan_.named.count);
  remember(std::move(cause));
  const Cause& last = record_->cause;
  Verdict verdict;
  NextMove move;
#if PLANB_HAS_EXCEPTIONS
  try {
#endif
    if (permit_) {
      Permit permit = std::move(*permit_);
      permit_.reset();
      if (last.kind() != CauseKind::defect && last.kind() != CauseKind::interrupted) permit.failed(last, now());
    }
    move = decide(verdict, accepted, now);
#if PLANB_HAS_EXCEPTIONS
  } catch (...) {
    if (std::current_exception() == nullptr) {
      tell_failure({.kind = NextMove::end, .run_end = RunEnd::interrupted}, verdict, now);
      finish(RunEnd::interrupted);
      throw;
    }
    move = {.kind = NextMove::end, .run_end = end_by_rule(Cause::current())};
  }
#endif
  if (record_->left == LeaveReason::none) record_->left = move.reason;
  record_->alert = record_->alert || verdict.alert;
  if (!quiet_) tell_failure(move, verdict, now);
  switch (move.kind) {
    case NextMove::retry:
      if (move.delay > Duration::zero()) {
        due_ = add(now(), move.delay);
        state_ = State::waiting;
      } else {
        state_ = State::ready;
      }
      break;
    case NextMove::next_step: go_to_next_step(); break;
    case NextMove::end: finish_after(move.run_end); break;
  }
}

inline void Engine::fail_by_rule(Cause&& error) {
  if (error.kind() == CauseKind::defect || stopped()) return fail(std::move(error));
  close_attempt();
  permit_.reset();
  Now now(*this);
  remember(Cause(error));
  const RunEnd end = end_by_rule(std::move(error));
  tell_failure({.kind = NextMove::end, .run_end = end}, {}, now);
  finish_after(end);
}

inline void Engine::abandon() {
  if (state_ != State::attempting && state_ != State::starting) return;
  close_attempt();
  permit_.reset();
  Now now(*this);
  Cause cause;
  CauseAccess::set_kind(cause, CauseKind::interrupted);
  remember(std::move(cause));
  tell_failure({.kind = NextMove::end, .run_end = RunEnd::interrupted}, {}, now);
  finish(RunEnd::interrupted);
}

// Between two elements of a stream: a stop and the budget end the attempt, and the silence that a timeout bounds is the
// source's alone.
inline bool Engine::watch(bool source_has_the_floor) {
  if (stopped()) return false;
  Now now(*this);
  if (out_of_budget(now)) return false;
  const std::optional<Duration>& timeout = policy().timeout;
  // After output no other step may need the time that is reserved for it.
  const bool all_of_it = options_.budget && attempt_end_ != budget_end_ && fallback_prevented();
  if (timeout || all_of_it) {
    if (all_of_it) attempt_end_ = budget_end_;
    const TimePoint due =
        timeout && source_has_the_floor ? (std::min)(add(now(), *timeout), attempt_end_) : attempt_end_;
    set_deadline(due);
#if PLANB_HAS_STOP_TOKEN
    if (site_.own_stop != nullptr) site_.own_stop->move_to(clock(), due);
#endif
  }
  return true;
}

// The order of the questions is the contract's: the first that answers wins.
PLANB_INLINE NextMove Engine::decide(Verdict& verdict, std::optional<Verdict> accepted, Now& now) {
  const Cause& cause = record_->cause;
  const StepPolicy& step = policy();
  const auto end = [](RunEnd run_end) { return NextMove{.kind = NextMove::end, .run_end = run_end}; };

  if (cause.kind() == CauseKind::defect) return end(RunEnd::defect);
  if (cause.kind() == CauseKind::interrupted) return end(RunEnd::interrupted);
  if (out_of_budget(now)) return end(RunEnd::deadline);
  if (accepted) {
    verdict = *accepted;
  } else if (step.classify != nullptr) {
    verdict = (*step.classify)(cause);
  }
  if (partial_ == PartialStream::prevent_retry && delivered() != 0 && verdict.action != Action::abort) {
    return {.kind = NextMove::end, .run_end = RunEnd::exhausted, .reason = LeaveReason::partial_output};
  }
  switch (verdict.action) {
    case Action::retry: break;
    case Action::next_step: return leave(LeaveReason::classified);
    case Action::next_guarded:
      guarded_ = true;
      for (int i = step_ + 1; i < plan_.size; ++i) {
        if (plan_.steps[i].enter_when != nullptr) return leave(LeaveReason::classified);
      }
      return end(RunEnd::aborted);
    case Action::abort: return end(RunEnd::aborted);
  }
  if (step.retry_while != nullptr && !(*step.retry_while)(cause)) return leave(LeaveReason::not_retryable);
  if (step.max_attempts != unlimited && record_->attempts >= step.max_attempts) {
    return leave(LeaveReason::attempts_spent);
  }
  Duration wait{};
  if (step.schedule != nullptr) {
    const std::optional<Duration> delay = ask_schedule(cause, now);
    if (!delay) return leave(LeaveReason::schedule_ended);
    wait = *delay;
  }
  constexpr Duration longest_hint = std::chrono::minutes(1);
  if (const std::optional<Duration> hint = cause.retry_after(); hint && *hint > wait) {
    wait = *hint;
    if (!step.max_wait && wait > longest_hint) return leave(LeaveReason::wait_too_long);
  }
  if (step.max_wait && wait > *step.max_wait) return leave(LeaveReason::wait_too_long);
  if (options_.budget && wait >= time_left(now)) return leave(LeaveReason::out_of_time);
  if (step.gate != nullptr) {
    const TimePoint opens_at = step.gate->opens_at(now());
    if (opens_at > add(now(), wait)) {
      record_->refuse(opens_at, now());
      return leave(LeaveReason::gate_closed);
    }
  }
  return NextMove{.kind = NextMove::retry, .delay = wait};
}

inline NextMove Engine::leave(LeaveReason reason) noexcept {
  lacked_time_ = reason == LeaveReason::out_of_time;
  NextMove move{.kind = NextMove::next_step, .reason = reason};
  const bool last = step_ + 1 == plan_.size;
  if (last || fallback_prevented()) {
    move.kind = NextMove::end;
    move.run_end = lacked_time_ ? RunEnd::deadline : RunEnd::exhausted;
    if (!last && !lacked_time_) {  // the report has both
      record_->left = reason;
      move.reason = LeaveReason::partial_output;
    }
  }
  return move;
}

inline std::optional<Duration> Engine::ask_schedule(const Cause& cause, Now& now) {
  if (!schedule_started_) {
    std::optional<std::uint64_t> seed = options_.seed;
    if (seed) *seed += static_cast<std::uint64_t>(step_) * 0x9e3779b97f4a7c15U;  // each step draws its own sequence
    schedule_ = ScheduleRun(*policy().schedule, seed);
    schedule_started_ = true;
  }
  return schedule_.next(now(), cause);
}

// A rule of the plan threw.
inline RunEnd Engine::end_by_rule(Cause&& error) noexcept {
  CauseAccess::name(error, plan_.named.first, plan_.named.count);
  rule_error_.emplace(std::move(error));
  return rule_error_->kind() == CauseKind::defect ? RunEnd::defect : RunEnd::aborted;
}

inline void Engine::tell_failure(const NextMove& move, Verdict verdict, Now& now) {
  if (!wanted<AttemptFailure>()) return;
  Event event(AttemptFailure{attempt_, record_->attempts, step_, step_name(), now(),
                             between(started_, now()), std::move(record_->cause), verdict, move});
  telling_ = &event.get_if<AttemptFailure>()->cause;
  struct Back {  // also where a handler's thread is unwound
    Engine& engine;
    Event& event;
    ~Back() {
      engine.telling_ = nullptr;
      engine.record_->cause = EventAccess::take_cause(event);
    }
  } const back{*this, event};
  notify(event);
}

inline void Engine::notify(const Event& event) {
#if PLANB_HAS_EXCEPTIONS
  try {
#endif
    if (event.get_if<StepSkipped>() != nullptr) {
      options_.on_event(event);
    } else {
      const CurrentMetadata::Scope scope(metadata());
      options_.on_event(event);
    }
#if PLANB_HAS_EXCEPTIONS
  } catch (...) {  // a handler changes nothing; a thread that is being unwound goes on its way
    if (std::current_exception() != nullptr) return;
    abandon();
    throw;
  }
#endif
}

PLANB_COLD inline RunReport Engine::report() const {
  RunReport report;
  report.end = end();
  report.attempts = attempt_;
  report.delivered = delivered();
  if (report.end == RunEnd::succeeded) report.answered_step = step_;
  if (failed_at_ >= 0) report.last_failed = failed_at_;
  report.rule_error = rule_error_;
  report.steps.reserve(records_.size());
  for (const StepRecord& record : records_) {
    StepReport& step = report.steps.emplace_back();
    step.name = plan_.steps[record.index].name;
    step.attempts = record.attempts;
    if (record.failed) step.cause = telling_ != nullptr && &record == record_ ? *telling_ : record.cause;
    if (record.skipped) step.skipped = record.skip_reason;
    step.left = record.left;
    step.alert = record.alert;
    step.index = record.index;
    if (record.refused) {
      step.opens_at = record.opens_at;
      step.opens_in = (std::max)(between(record.refused_at, record.opens_at), Duration::zero());
    }
  }
  return report;
}

PLANB_COLD inline void Engine::misuse_outside(const char* call) const {
  if (state_ == State::starting || state_ == State::deciding) misuse_from_within(call);
  misuse(std::string(call) + " was called without an attempt that is running; " +
         (state_ == State::over ? "the run is over" : "ask next() first, until it says attempt"));
}

PLANB_COLD inline void Engine::misuse_from_within(const char* call) {
  misuse(std::string(call) +
         " was called from an event handler, a rule or a factory of the plan; drive the run when they have returned");
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
