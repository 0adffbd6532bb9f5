// SPDX-License-Identifier: MIT
// What a driver gives or throws at the end of a run.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/result_traits.hpp>
#include <planb/report/plan_error.hpp>
#include <planb/report/plan_result.hpp>

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

template <class E>
constexpr bool from_plan_error = std::is_constructible_v<E, const PlanError&> && !std::is_same_v<E, std::exception>;

// Whether a run that failed leaves with an error of its own, and not with a PlanError.
[[nodiscard]] bool leaves_with_own_error(const Engine& run, FailureStyle otherwise);

// Throws what such a run leaves with. Ends the program without exceptions.
[[noreturn]] PLANB_COLD_DECL void throw_failure(Engine& run, [[maybe_unused]] FailureStyle otherwise);

// Outcome of the drivers that return what the callable returns.
template <class R, FailureStyle Default>
struct Returning {
  using type = R;
  static constexpr bool as_returned = true;  // a success is what the callable gave; no engine is needed for it

  static PLANB_COLD R failure(Engine& run) {
    if constexpr (!ResultType<R>) {
      detail::throw_failure(run, Default);
    } else {
      return returned_failure(run);
    }
  }

 private:
  static R returned_failure(Engine& run) {
    const RunEnd end = run.end();
    const bool own_error = detail::leaves_with_own_error(run, Default);
#if PLANB_HAS_EXCEPTIONS
    if (own_error && run.callback_error() != nullptr) detail::throw_rule_error(*run.callback_error(), run.last_cause());
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

  template <class E>
  static R from_error(E& error) {
    return result_traits<R>::from_error(std::move(error));
  }
};

// Outcome of the drivers that give a PlanResult.
template <class R>
struct Trying {
  static constexpr bool as_returned = false;  // its report is the engine's

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
  static type success(Engine& run, Call&& call) {
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
    if (run.end() == RunEnd::defect)
      (run.callback_error() != nullptr ? run.callback_error() : run.last_cause())->rethrow();
#endif
    return type(PlanError(run.report()));
  }
};

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/drive/impl/outcome.hpp>  // IWYU pragma: export
#endif
