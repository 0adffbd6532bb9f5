// SPDX-License-Identifier: MIT
// Makes Settings of entries, wherever these come from, and finds all that is wrong with them.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/parsed.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/schedule/text.hpp>
#include <planb/settings/detail/by_place.hpp>
#include <planb/settings/detail/entry.hpp>
#include <planb/settings/detail/knob_reader.hpp>
#include <planb/settings/detail/knobs.hpp>
#include <planb/settings/detail/words.hpp>
#include <planb/settings/settings.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

class SettingsReader {
 public:
  // `gates` are those that code has registered: they may be referred to, and not defined.
  explicit SettingsReader(std::vector<std::string> gates) : known_gates_(std::move(gates)) {}

  void fault(Place place, std::string_view found, std::string expected, std::string suggestion = {}) {
    knobs_.fault(std::move(place), found, std::move(expected), std::move(suggestion));
  }

  // A part whose end could not be read: what it lacks is not told as well.
  void incomplete(bool is) noexcept { incomplete_ = is; }

  void gate(const SettingsScalar& name, const SettingsScalar& kind, const std::vector<SettingsEntry>& entries);
  void provider(const SettingsScalar& name, const std::vector<SettingsEntry>& entries);
  // The chain to which rules and steps are then given.
  void chain(const SettingsScalar& name, const std::vector<SettingsEntry>& entries);
  // Its steps could not be read: that it has none is not told as well.
  void chain_incomplete() noexcept { chain_incomplete_ = true; }
  // In place of one whose line is missing, so that its rules and steps can be read.
  void stray_chain();
  void rule(const Place& place, const std::vector<SettingsEntry>& entries);
  void step(const SettingsScalar& name, const std::vector<SettingsEntry>& entries);
  [[nodiscard]] bool in_chain() const noexcept { return chain_ != nullptr; }

  [[nodiscard]] SettingsResult finish();

 private:
  using Entries = std::vector<SettingsEntry>;

  // The knobs of one or more objects that one list of entries fills.
  struct Target {
    const Knob* knob;
    void* settings;
  };

  template <class S>
  static void add_targets(std::vector<Target>& targets, S& settings) {
    for (const Knob& knob : Knobs<S>::all) targets.push_back({&knob, &settings});
  }

  [[nodiscard]] static std::vector<std::string_view> names(const std::vector<Target>& targets) {
    std::vector<std::string_view> result;
    result.reserve(targets.size());
    for (const Target& target : targets) result.push_back(target.knob->name);
    return result;
  }

  void read(const std::vector<Target>& targets, const Entries& entries, const std::string& owner);
  template <class T>
  T& add(std::map<std::string, T, std::less<>>& all, std::map<std::string, T, std::less<>>& unused,
         const SettingsScalar& name, const std::string& what);
  template <class... S>
  bool gate_of_kind(GateSettings& gate, std::string_view kind, const Entries& entries, std::variant<S...>*);
  template <class... S>
  [[nodiscard]] static std::vector<std::string_view> gate_kinds(std::variant<S...>*) {
    return {Knobs<S>::gate...};
  }
  void need(const Entries& entries, std::string_view key, const Place& place, const std::string& expected);
  void check_signal(const RuleSettings& rule, const Place& place, const Entries& entries);
  void check_chain();
  void check_gates();

  static const SettingsEntry* find(const Entries& entries, std::string_view key) noexcept {
    for (const SettingsEntry& entry : entries) {
      if (entry.key.text() == key) return &entry;
    }
    return nullptr;
  }

  static std::string where(const Place& place) {
    if (!place.path.empty()) return place.path;
    return "line " + std::to_string(place.line);
  }

  KnobReader knobs_;
  Settings settings_;
  Settings unused_;  // duplicates, and what has no proper name: read for its faults alone
  std::vector<std::string> known_gates_;
  ChainSettings* chain_ = nullptr;            // the last
  std::map<std::string, Place> step_places_;  // of its steps, by name
  bool chain_incomplete_ = false;
  bool incomplete_ = false;
};

inline void SettingsReader::read(const std::vector<Target>& targets, const Entries& entries, const std::string& owner) {
  const std::vector<std::string_view> names = SettingsReader::names(targets);
  for (std::size_t i = 0; i != entries.size(); ++i) {
    const SettingsEntry& entry = entries[i];
    const std::string& key = entry.key.text();
    const auto known = std::find(names.begin(), names.end(), key);
    if (known == names.end()) {
      fault(entry.key.place(), key, "a knob of " + owner + ": " + one_of(names), nearest(key, names));
    } else if (find(entries, key) != &entry) {
      fault(entry.key.place(), key, "each knob once");
    } else {
      const Target& target = targets[static_cast<std::size_t>(known - names.begin())];
      target.knob->read(knobs_, target.settings, entry);
    }
  }
}

// A new element of that name. One that the map has already is told, and what is then read goes to `unused`.
template <class T>
T& SettingsReader::add(std::map<std::string, T, std::less<>>& all, std::map<std::string, T, std::less<>>& unused,
                       const SettingsScalar& name, const std::string& what) {
  if (knobs_.check_name(name, "the name of a " + what)) {
    const auto [at, is_new] = all.try_emplace(name.text());
    if (is_new) {
      at->second.place = {name.place()};
      return at->second;
    }
    fault(name.place(), name.text(), "each " + what + " once; " + where(at->second.place) + " has it already");
  }
  T& made = unused[std::to_string(unused.size())];
  made.place = {name.place()};
  return made;
}

// Tells that a knob is missing, but not where it is there and misspelt.
inline void SettingsReader::need(const Entries& entries, std::string_view key, const Place& place,
                                 const std::string& expected) {
  const auto is_key = [&](const SettingsEntry& entry) {
    return entry.key.text() == key || !nearest(entry.key.text(), {key}).empty();
  };
  if (!incomplete_ && std::none_of(entries.begin(), entries.end(), is_key)) fault(place, "", expected);
}

template <class... S>
bool SettingsReader::gate_of_kind(GateSettings& gate, std::string_view kind, const Entries& entries,
                                  std::variant<S...>*) {
  const auto read_as = [&](auto settings) {
    using Kind = decltype(settings);
    if (Knobs<Kind>::gate != kind) return false;
    std::vector<Target> targets;
    add_targets(targets, gate.kind.template emplace<Kind>());
    add_targets(targets, gate);
    read(targets, entries, "a " + std::string(kind));
    return true;
  };
  return (read_as(S()) || ...);
}

inline void SettingsReader::gate(const SettingsScalar& name, const SettingsScalar& kind, const Entries& entries) {
  GateSettings& made = add(settings_.gates, unused_.gates, name, "gate");
  if (std::find(known_gates_.begin(), known_gates_.end(), name.text()) != known_gates_.end()) {
    fault(name.place(), name.text(), "the name of a gate that the program has not registered itself");
  }
  constexpr GateKindSettings* all = nullptr;
  std::string word = kind.text();
  if (!gate_of_kind(made, word, entries, all)) {
    const std::vector<std::string_view> kinds = gate_kinds(all);
    const std::string meant = nearest(word, kinds);
    const bool is_cut = incomplete_ && kind.absent() && entries.empty();  // the line, before its kind
    if (!is_cut) fault(kind.place(), word, "a kind of gate: " + one_of(kinds), meant);
    word = meant;
    gate_of_kind(made, word, entries, all);
  }
  if (word == Knobs<RateLimitSettings>::gate) {
    need(entries, "permits", kind.place(), "permits=, the number of calls in a period");
    need(entries, "period", kind.place(), "period=, a duration such as 1min");
  }
  if (word == Knobs<ConcurrencyLimitSettings>::gate) {
    need(entries, "limit", kind.place(), "limit=, the number of calls at a time");
  }
}

inline void SettingsReader::provider(const SettingsScalar& name, const Entries& entries) {
  ProviderSettings& made = add(settings_.providers, unused_.providers, name, "provider");
  for (const SettingsEntry& entry : entries) {
    const std::string& key = entry.key.text();
    if (entry.kind == SettingsEntry::Kind::word) {
      fault(entry.key.place(), key, "an option of the provider as key=value");
    } else if (entry.kind != SettingsEntry::Kind::scalar || entry.value.absent()) {
      fault(entry.value.place(), entry.value.text(), "a text; \"\" for an empty one");
    } else if (!knobs_.check_name(entry.key, "the name of an option")) {
      continue;
    } else if (!made.options.try_emplace(key, entry.value.kept()).second) {
      fault(entry.key.place(), key, "each option once");
    }
  }
}

inline void SettingsReader::chain(const SettingsScalar& name, const Entries& entries) {
  check_chain();
  chain_ = &add(settings_.chains, unused_.chains, name, "chain");
  chain_incomplete_ = false;
  std::vector<Target> targets;
  add_targets(targets, *chain_);
  read(targets, entries, "a chain");
  need(entries, "content_refusal", name.place(),
       "content_refusal=, what a refusal means: " + one_of(settings_words<ContentRefusal>()));
}

inline void SettingsReader::stray_chain() {
  check_chain();
  chain_ = &unused_.chains[std::to_string(unused_.chains.size())];
  chain_incomplete_ = true;
}

inline void SettingsReader::rule(const Place& place, const Entries& entries) {
  RuleSettings& made = chain_->rules.emplace_back();
  made.place = {place};
  std::vector<Target> targets;
  add_targets(targets, made);
  Entries knobs;
  bool odd = incomplete_;
  for (const SettingsEntry& entry : entries) {
    const std::string& word = entry.key.text();
    const auto has_name = [&](const Target& target) { return target.knob->name == word; };
    if (entry.kind != SettingsEntry::Kind::word || std::any_of(targets.begin(), targets.end(), has_name)) {
      knobs.push_back(entry);
    } else if (const Action* action = settings_value<Action>(word)) {
      if (made.action) fault(entry.key.place(), word, "one action in a rule");
      made.action = *action;
    } else if (word == "alert") {
      if (made.alert) fault(entry.key.place(), word, "alert once");
      made.alert = true;
    } else {
      std::vector<std::string_view> words = settings_words<Action>();
      const std::string expected =
          "an action (" + one_of(words) + "), alert, or a knob of a rule: " + one_of(names(targets));
      words.emplace_back("alert");
      for (const std::string_view name : names(targets)) words.push_back(name);
      fault(entry.key.place(), word, expected, nearest(word, words));
      odd = true;
    }
  }
  const std::size_t before = knobs_.faults().size();
  read(targets, knobs, "a rule");
  odd = odd || knobs_.faults().size() != before;
  if (!made.action && !odd) fault(place, "", "an action: " + one_of(settings_words<Action>()));
  if (!odd) check_signal(made, place, knobs);
}

// What a rule is about: one thing, and one that no rule before it is about.
inline void SettingsReader::check_signal(const RuleSettings& rule, const Place& place, const Entries& entries) {
  const SettingsEntry* first = nullptr;
  bool is_pair = false;  // a text with a status
  for (const SettingsEntry& entry : entries) {
    const std::string& key = entry.key.text();
    if (key == "class") continue;
    if (first == nullptr) {
      first = &entry;
      continue;
    }
    const bool makes_pair =
        (key == "text" && first->key.text() == "status") || (key == "status" && first->key.text() == "text");
    if (is_pair || !makes_pair) {
      return fault(entry.key.place(), key, "one of code, status, text and kind in a rule, or a text with a status");
    }
    is_pair = true;
  }
  if (first == nullptr) return fault(place, "", "what the rule is about: code=, status=, text= or kind=");
  if (!rule.text.empty() && rule.status && rule.status->first != rule.status->last) {
    const SettingsScalar& status = find(entries, "status")->value;
    return fault(status.place(), status.text(), "one status beside a text, such as 400");
  }
  for (const RuleSettings& earlier : chain_->rules) {
    if (&earlier == &rule) return;
    if (std::tie(earlier.code, earlier.status, earlier.text, earlier.kind) !=
        std::tie(rule.code, rule.status, rule.text, rule.kind)) {
      continue;
    }
    return fault(first->key.place(), first->value.text(),
                 "each of them in one rule of a chain; " + where(earlier.place) + " has it already");
  }
}

inline void SettingsReader::step(const SettingsScalar& name, const Entries& entries) {
  const bool fits = knobs_.check_name(name, "the name of a step");
  if (fits) {
    const auto [earlier, is_new] = step_places_.try_emplace(name.text(), name.place());
    if (!is_new) {
      fault(name.place(), name.text(), "each step once in a chain; " + where(earlier->second) + " has it already");
    }
  }
  StepSettings& made = chain_->steps.emplace_back();
  made.name = name.text();
  made.place = {name.place()};
  std::vector<Target> targets;
  add_targets(targets, made);
  const std::size_t before = knobs_.faults().size();
  read(targets, entries, "a step");
  const SettingsEntry* schedule = find(entries, "schedule");
  if (incomplete_ || knobs_.faults().size() != before || made.schedule.empty() || made.attempts) return;
  if (const Parsed<Schedule> parsed = parse_schedule(made.schedule); parsed && !parsed->ends()) {
    fault(schedule->value.place(), schedule->value.text(),
          "a schedule that ends, such as up_to(..., 3), or attempts= beside it (attempts=unlimited if that is meant)");
  }
}

inline void SettingsReader::check_chain() {
  if (chain_ != nullptr && !chain_incomplete_ && chain_->steps.empty()) {
    fault(chain_->place, "", "at least one step in the chain");
  }
  chain_ = nullptr;
  step_places_.clear();
}

inline void SettingsReader::check_gates() {
  std::vector<std::string_view> known(known_gates_.begin(), known_gates_.end());
  for (const auto& [name, gate] : settings_.gates) known.emplace_back(name);
  for (const auto& [name, chain] : settings_.chains) {
    for (const StepSettings& step : chain.steps) {
      for (const SettingsText& gate : step.gates) {
        if (std::find(known.begin(), known.end(), gate.text) != known.end()) continue;
        fault(gate.place, gate.text, "the name of a gate that is defined", nearest(gate.text, known));
      }
    }
  }
}

inline SettingsResult SettingsReader::finish() {
  check_chain();
  check_gates();
  std::vector<SettingsFault>& faults = knobs_.faults();
  if (faults.empty()) return std::move(settings_);
  return by_place({std::move(faults)});
}

}  // namespace planb::inline PLANB_ABI::detail
