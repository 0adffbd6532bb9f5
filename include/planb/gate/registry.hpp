// SPDX-License-Identifier: MIT
// GateRegistry: gates by name, each made once, for all plans that use the same provider.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/gate/circuit_breaker.hpp>
#include <planb/gate/gate.hpp>
#include <planb/gate/limits.hpp>
#include <planb/gate/snapshot.hpp>
#include <planb/time/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI {

namespace detail {
class GateChanges;
}

// Safe to use from many threads at once: whoever asks first for a name makes its gate, and the others get the same one.
//
// Asked for again with the same options, a gate is kept, with all that it has counted (an option that is not given is
// the same as its default); with other options, or as another kind, it is made anew, and plans that hold the old one go
// on with that. Of an option that is a callable it
// only matters whether there is one: two callables cannot be compared.
class GateRegistry {
 public:
  GateRegistry() = default;
  GateRegistry(const GateRegistry&) = delete;
  GateRegistry& operator=(const GateRegistry&) = delete;

  // The gate of that name. It is called by it too, where `options.name` says nothing else. Options that make no sense
  // are refused, with std::invalid_argument, and change nothing.
  std::shared_ptr<CircuitBreaker> circuit_breaker(const std::string& name, CircuitBreakerOptions options = {}) {
    return get<CircuitBreaker>(Kind::circuit_breaker, name, std::move(options));
  }
  std::shared_ptr<RateLimit> rate_limit(const std::string& name, RateLimitOptions options) {
    return get<RateLimit>(Kind::rate_limit, name, std::move(options));
  }
  std::shared_ptr<ConcurrencyLimit> concurrency_limit(const std::string& name, ConcurrencyLimitOptions options) {
    return get<ConcurrencyLimit>(Kind::concurrency_limit, name, std::move(options));
  }
  std::shared_ptr<RetryBudget> retry_budget(const std::string& name, RetryBudgetOptions options = {}) {
    return get<RetryBudget>(Kind::retry_budget, name, std::move(options));
  }

  // A gate of your own, or all_of: `make()` is called where there is none of that name. It must not use the registry.
  template <class Make>
  requires std::is_invocable_r_v<std::shared_ptr<Gate>, Make&> std::shared_ptr<Gate> gate(const std::string& name,
                                                                                          Make&& make) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto found = gates_.find(name); found != gates_.end()) return found->second.gate;
    std::shared_ptr<Gate> made = make();
    if (made == nullptr) return made;
    gates_.emplace(name, Entry{made, Kind::own, nullptr});
    ++version_;
    return made;
  }

  // Null where there is none.
  [[nodiscard]] std::shared_ptr<Gate> find(std::string_view name) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = gates_.find(name);
    return found != gates_.end() ? found->second.gate : nullptr;
  }

  // All gates, in the order of their names in the registry, which stand in the snapshots.
  [[nodiscard]] std::vector<GateSnapshot> snapshots() const {
    std::vector<GateSnapshot> list;
    for (const auto& [name, gate] : all()) {
      GateSnapshot snapshot = gate->snapshot();
      snapshot.name = name;
      list.push_back(std::move(snapshot));
    }
    return list;
  }

  // As if new, and still the same gate: plans that hold it go on with it. False: there is none of that name.
  bool reset(std::string_view name, std::optional<TimePoint> now = std::nullopt) {
    const std::shared_ptr<Gate> gate = find(name);
    if (gate != nullptr) gate->reset(now);
    return gate != nullptr;
  }
  void reset_all(std::optional<TimePoint> now = std::nullopt) {
    for (const auto& [name, gate] : all()) gate->reset(now);
  }

  // Forgets it; plans that hold it go on with it.
  bool erase(std::string_view name) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = gates_.find(name);
    if (found == gates_.end()) return false;
    gates_.erase(found);
    ++version_;
    return true;
  }

  [[nodiscard]] std::size_t size() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return gates_.size();
  }

 private:
  friend class detail::GateChanges;

  enum class Kind : unsigned char { own, circuit_breaker, rate_limit, concurrency_limit, retry_budget };

  struct Entry {
    std::shared_ptr<Gate> gate;
    Kind kind;                            // of a gate that the registry has made: which, and
    std::shared_ptr<const void> options;  // its options
    bool of_settings = false;             // make_plans() has put it here, and may replace and forget it
  };
  using Gates = std::map<std::string, Entry, std::less<>>;

  template <class G, class Options>
  std::shared_ptr<G> get(Kind kind, const std::string& name, Options options) {
    if (options.name.empty()) options.name = name;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = gates_.find(name);
    if (found != gates_.end() && remembers(found->second, kind, options)) {
      return std::static_pointer_cast<G>(found->second.gate);
    }
    Entry entry = make<G>(kind, std::move(options));
    std::shared_ptr<G> made = std::static_pointer_cast<G>(entry.gate);
    gates_.insert_or_assign(name, std::move(entry));
    ++version_;
    return made;
  }

  template <class G, class Options>
  [[nodiscard]] static Entry make(Kind kind, Options options) {
    auto gate = std::make_shared<G>(options);
    return {std::move(gate), kind, std::make_shared<const Options>(std::move(options))};
  }

  template <class Options>
  [[nodiscard]] static bool remembers(const Entry& entry, Kind kind, const Options& options) {
    return entry.kind == kind && same(*static_cast<const Options*>(entry.options.get()), options);
  }

  template <class Options>
  [[nodiscard]] static bool same(const Options& a, const Options& b) {
    return a == b;
  }
  [[nodiscard]] static bool same(const RetryBudgetOptions& a, const RetryBudgetOptions& b) {
    const auto numbers = [](const RetryBudgetOptions& options) {
      const auto& [ratio, burst, name, patience] = options;
      return std::tuple(std::optional<double>(ratio), burst, std::string_view(name), Duration(patience));
    };
    return numbers(a) == numbers(b);
  }
  // What is not given is what it means, so that saying the default changes nothing.
  [[nodiscard]] static bool same(const RateLimitOptions& a, const RateLimitOptions& b) {
    const auto filled_in = [](RateLimitOptions options) {
      if (!options.burst) options.burst = options.permits;
      return options;
    };
    return filled_in(a) == filled_in(b);
  }
  // A new option that is not compared here does not compile.
  [[nodiscard]] static bool same(const CircuitBreakerOptions& a, const CircuitBreakerOptions& b) {
    const auto numbers = [](const CircuitBreakerOptions& options) {
      const auto& [failure_threshold, failure_ratio, minimum_calls, window, open_for, half_open_probes,
                   counts_as_failure, honour_retry_after, longest_hint, slow_call, slow_ratio, probe_timeout,
                   failure_memory, name, patience, on_change] = options;
      const std::optional<int> threshold =
          failure_threshold || failure_ratio ? failure_threshold : std::optional<int>(5);
      const std::optional<Duration> probe = probe_timeout ? std::optional<Duration>(probe_timeout) : open_for.fixed();
      return std::tuple(threshold, failure_ratio, minimum_calls, Duration(window), open_for.fixed(), half_open_probes,
                        static_cast<bool>(counts_as_failure), honour_retry_after, Duration(longest_hint),
                        std::optional<Duration>(slow_call), std::optional<double>(slow_ratio), probe,
                        std::optional<Duration>(failure_memory), std::string_view(name), Duration(patience),
                        static_cast<bool>(on_change));
    };
    return numbers(a) == numbers(b);
  }

  std::vector<std::pair<std::string, std::shared_ptr<Gate>>> all() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::pair<std::string, std::shared_ptr<Gate>>> list;
    list.reserve(gates_.size());
    for (const auto& [name, entry] : gates_) list.emplace_back(name, entry.gate);
    return list;
  }

  mutable std::mutex mutex_;
  Gates gates_;
  std::uint64_t version_ = 0;  // counts the changes of gates_
};

}  // namespace planb::inline PLANB_ABI
