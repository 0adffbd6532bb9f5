// SPDX-License-Identifier: MIT
// Settings: fallback chains, their gates and the application's providers as plain data, for operators to change without
// a compiler. docs/settings.md has the text form and every knob.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/error/http_classifier.hpp>
#include <planb/error/verdict.hpp>
#include <planb/settings/fault.hpp>
#include <planb/time/optional_duration.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace planb::inline PLANB_ABI {

// Where a part of settings was read, for whoever refuses it later. Takes no part in a comparison of settings.
struct SettingsPlace : Place {
  friend constexpr bool operator==(const SettingsPlace&, const SettingsPlace&) noexcept { return true; }
};

// A text with its place: a name that is referred to, or a value that the application reads.
struct SettingsText {
  SettingsText() = default;
  // NOLINTBEGIN(google-explicit-constructor): {"openai", "openai-rpm"}
  SettingsText(const char* text_) : text(text_) {}
  SettingsText(std::string text_, Place place_ = {}) : text(std::move(text_)), place{std::move(place_)} {}
  // NOLINTEND(google-explicit-constructor)

  std::string text = {};
  SettingsPlace place = {};

  friend bool operator==(const SettingsText&, const SettingsText&) = default;
};

// --- Gates. What is not given is the default of the options of that gate.
// -----------------------------------------------

struct CircuitBreakerSettings {
  std::optional<int> failure_threshold = std::nullopt;
  std::optional<double> failure_ratio = std::nullopt;
  std::optional<int> minimum_calls = std::nullopt;
  OptionalDuration window = std::nullopt;
  OptionalDuration open_for = std::nullopt;
  std::optional<int> half_open_probes = std::nullopt;
  std::optional<bool> honour_retry_after = std::nullopt;
  OptionalDuration longest_hint = std::nullopt;
  OptionalDuration slow_call = std::nullopt;
  std::optional<double> slow_ratio = std::nullopt;
  OptionalDuration probe_timeout = std::nullopt;
  OptionalDuration failure_memory = std::nullopt;

  friend bool operator==(const CircuitBreakerSettings&, const CircuitBreakerSettings&) = default;
};

struct RateLimitSettings {
  std::optional<int> permits = std::nullopt;  // required
  OptionalDuration period = std::nullopt;     // required
  std::optional<int> burst = std::nullopt;

  friend bool operator==(const RateLimitSettings&, const RateLimitSettings&) = default;
};

struct ConcurrencyLimitSettings {
  std::optional<int> limit = std::nullopt;  // required

  friend bool operator==(const ConcurrencyLimitSettings&, const ConcurrencyLimitSettings&) = default;
};

struct RetryBudgetSettings {
  std::optional<double> ratio = std::nullopt;
  std::optional<int> burst = std::nullopt;

  friend bool operator==(const RetryBudgetSettings&, const RetryBudgetSettings&) = default;
};

using GateKindSettings =
    std::variant<CircuitBreakerSettings, RateLimitSettings, ConcurrencyLimitSettings, RetryBudgetSettings>;

struct GateSettings {
  GateKindSettings kind = {};
  OptionalDuration patience = std::nullopt;
  SettingsPlace place = {};

  friend bool operator==(const GateSettings&, const GateSettings&) = default;
};

// --- Providers: the application's own, kept as they stand
// ---------------------------------------------------------------

struct ProviderSettings {
  std::map<std::string, SettingsText, std::less<>> options = {};
  SettingsPlace place = {};

  // The option's text, or null.
  [[nodiscard]] const SettingsText* find(std::string_view key) const {
    const auto found = options.find(key);
    return found == options.end() ? nullptr : &found->second;
  }

  friend bool operator==(const ProviderSettings&, const ProviderSettings&) = default;
};

// --- Chains
// -----------------------------------------------------------------------------------------------------------

struct StatusRange {
  int first = 0;
  int last = 0;  // included

  friend constexpr bool operator==(const StatusRange&, const StatusRange&) noexcept = default;
};

// As HttpClassifier::on_code() reads it: `*` stands for any characters.
struct CodePattern {
  std::string pattern = {};

  friend bool operator==(const CodePattern&, const CodePattern&) = default;
};

// What `retry` and `enter` list. A range is one status, or all of one hundred (5xx).
using FailureMatch = std::variant<FailureClass, StatusRange, CodePattern>;

// A row of the chain's classifier that has no status, code or text.
enum class RuleKind : unsigned char {
  timeout,     // HttpClassifier::on_timeout
  connection,  // on_connection
  unknown,     // on_unknown
};

// A row that the chain puts before the classifier's table, and a later row before an earlier one. It is about one of
// `code`, `status`, `text` (with one status or without) and `kind`.
struct RuleSettings {
  std::string code = {};  // a pattern, as CodePattern
  std::optional<StatusRange> status = std::nullopt;
  std::string text = {};
  std::optional<RuleKind> kind = std::nullopt;
  std::optional<Action> action = std::nullopt;  // required
  bool alert = false;
  std::optional<FailureClass> failure_class = std::nullopt;  // none: as the table has it
  SettingsPlace place = {};

  friend bool operator==(const RuleSettings&, const RuleSettings&) = default;
};

// What is not given is the default of Step.
struct StepSettings {
  std::string name = {};
  std::optional<SettingsText> provider = std::nullopt;  // none: the one of the step's name
  std::optional<int> attempts = std::nullopt;           // `unlimited` is allowed
  std::string schedule = {};                            // as to_string writes one; empty: none
  std::vector<FailureMatch> retry = {};                 // empty: whatever the classifier allows
  std::vector<FailureMatch> enter = {};                 // empty: always
  OptionalDuration max_wait = std::nullopt;
  OptionalDuration timeout = std::nullopt;
  OptionalDuration first_timeout = std::nullopt;
  OptionalDuration reserve = std::nullopt;
  std::vector<SettingsText> gates = {};  // asked in this order, all or none
  SettingsPlace place = {};

  // The key of its provider.
  [[nodiscard]] const std::string& provider_name() const noexcept { return provider ? provider->text : name; }

  friend bool operator==(const StepSettings&, const StepSettings&) = default;
};

// What is not given is the default of RunOptions and StreamOptions.
struct ChainSettings {
  OptionalDuration budget = std::nullopt;
  std::optional<ContentRefusal> content_refusal = std::nullopt;  // required
  std::optional<PartialStream> partial = std::nullopt;
  std::optional<StepEntry> entry = std::nullopt;
  std::optional<FailureStyle> failure = std::nullopt;
  std::optional<std::uint64_t> seed = std::nullopt;
  std::vector<RuleSettings> rules = {};
  std::vector<StepSettings> steps = {};  // required
  SettingsPlace place = {};

  friend bool operator==(const ChainSettings&, const ChainSettings&) = default;
};

// By name.
struct Settings {
  std::map<std::string, GateSettings, std::less<>> gates = {};
  std::map<std::string, ProviderSettings, std::less<>> providers = {};
  std::map<std::string, ChainSettings, std::less<>> chains = {};

  friend bool operator==(const Settings&, const Settings&) = default;
};

using SettingsResult = SettingsOr<Settings>;

}  // namespace planb::inline PLANB_ABI
