// SPDX-License-Identifier: MIT
// The engine: decides which attempt comes next, how long to wait, and when a run is over. It makes no attempt, does not
// wait and starts no thread. All drivers are made of it. Here is the class, with what every attempt passes through. Its
// states are in states.hpp, what is decided in enter.hpp and decide.hpp, its time in time_left.hpp, what others are
// notified in notify.hpp, the report in run_report.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/inline_vector.hpp>
#include <planb/engine/detail/options_view.hpp>
#include <planb/engine/detail/step_record.hpp>
#include <planb/engine/run_phase.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/failure_room.hpp>
#include <planb/gate/gate.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/plan/metadata.hpp>
#include <planb/report/event.hpp>
#include <planb/report/report.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/time/clock.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// For an event, which is sent also where there is no memory for a long text: then with as much of it as needs none.
[[nodiscard]] std::string text_to_notify(std::string_view text) noexcept;

// The plan and the options are borrowed. One thread at a time.
class Engine {
 public:
  template <class Options>
  Engine(const PlanView& plan, const Options& options) : Engine(plan, OptionsView(options), PartialStream::allow) {}
  // Of a stream.
  template <class Options>
  Engine(const PlanView& plan, const Options& options, PartialStream partial)
      : Engine(plan, OptionsView(options), partial) {
    streaming_ = true;
  }

  // A run without options whose first attempt was made without an engine. It is running: say succeed() or fail(). Where
  // a gate let it pass, that has given the permit.
  Engine(const PlanView& plan, const RunOptions& none, FirstAttemptMade);
  void take(Permit&& permit) noexcept { permit_.emplace(std::move(permit)).use(); }

  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // An attempt that nobody ended was abandoned.
  ~Engine() noexcept(false);

  [[nodiscard]] PLANB_INLINE RunPhase next() {
    if (!goes_quietly()) return proceed();
    begin_quietly();
    return RunPhase::attempt;
  }

  // The attempt succeeded.
  void succeed();

  // The attempt failed. `verdict` is an acceptance check's, and stands before the classifier's.
  PLANB_INLINE void fail(Cause&& cause, std::optional<Verdict> verdict = std::nullopt) {
    if (decides_quickly(cause, verdict)) {
      static_cast<void>(fail_quickly(std::move(cause)));
    } else {
      fail_and_decide(std::move(cause), verdict);
    }
  }

  // A callback of the attempt's own threw `error`, which ends the run: its acceptance check, or its result when asked.
  void fail_by_callback(Cause&& cause, Cause&& error);

  // The attempt left what is in the room, which is empty then. True: next() was asked as well, since neither had
  // anybody to ask, and says `attempt`. False: ask it.
  [[nodiscard]] PLANB_INLINE bool fail_and_go_on(FailureRoom& room) {
    Failure& failure = room.get();
    if (failure.callback_error || !decides_quickly(failure.cause, failure.verdict)) [[unlikely]] {
      fail_slowly(room);
      return false;
    }
    const bool goes_on = fail_quickly(std::move(failure.cause));
    room.destroy();
    if (!goes_on) return false;
    begin_attempt();
    state_ = State::attempting;
    return true;
  }
  void fail(FailureRoom& room) { fail_slowly(room); }
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
  // The consumer has had its element, or it was none of the consumer's, and the source goes on. False: it must not, as
  // above, or since the first output is overdue: Step::first_timeout.
  [[nodiscard]] bool resume() { return !watched_ || watch(true); }
  [[nodiscard]] static Cause cut_short() noexcept { return Cause::timed_out(); }  // where it was a stop, fail() knows

  // Of the attempt that is running, or ran last.
  [[nodiscard]] const Attempt& attempt() const noexcept { return here_; }
  [[nodiscard]] Metadata metadata() const noexcept { return {here_.attempt, here_.step_index}; }
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
  [[nodiscard]] RunEnd end() const noexcept { return state_ == State::over ? end_ : RunEnd::running; }
  [[nodiscard]] const OptionsView& options() const noexcept { return options_; }
  [[nodiscard]] Clock& clock() const {
    Clock* const given = options_.clock();
    return given != nullptr ? *given : SteadyClock::instance();
  }

  // The last failure, or null.
  [[nodiscard]] Cause* last_cause() noexcept { return failed_ == nullptr ? nullptr : &failed_->cause; }
  // What a callback of the plan threw where that ended the run, or null.
  [[nodiscard]] Cause* callback_error() noexcept { return callback_error_ ? &*callback_error_ : nullptr; }
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
  // The report of a success with times, before a handler is notified of it. Where there is no memory for it, it says less:
  // its steps are missing.
  [[nodiscard]] RunReport success_report();

  // Before the first next(): the report is to have times. It has them too where there is a handler.
  void keep_times() noexcept {
    timed_ = true;
    quiet_ = false;
  }

 private:
  // In `deciding` and `starting` the run is being driven already, and a callback that drives it is refused.
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

  Engine(const PlanView& plan, OptionsView options, PartialStream partial);

  // --- States --------------------------------------------------------------------------------------------------------

  // Whether an attempt comes next with nothing to ask before it and nobody to notify.
  [[nodiscard]] PLANB_INLINE bool goes_quietly() const noexcept {
    return quiet_ && (state_ == State::entering || state_ == State::ready) && step_ != plan_.size &&
           policy().kind <= StepKind::plain && !guarded_;
  }
  // next(), where there may be something to ask or somebody to notify.
  [[nodiscard]] RunPhase proceed();

  PLANB_INLINE void begin_quietly() {
    begin_attempt();
    site_.clock = nullptr;
    drop_own_stop();  // of an attempt that was asked after its end
    set_deadline(no_deadline);
    watched_ = false;
    state_ = State::attempting;
  }
  PLANB_INLINE void begin_attempt() {
    if (record_ == nullptr) record_ = &add_record();
    if (record_->attempts != unlimited) ++record_->attempts;
    if (here_.attempt != unlimited) ++here_.attempt;
    here_.step_attempt = record_->attempts;
    here_.step_index = step_;
    here_.step_name = policy().name;
    here_.policy_ = policy_;
    site_.previous = last_cause();
  }
  void close_attempt() noexcept {
    state_ = State::deciding;
    drop_own_stop();
  }
  PLANB_INLINE void drop_own_stop() noexcept {
#if PLANB_HAS_STOP_TOKEN
    if (site_.own_stop != nullptr) [[unlikely]]
      site_.own_stop.reset();
#endif
  }

  PLANB_INLINE StepRecord& add_record() {
    const StepRecord* const before = records_.data();
    StepRecord& record = records_.emplace_back();
    if (records_.data() != before && failed_ != nullptr) failed_ = records_.data() + (failed_ - before);
    return record;
  }
  PLANB_INLINE void remember(Cause&& cause) noexcept {
    StepRecord& record = *record_;
    record.cause.~Cause();
    ::new (static_cast<void*>(&record.cause)) Cause(std::move(cause));
    if (!CauseAccess::is_named(record.cause, plan_.named.first, plan_.named.count)) {
      CauseAccess::name(record.cause, plan_.named.first, plan_.named.count);
    }
    record.failed = true;
    record.judged = false;
    failed_ = &record;
  }

  PLANB_INLINE void go_to_next_step() noexcept {
    ++step_;
    ++policy_;
    record_ = nullptr;
    schedule_.reset();
    state_ = State::entering;
  }

  // Every run that began ends here, whichever way. That is notified later, by notify_finish(): an attempt's end comes
  // first.
  void finish(RunEnd end) noexcept {
    end_ = end;
    state_ = State::over;
  }
  // A stop that a handler of the last failure requested counts as well.
  void finish_after(RunEnd end) noexcept { finish(end != RunEnd::defect && stopped() ? RunEnd::interrupted : end); }
  void finish_without_steps() noexcept;

  // A callback of the plan threw `error`, or what is being handled: how that ends the run.
  RunEnd end_by_callback(Cause&& error) noexcept;
  RunEnd end_by_caught_callback() noexcept;
  [[nodiscard]] RunEnd end_by_callback_error() const noexcept {
    return callback_error_->kind() == CauseKind::defect ? RunEnd::defect : RunEnd::aborted;
  }

  // --- What is asked on the way, in enter.hpp ------------------------------------------------------------------------

  void enter();
  [[nodiscard]] bool try_enter(Now& now);
  void skip(SkipReason reason, Now& now, const GateRefusal* refusal = nullptr);
  [[nodiscard]] bool start();
  [[nodiscard]] bool admit(Now& now);
  [[nodiscard]] GateRequest next_request(Now& now) const;
  [[nodiscard]] Duration patience_of(const GateRefusal& refusal) const;
  [[nodiscard]] bool opens_too_late(const GateRefusal& refusal, Duration wait, Now& now) const;
  [[nodiscard]] bool waits_for_gate(const GateRefusal& refusal, Now& now);
  void leave_for_next_step() noexcept;

  // --- What is decided after a failure, in decide.hpp ----------------------------------------------------------------

  // Whether nothing is asked but the step's retry_while, and nobody notified.
  [[nodiscard]] PLANB_INLINE bool decides_quickly(const Cause& cause,
                                                  const std::optional<Verdict>& verdict) const noexcept {
    return quiet_ && policy().kind == StepKind::quick && !verdict && cause.kind() != CauseKind::defect &&
           cause.kind() != CauseKind::interrupted;
  }
  // The path of fail_and_decide() that is left then, nearly as quick as a loop. True: an attempt comes next, which has
  // nothing to ask and nobody to notify either.
  [[nodiscard]] bool fail_quickly(Cause&& cause);
  void wait_or_abort();
  void fail_and_decide(Cause&& cause, std::optional<Verdict> accepted);
  void fail_slowly(FailureRoom& room);

  void look_at_time(Cause& cause, Now& now) const;
  [[nodiscard]] Move decide(std::optional<Verdict>& verdict, std::optional<Verdict> accepted, Now& now);
  [[nodiscard]] Move obey(Action action) noexcept;
  [[nodiscard]] LeaveReason objection(Now& now);
  [[nodiscard]] LeaveReason spent(const Cause& cause) const;
  [[nodiscard]] LeaveReason heed_hint(const Cause& cause, Duration& wait) const;
  void spread_hint(Now& now);
  [[nodiscard]] std::optional<Duration> ask_schedule(const Cause& cause, Now& now);
  [[nodiscard]] Move leave(LeaveReason reason) noexcept;
  void follow(const Move& move, Now& now);

  // --- Streams, in time_left.hpp -------------------------------------------------------------------------------------

  [[nodiscard]] bool watch(bool source_has_the_floor);
  [[nodiscard]] bool may_be_cut_short() const noexcept {
    return site_.clock != nullptr || options_.stop().stop_possible();
  }
  [[nodiscard]] bool fallback_prevented() const noexcept {
    return partial_ != PartialStream::allow && delivered() != 0;
  }
  [[nodiscard]] std::size_t delivered() const noexcept { return site_.delivered.load(std::memory_order_relaxed); }

  // --- Time, in time_left.hpp ----------------------------------------------------------------------------------------

  // What a clock throws is kept, so that what has begun comes to its end, and leaves at the end of next(), succeed() or
  // fail(): see leave_if_clock_threw(). The time is then the latest that is known.
  [[nodiscard]] TimePoint read_clock();
#if PLANB_HAS_STOP_TOKEN
  void move_own_stop(TimePoint due);
#endif
  void keep_clock_error() noexcept;
#if PLANB_HAS_EXCEPTIONS
  [[nodiscard]] bool clock_threw() const noexcept { return clock_error_ != nullptr; }
  void leave_if_clock_threw() {
    if (clock_threw()) [[unlikely]]
      leave_with_clock_error();
  }
  [[noreturn]] void leave_with_clock_error();
#else
  [[nodiscard]] static bool clock_threw() noexcept { return false; }
  static void leave_if_clock_threw() noexcept {}
#endif
  [[nodiscard]] bool out_of_budget(Now& now) const { return has_budget_ && now() >= budget_end_; }
  // What the budget leaves to the running step; without a budget, everything.
  [[nodiscard]] Duration time_left(Now& now) const;
  [[nodiscard]] TimePoint deadline() const noexcept { return site_.deadline.load(std::memory_order_relaxed); }
  void set_deadline(TimePoint due) noexcept { site_.deadline.store(due, std::memory_order_relaxed); }
  TimePoint limit_attempt(TimePoint timeout_end) noexcept;
  [[nodiscard]] bool time_was_up(Now& now) const;

  // --- Notifying others, in notify.hpp -------------------------------------------------------------------------------

  void notify_success();
  // The run has begun, or is over: where that is to be noted or notified.
  void begin_run() noexcept;
  void begin_wait(Now& now) {
    if (timed_) waits_since_ = now();
  }
  void end_wait(Now& now);
  void note_waited() noexcept;
  void notify_finish(Now& now);
  void finish_if_over(Now& now) {
    if (timed_ && state_ == State::over) [[unlikely]]
      notify_finish(now);
  }
  void notify_failure(Move move, std::optional<Verdict> verdict, Now& now);
  [[nodiscard]] bool notify_first_output(Now& now);
  [[nodiscard]] bool notify_permit(Now& now);
  void note_opening(Now& now);
  void note_refusal(StepRecord& record, const GateRefusal& refusal, TimePoint now) noexcept;
  [[nodiscard]] RefusalWords* words_of(const StepRecord& record) const noexcept;
  void notify(const Event& event);
  template <class E>
  [[nodiscard]] bool wanted() const noexcept {
    return handled_ && options_.on_event().wants<E>();
  }
  [[nodiscard]] std::string step_name() const noexcept;
  [[nodiscard]] std::string label() const noexcept;
  [[nodiscard]] static Cause copy_to_notify(const Cause& cause);
  [[noreturn]] static void misuse_from_within(const char* call);

  // --- Data ----------------------------------------------------------------------------------------------------------

  [[nodiscard]] const StepPolicy& policy() const noexcept { return *policy_; }
  [[nodiscard]] bool at_last_step() const noexcept { return step_ + 1 == plan_.size; }
  [[nodiscard]] bool stopped() const noexcept { return options_.stop().stop_requested(); }

  // What every attempt touches.
  const PlanView& plan_;
  const StepPolicy* policy_;      // of the step at step_
  StepRecord* record_ = nullptr;  // of the step that is being tried: the last one
  StepRecord* failed_ = nullptr;  // of the step that failed last
  int step_ = 0;
  State state_ = State::entering;
  RunEnd end_ = RunEnd::running;
  bool quiet_;  // no handler, budget, stop token, scheduled entry or limit to output: nobody to be asked or notified
  bool guarded_ = false;  // next_guarded was said: only steps whose enter_when accepts the cause
  bool watched_ = false;  // a stop, the budget or a timeout may end the attempt between two elements, or output_due_
  // And the others.
  const bool handled_ = false;  // there is a handler of events
  bool timed_ = false;          // it or the caller wants to know how long everything took
  bool begun_ = false;          // of a run with times: next() was asked
  bool finish_notified_ = false;
  const bool has_budget_ = false;
  bool guard_accepted_ = false;     // guarded_, and a step's enter_when accepted
  bool lacked_time_ = false;        // the last decision was for lack of time
  bool streaming_ = false;          // of a stream, or of a run by hand, which may be one
  bool first_due_ = false;          // the attempt's deadline is that of its first output: Step::first_timeout
  bool output_due_ = false;         // the gate is to be notified of the attempt's first element
  bool budget_ends_first_ = false;  // at attempt_end_, earlier than the step's timeout ends the running attempt
  const PartialStream partial_ = PartialStream::allow;
  AttemptSite site_;
  Attempt here_{0, 0, 0, {}, &site_};
  Duration delay_{};
  const OptionsView options_;
  TimePoint due_;
  TimePoint started_;
  TimePoint budget_end_;
  TimePoint latest_;       // that the clock said
  TimePoint gate_since_ = no_deadline;  // when the gate refused first, while the step waits for it
  TimePoint attempt_end_;  // of the running attempt, whatever its timeout: the end of its share of the budget
#if PLANB_HAS_EXCEPTIONS
  std::exception_ptr clock_error_;  // what the clock threw, until it leaves
#endif
  const Cause* notifying_ = nullptr;  // where the cause of *record_ is while handlers are notified of it
  std::optional<Permit> permit_;
  std::optional<ScheduleRun> schedule_;  // of the step at step_
  std::optional<Cause> callback_error_;
  std::unique_ptr<RefusalWords> words_;
  // Of a run with times:
  TimePoint began_ = no_deadline;        // until the run first reads its clock
  TimePoint waits_since_ = no_deadline;  // while it waits
  Duration waited_{};                    // of a step that has no record yet
  InlineVector<StepRecord, 4> records_;
};

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/engine/impl/decide.hpp>  // IWYU pragma: export
#include <planb/engine/impl/enter.hpp>  // IWYU pragma: export
#include <planb/engine/impl/notify.hpp>  // IWYU pragma: export
#include <planb/engine/impl/run_report.hpp>  // IWYU pragma: export
#include <planb/engine/impl/states.hpp>  // IWYU pragma: export
#include <planb/engine/impl/time_left.hpp>  // IWYU pragma: export
#endif
