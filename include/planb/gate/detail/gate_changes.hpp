// SPDX-License-Identifier: MIT
// What settings change in a registry: found out first, and done at once.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/gate/circuit_breaker_options.hpp>
#include <planb/gate/gate.hpp>
#include <planb/gate/limits.hpp>
#include <planb/gate/registry.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

using GateOptions = std::variant<CircuitBreakerOptions, RateLimitOptions, ConcurrencyLimitOptions, RetryBudgetOptions>;

// The gates that a registry will have: those of the settings, and those that code has registered. A gate whose options
// are as they were is kept, others are made; nothing of that is to be seen in the registry before apply().
class GateChanges {
 public:
  // The options make sense: options_fault() of them is empty.
  GateChanges(GateRegistry& registry, const std::map<std::string, GateOptions>& wanted);

  // Wanted, but registered by code.
  [[nodiscard]] const std::vector<std::string>& taken() const noexcept { return taken_; }

  // Null where there will be none.
  [[nodiscard]] std::shared_ptr<Gate> find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string_view> names() const;

  // False, and nothing is done: somebody else has changed the registry meanwhile. What it forgets ends with this.
  [[nodiscard]] bool apply() noexcept;

 private:
  template <class G, class Options>
  void add(GateRegistry::Kind kind, const std::string& name, const Options& options);
  void add(const std::string& name, const GateOptions& options);

  GateRegistry& registry_;
  GateRegistry::Gates gates_;
  std::uint64_t version_ = 0;
  std::vector<std::string> taken_;
};

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/gate/impl/gate_changes.hpp>  // IWYU pragma: export
#endif
