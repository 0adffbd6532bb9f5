// The engine: decides which attempt comes next, how long to wait, and when a run is over. It makes no attempt, does not
// wait and starts no thread. All drivers are made of it.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/detail/course.hpp>
#include <planb/engine/detail/options_view.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/catch.hpp>
#include <planb/error/detail/failure_room.hpp>
#include <planb/error/detail/misuse.hpp>
#include <planb/gate/gate.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/plan/metadata.hpp>
#include <planb/report/event.hpp>
#include <planb/report/report.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/time/clock.hpp>

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

// How a first attempt came to be made before there was an engine: nothing had to be asked, or only a gate, which let it
// pass without being asked and gave this ticket.
struct FirstAttemptMade {
  Gate* gate = nullptr;
  std::uint64_t ticket = 0;
};

// The plan and the options are borrowed. One thread at a time.
class Engine : public Course {
 public:
  template <class Options>
  Engine(const PlanView& plan, const Options& options, PartialStream partial = PartialStream::allow)
      : Course(plan),
        options_(options),
        quiet_(!options.on_event && !options.budget && !options.stop.stop_possible() &&
               options.entry == StepEntry::immediate && partial == PartialStream::allow),
        partial_(partial) {
    if (options_.budget) {
      const TimePoint start = latest_ = clock().now();
      budget_end_ = *options_.budget > Duration::zero() ? add(start, *options_.budget) : start;
    }
  }

  // A run without options whose first attempt was made without an engine, and is to be told of.
  Engine(const PlanView& plan, const RunOptions& none, FirstAttemptMade made)
      : Course(plan), options_(none), quiet_(true) {
    if (made.gate != nullptr) permit_.emplace(*made.gate, made.ticket).use();
    begin_quietly();
  }

  // A run without options that comes to more than QuietRun is for. Its last attempt is to be told of, unless told().
  Engine(QuietRun& run, const RunOptions& none) : Course(TakenOver{run}), options_(none), quiet_(true) {
    if (!run.told()) {
      state_ = State::attempting;
    } else if (rule_error_) {
      finish(end_by_rule());
    } else {
      Now now(*this);
      const LeaveReason reason = record_->left;
      follow(reason == LeaveReason::none ? Move{.kind = NextMove::retry} : leave(reason), now);
    }
  }

  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // An attempt that nobody ended was abandoned.
  ~Engine() noexcept(false) {
    if (running()) abandon();
  }

  [[nodiscard]] PLANB_INLINE RunPhase next() {
    if (!goes_quietly()) return proceed();
    begin_quietly();
    return RunPhase::attempt;
  }

  // The attempt succeeded.
  void succeed() {
    close_attempt();
    finish(RunEnd::succeeded);
    if (permit_ || options_.on_event) tell_success();
  }

  // The attempt failed. `verdict` is an acceptance check's, and stands before the classifier's.
  void fail(Cause&& cause, std::optional<Verdict> verdict = std::nullopt);

  // A rule of the attempt's own threw `rule`, which ends the run: its acceptance check, or its result when asked.
  void fail_by_rule(Cause&& cause, Cause&& rule);

  // The attempt left what is in the room, which is empty then.
  PLANB_INLINE void fail(FailureRoom& room) {
    struct Empty {
      Failure& failure;
      ~Empty() { failure.~Failure(); }
    } const empty{room.failure};
    Failure& failure = room.failure;
    if (failure.rule_error) {
      fail_by_rule(std::move(failure.cause), std::move(*failure.rule_error));
    } else {
      fail(std::move(failure.cause), failure.verdict);
    }
  }
  void fail(FailureKeeper& keeper) { fail(keeper.release()); }

  // The attempt was given up from outside: its thread or its owner goes away.
  void abandon();

  // Of a stream: the source has given an element, and the consumer is to have it. False: it must not, since a stop was
  // requested or the budget is gone (or the gate threw a Defect). The attempt has failed then: fail(cut_short()), if it
  // has no error of its own.
  [[nodiscard]] bool deliver() {
    if (watched_ && !watch(false)) return false;
    site_.delivered.store(delivered() + 1, std::memory_order_relaxed);
    return true;
  }
  // The consumer has had its element, and the source goes on. False: it must not, as above.
  [[nodiscard]] bool resume() { return !watched_ || watch(true); }
  [[nodiscard]] static Cause cut_short() noexcept { return Cause::timed_out(); }  // where it was a stop, fail() knows

  // Whether there is an attempt that succeed() and fail() are about, which they do not ask.
  [[nodiscard]] bool attempting() const noexcept { return state_ == State::attempting; }
  // Whether there is one that attempt() is about: also while its factory or the handler of its start is called.
  [[nodiscard]] bool running() const noexcept { return state_ == State::attempting || state_ == State::starting; }
  // `call` was made where there is none.
  [[noreturn]] void misuse_outside(const char* call) const;

  [[nodiscard]] TimePoint due() const noexcept { return due_; }
  // Around a factory of an attempt that is driven by hand, or a gate's word on it: what that does to the run is
  // refused.
  void begin_factory() noexcept { state_ = State::starting; }
  void end_factory() noexcept { state_ = State::attempting; }
  [[nodiscard]] int step() const noexcept { return step_; }
  [[nodiscard]] RunEnd end() const noexcept { return state_ == State::over ? end_ : RunEnd::running; }
  [[nodiscard]] const OptionsView& options() const noexcept { return options_; }
  [[nodiscard]] Clock& clock() const { return options_.clock != nullptr ? *options_.clock : SteadyClock::instance(); }

  // The last failure, or null.
  [[nodiscard]] Cause* last_cause() noexcept { return previous(); }
  // What a rule of the plan threw where that ended the run, or null.
  [[nodiscard]] Cause* rule_error() noexcept { return rule_error_ ? &*rule_error_ : nullptr; }
  // The last error of type E that an attempt returned, moved out: nobody is to read the run any more.
  template <class E>
  [[nodiscard]] std::optional<E> take_last_returned() {
    for (std::size_t i = records_.size(); i-- > 0;) {  // no assignment: E may have none
      if (!records_[i].failed) continue;
      std::optional<E> error = CauseAccess::take_returned<E>(records_[i].cause);
      if (error.has_value()) return error;
    }
    return std::nullopt;
  }

  [[nodiscard]] RunReport report() const;
  // The report of a success that is about to be told. Where there is no memory for it, it says less: its steps are
  // missing.
  [[nodiscard]] RunReport success_report() const {
    RunReport result;
#if PLANB_HAS_EXCEPTIONS
    try {
      result = report();
    } catch (...) {
      if (detail::unwinding()) throw;
      result.attempts = here_.attempt;
    }
#else
    result = report();
#endif
    result.end = RunEnd::succeeded;
    result.answered_step = step_;
    return result;
  }

 private:
  // In `deciding` and `starting` the run is being driven already, and a handler or a rule that drives it is refused.
  enum class State : unsigned char { entering, waiting, ready, starting, attempting, deciding, over };

  // Reads the clock once, and only if something asks.
  class Now {
   public:
    explicit Now(Engine& engine) noexcept : engine_(engine) {}
    [[nodiscard]] TimePoint operator()() {
      if (!now_) now_ = engine_.read_clock();
      return *now_;
    }

   private:
    Engine& engine_;
    std::optional<TimePoint> now_;
  };

  // What a clock throws is kept, so that what has begun is told to its end, and leaves at the end of next(), succeed()
  // or fail(): see leave_if_clock_threw(). The time is then the latest that is known.
  [[nodiscard]] TimePoint read_clock() {
#if PLANB_HAS_EXCEPTIONS
    try {
      latest_ = clock().now();
    } catch (...) {
      if (detail::unwinding()) throw;
      clock_error_ = std::current_exception();
    }
#else
    latest_ = clock().now();
#endif
    return latest_;
  }
#if PLANB_HAS_STOP_TOKEN
  // A timer is the clock's, too.
  void move_own_stop(TimePoint due) {
#if PLANB_HAS_EXCEPTIONS
    try {
      site_.own_stop->move_to(clock(), due);
    } catch (...) {
      if (detail::unwinding()) throw;
      clock_error_ = std::current_exception();
    }
#else
    site_.own_stop->move_to(clock(), due);
#endif
  }
#endif
  [[nodiscard]] bool clock_threw() const noexcept {
#if PLANB_HAS_EXCEPTIONS
    return clock_error_ != nullptr;
#else
    return false;
#endif
  }
#if PLANB_HAS_EXCEPTIONS
  void leave_if_clock_threw() {
    if (clock_threw()) [[unlikely]] leave_with_clock_error();
  }
  [[noreturn]] PLANB_COLD void leave_with_clock_error() {
    finish(RunEnd::interrupted);
    permit_.reset();
    std::rethrow_exception(std::exchange(clock_error_, nullptr));
  }
#else
  static void leave_if_clock_threw() noexcept {}
#endif

  [[noreturn]] static void misuse_from_within(const char* call);

  // For an event, which is told also where there is no memory for a long text: then, as much of it as needs none.
  [[nodiscard]] static std::string text_to_tell(std::string_view text) noexcept {
#if PLANB_HAS_EXCEPTIONS
    try {
      return std::string(text);
    } catch (...) {
      return std::string(text.substr(0, 15));
    }
#else
    return std::string(text);
#endif
  }
  [[nodiscard]] std::string step_name() const noexcept { return text_to_tell(policy().name); }
  [[nodiscard]] std::string label() const noexcept { return text_to_tell(options_.label); }
  [[nodiscard]] bool stopped() const noexcept { return options_.stop.stop_requested(); }
  [[nodiscard]] bool out_of_budget(Now& now) const { return options_.budget && now() >= budget_end_; }

  // What the budget leaves to the running step; without a budget, everything.
  [[nodiscard]] Duration time_left(Now& now) const {
    if (!options_.budget) return (Duration::max)();
    return add(between(now(), budget_end_), -policy().reserved_after);
  }

  // Whether an attempt comes next with nothing to ask before it and nothing to tell.
  [[nodiscard]] PLANB_INLINE bool goes_quietly() const noexcept {
    return quiet_ && (state_ == State::entering || state_ == State::ready) && step_ != plan_.size && policy().plain &&
           !guarded_;
  }

  // next(), where there may be something to ask or to tell.
  [[nodiscard]] RunPhase proceed();

  PLANB_INLINE void begin_quietly() {
    begin_attempt();
    site_.clock = nullptr;
#if PLANB_HAS_STOP_TOKEN
    site_.own_stop.reset();  // of an attempt that was asked after its end
#endif
    set_deadline(no_deadline);
    watched_ = false;
    state_ = State::attempting;
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
    step_on();
    schedule_.reset();
    state_ = State::entering;
  }

  [[nodiscard]] bool fallback_prevented() const noexcept {
    return partial_ != PartialStream::allow && delivered() != 0;
  }
  [[nodiscard]] std::size_t delivered() const noexcept { return site_.delivered.load(std::memory_order_relaxed); }
  [[nodiscard]] TimePoint deadline() const noexcept { return site_.deadline.load(std::memory_order_relaxed); }
  void set_deadline(TimePoint due) noexcept { site_.deadline.store(due, std::memory_order_relaxed); }
  // The running attempt ends with its share of the budget, or with the step's timeout where that is over no later.
  TimePoint limit_attempt(TimePoint timeout_end) noexcept {
    budget_ends_first_ = attempt_end_ < timeout_end;
    const TimePoint due = (std::min)(timeout_end, attempt_end_);
    set_deadline(due);
    return due;
  }
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
  [[nodiscard]] bool tell_first_output(Now& now);
  [[nodiscard]] bool may_be_cut_short() const noexcept {
    return site_.clock != nullptr || options_.stop.stop_possible();
  }

  [[nodiscard]] std::optional<Duration> ask_schedule(const Cause& cause, Now& now);
  [[nodiscard]] Move decide(std::optional<Verdict>& verdict, std::optional<Verdict> accepted, Now& now);
  [[nodiscard]] Move obey(Action action) noexcept;
  [[nodiscard]] LeaveReason objection(Now& now);
  [[nodiscard]] Move leave(LeaveReason reason) noexcept;
  void follow(const Move& move, Now& now);

  void look_at_time(Cause& cause, Now& now) const;
  void enter();
  [[nodiscard]] bool try_enter(Now& now);
  void skip(SkipReason reason, Now& now, const GateRefusal* refusal = nullptr);
  [[nodiscard]] bool start();
  [[nodiscard]] bool admit(Now& now);
  // The question to the step's gate about the attempt that would come next.
  [[nodiscard]] GateRequest next_request(Now& now) const {
    const auto next = [](int attempts) { return attempts == unlimited ? unlimited : attempts + 1; };
    return {now(), next(here_.attempt), next(record_ != nullptr ? record_->attempts : 0)};
  }
  void close_attempt() noexcept {
    state_ = State::deciding;
#if PLANB_HAS_STOP_TOKEN
    site_.own_stop.reset();
#endif
  }
  void tell_success();
  [[nodiscard]] bool tell_permit(Now& now);
  void note_opening(Now& now);
  void tell_failure(Move move, std::optional<Verdict> verdict, Now& now);

  template <class E>
  [[nodiscard]] bool wanted() const noexcept {
    return options_.on_event.wants<E>();
  }
  void notify(const Event& event);
  [[nodiscard]] static Cause copy_to_tell(const Cause& cause);

  const OptionsView options_;
  const bool quiet_;  // no handler, budget, stop token, scheduled entry or limit to output: nobody to be asked or told
  State state_ = State::entering;
  RunEnd end_ = RunEnd::running;
  bool guarded_ = false;         // next_guarded was said: only steps whose enter_when accepts the cause
  bool guard_accepted_ = false;  // and one did
  bool lacked_time_ = false;     // the last decision was for lack of time
  const PartialStream partial_ = PartialStream::allow;
  bool watched_ = false;     // a stop, the budget or a timeout may end the attempt between two elements, or output_due_
  bool output_due_ = false;  // the gate is to be told of the attempt's first element
  bool budget_ends_first_ = false;  // at attempt_end_, earlier than the step's timeout ends the running attempt
  TimePoint due_;
  TimePoint started_;
  TimePoint budget_end_;
  TimePoint latest_;                // that the clock said
#if PLANB_HAS_EXCEPTIONS
  std::exception_ptr clock_error_;  // what the clock threw, until it leaves
#endif
  TimePoint attempt_end_;           // of the running attempt, whatever its timeout: the end of its share of the budget
  const Cause* telling_ = nullptr;  // where the cause of *record_ is while handlers are told of it
  std::optional<Permit> permit_;
  std::optional<ScheduleRun> schedule_;  // of the step at step_
};

PLANB_NOINLINE inline RunPhase Engine::proceed() {
  for (;;) {
    switch (state_) {
      case State::attempting: misuse("next() was called while an attempt is running; say succeed() or fail() first");
      case State::starting:
      case State::deciding: misuse_from_within("next()");
      case State::over: return RunPhase::over;
      case State::entering:
        enter();
        leave_if_clock_threw();
        break;
      case State::waiting: {
        Now now(*this);
        if (stopped()) {
          finish(RunEnd::interrupted);
        } else if (now() < due_) {
          leave_if_clock_threw();
          return RunPhase::wait;
        } else {
          state_ = State::ready;
        }
        leave_if_clock_threw();
        break;
      }
      case State::ready:
        if (start()) return RunPhase::attempt;
        leave_if_clock_threw();
        break;
    }
    if (goes_quietly()) {
      begin_quietly();
      return RunPhase::attempt;
    }
  }
}

inline void Engine::enter() {
  state_ = State::deciding;
  Now now(*this);
  if (stopped()) return finish(RunEnd::interrupted);
  if (step_ == plan_.size) return finish_without_steps();
  if (out_of_budget(now)) return finish(RunEnd::deadline);
#if PLANB_HAS_EXCEPTIONS
  try {
    if (!try_enter(now)) go_to_next_step();
  } catch (...) {
    if (detail::unwinding()) throw;
    finish(end_by_caught_rule());
  }
#else
  if (!try_enter(now)) go_to_next_step();
#endif
}

// False: the step is passed over. Otherwise the state is what follows: ready, waiting or over.
inline bool Engine::try_enter(Now& now) {
  const StepPolicy& step = policy();
  const Cause* const previous = Course::previous();
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
    const GateRequest request = next_request(now);
    if (step.gate->opens_at(request) > add(now(), delay)) {
      const GateRefusal refusal = step.gate->refusal(request);
      return skip(SkipReason::gate_closed, now, &refusal), false;
    }
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

inline void Engine::skip(SkipReason reason, Now& now, const GateRefusal* refusal) {
  lacked_time_ = reason == SkipReason::out_of_time;
  StepRecord& record = add_record();
  record.skipped = true;
  record.skip_reason = reason;
  if (refusal != nullptr) note_refusal(record, *refusal, now());
  if (wanted<StepSkipped>()) {
    StepSkipped skipped{.step_index = step_, .step_name = step_name(), .at = now(), .reason = reason, .label = label()};
    if (refusal != nullptr) {
      skipped.opens_at = refusal->opens_at;
      skipped.gate_reason = refusal->reason;
      skipped.gate_text = text_to_tell(refusal->text);
      skipped.gate = text_to_tell(refusal->gate.empty() ? policy().gate->name() : refusal->gate);
    }
    notify(Event(std::move(skipped)));
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
  Admission admission = gate->admit(next_request(now));
  if (admission.permit) {
    permit_.emplace(std::move(*admission.permit)).starts_at(now());
    return true;
  }
  GateRefusal refusal = std::move(admission.refusal).value_or(GateRefusal{});
  // One that refuses cannot mean that it is open now: it does not know.
  if (refusal.opens_at <= now()) refusal.opens_at = no_deadline;
  if (record_ == nullptr) {
    skip(SkipReason::gate_closed, now, &refusal);
    go_to_next_step();
  } else {
    record_->left = LeaveReason::gate_closed;
    note_refusal(*record_, refusal, now());
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
  if (policy().timeout || options_.on_event) static_cast<void>(now());  // before anything is taken or told
  if (out_of_budget(now)) return finish(RunEnd::deadline), false;
  if (clock_threw()) return false;
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
    if (detail::unwinding()) throw;
    return finish(end_by_caught_rule()), false;
  }
#else
  if (!admit(now)) return false;
#endif
  if (clock_threw()) return false;
  guarded_ = guard_accepted_ = false;
  if (record_ != nullptr) record_->refused = false;  // the gate has opened since
  begin_attempt();
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
  TimePoint timeout_end = no_deadline;
  if (step.timeout) {
    site_.clock = &clock();
    timeout_end = add(now(), *step.timeout);
  }
  limit_attempt(timeout_end);
  output_due_ = permit_.has_value();
  watched_ = output_due_ || may_be_cut_short();
  site_.stop = &options_.stop;
  if (options_.on_event) started_ = now();
  if (permit_) permit_->use();
  if (wanted<AttemptStart>()) {
    state_ = State::starting;
    notify(Event(AttemptStart{here_.attempt, here_.step_attempt, step_, step_name(), now(), Duration(), label()}));
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
  std::exception_ptr defect = rule_error_ ? rule_error_->exception() : nullptr;
  try {
    if (permit_) permit_->succeeded(now);
  } catch (const Defect&) {
    defect = std::current_exception();
  } catch (...) {
    if (detail::unwinding()) {
      permit_.reset();
      tell_success();
      throw;
    }
  }
#else
  if (permit_) permit_->succeeded(now);
#endif
  permit_.reset();
  if (wanted<AttemptSuccess>()) {
    notify(Event(AttemptSuccess{here_.attempt, here_.step_attempt, step_, step_name(), now(), between(started_, now()),
                                label()}));
  }
#if PLANB_HAS_EXCEPTIONS
  if (defect != nullptr) std::rethrow_exception(defect);
  if (clock_threw()) std::rethrow_exception(std::exchange(clock_error_, nullptr));
#endif
}

// A failure after a stop was requested, or after its time, is that.
inline void Engine::look_at_time(Cause& cause, Now& now) const {
  if (cause.kind() == CauseKind::defect) return;
  if (stopped()) {
    CauseAccess::set_kind(cause, CauseKind::interrupted);
  } else if (cause.kind() == CauseKind::error && time_was_up(now)) {
    CauseAccess::set_kind(cause, CauseKind::timeout);
  }
}

inline void Engine::fail(Cause&& cause, std::optional<Verdict> accepted) {
  Now now(*this);
  if (rule_error_) {  // a gate's defect at the first output
    cause = std::move(*rule_error_);
    rule_error_.reset();
  }
  if (wanted<AttemptFailure>()) static_cast<void>(now());  // before its rules, which may take their time
  if (!quiet_ || site_.clock != nullptr) look_at_time(cause, now);
  close_attempt();
  remember(std::move(cause));
  std::optional<Verdict> verdict;
  Move move{.run_end = RunEnd::interrupted};
  if (!clock_threw()) {
#if PLANB_HAS_EXCEPTIONS
    try {
#endif
      const bool told = permit_ && tell_permit(now);
      move = decide(verdict, accepted, now);
      if (told && move.kind != NextMove::retry && !record_->refused) note_opening(now);
#if PLANB_HAS_EXCEPTIONS
    } catch (...) {
      if (detail::unwinding()) {
        tell_failure({.run_end = RunEnd::interrupted}, verdict, now);
        finish(RunEnd::interrupted);
        throw;
      }
      move = {.run_end = end_by_caught_rule()};
    }
    if (clock_threw()) move = {.run_end = RunEnd::interrupted};
#endif
  }
  if (record_->left == LeaveReason::none) record_->left = move.reason;
  if (verdict) {
    record_->judged = true;
    record_->verdict = *verdict;
    if (verdict->alert) record_->alert = true;
  }
  if (!quiet_) tell_failure(move, verdict, now);
  follow(move, now);
  leave_if_clock_threw();
}

inline void Engine::follow(const Move& move, Now& now) {
  switch (move.kind) {
    case NextMove::retry:
      state_ = State::ready;
      if (delay_ > Duration::zero()) {
        due_ = add(now(), delay_);
        state_ = State::waiting;
      }
      break;
    case NextMove::next_step: go_to_next_step(); break;
    case NextMove::end: finish_after(move.run_end); break;
  }
}

// Whether it was told of a failure. What ended for the run's lack of time says nothing about the provider.
inline bool Engine::tell_permit(Now& now) {
  Permit permit = std::move(*permit_);
  permit_.reset();
  const Cause& cause = record_->cause;
  if (cause.kind() == CauseKind::defect || cause.kind() == CauseKind::interrupted) return false;
  if (cause.kind() == CauseKind::timeout && budget_ends_first_ && now() >= attempt_end_) return false;
  permit.failed(cause, now());
  return true;
}

// The failure may have shut the step's gate: the report says until when, also where the step is not left for that.
inline void Engine::note_opening(Now& now) {
  const GateRequest request = next_request(now);
  if (policy().gate->opens_at(request) > now()) note_refusal(*record_, policy().gate->refusal(request), now());
}

inline void Engine::fail_by_rule(Cause&& cause, Cause&& rule) {
  if (rule.kind() == CauseKind::defect) return fail(std::move(rule));
  if (rule_error_ || stopped()) return fail(std::move(cause));
  close_attempt();
  permit_.reset();
  Now now(*this);
  remember(std::move(cause));
  const RunEnd end = end_by_rule(std::move(rule));
  tell_failure({.run_end = end}, std::nullopt, now);
  finish_after(end);
  leave_if_clock_threw();
}

inline void Engine::abandon() {
  if (!running()) return;
  close_attempt();
  permit_.reset();
  Now now(*this);
  Cause cause;
  CauseAccess::set_kind(cause, CauseKind::interrupted);
  remember(std::move(cause));
  tell_failure({.run_end = RunEnd::interrupted}, std::nullopt, now);
  finish(RunEnd::interrupted);
#if PLANB_HAS_EXCEPTIONS
  clock_error_ = nullptr;  // what is on its way is more important, and a destructor lets nothing out
#endif
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
    [[maybe_unused]] const TimePoint due =
        limit_attempt(timeout && source_has_the_floor ? add(now(), *timeout) : no_deadline);
#if PLANB_HAS_STOP_TOKEN
    if (site_.own_stop != nullptr) move_own_stop(due);
#endif
  }
  if (clock_threw()) return false;  // the attempt's end lets that out
  return source_has_the_floor || !output_due_ || tell_first_output(now);
}

// What the gate throws takes no output away, as with a success. But a defect ends the attempt, which it is the cause
// of.
inline bool Engine::tell_first_output(Now& now) {
  output_due_ = false;
  watched_ = may_be_cut_short();
  begin_factory();
#if PLANB_HAS_EXCEPTIONS
  try {
    permit_->first_output(now);
  } catch (const Defect&) {
    rule_error_.emplace(Cause::current());
  } catch (...) {
    if (detail::unwinding()) throw;
  }
#else
  permit_->first_output(now);
#endif
  end_factory();
  return !rule_error_ && !clock_threw();
}

// The order of the questions is the contract's: the first that answers wins.
inline Move Engine::decide(std::optional<Verdict>& verdict, std::optional<Verdict> accepted, Now& now) {
  const Cause& cause = record_->cause;
  if (cause.kind() == CauseKind::defect) return {.run_end = RunEnd::defect};
  if (cause.kind() == CauseKind::interrupted) return {.run_end = RunEnd::interrupted};
  if (out_of_budget(now)) return {.run_end = RunEnd::deadline};
  if (accepted) {
    verdict = accepted;
  } else if (policy().classify != nullptr) {
    verdict = (*policy().classify)(cause);
  }
  const Action action = verdict ? verdict->action : Action::retry;
  if (partial_ == PartialStream::prevent_retry && delivered() != 0 && action != Action::abort) {
    return {.reason = LeaveReason::partial_output};
  }
  if (action != Action::retry) return obey(action);
  const LeaveReason reason = objection(now);
  return reason == LeaveReason::none ? Move{.kind = NextMove::retry} : leave(reason);
}

// What a classifier asks for, other than a retry.
inline Move Engine::obey(Action action) noexcept {
  if (action == Action::abort) return {.run_end = RunEnd::aborted};
  if (action == Action::next_guarded) {
    guarded_ = true;
    const StepPolicy* const end = plan_.steps + plan_.size;
    if (std::none_of(policy_ + 1, end, [](const StepPolicy& step) { return step.enter_when != nullptr; })) {
      return {.run_end = RunEnd::aborted};
    }
  }
  return leave(LeaveReason::classified);
}

// Why there is no retry; where there is one, delay_ is set.
inline LeaveReason Engine::objection(Now& now) {
  const Cause& cause = record_->cause;
  const StepPolicy& step = policy();
  if (const LeaveReason reason = spent(cause); reason != LeaveReason::none) return reason;
  delay_ = Duration();
  if (step.schedule != nullptr) {
    const std::optional<Duration> wait = ask_schedule(cause, now);
    if (!wait) return LeaveReason::schedule_ended;
    delay_ = *wait;
  }
  if (const LeaveReason reason = heed_hint(cause, delay_); reason != LeaveReason::none) return reason;
  if (options_.budget && delay_ >= time_left(now)) return LeaveReason::out_of_time;
  if (step.gate != nullptr) {
    const GateRequest request = next_request(now);
    const TimePoint opens_at = step.gate->opens_at(request);
    if (opens_at > now()) note_refusal(*record_, step.gate->refusal(request), now());
    if (opens_at > add(now(), delay_)) return LeaveReason::gate_closed;
  }
  return LeaveReason::none;
}

inline Move Engine::leave(LeaveReason reason) noexcept {
  lacked_time_ = reason == LeaveReason::out_of_time;
  const bool last = at_last_step();
  if (!last && !fallback_prevented()) return {.kind = NextMove::next_step, .reason = reason};
  if (lacked_time_) return {.run_end = RunEnd::deadline, .reason = reason};
  if (last) return {.reason = reason};
  record_->left = reason;  // the report has both
  return {.reason = LeaveReason::partial_output};
}

inline std::optional<Duration> Engine::ask_schedule(const Cause& cause, Now& now) {
  if (!schedule_) {
    std::optional<std::uint64_t> seed = options_.seed;
    if (seed) *seed += static_cast<std::uint64_t>(step_) * 0x9e3779b97f4a7c15U;  // each step draws its own sequence
    schedule_.emplace(*policy().schedule, seed);
  }
  return schedule_->next(now(), cause);
}

inline void Engine::tell_failure(Move move, std::optional<Verdict> verdict, Now& now) {
  if (!wanted<AttemptFailure>()) return;
  NextMove next{move.kind, move.kind == NextMove::retry ? delay_ : Duration(), move.run_end, move.reason};
  if (move.reason == LeaveReason::gate_closed) next.gate_reason = record_->gate_reason;
  Event event(AttemptFailure{here_.attempt, here_.step_attempt, step_, step_name(), now(), between(started_, now()),
                             std::move(record_->cause), verdict, next, label()});
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

// An error whose copy throws is told as its text, or where that cannot be had either, as an unknown one.
PLANB_COLD inline Cause Engine::copy_to_tell(const Cause& cause) {
#if PLANB_HAS_EXCEPTIONS
  try {
    return cause;
  } catch (...) {
    if (detail::unwinding()) throw;
  }
  Cause told;
  try {
    told = Cause::of(UncopyableError(cause.message()));
  } catch (...) {
    if (detail::unwinding()) throw;
  }
  CauseAccess::set_kind(told, cause.kind());
  return told;
#else
  return cause;
#endif
}

PLANB_COLD inline RunReport Engine::report() const {
  RunReport report;
  report.end = end();
  report.attempts = here_.attempt;
  report.delivered = delivered();
  report.label = label();
  if (report.end == RunEnd::succeeded) report.answered_step = step_;
  if (failed_ != nullptr) report.last_failed = static_cast<int>(failed_ - records_.data());
  if (rule_error_) report.rule_error = copy_to_tell(*rule_error_);
  report.steps.reserve(records_.size());
  for (const StepRecord& record : records_) {
    StepReport& step = report.steps.emplace_back();
    step.name = plan_.steps[record.index].name;
    step.attempts = record.attempts;
    if (record.failed) step.cause = copy_to_tell(telling_ != nullptr && &record == record_ ? *telling_ : record.cause);
    if (record.skipped) step.skipped = record.skip_reason;
    step.left = record.left;
    step.alert = record.alert;
    if (record.judged) step.verdict = record.verdict;
    step.index = record.index;
    if (record.refused) {
      step.opens_at = record.opens_at;
      step.opens_in = record.opens_at == no_deadline ? (Duration::max)() : between(record.refused_at, record.opens_at);
      step.gate_reason = record.gate_reason;
      if (const RefusalWords* const words = words_of(record)) {
        step.gate_text = words->text;
        step.gate = words->gate;
      }
      if (step.gate.empty()) step.gate = plan_.steps[record.index].gate->name();
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
