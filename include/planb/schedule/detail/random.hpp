// SPDX-License-Identifier: MIT
// A small generator for jitter: eight bytes of state, seeded in nanoseconds and only when first asked.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/time/clock.hpp>

#include <cstdint>
#include <optional>

namespace planb::inline PLANB_ABI::detail {

// One step of splitmix64 (Steele, Lea and Flood, 2014): also a good mixer of seeds.
[[nodiscard]] constexpr std::uint64_t splitmix64(std::uint64_t& state) noexcept {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

// Differs at every call: on one thread by the counter, between threads by its address, between processes (also after
// a fork, where both are the same) by the time.
[[nodiscard]] std::uint64_t fresh_seed() noexcept;

// Without a seed it draws another sequence in every run; with one it repeats exactly, on every platform.
class Random {
 public:
  Random() noexcept = default;
  explicit Random(std::optional<std::uint64_t> seed) noexcept : state_(seed.value_or(0)), seeded_(seed.has_value()) {}

  [[nodiscard]] std::uint64_t next() noexcept;

  // Uniform in [low, high], both included; low where high is not above it. For low >= 0.
  [[nodiscard]] Duration between(Duration low, Duration high) noexcept;

 private:
  std::uint64_t state_ = 0;
  bool seeded_ = false;
};

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/schedule/impl/random.hpp>  // IWYU pragma: export
#endif
