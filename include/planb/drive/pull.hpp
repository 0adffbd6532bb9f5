// SPDX-License-Identifier: MIT
// stream_with_plan: the elements that a plan's sources give, as a range.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/drive/committing.hpp>
#include <planb/drive/detail/call_with.hpp>
#include <planb/drive/detail/plan_call.hpp>
#include <planb/drive/plan_stream.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/error/accepting.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/plan.hpp>

#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

namespace detail {

template <class Ctx, class Env, class Source>
[[nodiscard]] auto pull(const ExecutionPlan<Ctx, Env>& plan, Source&& source, const StreamOptions& options);

}  // namespace detail

// A range of the elements of `source(ctx)`, or `source(ctx, attempt)`, which returns an input range (a view,
// a container, a generator) or an expected-like of one. The plan, the source and the options are copied; nothing runs
// before begin(). See PlanStream.
//
// The context lives until its source's range has ended. An element that is an expected-like with an error is a failure
// of the attempt. CurrentMetadata is set while the source runs, and not while the consumer does.
template <class Ctx, class Env, class Source>
[[nodiscard]] auto stream_with_plan(const ExecutionPlan<Ctx, Env>& plan, Source&& source,
                                    const StreamOptions& options = {}) {
  return detail::pull(plan, std::forward<Source>(source), options);
}

namespace detail {

// In place of an Emit, and of what may also be an Attempt: what a generic source takes is not known.
struct AnyEmit {
  template <class X>
  bool operator()(X&&) const;
};
struct EmitOrAttempt : AnyEmit, Attempt {};
template <class F, class Ctx>
concept LooksLikeProducer = takes<F, Ctx&, EmitOrAttempt&> &&
                            !OpensRange<std::remove_cv_t<std::invoke_result_t<F&, Ctx&, EmitOrAttempt&>>> &&
                            takes<F, Ctx&, AnyEmit&>;

template <class Ctx, class Env, class Source>
[[nodiscard]] auto pull(const ExecutionPlan<Ctx, Env>& plan, Source&& source, const StreamOptions& options) {
  using F = std::decay_t<Source>;
  constexpr bool takes_emit = LooksLikeProducer<StreamTarget<F>, std::remove_reference_t<Ctx>>;
  constexpr bool takes_context = [] {  // not asked of a producer: that might not compile
    if constexpr (takes_emit) {
      return false;
    } else {
      return CallableWith<StreamTarget<F>, std::remove_reference_t<Ctx>&>;
    }
  }();
  constexpr bool bound = detail::check_env<Env>();
  static_assert(!takes_emit, "planb: a producer that takes `emit` also needs a sink");
  static_assert(takes_emit || takes_context,
                "planb: the source of a stream must take the plan's context as an lvalue, `fn(Ctx&)` or "
                "`fn(Ctx&, const planb::Attempt&)`; a producer that takes `emit` also needs a sink");
  static_assert(!is_accepting<F>,
                "planb: accepting() looks at what a callable returns; look at the elements of a "
                "source with committing(), or give an expected-like element with an error");
  if constexpr (bound && takes_context && !is_accepting<F>) {
    using Made =
        std::remove_cv_t<decltype(detail::call_with(std::declval<StreamTarget<F>&>(), std::declval<const Attempt&>(),
                                                    std::declval<std::remove_reference_t<Ctx>&>()))>;
    static_assert(OpensRange<Made>,
                  "planb: the source of a stream must return an input range, or an expected-like of one");
    if constexpr (OpensRange<Made>) return PlanStream<Ctx, F>(plan, std::forward<Source>(source), options);
  }
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
