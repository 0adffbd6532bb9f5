// What a step's `provide` may be, and how an attempt gets its context from it.
#pragma once

#include <planb/attempt.hpp>
#include <planb/cause.hpp>
#include <planb/detail/config.hpp>
#include <planb/detail/function.hpp>
#include <planb/result.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

// Room for the context of one attempt: a Ctx, built in place, or a reference where Ctx is `T&`.
template <class Ctx>
class ContextSlot {
  using Stored = std::conditional_t<std::is_reference_v<Ctx>, std::remove_reference_t<Ctx>*, Ctx>;

 public:
  ContextSlot() noexcept {}  // NOLINT(modernize-use-equals-default): the context is built later
  ContextSlot(const ContextSlot&) = delete;
  ContextSlot& operator=(const ContextSlot&) = delete;
  ~ContextSlot() { reset(); }

  [[nodiscard]] bool has_value() const noexcept { return full_; }
  [[nodiscard]] std::remove_reference_t<Ctx>& operator*() noexcept {
    if constexpr (std::is_reference_v<Ctx>) {
      return *stored_;
    } else {
      return stored_;
    }
  }
  [[nodiscard]] std::remove_reference_t<Ctx>* operator->() noexcept { return std::addressof(**this); }

  void reset() noexcept {
    if (!full_) return;
    full_ = false;
    if constexpr (!std::is_reference_v<Ctx>) stored_.~Stored();
  }

  // Builds the context from what `make()` gives; a Ctx by value is built in place.
  template <class Make>
  void emplace(Make&& make) {
    reset();
    if constexpr (std::is_reference_v<Ctx>) {
      Ctx reference = make();
      stored_ = std::addressof(reference);
    } else {
      ::new (static_cast<void*>(std::addressof(stored_))) Stored(make());
    }
    full_ = true;
  }

 private:
  union {
    Stored stored_;
  };
  bool full_ = false;
};

namespace detail {

template <class Ctx>
concept Context = std::is_lvalue_reference_v<Ctx> || (std::is_object_v<Ctx> && std::is_destructible_v<Ctx>);

// A reference context must refer to something that is there already, not to a temporary.
template <class Made, class Ctx>
concept RefersTo = (std::is_lvalue_reference_v<Made> &&
                    std::is_convertible_v<std::remove_reference_t<Made>*, std::remove_reference_t<Ctx>*>) ||
                   requires(Made&& made) {  // std::reference_wrapper
                     requires std::is_lvalue_reference_v<decltype(made.get())>;
                     requires std::is_convertible_v<std::remove_reference_t<decltype(made.get())>*,
                                                    std::remove_reference_t<Ctx>*>;
                     requires std::is_convertible_v<Made, Ctx>;
                   };

// What a factory may return for a Ctx.
template <class Made, class Ctx>
concept MakesContext = (std::is_lvalue_reference_v<Ctx> && RefersTo<Made, Ctx>) ||
                       (!std::is_lvalue_reference_v<Ctx> &&
                        (std::is_same_v<std::remove_cv_t<Made>, Ctx> || std::is_convertible_v<Made, Ctx>));

template <class Made, class Ctx>
concept MakesContextResult =
    !std::is_same_v<std::remove_cvref_t<Made>, Ctx> && ResultType<Made> && requires(std::remove_cvref_t<Made>& made) {
      requires std::is_convertible_v<decltype(result_traits<std::remove_cvref_t<Made>>::value(
                                         std::forward<Made>(made))),
                                     Ctx>;
    };

template <class Made, class Ctx>
concept Makes = MakesContext<Made, Ctx> || MakesContextResult<Made, Ctx>;

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
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Provide>)
  Provide(F&& f)  // NOLINT(google-explicit-constructor): a plan is written with lambdas
      : make_(adapter(std::forward<F>(f))) {}

  // Builds the context of an attempt in `slot`. False: the factory returned an error, which `failure` then holds.
  // Throws what the factory throws.
  bool operator()(ContextSlot<Ctx>& slot, std::add_pointer_t<Env> env, const Attempt& attempt, Cause& failure) const {
    return make_(slot, env, attempt, failure);
  }

 private:
  using Make = detail::Function<bool(ContextSlot<Ctx>&, std::add_pointer_t<Env>, const Attempt&, Cause&)>;

  template <class Factory>
  static bool build(ContextSlot<Ctx>& slot, [[maybe_unused]] Cause& failure, Factory&& factory) {
    using Made = decltype(factory());
    if constexpr (detail::MakesContextResult<Made, Ctx>) {
      using Traits = result_traits<std::remove_cvref_t<Made>>;
      Made made = factory();
      if (!detail::has_value(made)) {
        failure = Cause::of(Traits::error(std::forward<Made>(made)));
        return false;
      }
      slot.emplace([&]() -> Ctx { return Traits::value(std::forward<Made>(made)); });
    } else {
      slot.emplace([&]() -> Ctx { return factory(); });
    }
    return true;
  }

  // What capture_requirements() makes of a Provide<Ctx, Env>: it fills the slot itself.
  template <class Target>
  static constexpr bool bound =
      std::is_invocable_r_v<bool, const Target&, ContextSlot<Ctx>&, void*, const Attempt&, Cause&>;

  template <class F>
  static Make adapter(F&& f) {
    using Target = std::decay_t<F>;
    constexpr detail::Call call = detail::factory_call<Target, Ctx, Env>();
    if constexpr (bound<Target>) {
      return Make(std::forward<F>(f));
    } else if constexpr (std::is_lvalue_reference_v<Ctx> && std::is_lvalue_reference_v<F> &&
                         detail::RefersTo<F, Ctx>) {
      return Make([client = std::addressof(f)](ContextSlot<Ctx>& slot, auto, const Attempt&, Cause&) {
        slot.emplace([&]() -> Ctx { return *client; });
        return true;
      });
    } else if constexpr (std::is_same_v<Target, Ctx>) {
      static_assert(std::is_copy_constructible_v<Ctx>,
                    "planb: a ready value as `provide` is copied for each attempt; give a factory for a context that "
                    "cannot be copied");
      return ready(std::forward<F>(f));
    } else if constexpr (call != detail::Call::none) {
      static_assert(std::is_copy_constructible_v<Target>, "planb: a step's `provide` must be copyable");
      return Make([factory = Target(std::forward<F>(f))](ContextSlot<Ctx>& slot, [[maybe_unused]] auto env,
                                                         [[maybe_unused]] const Attempt& attempt, Cause& failure) {
        if constexpr (call == detail::Call::env_attempt) {
          return build(slot, failure, [&]() -> decltype(auto) { return factory(*env, attempt); });
        } else if constexpr (call == detail::Call::env) {
          return build(slot, failure, [&]() -> decltype(auto) { return factory(*env); });
        } else if constexpr (call == detail::Call::attempt) {
          return build(slot, failure, [&]() -> decltype(auto) { return factory(attempt); });
        } else {
          return build(slot, failure, [&]() -> decltype(auto) { return factory(); });
        }
      });
    } else if constexpr (std::is_convertible_v<const Target&, Ctx>) {
      return ready(std::forward<F>(f));
    } else {
      static_assert(std::is_convertible_v<const Target&, Ctx>,
                    "planb: `provide` must be a Ctx, or a factory (called through const, so not `mutable`) that "
                    "returns a Ctx or an expected-like of it and takes nothing or `const planb::Attempt&`, or with an "
                    "Env `Env&` or `Env&, const planb::Attempt&`");
      return {};
    }
  }

  template <class F>
  static Make ready(F&& f) {
    return Make([value = std::decay_t<F>(std::forward<F>(f))](ContextSlot<Ctx>& slot, auto, const Attempt&, Cause&) {
      slot.emplace([&]() -> Ctx { return value; });
      return true;
    });
  }

  Make make_;
};

}  // namespace planb::inline PLANB_ABI
