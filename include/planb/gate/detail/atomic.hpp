// SPDX-License-Identifier: MIT
// The atomics that gates are made of. A test that goes through all interleavings puts its own here.
#pragma once

#include <planb/detail/config.hpp>

#ifndef PLANB_TEST_ATOMICS
#include <atomic>
#endif

namespace planb::inline PLANB_ABI::detail {

#ifdef PLANB_TEST_ATOMICS
template <class T>
using Atomic = PLANB_TEST_ATOMICS::Atomic<T>;
#else
template <class T>
using Atomic = std::atomic<T>;
#endif

}  // namespace planb::inline PLANB_ABI::detail
