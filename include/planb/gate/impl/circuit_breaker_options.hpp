// SPDX-License-Identifier: MIT
// The definitions of circuit_breaker_options.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/decimal.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/gate/circuit_breaker_options.hpp>
#include <planb/time/duration.hpp>

#include <optional>
#include <string>

namespace planb::inline PLANB_ABI {

namespace detail {

PLANB_DECL std::string options_fault(const CircuitBreakerOptions& options) {
  const std::string gate = "circuit breaker: ";
  if (options.failure_threshold && *options.failure_threshold < 1) {
    return gate + "`failure_threshold` is " + std::to_string(*options.failure_threshold) +
           "; it is how many consecutive failures open it, so it must be 1 or more";
  }
  if (options.failure_ratio && !(*options.failure_ratio > 0 && *options.failure_ratio <= 1)) {
    return gate + "`failure_ratio` is " + with_point(std::to_string(*options.failure_ratio)) +
           "; it is a share of the calls, so it must be above 0 and at most 1";
  }
  if (options.window <= Duration::zero()) return gate + "`window` must be above zero; give the time to look back over";
  if (options.minimum_calls < 1) {
    return gate + "`minimum_calls` is " + std::to_string(options.minimum_calls) + "; it must be 1 or more calls";
  }
  if (const std::optional<Duration> fixed = options.open_for.fixed(); fixed && *fixed <= Duration::zero()) {
    return gate + "`open_for` must be above zero; give the time for which nothing is to pass";
  }
  if (options.half_open_probes < 1) {
    return gate + "`half_open_probes` is " + std::to_string(options.half_open_probes) +
           "; without one it could never close again: 1 or more";
  }
  if (options.longest_hint < Duration::zero()) {
    return gate + "`longest_hint` is negative; `honour_retry_after = false` leaves wait hints aside";
  }
  if (options.slow_call && *options.slow_call <= Duration::zero()) {
    return gate + "`slow_call` must be above zero; give the time from which on a success is slow";
  }
  if (!(options.slow_ratio > 0 && options.slow_ratio <= 1)) {
    return gate + "`slow_ratio` is " + with_point(std::to_string(options.slow_ratio)) +
           "; it is a share of the calls, so it must be above 0 and at most 1";
  }
  if (options.probe_timeout && *options.probe_timeout <= Duration::zero()) {
    return gate + "`probe_timeout` must be above zero; give the time after which a probe is given up";
  }
  if (options.failure_memory && *options.failure_memory < Duration::zero()) {
    return gate + "`failure_memory` is negative; leave it out where failures are not forgotten";
  }
  if (options.patience < Duration::zero()) return gate + "`patience` is negative; zero waits for no admission";
  return {};
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
