// SPDX-License-Identifier: MIT
// retry: drive a callable through the rules of one resource.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/inline_vector.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/drive/call.hpp>
#include <planb/drive/detail/call_with.hpp>
#include <planb/drive/detail/drive.hpp>
#include <planb/drive/detail/plan_call.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/error/predicate.hpp>
#include <planb/gate/gate.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/plan/detail/view.hpp>
#include <planb/plan/step.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/time/optional_duration.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

// The rules of a single resource; the members mean what they mean in Step.
struct RetryPolicy {
  std::optional<int> attempts = std::nullopt;
  Schedule schedule = {};
  detail::ErrorPredicate retry_while = {};
  Classifier classify = {};
  OptionalDuration max_wait = std::nullopt;
  OptionalDuration timeout = std::nullopt;
  std::shared_ptr<Gate> gate = nullptr;
};

namespace detail {

template <class F>
decltype(auto) retry(const RetryPolicy& rules, F& fn, const RunOptions* options);

}  // namespace detail

// Calls `fn`, as fn(attempt) where it takes a const Attempt&, else as fn(), until it succeeds or the rules end it: the
// same engine where there is only one resource. Throws the last error itself, unless options.failure asks for
// FailureStyle::aggregate; otherwise as run_with_plan. Refuses what a plan refuses, with std::invalid_argument.
template <class F>
decltype(auto) retry(const RetryPolicy& policy, F&& fn) {
  return detail::retry(policy, fn, nullptr);
}

template <class F>
decltype(auto) retry(const RetryPolicy& policy, F&& fn, const RunOptions& options) {
  return detail::retry(policy, fn, &options);
}

namespace detail {

template <class R>
using RetryOutcome = Returning<R, FailureStyle::original>;

// The attempts of retry().
template <class F>
struct RetryBody {
  struct Room {
    static void destroy() noexcept {}
  };
  using Raw = decltype(detail::call_with(std::declval<CallTarget<F>&>(), std::declval<const Attempt&>()));

  using Result = Raw;

  F& fn;

  static bool prepare(int, Room&, const Attempt&, FailureRoom&) noexcept { return true; }
  Raw invoke(Room&, const Attempt& attempt) const { return detail::call_with(detail::call_target(fn), attempt); }
};

template <class F>
decltype(auto) retry(const RetryPolicy& rules, F& fn, const RunOptions* options) {
  static_assert(CallableWith<CallTarget<F>>,
                "planb: retry() calls `fn()` or `fn(const planb::Attempt&)`; this callable takes neither");
  if constexpr (CallableWith<CallTarget<F>>) {
    using Body = RetryBody<F>;
    using Outcome = RetryOutcome<typename Body::Result>;
    [[maybe_unused]] constexpr bool answers = detail::check_answer<F, typename Body::Result>();
    if (const std::string text = detail::refusal(detail::view_of(rules), "retry"); !text.empty()) refuse(text);
    const StepPolicy policy = detail::make_policy(detail::view_of(rules));
    PlanView view{&policy, 1, {}};
    InlineVector<const ErrorOps*, 4> named;
    for (const NamedErrors types : {rules.retry_while.named(), rules.classify.named()}) {
      for (std::size_t i = 0; i != types.count; ++i) named.emplace_back(types.first[i]);
    }
    view.named = {named.data(), named.size()};
    Body body{fn};
    if (options == nullptr && policy.kind <= StepKind::plain) {
      const Attempt attempt(1, 1, 0, {}, nullptr, &policy);
      return detail::drive<Outcome>(FirstAttempt{view, attempt}, body);
    }
    return detail::drive_engine<Outcome>(view, body, options != nullptr ? *options : no_options());
  }
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
