// SPDX-License-Identifier: MIT
// The one way to call a callback of the user's: a predicate, a classifier, a gate, an event handler, a clock.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/detail/error_ops.hpp>

namespace planb::inline PLANB_ABI::detail {

// Gives what `call()` gives. Where that throws, what `caught()` gives, which is called within the handler. But a thread
// that goes away (glibc's forced unwind) is no exception: then `on_unwind()` is called, and it goes on.
template <class Call, class Caught, class OnUnwind>
PLANB_INLINE decltype(auto) call_user(Call&& call, [[maybe_unused]] Caught&& caught,
                                      [[maybe_unused]] OnUnwind&& on_unwind) {
#if PLANB_HAS_EXCEPTIONS
  try {
    return call();
  } catch (...) {
    if (detail::unwinding()) {
      on_unwind();
      throw;
    }
    return caught();
  }
#else
  return call();
#endif
}

template <class Call, class Caught>
PLANB_INLINE decltype(auto) call_user(Call&& call, Caught&& caught) {
  return detail::call_user(call, caught, [] {});
}

}  // namespace planb::inline PLANB_ABI::detail
