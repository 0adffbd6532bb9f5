// SPDX-License-Identifier: MIT
// is_answer: says of a type that it is an answer, where planb takes it for something that is still to be awaited.
#pragma once

#include <planb/detail/config.hpp>

namespace planb::inline PLANB_ABI {

// Customisation point. A callable whose result is a task, a future or a sender is refused, since its attempt would be
// over before it has begun. These are told by their members; for a type that has such members and is none:
//   template <> constexpr bool planb::is_answer<Process> = true;
template <class T>
constexpr bool is_answer = false;

}  // namespace planb::inline PLANB_ABI
