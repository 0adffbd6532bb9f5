// SPDX-License-Identifier: MIT
// The definitions of gate_changes.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/gate/circuit_breaker.hpp>
#include <planb/gate/circuit_breaker_options.hpp>
#include <planb/gate/detail/gate_changes.hpp>
#include <planb/gate/gate.hpp>
#include <planb/gate/impl/registry.hpp>
#include <planb/gate/limits.hpp>
#include <planb/gate/registry.hpp>

#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL GateChanges::GateChanges(GateRegistry& registry, const std::map<std::string, GateOptions>& wanted)
    : registry_(registry) {
  {
    const std::lock_guard<std::mutex> lock(registry.mutex_);
    gates_ = registry.gates_;
    version_ = registry.version_;
  }
  for (auto at = gates_.begin(); at != gates_.end();) {
    const bool is_removed = at->second.of_settings && wanted.find(at->first) == wanted.end();
    at = is_removed ? gates_.erase(at) : std::next(at);
  }
  for (const auto& [name, options] : wanted) {
    if (const auto found = gates_.find(name); found != gates_.end() && !found->second.of_settings) {
      taken_.push_back(name);
    } else {
      add(name, options);
    }
  }
}

template <class G, class Options>
void GateChanges::add(GateRegistry::Kind kind, const std::string& name, const Options& options) {
  const auto found = gates_.find(name);
  if (found != gates_.end() && GateRegistry::remembers(found->second, kind, options)) return;
  GateRegistry::Entry made = GateRegistry::make<G>(kind, options);
  made.of_settings = true;
  gates_.insert_or_assign(name, std::move(made));
}

PLANB_DECL void GateChanges::add(const std::string& name, const GateOptions& options) {
  using Kind = GateRegistry::Kind;
  if (const auto* const breaker = std::get_if<CircuitBreakerOptions>(&options)) {
    add<CircuitBreaker>(Kind::circuit_breaker, name, *breaker);
  } else if (const auto* const rate = std::get_if<RateLimitOptions>(&options)) {
    add<RateLimit>(Kind::rate_limit, name, *rate);
  } else if (const auto* const limit = std::get_if<ConcurrencyLimitOptions>(&options)) {
    add<ConcurrencyLimit>(Kind::concurrency_limit, name, *limit);
  } else if (const auto* const budget = std::get_if<RetryBudgetOptions>(&options)) {
    add<RetryBudget>(Kind::retry_budget, name, *budget);
  }
}

PLANB_DECL std::shared_ptr<Gate> GateChanges::find(std::string_view name) const {
  const auto found = gates_.find(name);
  return found != gates_.end() ? found->second.gate : nullptr;
}

PLANB_DECL std::vector<std::string_view> GateChanges::names() const {
  std::vector<std::string_view> result;
  for (const auto& [name, entry] : gates_) result.emplace_back(name);
  return result;
}

PLANB_DECL bool GateChanges::apply() noexcept {
  const std::lock_guard<std::mutex> lock(registry_.mutex_);
  if (registry_.version_ != version_) return false;
  registry_.gates_.swap(gates_);
  ++registry_.version_;
  return true;
}

}  // namespace planb::inline PLANB_ABI::detail
