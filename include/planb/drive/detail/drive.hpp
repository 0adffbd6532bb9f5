// SPDX-License-Identifier: MIT
// The loop under every driver that calls: engine, attempt, outcome. No policy.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/drive/detail/outcome.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/engine/run_phase.hpp>
#include <planb/error/accepting.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/call_user.hpp>
#include <planb/error/detail/catch.hpp>
#include <planb/error/detail/failure_room.hpp>
#include <planb/error/result_traits.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/detail/plan_rules.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/plan/metadata.hpp>
#include <planb/plan/provide.hpp>

#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// Ends the life of a context that was built.
template <class Room>
class RoomGuard {
 public:
  explicit RoomGuard(Room& room) noexcept : room_(room) {}
  RoomGuard(const RoomGuard&) = delete;
  RoomGuard& operator=(const RoomGuard&) = delete;
  ~RoomGuard() { room_.destroy(); }

 private:
  Room& room_;
};
template <class Room>
RoomGuard(Room&) -> RoomGuard<Room>;

// Within a handler: notifies of a success whose value was lost on its way, and lets what is being handled leave.
template <class Tell>
[[noreturn]] PLANB_NOINLINE void leave_after_success([[maybe_unused]] Tell tell) {
#if PLANB_HAS_EXCEPTIONS
  try {
    tell();
  } catch (...) {
    if (detail::unwinding()) throw;
  }
  throw;
#else
  std::abort();
#endif
}

// Who is notified of a success when the attempt's scope is left with its value, after its context has been destroyed:
//   disarm()  there is none
//   leave()   within a handler: there was one, but its value was lost on its way
//   drop()    the thread goes away
//
// The engine of a run.
class SuccessTeller {
 public:
  explicit SuccessTeller(Engine& run) noexcept : run_(run) {}
  SuccessTeller(const SuccessTeller&) = delete;
  SuccessTeller& operator=(const SuccessTeller&) = delete;
  ~SuccessTeller() noexcept(false) {
    if (armed_) run_.succeed();
  }

  void disarm() noexcept { armed_ = false; }
  [[noreturn]] void leave() {
    armed_ = false;
    detail::leave_after_success([this] { run_.succeed(); });
  }
  void drop() {
    armed_ = false;
    run_.abandon();
  }

 private:
  Engine& run_;
  bool armed_ = true;
};

// The gate that let a first attempt pass with this ticket, where it wants to hear of it.
class PassTeller {
 public:
  PassTeller(Gate& gate, std::uint64_t ticket) noexcept : gate_(gate), ticket_(ticket) {}
  PassTeller(const PassTeller&) = delete;
  PassTeller& operator=(const PassTeller&) = delete;
  ~PassTeller() noexcept(false) {
    if (armed_ && gate_.pass() != ticket_) notify();
  }

  void disarm() noexcept { armed_ = false; }
  [[noreturn]] void leave() {
    armed_ = false;
    detail::leave_after_success([this] { notify(); });
  }
  // Neither a success nor a failure.
  PLANB_COLD_DECL void drop() noexcept;

 private:
  // The answer is there, and a gate cannot take it back; but a defect leaves.
  PLANB_COLD_DECL void notify();

  Gate& gate_;
  const std::uint64_t ticket_;
  bool armed_ = true;
};

struct NobodyToTell {
  static void disarm() noexcept {}
  [[noreturn]] static void leave() {
    detail::leave_after_success([] {});
  }
  static void drop() noexcept {}
};

// Keeps what is being handled in an attempt. Nothing but its call can throw where its value is not looked at.
template <bool Checked, class Teller, class Make>
PLANB_NOINLINE void keep_thrown(Stage stage, Teller& success, FailureRoom& failure, Make& make) {
  if constexpr (Checked) {
    if (stage == Stage::answered) success.leave();
    detail::keep_thrown(stage, failure, make);
  } else {
    failure.build(make);
  }
}

// Whether a returned value has to be looked at before the attempt is a success.
template <class R, class F>
constexpr bool is_checked = ResultType<R> || is_accepting<std::remove_cvref_t<F>>;

// What the callable gave, until the attempt is over; not const, so that it can be moved on.
template <class Raw>
using HeldResult = std::conditional_t<std::is_reference_v<Raw>, Raw, std::remove_cv_t<Raw>>;

template <class R>
[[nodiscard]] Cause rejected(R&& value) {
  using Value = std::remove_cvref_t<R>;
  Cause cause;
  if constexpr (std::is_constructible_v<Value, R&&> && std::is_move_constructible_v<Value>) {
    return CauseAccess::of_value(std::forward<R>(value));
  }
  CauseAccess::set_rejected(cause);
  return cause;
}

// The value in the cause of an attempt whose acceptance check threw; where it cannot be kept, the cause stays.
template <class R>
void keep_value(Cause& cause, R&& value) {
  if (cause.kind() == CauseKind::defect) return;
#if PLANB_HAS_EXCEPTIONS
  try {
#endif
    Cause kept = detail::rejected(std::forward<R>(value));
    if (CauseAccess::holds(kept)) cause = std::move(kept);
#if PLANB_HAS_EXCEPTIONS
  } catch (...) {
    if (detail::unwinding()) throw;
  }
#endif
}

// Looks at what the callable returned as an R. False: the attempt failed, and `failure` was built from the result.
template <class R, class F>
[[nodiscard]] bool check(std::remove_reference_t<R>& result, F& fn, FailureRoom& failure) {
  using Result = std::remove_cvref_t<R>;
  if constexpr (ResultType<R>) {
    if (detail::carries_error<R>(result, failure)) return false;
  }
  if constexpr (is_accepting<std::remove_cvref_t<F>>) {
    const auto ask = [&](auto&& value) {
      Acceptance refusal;
      if (!detail::is_answered(failure, [&] { refusal = detail::ask_acceptance(fn.accepts, value); })) {
        // The value is neither accepted nor refused: it is kept, beside what the check threw.
        detail::keep_value(failure.get().cause, std::forward<decltype(value)>(value));
        return false;
      }
      if (!refusal.refused) return true;
      failure.build([&] { return detail::rejected(std::forward<decltype(value)>(value)); }, refusal.verdict);
      return false;
    };
    if constexpr (ResultType<R>) {
      using Traits = result_traits<Result>;
      if constexpr (std::is_reference_v<decltype(Traits::value(std::forward<R>(result)))>) {
        return detail::ask_of(
            failure, [&]() -> decltype(auto) { return Traits::value(std::forward<R>(result)); }, ask);
      } else if constexpr (requires { Traits::value(std::as_const(result)); }) {
        return detail::ask_of(
            failure, [&]() -> decltype(auto) { return Traits::value(std::as_const(result)); }, ask);
      } else {  // it gives the value away
        static_assert(
            std::is_copy_constructible_v<Result>,
            "planb: accepting() needs result_traits<R>::value() to take a const R&, or an R that can be copied");
        return detail::ask_of(
            failure, [&]() -> decltype(auto) { return Traits::value(Result(std::as_const(result))); }, ask);
      }
    } else {
      return ask(std::forward<R>(result));
    }
  }
  return true;
}

// The same, where what the attempt leaves is kept until the engine hears of it.
template <class R, class F>
[[nodiscard]] bool check(std::remove_reference_t<R>& result, F& fn, FailureKeeper& failure) {
  if (detail::check<R>(result, fn, failure.room())) return true;
  failure.filled();
  return false;
}

// Never destroyed: a run may take place while the program ends.
[[nodiscard]] PLANB_COLD_DECL const RunOptions& no_run_options();
[[nodiscard]] PLANB_COLD_DECL const StreamOptions& no_stream_options();
template <class Options = RunOptions>
[[nodiscard]] const Options& no_options() {
  if constexpr (std::is_same_v<Options, StreamOptions>) {
    return detail::no_stream_options();
  } else {
    return detail::no_run_options();
  }
}

// Waits until an attempt is to be made. False: the run is over.
[[nodiscard]] PLANB_INLINE bool await_attempt(Engine& run) {
  for (;;) {
    switch (run.next()) {
      case RunPhase::attempt: return true;
      case RunPhase::wait: run.clock().sleep_until(run.due(), run.options().stop()); break;
      case RunPhase::over: return false;
    }
  }
}

// Tells the run what its last attempt left, or null before the first, and waits for the next. False: the run is over.
// Not within the loop: the runtime walks through what a function has that an exception passes, and through its table of
// calls (measured: 2,000 of the 16,000 instructions of a thrown failure).
[[nodiscard]] bool goes_on(Engine& run, FailureRoom* left);

// The first attempt of a run without options, where nobody has to be asked before it: made without an engine, which is
// there only when the attempt has failed.
struct FirstAttempt {
  const PlanView& plan;
  const Attempt& first;

  [[nodiscard]] const Attempt& attempt() const noexcept { return first; }
  [[nodiscard]] static Metadata metadata() noexcept { return {1, 0}; }
  [[nodiscard]] static NobodyToTell teller() noexcept { return {}; }
  static void hand_over(Engine&) noexcept {}
};
// Or only a gate, which let it pass without being asked and gave this ticket.
struct GatedFirstAttempt : FirstAttempt {
  Gate& gate;
  std::uint64_t ticket;

  [[nodiscard]] PassTeller teller() const noexcept { return {gate, ticket}; }
  void hand_over(Engine& run) const noexcept { run.take(Permit(gate, ticket)); }
};
// Every other.
struct EngineRun {
  Engine& engine;

  [[nodiscard]] const Attempt& attempt() const noexcept { return engine.attempt(); }
  [[nodiscard]] Metadata metadata() const noexcept { return engine.metadata(); }
  [[nodiscard]] SuccessTeller teller() const noexcept { return SuccessTeller(engine); }
};

template <class Out, class Run, class Body>
typename Out::type drive_on(Run run, Body& body, FailureRoom& first);

// Makes attempts while the run goes on. `run` is one of the three above; `left` is what the last attempt left that the
// engine is to be notified of, or null. `body` has:
//   Raw                                   the callable's return type
//   Result                                what is left of that when the context has ended
//   Room                                  for the context of one attempt
//   prepare(step, room, attempt, failure) builds the context; false: builds the failure in `failure` instead
//   invoke(room, attempt) -> Raw          makes the call
//   fn                                    the callable, for its acceptance check
template <class Out, class Run, class Body>
PLANB_NOINLINE typename Out::type drive(Run run, Body& body, [[maybe_unused]] FailureRoom* left = nullptr) {
  using R = typename Body::Result;
  using Held = HeldResult<typename Body::Raw>;
  constexpr bool has_engine = std::is_same_v<Run, EngineRun>;
  constexpr bool checked = is_checked<R, decltype(body.fn)> || !std::is_same_v<typename Body::Raw, R>;
  FailureRoom failure;
  for (;;) {
    if constexpr (has_engine) {
      if (!detail::goes_on(run.engine, left)) return Out::failure(run.engine);
      left = &failure;
    }
    {
      auto success = run.teller();
      [[maybe_unused]] Stage stage = Stage::calling;
      [[maybe_unused]] const auto keep = [&](auto make) {
        detail::keep_thrown<checked>(stage, success, failure, make);
      };
      PLANB_DETAIL_TRY {
        const Attempt& attempt = run.attempt();
        const Metadata metadata = run.metadata();
        const CurrentMetadata::Scope scope(metadata);
        typename Body::Room room;
        if (body.prepare(metadata.step_index, room, attempt, failure)) [[likely]] {
          const RoomGuard guard(room);
          if constexpr (checked) {
            Held result = body.invoke(room, attempt);
            if (detail::check<Held>(result, body.fn, failure)) {
              stage = Stage::answered;
              if constexpr (Out::as_returned) {
                return std::forward<Held>(result);
              } else {
                return Out::success(run.engine, [&]() -> R { return std::forward<Held>(result); });
              }
            }
            stage = Stage::failed;
          } else if constexpr (Out::as_returned) {
            return body.invoke(room, attempt);
          } else {
            return Out::success(run.engine, [&]() -> R { return body.invoke(room, attempt); });
          }
        }
      }
      PLANB_DETAIL_CATCH(keep, success.drop())
      success.disarm();
    }
    if constexpr (!has_engine) return detail::drive_on<Out>(run, body, failure);
  }
}

// Engines are made out of line: what they take would slow down the runs that need none.
template <class Out, class Body>
PLANB_NOINLINE typename Out::type drive_engine(const PlanView& plan, Body& body, const RunOptions& options) {
  Engine run(plan, options);
  if constexpr (!Out::as_returned) run.keep_times();
  return detail::drive<Out>(EngineRun{run}, body);
}

// Where somebody is to be asked or notified: without options, that may be only a gate, and it may let the attempt pass.
template <class Out, class Body>
PLANB_NOINLINE typename Out::type drive_asking(const PlanRules& rules, Body& body, const RunOptions* options) {
  if constexpr (Out::as_returned) {
    if (options == nullptr && rules.gate_first() != nullptr) {
      if (const std::uint64_t pass = rules.gate_first()->pass(); pass != 0) {
        const FirstAttempt first{rules.view(), rules.first_attempt()};
        return detail::drive<Out>(GatedFirstAttempt{first, *rules.gate_first(), pass}, body);
      }
    }
  }
  return detail::drive_engine<Out>(rules.view(), body, options != nullptr ? *options : no_options());
}

// From the failure of a first attempt on.
template <class Out, class Run, class Body>
PLANB_NOINLINE typename Out::type drive_on(Run run, Body& body, FailureRoom& first) {
  Engine engine(run.plan, no_options(), FirstAttemptMade());
  run.hand_over(engine);
  return detail::drive<Out>(EngineRun{engine}, body, &first);
}

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/drive/impl/drive.hpp>  // IWYU pragma: export
#endif
