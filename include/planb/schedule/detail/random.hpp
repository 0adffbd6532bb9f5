// A small generator for jitter: eight bytes of state, seeded in nanoseconds and only when first asked.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/time/clock.hpp>

#include <chrono>
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
[[nodiscard]] inline std::uint64_t fresh_seed() noexcept {
  static constinit thread_local std::uint64_t counter = 0;
  const auto ticks = std::chrono::steady_clock::now().time_since_epoch().count();
  std::uint64_t state = splitmix64(counter);
  state ^= reinterpret_cast<std::uintptr_t>(&counter);
  state = splitmix64(state) ^ static_cast<std::uint64_t>(ticks);
  return splitmix64(state);
}

// Without a seed it draws another sequence in every run; with one it repeats exactly, on every platform.
class Random {
 public:
  Random() noexcept = default;
  explicit Random(std::optional<std::uint64_t> seed) noexcept : state_(seed.value_or(0)), seeded_(seed.has_value()) {}

  [[nodiscard]] std::uint64_t next() noexcept {
    if (!seeded_) {
      state_ = fresh_seed();
      seeded_ = true;
    }
    return splitmix64(state_);
  }

  // Uniform in [low, high], both included; low where high is not above it. For low >= 0.
  [[nodiscard]] Duration between(Duration low, Duration high) noexcept {
    if (high <= low) return low;
    const Duration::rep span = (high - low).count();
    const double unit = static_cast<double>(next() >> 11U) * 0x1p-53;  // in [0, 1), exactly
    const auto step = static_cast<Duration::rep>(unit * (static_cast<double>(span) + 1.0));
    return low + Duration{step < span ? step : span};
  }

 private:
  std::uint64_t state_ = 0;
  bool seeded_ = false;
};

}  // namespace planb::inline PLANB_ABI::detail
