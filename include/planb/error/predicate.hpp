// SPDX-License-Identifier: MIT
// The forms in which a plan takes questions about an error: of a Cause, of one error type, or one of its members.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/function.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/error_ops.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

template <class T>
struct single_parameter {};
template <class R, class A>
struct single_parameter<R (*)(A)> {
  using type = A;
};
template <class R, class A>
struct single_parameter<R (*)(A) noexcept> {
  using type = A;
};
template <class R, class F, class A>
struct single_parameter<R (F::*)(A)> {
  using type = A;
};
template <class R, class F, class A>
struct single_parameter<R (F::*)(A) const> {
  using type = A;
};
template <class R, class F, class A>
struct single_parameter<R (F::*)(A) const&> {
  using type = A;
};
template <class R, class F, class A>
struct single_parameter<R (F::*)(A) noexcept> {
  using type = A;
};
template <class R, class F, class A>
struct single_parameter<R (F::*)(A) const noexcept> {
  using type = A;
};
template <class R, class F, class A>
struct single_parameter<R (F::*)(A) const & noexcept> {
  using type = A;
};

// The error type that a question takes: Cause, or one type, or void where it cannot be told.
template <class F>
struct asked_type {
  using type = void;
};
template <class F>
  requires requires { typename single_parameter<F>::type; }
struct asked_type<F> {
  using type = std::remove_cvref_t<typename single_parameter<F>::type>;
};
template <class F>
  requires requires { typename single_parameter<decltype(&F::operator())>::type; }
struct asked_type<F> {
  using type = std::remove_cvref_t<typename single_parameter<decltype(&F::operator())>::type>;
};
template <class M, class E>
struct asked_type<M E::*> {
  using type = E;
};
template <class F>
using AskedType = typename asked_type<F>::type;

template <class F, class R>
concept AsksCause = std::is_invocable_r_v<R, const F&, const Cause&>;

template <class F, class R>
concept AsksError = !std::is_void_v<AskedType<F>> && !std::is_same_v<AskedType<F>, Cause> &&
                    std::is_invocable_r_v<R, const F&, const AskedType<F>&>;

// Error types that a part of a plan names.
struct NamedErrors {
  const ErrorOps* const* first = nullptr;
  std::size_t count = 0;
};

template <class... E>
inline constexpr const ErrorOps* error_ops_of[] = {(static_cast<void>(detail::check_error<E>()), &error_ops<E>)...};

// A question about an error, of any of these forms: `R(const Cause&)`; `R(const E&)` for a concrete error type E, which
// answers R{} for any other error; a member of E, such as `&LlmError::retryable`; `R(const std::exception_ptr&)`, which
// is asked about every error as an exception, and answers R{} in a build without exceptions. Shared between threads: called
// through const.
template <class R>
class ErrorFunction {
 public:
  ErrorFunction() noexcept = default;

  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, ErrorFunction>)
  ErrorFunction(F&& f) {  // NOLINT(google-explicit-constructor): a plan is written with lambdas
    using Target = std::decay_t<F>;
    static_assert(std::is_copy_constructible_v<Target>, "planb: a plan's predicates must be copyable");
    static_assert(AsksError<Target, R> || AsksCause<Target, R>,
                  "planb: a predicate takes `const planb::Cause&` or one concrete error type by const reference, "
                  "answers with bool (a classifier with planb::Verdict), and is not `mutable`");
    if (detail::is_empty<Target>(f)) refuse("a predicate or classifier of a plan is an empty function; leave it out");
    if constexpr (std::is_same_v<AskedType<Target>, std::exception_ptr>) {
      function_ = Function<R(const Cause&)>([target = Target(std::forward<F>(f))](const Cause& cause) -> R {
        const std::exception_ptr exception = cause.exception();
        return exception != nullptr ? target(exception) : R{};
      });
    } else if constexpr (AsksError<Target, R>) {
      using Asked = AskedType<Target>;
      static_assert(!std::is_pointer_v<Asked> || std::is_same_v<Asked, const char*>,
                    "planb: a predicate cannot take an error of pointer type");
      using Error = typename kept_as<Asked>::type;  // as which a Cause owns a text
      function_ = Function<R(const Cause&)>([target = Target(std::forward<F>(f))](const Cause& cause) -> R {
        const Error* error = cause.get_if<Error>();
        if (error == nullptr) return R{};
        if constexpr (std::is_member_function_pointer_v<Target>) {
          return (error->*target)();
        } else if constexpr (std::is_member_pointer_v<Target>) {
          return error->*target;
        } else if constexpr (std::is_pointer_v<Asked> && is_borrowed_text<Asked>) {
          return target(error->c_str());
        } else {
          return target(*error);
        }
      });
      named_ = {error_ops_of<Error>, 1};
    } else if constexpr (AsksCause<Target, R>) {
      if constexpr (requires { { Target::named_errors() } -> std::same_as<NamedErrors>; }) {
        named_ = Target::named_errors();
      }
      function_ = Function<R(const Cause&)>(std::forward<F>(f));
    }
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(function_); }

  R operator()(const Cause& cause) const { return function_(cause); }

  // The error type that it takes, or those that it lists in a static `named_errors()`.
  [[nodiscard]] NamedErrors named() const noexcept { return named_; }

 private:
  Function<R(const Cause&)> function_;
  NamedErrors named_;
};

using ErrorPredicate = ErrorFunction<bool>;

}  // namespace planb::inline PLANB_ABI::detail
