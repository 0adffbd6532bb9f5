// SPDX-License-Identifier: MIT
// What `co_await` makes of its operand, as types: asked before a coroutine is written, so that misuse can be named.
#pragma once

#include <planb/detail/config.hpp>

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// The awaiter of an awaitable: what its operator co_await gives, else itself.
template <class A>
decltype(auto) awaiter_of(A&& awaitable) {
  if constexpr (requires { static_cast<A&&>(awaitable).operator co_await(); }) {
    return static_cast<A&&>(awaitable).operator co_await();
  } else if constexpr (requires { operator co_await(static_cast<A&&>(awaitable)); }) {
    return operator co_await(static_cast<A&&>(awaitable));
  } else {
    return static_cast<A&&>(awaitable);
  }
}

// As what its functions are called on: an lvalue.
template <class A>
using AwaiterOf = std::remove_reference_t<decltype(detail::awaiter_of(std::declval<A>()))>&;

// What a promise makes of an operand that it has refused with a sentence of its own.
struct NotAwaitable {
  static constexpr bool await_ready() noexcept { return true; }
  static constexpr void await_suspend(std::coroutine_handle<>) noexcept {}
  static constexpr void await_resume() noexcept {}
};

template <class A>
concept Awaitable = !std::is_void_v<A> && !std::is_same_v<std::remove_cvref_t<A>, NotAwaitable> &&
                    requires(AwaiterOf<A> awaiter) {
                      static_cast<bool>(awaiter.await_ready());
                      awaiter.await_resume();
                    };

// A promise that has an await_transform at all is asked for every operand: the name is ambiguous in the probe then.
struct NamedAwaitTransform {
  void await_transform();
};
template <class Promise>
struct AwaitTransformProbe : Promise, NamedAwaitTransform {};
template <class Promise>
concept NamesAwaitTransform = std::is_class_v<Promise> && !std::is_final_v<Promise> &&
                              !requires { &AwaitTransformProbe<Promise>::await_transform; };
template <class Promise, class A>
concept TransformsAwait = requires(Promise& promise, A&& a) { promise.await_transform(static_cast<A&&>(a)); };

// The operand after the promise has seen it; without a type where the promise refuses it.
template <class Promise, class A>
struct transformed {
  using type = A;
};
template <class Promise, class A>
  requires TransformsAwait<Promise, A>
struct transformed<Promise, A> {
  using type = decltype(std::declval<Promise&>().await_transform(std::declval<A>()));
};
template <class Promise, class A>
  requires(NamesAwaitTransform<Promise> && !TransformsAwait<Promise, A>)
struct transformed<Promise, A> {};

// An A can be awaited in a coroutine with this promise.
template <class A, class Promise>
concept AwaitableIn = !std::is_void_v<A> && requires { requires Awaitable<typename transformed<Promise, A>::type>; };

// The type of `co_await a` there.
template <class Promise, class A>
using AwaitedIn = decltype(std::declval<AwaiterOf<typename transformed<Promise, A>::type>>().await_resume());

// An awaiter that lives elsewhere.
template <class Awaiter>
struct AwaiterRef {
  Awaiter& awaiter;

  bool await_ready() { return static_cast<bool>(awaiter.await_ready()); }
  template <class Promise>
  auto await_suspend(std::coroutine_handle<Promise> frame) {
    return awaiter.await_suspend(frame);
  }
  decltype(auto) await_resume() { return awaiter.await_resume(); }
};

// What to await for an A in a variable: the A as it was returned. Where that is the awaiter itself, one that refers to
// it: GCC 12 moves an awaiter that it is given as an rvalue, and some cannot be moved.
template <class Promise, class A>
decltype(auto) await_operand(A& awaitable) {
  if constexpr (!TransformsAwait<Promise, A> && std::is_same_v<decltype(detail::awaiter_of(std::declval<A>())), A&&>) {
    return AwaiterRef<A>{awaitable};
  } else {
    return static_cast<A&&>(awaitable);
  }
}

// How to await an A so that what its await_resume() gives is not moved within it: what is thrown there could not be told
// from a failure of the task. Specialised for planb::Task, where the promise lets it through:
//   type    an awaitable, made of an A&&
template <class Promise, class A>
struct answer_in_place {};

template <class Promise, class A>
decltype(auto) answer_operand(A& awaitable) {
  if constexpr (requires { typename answer_in_place<Promise, A>::type; }) {
    return typename answer_in_place<Promise, A>::type(static_cast<A&&>(awaitable));
  } else {
    return detail::await_operand<Promise, A>(awaitable);
  }
}
template <class Promise, class A>
using AnswerOperand = decltype(detail::answer_operand<Promise, A>(std::declval<std::remove_reference_t<A>&>()));

}  // namespace planb::inline PLANB_ABI::detail
