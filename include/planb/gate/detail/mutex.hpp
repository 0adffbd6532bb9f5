// SPDX-License-Identifier: MIT
// The mutex that gates are made of. A test that goes through all interleavings puts its own here.
#pragma once

#include <planb/detail/config.hpp>

#ifndef PLANB_TEST_ATOMICS
#include <mutex>
#endif

namespace planb::inline PLANB_ABI::detail {

#ifdef PLANB_TEST_ATOMICS
using Mutex = PLANB_TEST_ATOMICS::Mutex;
#else
using Mutex = std::mutex;
#endif

}  // namespace planb::inline PLANB_ABI::detail
