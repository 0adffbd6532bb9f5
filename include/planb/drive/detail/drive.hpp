// The loop under every driver that calls: engine, attempt, outcome. No policy.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/error/accepting.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/catch.hpp>
#include <planb/error/detail/failure_room.hpp>
#include <planb/error/result_traits.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/metadata.hpp>
#include <planb/plan/provide.hpp>
#include <planb/report/plan_error.hpp>
#include <planb/report/plan_result.hpp>

#include <cstdlib>
#include <optional>
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

// Within a handler: tells of a success whose value was lost on its way, and lets what is being handled leave.
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

// Tells the run of a success when the attempt's scope is left with its value: after its context has been destroyed.
template <class Run>
class SuccessTeller {
 public:
  explicit SuccessTeller(Run& run) noexcept : run_(run) {}
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

 private:
  Run& run_;
  bool armed_ = true;
};

// A quiet run is told nothing.
template <>
class SuccessTeller<QuietRun> {
 public:
  explicit SuccessTeller(QuietRun&) noexcept {}
  static void disarm() noexcept {}
  [[noreturn]] static void leave() {
    detail::leave_after_success([] {});
  }
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

// Asks of the value that `get()` gives. What that throws, as has_value() and error() may, ends the run.
template <class Get, class Ask>
[[nodiscard]] bool ask_of([[maybe_unused]] FailureRoom& failure, Get get, const Ask& ask) {
#if PLANB_HAS_EXCEPTIONS
  bool given = false;
  try {
    decltype(auto) value = get();
    given = true;
    return ask(std::forward<decltype(value)>(value));
  } catch (...) {
    if (given || detail::unwinding()) throw;
    failure.build_by_rule();
    return false;
  }
#else
  return ask(get());
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
        detail::keep_value(failure.failure.cause, std::forward<decltype(value)>(value));
        return false;
      }
      if (!refusal.refused) return true;
      failure.build([&] { return detail::rejected(std::forward<decltype(value)>(value)); }, refusal.verdict);
      return false;
    };
    if constexpr (ResultType<R>) {
      using Traits = result_traits<Result>;
      if constexpr (std::is_reference_v<decltype(Traits::value(std::forward<R>(result)))>) {
        return detail::ask_of(failure, [&]() -> decltype(auto) { return Traits::value(std::forward<R>(result)); }, ask);
      } else if constexpr (requires { Traits::value(std::as_const(result)); }) {
        return detail::ask_of(failure, [&]() -> decltype(auto) { return Traits::value(std::as_const(result)); }, ask);
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

template <class E>
constexpr bool from_plan_error = std::is_constructible_v<E, const PlanError&> && !std::is_same_v<E, std::exception>;

// Outcome of the drivers that return what the callable returns.
template <class R, FailureStyle Default>
struct Returning {
  using type = R;
  static constexpr bool runs_plain = true;

  template <class Call>
  static R success(const Course&, Call&& call) {
    return call();
  }

  static PLANB_COLD R failure(Engine& run) {
    const RunEnd end = run.end();
    const bool own_error = end == RunEnd::defect || ((end == RunEnd::exhausted || end == RunEnd::aborted) &&
                                                     run.options().failure.value_or(Default) == FailureStyle::original);
#if PLANB_HAS_EXCEPTIONS
    if (own_error && run.rule_error() != nullptr) detail::throw_rule_error(*run.rule_error(), run.last_cause());
#endif
    if constexpr (ResultType<R>) {
      using E = ResultError<R>;
      static_assert(PLANB_HAS_EXCEPTIONS || (from_plan_error<E> && BuildsFromError<R, E>),
                    "planb: without exceptions, the callable's error type must be constructible from planb::PlanError; "
                    "or use try_run_with_plan");
      if constexpr (BuildsFromError<R, E>) {
        if (end == RunEnd::defect) {  // a returned one
          Cause* const last = run.last_cause();
          std::optional<E> error = last != nullptr ? CauseAccess::take_returned<E>(*last) : std::nullopt;
          if (error) return from_error(*error);
        } else if (own_error) {
          if (std::optional<E> error = run.template take_last_returned<E>()) return from_error(*error);
        }
      }
    }
#if PLANB_HAS_EXCEPTIONS
    if (Cause* const cause = run.last_cause(); own_error && cause != nullptr) cause->rethrow();
#endif
    if constexpr (ResultType<R>) {
      using E = ResultError<R>;
      if constexpr (BuildsFromError<R, E>) {
        if constexpr (from_plan_error<E>) {
          return result_traits<R>::from_error(E(PlanError(run.report())));
        } else {
          if (std::optional<E> last = run.template take_last_returned<E>()) return from_error(*last);
        }
      }
    }
    throw_plan_error(PlanError(run.report()));
  }

 private:
  template <class E>
  static R from_error(E& error) {
    return result_traits<R>::from_error(std::move(error));
  }
};

// Outcome of the drivers that give a PlanResult.
template <class R>
struct Trying {
  static constexpr bool runs_plain = false;  // its report is the engine's

  template <class T>
  struct value_of {
    using type = T;
  };
  template <ResultType T>
  struct value_of<T> {
    using type = ResultValue<T>;
  };

  using type = PlanResult<typename value_of<R>::type>;

  template <class Call>
  static type success(const Engine& run, Call&& call) {
    const auto report = [&run] { return run.success_report(); };
    if constexpr (ResultType<R>) {
      using Traits = result_traits<std::remove_cvref_t<R>>;
      return type(
          std::in_place, [&]() -> typename value_of<R>::type { return Traits::value(call()); }, report);
    } else {
      return type(std::in_place, call, report);
    }
  }

  static PLANB_COLD type failure(Engine& run) {
#if PLANB_HAS_EXCEPTIONS
    if (run.end() == RunEnd::defect) (run.rule_error() != nullptr ? run.rule_error() : run.last_cause())->rethrow();
#endif
    return type(PlanError(run.report()));
  }
};

// Never destroyed: a run may take place while the program ends.
template <class Options = RunOptions>
[[nodiscard]] const Options& no_options() {
  static const Options& options = *new Options;
  return options;
}

// Waits until an attempt is to be made. False: the run is over.
[[nodiscard]] PLANB_INLINE bool await_attempt(Engine& run) {
  for (;;) {
    switch (run.next()) {
      case RunPhase::attempt: return true;
      case RunPhase::wait: run.clock().sleep_until(run.due(), run.options().stop); break;
      case RunPhase::over: return false;
    }
  }
}

// The loop's questions to its run. `left` is what the last attempt left, or null at first.
[[nodiscard]] PLANB_INLINE bool goes_on(Engine& run, FailureRoom* left) {
  if (left != nullptr) run.fail(*left);
  return detail::await_attempt(run);
}
// Not within the loop: the runtime walks through what a function has that an exception passes, and through its table of
// calls (measured: 2,000 of the 16,000 instructions of a thrown failure).
[[nodiscard]] PLANB_NOINLINE inline bool goes_on(QuietRun& run, FailureRoom* left) {
  Failure& failure = left->failure;
  if (failure.rule_error || failure.verdict || !run.goes_on(failure.cause)) return false;
  failure.~Failure();
  return true;
}

// Makes attempts while the run goes on; then gives what `end(left)` does. `body` has:
//   Raw                                   the callable's return type
//   Result                                what is left of that when the context has ended
//   Room                                  for the context of one attempt
//   prepare(step, room, attempt, failure) builds the context; false: builds the failure in `failure` instead
//   invoke(room, attempt) -> Raw          makes the call
//   fn                                    the callable, for its acceptance check
template <class Out, class Run, class Body, class End>
PLANB_NOINLINE typename Out::type make_attempts(Run& run, Body& body, FailureRoom* left, const End& end) {
  using R = typename Body::Result;
  using Held = HeldResult<typename Body::Raw>;
  constexpr bool checked = is_checked<R, decltype(body.fn)> || !std::is_same_v<typename Body::Raw, R>;
  FailureRoom failure;
  for (;; left = &failure) {
    if (!detail::goes_on(run, left)) return end(left);
    SuccessTeller<Run> success(run);
    [[maybe_unused]] Stage stage = Stage::calling;
    [[maybe_unused]] const auto keep = [&](auto make) { detail::keep_thrown<checked>(stage, success, failure, make); };
    PLANB_DETAIL_TRY {
      const Attempt& attempt = run.attempt();
      const CurrentMetadata::Scope scope(run.metadata());
      typename Body::Room room;
      if (body.prepare(attempt.step_index, room, attempt, failure)) {
        const RoomGuard guard(room);
        if constexpr (checked) {
          Held result = body.invoke(room, attempt);
          if (detail::check<Held>(result, body.fn, failure)) {
            stage = Stage::answered;
            return Out::success(run, [&]() -> R { return std::forward<Held>(result); });
          }
          stage = Stage::failed;
        } else {
          return Out::success(run, [&]() -> R { return body.invoke(room, attempt); });
        }
      }
    }
    PLANB_DETAIL_CATCH(keep, success.disarm(); run.abandon())
    success.disarm();
  }
}

// Engines are made out of line: what they take would slow down the runs that need none.
//
// `left` is what the run's last attempt left that it is to be told of, or null.
template <class Out, class Body>
PLANB_NOINLINE typename Out::type drive(Engine& run, Body& body, FailureRoom* left = nullptr) {
  struct End {
    Engine& run;
    PLANB_NOINLINE typename Out::type operator()(FailureRoom*) const { return Out::failure(run); }
  };
  return detail::make_attempts<Out>(run, body, left, End{run});
}

template <class Out, class Body>
PLANB_NOINLINE typename Out::type drive_engine(const PlanView& plan, Body& body, const RunOptions& options) {
  Engine run(plan, options);
  return detail::drive<Out>(run, body);
}

// From the failure of an attempt on that a gate has let pass.
template <class Out, class Body>
PLANB_NOINLINE typename Out::type drive_on(const PlanView& plan, Body& body, FailureRoom& first,
                                           FirstAttemptMade made) {
  Engine run(plan, no_options(), made);
  return detail::drive<Out>(run, body, &first);
}

// From the failure of the first attempt on, without an engine as far as that goes.
template <class Out, class Body>
PLANB_NOINLINE typename Out::type drive_quietly(const PlanView& plan, Body& body, FailureRoom& first) {
  QuietRun run(plan);
  struct TakeOver {
    QuietRun& run;
    Body& body;
    PLANB_NOINLINE typename Out::type operator()(FailureRoom* left) const {
      Engine engine(run, no_options());
      if (!run.told()) return detail::drive<Out>(engine, body, left);
      left->failure.~Failure();
      return detail::drive<Out>(engine, body);
    }
  };
  return detail::make_attempts<Out>(run, body, &first, TakeOver{run, body});
}

// Tells the gate of a success where it wants to hear of one, when the attempt's scope is left with its value.
class PassTeller {
 public:
  explicit PassTeller(FirstAttemptMade made) noexcept : made_(made) {}
  PassTeller(const PassTeller&) = delete;
  PassTeller& operator=(const PassTeller&) = delete;
  ~PassTeller() noexcept(false) {
    if (armed_ && made_.gate->pass() != made_.ticket) tell();
  }

  void disarm() noexcept { armed_ = false; }
  [[noreturn]] void leave() {
    armed_ = false;
    detail::leave_after_success([this] { tell(); });
  }
  // The thread goes away: neither a success nor a failure.
  PLANB_COLD void drop() noexcept {
    armed_ = false;
    const Permit neutral(*made_.gate, made_.ticket);
  }

 private:
  PLANB_COLD void tell() {
    Permit permit(*made_.gate, made_.ticket);
#if PLANB_HAS_EXCEPTIONS
    try {
      permit.succeeded(SteadyClock::instance().now());
    } catch (...) {  // the answer is there, and a gate cannot take it back; but a defect leaves, as does an unwind
      if (detail::unwinding() || Cause::current().kind() == CauseKind::defect) throw;
    }
#else
    permit.succeeded(SteadyClock::instance().now());
#endif
  }

  const FirstAttemptMade made_;
  bool armed_ = true;
};

struct NobodyToTell {
  explicit NobodyToTell(FirstAttemptMade) noexcept {}
  void disarm() noexcept {}
  [[noreturn]] static void leave() {
    detail::leave_after_success([] {});
  }
  static void drop() noexcept {}
};

// A run without options whose first step has nothing to ask, or a gate that let it pass: the engine is made when the
// first attempt has failed.
template <class Out, class Teller, class Body>
PLANB_NOINLINE typename Out::type drive_plain(const Attempt& attempt, Body& body, const PlanView& plan, FirstAttemptMade made = {}) {
  using R = typename Body::Result;
  using Held = HeldResult<typename Body::Raw>;
  constexpr bool checked = is_checked<R, decltype(body.fn)> || !std::is_same_v<typename Body::Raw, R>;
  FailureRoom failure;
  {
    Teller success(made);
    [[maybe_unused]] Stage stage = Stage::calling;
    [[maybe_unused]] const auto keep = [&](auto make) { detail::keep_thrown<checked>(stage, success, failure, make); };
    PLANB_DETAIL_TRY {
      const CurrentMetadata::Scope scope({1, 0});
      typename Body::Room room;
      if (body.prepare(0, room, attempt, failure)) {
        const RoomGuard guard(room);
        if constexpr (checked) {
          Held result = body.invoke(room, attempt);
          if (detail::check<Held>(result, body.fn, failure)) {
            stage = Stage::answered;
            return std::forward<Held>(result);
          }
          stage = Stage::failed;
        } else {
          return body.invoke(room, attempt);
        }
      }
    }
    PLANB_DETAIL_CATCH(keep, success.drop())
    success.disarm();
  }
  if constexpr (std::is_same_v<Teller, NobodyToTell>) {
    return detail::drive_quietly<Out>(plan, body, failure);
  } else {
    return detail::drive_on<Out>(plan, body, failure, made);
  }
}

}  // namespace planb::inline PLANB_ABI::detail
