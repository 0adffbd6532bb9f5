// SPDX-License-Identifier: MIT
// The definitions of write.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/settings/detail/knob_writer.hpp>
#include <planb/settings/detail/knobs.hpp>
#include <planb/settings/detail/quote.hpp>
#include <planb/settings/detail/words.hpp>
#include <planb/settings/settings.hpp>
#include <planb/settings/write.hpp>

#include <string>
#include <string_view>
#include <variant>

namespace planb::inline PLANB_ABI {

namespace detail {

class SettingsWriter {
 public:
  [[nodiscard]] std::string write(const Settings& settings) {
    for (const auto& [name, gate] : settings.gates) {
      begin("gate", name);
      std::visit([&](const auto& kind) { gate_kind(kind); }, gate.kind);
      knobs(gate);
      out_.end_line();
    }
    if (!settings.providers.empty()) paragraph();
    for (const auto& [name, provider] : settings.providers) {
      begin("provider", name);
      for (const auto& [key, value] : provider.options) {
        out_.word(written_name(key) + '=' + written_value(value.text, false));
      }
      out_.end_line();
    }
    for (const auto& [name, chain] : settings.chains) {
      paragraph();
      begin("chain", name);
      knobs(chain);
      out_.end_line();
      for (const RuleSettings& rule : chain.rules) write(rule);
      for (const StepSettings& step : chain.steps) {
        out_.indented(written_name(step.name));
        knobs(step);
        out_.end_line();
      }
    }
    return out_.take();
  }

 private:
  void begin(std::string_view keyword, std::string_view name) {
    lines_ = true;
    out_.word(keyword);
    out_.word(written_name(name));
  }

  void paragraph() {
    if (lines_) out_.end_line();
  }

  template <class S>
  void knobs(const S& settings) {
    for (const Knob& knob : Knobs<S>::all) {
      out_.name(knob.name);
      knob.write(out_, &settings);
    }
  }

  template <class Kind>
  void gate_kind(const Kind& kind) {
    out_.word(Knobs<Kind>::gate);
    knobs(kind);
  }

  void write(const RuleSettings& rule) {
    out_.indented("rule");
    knobs(rule);
    if (rule.action) out_.word(settings_word(*rule.action));
    if (rule.alert) out_.word("alert");
    out_.end_line();
  }

  KnobWriter out_;
  bool lines_ = false;
};

}  // namespace detail

PLANB_DECL std::string to_string(const Settings& settings) { return detail::SettingsWriter().write(settings); }

}  // namespace planb::inline PLANB_ABI
