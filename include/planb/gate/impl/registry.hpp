// SPDX-License-Identifier: MIT
// The definitions of registry.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/gate/circuit_breaker.hpp>
#include <planb/gate/gate.hpp>
#include <planb/gate/limits.hpp>
#include <planb/gate/registry.hpp>
#include <planb/gate/snapshot.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/duration.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI {

namespace detail {

template <class Options>
[[nodiscard]] bool same(const Options& a, const Options& b) {
  return a == b;
}

[[nodiscard]] inline bool same(const RetryBudgetOptions& a, const RetryBudgetOptions& b) {
  const auto numbers = [](const RetryBudgetOptions& options) {
    const auto& [ratio, burst, name, patience] = options;
    return std::tuple(std::optional<double>(ratio), burst, std::string_view(name), Duration(patience));
  };
  return numbers(a) == numbers(b);
}

// What is not given is what it means, so that saying the default changes nothing.
[[nodiscard]] inline bool same(const RateLimitOptions& a, const RateLimitOptions& b) {
  const auto filled_in = [](RateLimitOptions options) {
    options.burst = detail::burst_of(options);
    return options;
  };
  return filled_in(a) == filled_in(b);
}

// A new option that is not compared here does not compile.
[[nodiscard]] inline bool same(const CircuitBreakerOptions& a, const CircuitBreakerOptions& b) {
  const auto numbers = [](const CircuitBreakerOptions& options) {
    const auto& [failure_threshold, failure_ratio, minimum_calls, window, open_for, half_open_probes, counts_as_failure,
                 honour_retry_after, longest_hint, slow_call, slow_ratio, probe_timeout, failure_memory, name, patience,
                 on_change] = options;
    const std::optional<Duration> probe = probe_timeout ? std::optional<Duration>(probe_timeout) : open_for.fixed();
    const std::optional<int> threshold = detail::failure_threshold_of(failure_threshold, failure_ratio);
    return std::tuple(threshold, failure_ratio, minimum_calls, Duration(window), open_for.fixed(), half_open_probes,
                      static_cast<bool>(counts_as_failure), honour_retry_after, Duration(longest_hint),
                      std::optional<Duration>(slow_call), std::optional<double>(slow_ratio), probe,
                      std::optional<Duration>(failure_memory), std::string_view(name), Duration(patience),
                      static_cast<bool>(on_change));
  };
  return numbers(a) == numbers(b);
}

}  // namespace detail

template <class G, class Options>
std::shared_ptr<G> GateRegistry::get(Kind kind, const std::string& name, Options options) {
  if (options.name.empty()) options.name = name;
  Entry replaced{};  // ends outside of the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = gates_.find(name);
  if (found != gates_.end() && remembers(found->second, kind, options)) {
    return std::static_pointer_cast<G>(found->second.gate);
  }
  Entry entry = make<G>(kind, std::move(options));
  std::shared_ptr<G> made = std::static_pointer_cast<G>(entry.gate);
  if (found != gates_.end()) {
    replaced = std::exchange(found->second, std::move(entry));
  } else {
    gates_.emplace(name, std::move(entry));
  }
  ++version_;
  return made;
}

template <class G, class Options>
GateRegistry::Entry GateRegistry::make(Kind kind, Options options) {
  auto gate = std::make_shared<G>(options);
  return {std::move(gate), kind, std::make_shared<const Options>(std::move(options))};
}

template <class Options>
bool GateRegistry::remembers(const Entry& entry, Kind kind, const Options& options) {
  return entry.kind == kind && detail::same(*static_cast<const Options*>(entry.options.get()), options);
}

PLANB_DECL std::shared_ptr<CircuitBreaker> GateRegistry::circuit_breaker(const std::string& name,
                                                                         CircuitBreakerOptions options) {
  return get<CircuitBreaker>(Kind::circuit_breaker, name, std::move(options));
}

PLANB_DECL std::shared_ptr<RateLimit> GateRegistry::rate_limit(const std::string& name, RateLimitOptions options) {
  return get<RateLimit>(Kind::rate_limit, name, std::move(options));
}

PLANB_DECL std::shared_ptr<ConcurrencyLimit> GateRegistry::concurrency_limit(const std::string& name,
                                                                             ConcurrencyLimitOptions options) {
  return get<ConcurrencyLimit>(Kind::concurrency_limit, name, std::move(options));
}

PLANB_DECL std::shared_ptr<RetryBudget> GateRegistry::retry_budget(const std::string& name,
                                                                   RetryBudgetOptions options) {
  return get<RetryBudget>(Kind::retry_budget, name, std::move(options));
}

PLANB_DECL std::shared_ptr<Gate> GateRegistry::find(std::string_view name) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = gates_.find(name);
  return found != gates_.end() ? found->second.gate : nullptr;
}

PLANB_DECL std::vector<std::pair<std::string, std::shared_ptr<Gate>>> GateRegistry::all() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::pair<std::string, std::shared_ptr<Gate>>> list;
  list.reserve(gates_.size());
  for (const auto& [name, entry] : gates_) list.emplace_back(name, entry.gate);
  return list;
}

PLANB_DECL std::vector<GateSnapshot> GateRegistry::snapshots() const {
  std::vector<GateSnapshot> list;
  for (const auto& [name, gate] : all()) {
    GateSnapshot snapshot = gate->snapshot();
    snapshot.name = name;
    list.push_back(std::move(snapshot));
  }
  return list;
}

PLANB_DECL bool GateRegistry::reset(std::string_view name, std::optional<TimePoint> now) {
  const std::shared_ptr<Gate> gate = find(name);
  if (gate != nullptr) gate->reset(now);
  return gate != nullptr;
}

PLANB_DECL void GateRegistry::reset_all(std::optional<TimePoint> now) {
  for (const auto& [name, gate] : all()) gate->reset(now);
}

PLANB_DECL bool GateRegistry::erase(std::string_view name) {
  Gates::node_type erased;  // ends outside of the lock: a gate of one's own may look into the registry there
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = gates_.find(name);
  if (found == gates_.end()) return false;
  erased = gates_.extract(found);
  ++version_;
  return true;
}

PLANB_DECL std::size_t GateRegistry::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return gates_.size();
}

}  // namespace planb::inline PLANB_ABI
