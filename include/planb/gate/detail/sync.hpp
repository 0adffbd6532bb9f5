// SPDX-License-Identifier: MIT
// The atomics and the mutex that gates are made of. A test that goes through all interleavings puts its own here.
#pragma once

#include <planb/detail/config.hpp>

#ifndef PLANB_TEST_ATOMICS
#include <atomic>
#include <mutex>
#endif

namespace planb::inline PLANB_ABI::detail {

#ifdef PLANB_TEST_ATOMICS
template <class T>
using Atomic = PLANB_TEST_ATOMICS::Atomic<T>;
using Mutex = PLANB_TEST_ATOMICS::Mutex;
#else
template <class T>
using Atomic = std::atomic<T>;
using Mutex = std::mutex;
#endif

}  // namespace planb::inline PLANB_ABI::detail
