// SPDX-License-Identifier: MIT
// The definitions of random.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/schedule/detail/random.hpp>

#include <chrono>
#include <cstdint>

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL std::uint64_t fresh_seed() noexcept {
  static constinit thread_local std::uint64_t counter = 0;
  const auto ticks = std::chrono::steady_clock::now().time_since_epoch().count();
  std::uint64_t state = splitmix64(counter);
  state ^= reinterpret_cast<std::uintptr_t>(&counter);
  state = splitmix64(state) ^ static_cast<std::uint64_t>(ticks);
  return splitmix64(state);
}

PLANB_DECL std::uint64_t Random::next() noexcept {
  if (!seeded_) {
    state_ = fresh_seed();
    seeded_ = true;
  }
  return splitmix64(state_);
}

PLANB_DECL Duration Random::between(Duration low, Duration high) noexcept {
  if (high <= low) return low;
  const Duration::rep span = (high - low).count();
  const double unit = static_cast<double>(next() >> 11U) * 0x1p-53;  // in [0, 1), exactly
  const auto step = static_cast<Duration::rep>(unit * (static_cast<double>(span) + 1.0));
  return low + Duration{step < span ? step : span};
}

}  // namespace planb::inline PLANB_ABI::detail
