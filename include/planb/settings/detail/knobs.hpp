// SPDX-License-Identifier: MIT
// Every knob of settings, once: its name, its member, and what its value may be. Read and written by the same tables.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/settings/detail/entry.hpp>
#include <planb/settings/detail/knob_form.hpp>
#include <planb/settings/detail/knob_reader.hpp>
#include <planb/settings/detail/knob_writer.hpp>
#include <planb/settings/settings.hpp>

#include <string_view>

namespace planb::inline PLANB_ABI::detail {

struct Knob {
  std::string_view name;
  void (*read)(KnobReader& reader, void* settings, const SettingsEntry& entry);
  void (*write)(KnobWriter& writer, const void* settings);
};

template <class Member>
struct KnobOwner;

template <class S, class T>
struct KnobOwner<T S::*> {
  using type = S;
};

// The overloads of KnobReader::read and KnobWriter::write say how each type of member is read and written.
template <auto Member, KnobForm Form = KnobForm::any>
[[nodiscard]] constexpr Knob knob(std::string_view name) {
  using S = typename KnobOwner<decltype(Member)>::type;
  return {
      name,
      [](KnobReader& reader, void* settings, const SettingsEntry& entry) {
        reader.read(static_cast<S*>(settings)->*Member, Form, entry);
      },
      [](KnobWriter& writer, const void* settings) { writer.write(static_cast<const S*>(settings)->*Member, Form); }};
}

// The knobs of a type of settings, in the order in which they are written.
template <class S>
struct Knobs;

template <>
struct Knobs<CircuitBreakerSettings> {
  using S = CircuitBreakerSettings;
  static constexpr std::string_view gate = "circuit_breaker";
  static constexpr Knob all[] = {
      knob<&S::failure_threshold, KnobForm::positive>("failure_threshold"),
      knob<&S::failure_ratio, KnobForm::share>("failure_ratio"),
      knob<&S::minimum_calls, KnobForm::positive>("minimum_calls"),
      knob<&S::window, KnobForm::positive>("window"),
      knob<&S::open_for, KnobForm::positive>("open_for"),
      knob<&S::half_open_probes, KnobForm::positive>("half_open_probes"),
      knob<&S::honour_retry_after>("honour_retry_after"),
      knob<&S::longest_hint>("longest_hint"),
      knob<&S::slow_call, KnobForm::positive>("slow_call"),
      knob<&S::slow_ratio, KnobForm::share>("slow_ratio"),
      knob<&S::probe_timeout, KnobForm::positive>("probe_timeout"),
      knob<&S::failure_memory, KnobForm::positive>("failure_memory"),
  };
};

template <>
struct Knobs<RateLimitSettings> {
  using S = RateLimitSettings;
  static constexpr std::string_view gate = "rate_limit";
  static constexpr Knob all[] = {
      knob<&S::permits, KnobForm::positive>("permits"),
      knob<&S::period, KnobForm::positive>("period"),
      knob<&S::burst, KnobForm::positive>("burst"),
  };
};

template <>
struct Knobs<ConcurrencyLimitSettings> {
  static constexpr std::string_view gate = "concurrency_limit";
  static constexpr Knob all[] = {knob<&ConcurrencyLimitSettings::limit, KnobForm::positive>("limit")};
};

template <>
struct Knobs<RetryBudgetSettings> {
  using S = RetryBudgetSettings;
  static constexpr std::string_view gate = "retry_budget";
  static constexpr Knob all[] = {
      knob<&S::ratio>("ratio"),
      knob<&S::burst, KnobForm::positive>("burst"),
  };
};

template <>
struct Knobs<GateSettings> {  // of any kind
  static constexpr Knob all[] = {knob<&GateSettings::patience>("patience")};
};

template <>
struct Knobs<RuleSettings> {  // besides the words: the action, and alert
  using S = RuleSettings;
  static constexpr Knob all[] = {
      knob<&S::code, KnobForm::pattern>("code"), knob<&S::status>("status"),
      knob<&S::text, KnobForm::phrase>("text"),  knob<&S::kind>("kind"),
      knob<&S::failure_class>("class"),
  };
};

template <>
struct Knobs<StepSettings> {
  using S = StepSettings;
  static constexpr Knob all[] = {
      knob<&S::provider>("provider"),
      knob<&S::attempts, KnobForm::tries>("attempts"),
      knob<&S::schedule, KnobForm::schedule>("schedule"),
      knob<&S::retry>("retry"),
      knob<&S::enter>("enter"),
      knob<&S::max_wait>("max_wait"),
      knob<&S::timeout, KnobForm::positive>("timeout"),
      knob<&S::first_timeout, KnobForm::positive>("first_timeout"),
      knob<&S::reserve>("reserve"),
      knob<&S::gates>("gate"),
  };
};

template <>
struct Knobs<ChainSettings> {
  using S = ChainSettings;
  static constexpr Knob all[] = {
      knob<&S::budget>("budget"),   knob<&S::content_refusal>("content_refusal"),
      knob<&S::partial>("partial"), knob<&S::entry>("entry"),
      knob<&S::failure>("failure"), knob<&S::seed>("seed"),
  };
};

}  // namespace planb::inline PLANB_ABI::detail
