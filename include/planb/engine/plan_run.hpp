// SPDX-License-Identifier: MIT
// PlanRun: one run in progress, for programs with their own event loop.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/held.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/engine/run_phase.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/catch.hpp>
#include <planb/error/detail/failure_room.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/metadata.hpp>
#include <planb/plan/plan.hpp>
#include <planb/report/report.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

[[nodiscard]] constexpr std::string_view to_label(RunPhase value) noexcept {
  switch (value) {
    case RunPhase::attempt: return "attempt";
    case RunPhase::wait: return "wait";
    case RunPhase::over: return "over";
  }
  return {};
}

// Room for the context of one attempt: a Ctx, built in place, or a reference where Ctx is `T&`.
template <class Ctx>
class ContextSlot {
 public:
  ContextSlot() noexcept = default;
  ContextSlot(const ContextSlot&) = delete;
  ContextSlot& operator=(const ContextSlot&) = delete;
  ~ContextSlot() = default;

  [[nodiscard]] bool has_value() const noexcept { return static_cast<bool>(context_); }
  [[nodiscard]] std::remove_reference_t<Ctx>& operator*() noexcept { return context_.get(); }
  [[nodiscard]] std::remove_reference_t<Ctx>* operator->() noexcept { return std::addressof(context_.get()); }

  void reset() noexcept { context_.reset(); }

 private:
  template <class>
  friend class PlanRun;

  detail::HeldIf<Ctx> context_;
};

// The decisions of a run alone: no waiting, no calls of your function, no threads. Ask next(), do what it says, and say
// how it went:
//
//   for (;;) switch (run.next()) {
//     case RunPhase::attempt: make the attempt your own way, then run.succeed() or run.fail(cause); break;
//     case RunPhase::wait:    come back at run.due(); break;
//     case RunPhase::over:    look at run.end() and run.report(); return;
//   }
//
// It keeps copies of the plan and the options. One thread at a time. Destroyed inside an attempt, it ends that attempt
// as interrupted. Misuse (two next() in a row inside an attempt, the others outside one) throws Defect.
template <class Ctx>
class PlanRun {
 public:
  // `partial` says what may follow a failed attempt of a streamed run, after deliver().
  explicit PlanRun(const ExecutionPlan<Ctx>& plan, const RunOptions& options = {},
                   PartialStream partial = PartialStream::allow)
      : plan_(plan), options_(options), engine_(detail::PlanAccess::storage(plan_).rules.view(), options_, partial) {}

  // A requested stop is noticed here: no further attempt, and no waiting.
  RunPhase next() { return engine_.next(); }

  // When a wait is over, on the options' clock.
  [[nodiscard]] TimePoint due() const noexcept { return engine_.due(); }

  // The attempt that next() announced and that is running.
  [[nodiscard]] Attempt attempt() {
    if (!engine_.running()) engine_.misuse_outside("attempt()");
    return engine_.attempt();
  }

  // Builds the context of the attempt. A factory that fails is a failed attempt: then this says fail() itself and gives
  // false, and next() says what follows. Destroy the context before succeed() or fail().
  [[nodiscard]] bool provide(ContextSlot<Ctx>& context) {
    demand_attempt("provide()");
    const Attempt& attempt = engine_.attempt();  // the factory may keep it: it lives as long as the run
    context.reset();
    detail::FailureRoom failure;
    [[maybe_unused]] const auto keep = [&](auto make) { failure.build(make); };
    PLANB_DETAIL_TRY {
      const CurrentMetadata::Scope scope(engine_.metadata());
      const Factory factory(engine_);
      detail::HeldIf<Ctx>& room = context.context_;
      const auto& storage = detail::PlanAccess::storage(plan_);
      if (room.filled(storage.provide(attempt.step_index, room.room(), attempt, failure))) return true;
    }
    PLANB_DETAIL_CATCH(keep, engine_.abandon())
    engine_.fail(failure);
    return false;
  }

  void succeed() {
    demand_attempt("succeed()");
    engine_.succeed();
  }

  // `verdict`, where given, stands before the step's classifier.
  void fail(Cause cause, std::optional<Verdict> verdict = std::nullopt) {
    demand_attempt("fail()");
    engine_.fail(std::move(cause), verdict);
  }

  // Of a streamed run: deliver() when the attempt's source has given an element, before the consumer gets it; resume()
  // when the consumer has had it, before the source goes on: a Step::timeout counts the source's time only. After an
  // element that is not for the consumer (a keep-alive), resume() alone. False from either: stop requested, out of
  // budget, or, from resume(), Step::first_timeout over without output; say fail(Cause::timed_out()), or fail() with an
  // error of the source's.
  [[nodiscard]] bool deliver() {
    demand_attempt("deliver()");
    return engine_.deliver();
  }
  [[nodiscard]] bool resume() {
    demand_attempt("resume()");
    return engine_.resume();
  }

  // Where CurrentMetadata should be set while the attempt runs: CurrentMetadata::Scope scope(run.metadata()).
  [[nodiscard]] Metadata metadata() const noexcept { return engine_.metadata(); }

  // How the run ended; RunEnd::running until it has.
  [[nodiscard]] RunEnd end() const noexcept { return engine_.end(); }

  // At any time: what has happened so far.
  [[nodiscard]] RunReport report() const { return engine_.report(); }

 private:
  void demand_attempt(const char* call) const {
    if (!engine_.attempting()) engine_.misuse_outside(call);
  }

  struct Factory {
    explicit Factory(detail::Engine& e) noexcept : engine(e) { engine.begin_factory(); }
    Factory(const Factory&) = delete;
    Factory& operator=(const Factory&) = delete;
    ~Factory() { engine.end_factory(); }

    detail::Engine& engine;
  };

  const ExecutionPlan<Ctx> plan_;
  const RunOptions options_;
  detail::Engine engine_;
};

}  // namespace planb::inline PLANB_ABI
