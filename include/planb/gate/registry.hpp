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
// on with that. Of an option that is a callable it only matters whether there is one: two callables cannot be compared.
class GateRegistry {
 public:
  GateRegistry() = default;
  GateRegistry(const GateRegistry&) = delete;
  GateRegistry& operator=(const GateRegistry&) = delete;

  // The gate of that name. It is called by it too, where `options.name` says nothing else. Options that make no sense
  // are refused, with std::invalid_argument, and change nothing.
  std::shared_ptr<CircuitBreaker> circuit_breaker(const std::string& name, CircuitBreakerOptions options = {});
  std::shared_ptr<RateLimit> rate_limit(const std::string& name, RateLimitOptions options);
  std::shared_ptr<ConcurrencyLimit> concurrency_limit(const std::string& name, ConcurrencyLimitOptions options);
  std::shared_ptr<RetryBudget> retry_budget(const std::string& name, RetryBudgetOptions options = {});

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
  [[nodiscard]] std::shared_ptr<Gate> find(std::string_view name) const;

  // All gates, in the order of their names in the registry, which stand in the snapshots.
  [[nodiscard]] std::vector<GateSnapshot> snapshots() const;

  // As if new, and still the same gate: plans that hold it go on with it. False: there is none of that name.
  bool reset(std::string_view name, std::optional<TimePoint> now = std::nullopt);
  void reset_all(std::optional<TimePoint> now = std::nullopt);

  // Forgets it; plans that hold it go on with it.
  bool erase(std::string_view name);

  [[nodiscard]] std::size_t size() const;

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
  std::shared_ptr<G> get(Kind kind, const std::string& name, Options options);
  template <class G, class Options>
  [[nodiscard]] static Entry make(Kind kind, Options options);
  template <class Options>
  [[nodiscard]] static bool remembers(const Entry& entry, Kind kind, const Options& options);
  [[nodiscard]] std::vector<std::pair<std::string, std::shared_ptr<Gate>>> all() const;

  mutable std::mutex mutex_;
  Gates gates_;
  std::uint64_t version_ = 0;  // counts the changes of gates_
};

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/gate/impl/registry.hpp>  // IWYU pragma: export
#endif
