// SPDX-License-Identifier: MIT
// What a step's `provide` may be, and how an attempt gets its context from it.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/function.hpp>
#include <planb/detail/held.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/failure_room.hpp>
#include <planb/error/result_traits.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/detail/view.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

namespace detail {

template <class Ctx>
using ContextRoom = Held<Ctx>;

template <class Ctx>
concept Context = std::is_lvalue_reference_v<Ctx> || (std::is_object_v<Ctx> && std::is_same_v<Ctx, std::decay_t<Ctx>> &&
                                                      std::is_destructible_v<Ctx>);

// What a factory may return for a Ctx.
template <class Made, class Ctx>
concept MakesContext = (std::is_lvalue_reference_v<Ctx> && RefersTo<Made, Ctx>) ||
                       (!std::is_lvalue_reference_v<Ctx> &&
                        (std::is_same_v<std::remove_cv_t<Made>, Ctx> || std::is_convertible_v<Made, Ctx>));

template <class Made, class Ctx>
concept MakesContextResult =
    !std::is_same_v<std::remove_cvref_t<Made>, Ctx> && ResultType<Made> && requires(std::remove_cvref_t<Made>& made) {
      requires MakesContext<decltype(result_traits<std::remove_cvref_t<Made>>::value(std::forward<Made>(made))), Ctx>;
      // A reference into an expected-like that the factory returned by value would dangle.
      requires !IsReferent<decltype(result_traits<std::remove_cvref_t<Made>>::value(made)), Ctx> ||
                   std::is_lvalue_reference_v<Made>;
    };

template <class Made, class Ctx>
concept Makes = MakesContext<Made, Ctx> || MakesContextResult<Made, Ctx>;

// What capture_requirements() makes of a Provide<Ctx, Env>: it fills the room itself.
template <class Ctx, class Env>
struct BoundProvide;
template <class F>
constexpr bool is_bound_provide = false;
template <class Ctx, class Env>
constexpr bool is_bound_provide<BoundProvide<Ctx, Env>> = true;

// How a factory is called: the form with the most arguments wins.
enum class Call : unsigned char { none, nothing, attempt, env, env_attempt };

template <class F, class Ctx, class Env>
[[nodiscard]] constexpr Call factory_call() noexcept {
  if constexpr (!std::is_void_v<Env>) {
    if constexpr (requires(const F& f, Env& env, const Attempt& a) {
                    { f(env, a) } -> Makes<Ctx>;
                  }) {
      return Call::env_attempt;
    } else if constexpr (requires(const F& f, Env& env) {
                           { f(env) } -> Makes<Ctx>;
                         }) {
      return Call::env;
    }
  }
  if constexpr (requires(const F& f, const Attempt& a) {
                  { f(a) } -> Makes<Ctx>;
                }) {
    return Call::attempt;
  } else if constexpr (requires(const F& f) {
                         { f() } -> Makes<Ctx>;
                       }) {
    return Call::nothing;
  }
  return Call::none;
}

}  // namespace detail

#define PLANB_DETAIL_VIEWS_TEMPORARY                                                                                 \
  "planb: a context that is a view (std::string_view, std::span) would refer to a temporary of its factory, which has " \
  "ended before the call; let the context own what it needs, or return a view of what outlives the attempt"

// A step's source of contexts. It is called once for each attempt, through const. Forms, the first that fits wins:
//   a Ctx                          a ready value, copied for each attempt (for `T&`: a T that outlives the plan)
//   f(Env&, const Attempt&), f(Env&), f(const Attempt&), f()
//                                  a factory that returns a Ctx or an expected-like of it
//   something that converts to Ctx (for `T&`: std::ref)
template <class Ctx, class Env = void>
class Provide {
  static_assert(detail::Context<Ctx>,
                "planb: a context is an object type or an lvalue reference, without const or volatile at the top");

 public:
  // Refused. A template, so that one may ask whether a Step can be made of nothing, as std::pair does of what it holds:
  // this is compiled only where that is done.
  template <class Nothing = void>
  Provide() noexcept {
    static_assert(
        !std::is_void_v<Nothing>,
        "planb: a step has no `provide`: give it a Ctx or a factory, as in `.provide = [] { return Ctx{...}; }`");
  }

  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Provide>)
  Provide(F&& f)  // NOLINT(google-explicit-constructor): a plan is written with lambdas
      : make_(adapter(std::forward<F>(f))) {}

  // Builds the context of an attempt in `room`. False: the factory returned an error, and the failure was built in
  // `failure` instead. Throws what the factory throws, and then has built nothing.
  bool operator()(detail::ContextRoom<Ctx>& room, std::add_pointer_t<Env> env, const Attempt& attempt,
                  detail::FailureRoom& failure) const {
    return make_(room, env, attempt, failure);
  }

 private:
  using Room = detail::ContextRoom<Ctx>;
  using Make = detail::Function<bool(Room&, std::add_pointer_t<Env>, const Attempt&, detail::FailureRoom&)>;

  template <class Factory>
  static bool build(Room& room, [[maybe_unused]] detail::FailureRoom& failure, Factory&& factory) {
    using Made = decltype(factory());
    if constexpr (detail::MakesContextResult<Made, Ctx>) {
      using Traits = result_traits<std::remove_cvref_t<Made>>;
      Made made = factory();
      if (detail::carries_error<Made>(made, failure)) return false;
      using Value = decltype(Traits::value(std::forward<Made>(made)));
      using Lasting = std::conditional_t<std::is_lvalue_reference_v<Made>, Value, std::remove_reference_t<Value>>;
      static_assert(!detail::views_temporary<Lasting, Ctx>, PLANB_DETAIL_VIEWS_TEMPORARY);
      room.build([&]() -> Ctx { return Traits::value(std::forward<Made>(made)); });
    } else {
      static_assert(!detail::views_temporary<Made, Ctx>, PLANB_DETAIL_VIEWS_TEMPORARY);
      room.build([&]() -> Ctx { return factory(); });
    }
    return true;
  }

  template <class F>
  static Make adapter(F&& f) {
    using Target = std::decay_t<F>;
    constexpr detail::Call call = detail::factory_call<Target, Ctx, Env>();
    if constexpr (detail::is_bound_provide<Target>) {
      return Make(std::forward<F>(f));
    } else if constexpr (detail::IsReferent<F, Ctx>) {
      return Make([client = std::addressof(f)](Room& room, auto, const Attempt&, detail::FailureRoom&) {
        room.build([&]() -> Ctx { return *client; });
        return true;
      });
    } else if constexpr (std::is_same_v<Target, Ctx>) {
      static_assert(std::is_copy_constructible_v<Ctx>,
                    "planb: a ready value as `provide` is copied for each attempt; give a factory for a context that "
                    "cannot be copied");
      return ready(std::forward<F>(f));
    } else if constexpr (call != detail::Call::none) {
      static_assert(std::is_copy_constructible_v<Target>, "planb: a step's `provide` must be copyable");
      if (detail::is_empty<Target>(f)) detail::refuse("a step's `provide` is an empty function");
      return Make([factory = Target(std::forward<F>(f))](Room& room, [[maybe_unused]] auto env,
                                                         [[maybe_unused]] const Attempt& attempt,
                                                         detail::FailureRoom& failure) {
        if constexpr (call == detail::Call::env_attempt) {
          return build(room, failure, [&]() -> decltype(auto) { return factory(*env, attempt); });
        } else if constexpr (call == detail::Call::env) {
          return build(room, failure, [&]() -> decltype(auto) { return factory(*env); });
        } else if constexpr (call == detail::Call::attempt) {
          return build(room, failure, [&]() -> decltype(auto) { return factory(attempt); });
        } else {
          return build(room, failure, [&]() -> decltype(auto) { return factory(); });
        }
      });
    } else if constexpr (detail::MakesContext<const Target&, Ctx>) {
      return ready(std::forward<F>(f));
    } else {
      static_assert(!std::is_lvalue_reference_v<Ctx>,
                    "planb: a context that is a reference must refer to something that outlives the attempt: "
                    "`provide` is an lvalue, a std::ref, or a factory (called through const, so not `mutable`) that "
                    "returns one of these or an expected-like of a std::ref");
      static_assert(std::is_lvalue_reference_v<Ctx> || detail::MakesContext<const Target&, Ctx>,
                    "planb: `provide` must be a Ctx, or a factory (called through const, so not `mutable`) that "
                    "returns a Ctx or an expected-like of it and takes nothing or `const planb::Attempt&`, or with an "
                    "Env `Env&` or `Env&, const planb::Attempt&`");
      return {};
    }
  }

  template <class F>
  static Make ready(F&& f) {
    return Make([value = std::decay_t<F>(std::forward<F>(f))](Room& room, auto, const Attempt&, detail::FailureRoom&) {
      room.build([&]() -> Ctx { return value; });
      return true;
    });
  }

  Make make_;
};

#undef PLANB_DETAIL_VIEWS_TEMPORARY

}  // namespace planb::inline PLANB_ABI
