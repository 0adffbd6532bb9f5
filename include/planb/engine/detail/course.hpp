// Course: how far a run has come, and what the rules of a step say of a failure. QuietRun: a run that needs no more.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/inline_vector.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/catch.hpp>
#include <planb/gate/gate.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/plan/metadata.hpp>
#include <planb/report/event.hpp>
#include <planb/time/clock.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// What a gate that refused says of itself, where it says more than its reason: few do.
struct RefusalWords {
  int step = 0;
  std::string text = {};
  std::string gate = {};
  std::unique_ptr<RefusalWords> before = nullptr;
};

// What a run remembers of a step that it came to.
struct StepRecord {
  explicit StepRecord(int step) noexcept : index(step) {}

  int index;
  int attempts = 0;
  // In little room: an engine with four of these is to stay within what allocators give quickly (1,032 bytes in glibc).
  bool failed : 1 = false;
  bool alert : 1 = false;
  bool skipped : 1 = false;
  bool refused : 1 = false;  // by the gate: opens_at is known
  bool judged : 1 = false;   // a verdict was given of the last failure
  SkipReason skip_reason = SkipReason::declined;
  LeaveReason left = LeaveReason::none;
  GateReason gate_reason = GateReason::other;  // why it refused
  Verdict verdict;
  Cause cause;         // the last failure
  TimePoint opens_at;  // of a gate, as learnt at refused_at
  TimePoint refused_at;

  void refuse(const GateRefusal& refusal, TimePoint now) noexcept {
    refused = true;
    opens_at = refusal.opens_at;
    refused_at = now;
    gate_reason = refusal.reason;
  }
};

// What follows a failed attempt. A retry comes after the course's delay_.
struct Move {
  NextMove::Kind kind = NextMove::end;
  RunEnd run_end = RunEnd::exhausted;
  LeaveReason reason = LeaveReason::none;
};

// The plan is borrowed.
class Course {
 public:
  Course(const Course&) = delete;
  Course& operator=(const Course&) = delete;

  // Of the attempt that is running, or ran last.
  [[nodiscard]] const Attempt& attempt() const noexcept { return here_; }
  [[nodiscard]] Metadata metadata() const noexcept { return {here_.attempt, here_.step_index}; }

 protected:
  explicit Course(const PlanView& plan) noexcept : plan_(plan), policy_(plan.steps) {}
  // Goes on from where `other` is, and takes what that remembers.
  struct TakenOver {
    Course& other;
  };
  explicit Course(TakenOver from) noexcept;
  ~Course() = default;

  [[nodiscard]] const StepPolicy& policy() const noexcept { return *policy_; }
  [[nodiscard]] bool at_last_step() const noexcept { return step_ + 1 == plan_.size; }

  // The last failure, or null.
  [[nodiscard]] Cause* previous() const noexcept { return failed_ == nullptr ? nullptr : &failed_->cause; }

  PLANB_INLINE StepRecord& add_record() {
    const StepRecord* const before = records_.data();
    StepRecord& record = records_.emplace_back(step_);
    if (records_.data() != before && failed_ != nullptr) failed_ = records_.data() + (failed_ - before);
    return record;
  }

  // The gate of a step refused. Where there is no memory for its words, they are left out.
  void note_refusal(StepRecord& record, const GateRefusal& refusal, TimePoint now) noexcept {
    record.refuse(refusal, now);
    RefusalWords* words = words_of(record);
    if (words == nullptr && refusal.text.empty() && refusal.gate.empty()) return;
#if PLANB_HAS_EXCEPTIONS
    try {
#endif
      if (words == nullptr) {
        auto more = std::make_unique<RefusalWords>();
        more->step = record.index;
        more->before = std::move(words_);
        words_ = std::move(more);
        words = words_.get();
      }
      words->text = refusal.text;
      words->gate = refusal.gate;
#if PLANB_HAS_EXCEPTIONS
    } catch (const std::bad_alloc&) {
    }
#endif
  }
  // Of a step, or null.
  [[nodiscard]] RefusalWords* words_of(const StepRecord& record) const noexcept {
    RefusalWords* words = words_.get();
    while (words != nullptr && words->step != record.index) words = words->before.get();
    return words;
  }

  PLANB_INLINE void begin_attempt() {
    if (record_ == nullptr) record_ = &add_record();
    if (record_->attempts != unlimited) ++record_->attempts;
    if (here_.attempt != unlimited) ++here_.attempt;
    here_.step_attempt = record_->attempts;
    here_.step_index = step_;
    here_.step_name = policy().name;
    site_.previous = previous();
  }

  PLANB_INLINE void remember(Cause&& cause) noexcept {
    StepRecord& record = *record_;
    std::destroy_at(&record.cause);
    std::construct_at(&record.cause, std::move(cause));
    if (!CauseAccess::is_named(record.cause, plan_.named.first, plan_.named.count)) {
      CauseAccess::name(record.cause, plan_.named.first, plan_.named.count);
    }
    record.failed = true;
    record.judged = false;
    failed_ = &record;
  }

  // Why the step has no further attempt, or none.
  [[nodiscard]] PLANB_INLINE LeaveReason spent(const Cause& cause) const {
    const StepPolicy& step = policy();
    if (step.classify == nullptr && CauseAccess::may_tell_retryable(cause) && cause.retryable() == false) {
      return LeaveReason::not_retryable;
    }
    if (step.retry_while != nullptr && !(*step.retry_while)(cause)) return LeaveReason::not_retryable;
    if (step.max_attempts != unlimited && record_->attempts >= step.max_attempts) return LeaveReason::attempts_spent;
    return LeaveReason::none;
  }

  // The same, for the wait before it: what the error asks for where that is longer, if the step allows it.
  [[nodiscard]] LeaveReason heed_hint(const Cause& cause, Duration& wait) const {
    constexpr Duration longest_hint = std::chrono::minutes(1);
    const std::optional<Duration>& max_wait = policy().max_wait;
    if (const std::optional<Duration> hint = cause.retry_after(); hint && *hint > wait) {
      wait = *hint;
      if (!max_wait && wait > longest_hint) return LeaveReason::wait_too_long;
    }
    return max_wait && wait > *max_wait ? LeaveReason::wait_too_long : LeaveReason::none;
  }

  void step_on() noexcept {
    ++step_;
    ++policy_;
    record_ = nullptr;
  }

  // A rule of the plan threw `error`, or what is being handled: how that ends the run.
  RunEnd end_by_rule(Cause&& error) noexcept {
    CauseAccess::name(error, plan_.named.first, plan_.named.count);
    rule_error_.emplace(std::move(error));
    return end_by_rule();
  }
  PLANB_COLD RunEnd end_by_caught_rule() noexcept { return end_by_rule(Cause::current()); }
  [[nodiscard]] RunEnd end_by_rule() const noexcept {
    return rule_error_->kind() == CauseKind::defect ? RunEnd::defect : RunEnd::aborted;
  }

  const PlanView& plan_;
  const StepPolicy* policy_;  // of the step at step_
  int step_ = 0;
  StepRecord* record_ = nullptr;  // of the step that is being tried: the last one
  StepRecord* failed_ = nullptr;  // of the step that failed last
  Duration delay_{};
  std::optional<Cause> rule_error_;
  AttemptSite site_;
  Attempt here_{0, 0, 0, {}, &site_};
  std::unique_ptr<RefusalWords> words_;
  InlineVector<StepRecord, 4> records_;
};

// cppcheck-suppress uninitMemberVar ; it does not see the list
inline Course::Course(TakenOver from) noexcept
    : plan_(from.other.plan_),
      policy_(from.other.policy_),
      step_(from.other.step_),
      delay_(from.other.delay_),
      rule_error_(std::move(from.other.rule_error_)) {
  Course& other = from.other;
  here_ = Attempt(other.here_.attempt, other.here_.step_attempt, other.here_.step_index, other.here_.step_name, &site_);
  other.site_.previous = nullptr;
  const std::ptrdiff_t failed = other.failed_ == nullptr ? 0 : other.failed_ - other.records_.data();
  records_ = std::move(other.records_);
  if (other.record_ != nullptr) record_ = &records_.back();
  if (other.failed_ != nullptr) failed_ = records_.data() + failed;
}

// A run without options, from the failure of its first attempt on, while nobody has to be asked or told but each step's
// retry_while: nearly as quick as a loop. Where more is needed, and for its end, an Engine takes over.
class QuietRun : public Course {
 public:
  // The first attempt has been made.
  explicit QuietRun(const PlanView& plan) : Course(plan) { begin_attempt(); }

  // The attempt failed. True: make another. False: an Engine is to take over, and to be told of `cause` unless told().
  [[nodiscard]] PLANB_INLINE bool goes_on(Cause& cause) {
    const StepPolicy& step = policy();
    if (!step.simple || cause.kind() == CauseKind::defect || cause.kind() == CauseKind::interrupted) return false;
    remember(std::move(cause));
    const LeaveReason reason = ask_rules();
    record_->left = reason;
    if (reason != LeaveReason::none && step.plain_next) {
      step_on();
    } else if (reason != LeaveReason::none || delay_ != Duration() || rule_error_) {
      told_ = true;
      return false;
    }
    begin_attempt();
    return true;
  }

  [[nodiscard]] bool told() const noexcept { return told_; }

  // What an engine would tell others of.
  void succeed() noexcept {}
  void abandon() noexcept {}

 private:
  [[nodiscard]] PLANB_INLINE LeaveReason ask_rules() {
#if PLANB_HAS_EXCEPTIONS
    try {
#endif
      const Cause& cause = record_->cause;
      const LeaveReason reason = spent(cause);
      if (reason != LeaveReason::none) return reason;
      delay_ = Duration();
      return heed_hint(cause, delay_);
#if PLANB_HAS_EXCEPTIONS
    } catch (...) {
      if (detail::unwinding()) throw;
      end_by_caught_rule();
      return LeaveReason::none;
    }
#endif
  }

  bool told_ = false;
};

}  // namespace planb::inline PLANB_ABI::detail
