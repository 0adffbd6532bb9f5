// Random settings, written and read back.
#include <planb/settings.hpp>

#include "catch.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace {

using planb::Duration;
using planb::Settings;

class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}

  int upto(int most) { return static_cast<int>(bits_() % (static_cast<std::uint64_t>(most) + 1)); }
  bool flag() { return upto(1) == 1; }
  std::uint64_t bits() { return bits_(); }

  int count() { return flag() ? 1 + upto(10) : 1 + upto(2147483646); }
  Duration positive() { return Duration(1 + static_cast<Duration::rep>(bits() >> (2 + upto(60)))); }
  Duration duration() { return upto(9) == 0 ? Duration(0) : positive(); }
  double share() { return static_cast<double>(1 + bits() % 1'000'000) / 1'000'000; }
  double ratio() { return static_cast<double>(bits()) / static_cast<double>(1 + bits() % 1'000'000); }

  // Nothing, or what `make` gives.
  template <class Out, class Make>
  void maybe(Out& out, Make make) {
    if (flag()) out = make();
  }

  template <class E>
  E one_of(E last) {
    return static_cast<E>(upto(static_cast<int>(last)));
  }

  // A name or a value, often one with odd characters.
  std::string text() {
    static const std::vector<std::string> pieces = {"a",
                                                    "B",
                                                    "7",
                                                    "_",
                                                    ".",
                                                    "-",
                                                    "rule",
                                                    "gate",
                                                    " ",
                                                    "\t",
                                                    "\n",
                                                    "\r",
                                                    "\"",
                                                    "\\",
                                                    "(",
                                                    ")",
                                                    ",",
                                                    "=",
                                                    "#",
                                                    " #",
                                                    "*",
                                                    ":",
                                                    "%",
                                                    "\x01",
                                                    "\x7F",
                                                    "\xC3\xA9",
                                                    "\xE2\x82\xAC",
                                                    "\xF0\x9F\x98\x80",
                                                    "code:",
                                                    "5xx"};
    const int odd = upto(2) == 0 ? static_cast<int>(pieces.size()) - 1 : 5;
    std::string result;
    for (int i = 1 + upto(5); i != 0; --i) result += pieces[static_cast<std::size_t>(upto(odd))];
    return result;
  }

  std::string schedule() {
    switch (upto(4)) {
      case 0: return "up_to(spaced(" + planb::to_string(duration()) + "), " + std::to_string(upto(9)) + ")";
      case 1: return "delays(10ms, 50ms)";
      case 2: return "concat(once(), recurs(2))";
      case 3: return "up_to(jittered(exponential(20ms, 1.5)), 1min)";
      default: return "";
    }
  }

 private:
  std::mt19937_64 bits_;
};

std::vector<planb::FailureMatch> matches(Random& random) {
  std::vector<planb::FailureMatch> result;
  for (int i = random.upto(3); i > 0; --i) {
    planb::FailureMatch match = random.one_of(planb::FailureClass::unknown);
    if (random.upto(2) == 0) match = planb::CodePattern{random.text()};
    if (random.upto(2) == 0) {
      const int status = 100 + random.upto(899);
      match = planb::StatusRange{status, status};
      if (random.flag()) match = planb::StatusRange{status / 100 * 100, status / 100 * 100 + 99};
    }
    bool is_new = true;
    for (const planb::FailureMatch& earlier : result) is_new = is_new && earlier != match;
    if (is_new) result.push_back(match);
  }
  return result;
}

planb::GateKindSettings gate_kind(Random& random) {
  const auto count = [&] { return random.count(); };
  const auto positive = [&] { return random.positive(); };
  const auto share = [&] { return random.share(); };
  switch (random.upto(3)) {
    case 0: {
      planb::CircuitBreakerSettings kind;
      random.maybe(kind.failure_threshold, count);
      random.maybe(kind.failure_ratio, share);
      random.maybe(kind.minimum_calls, count);
      random.maybe(kind.window, positive);
      random.maybe(kind.open_for, positive);
      random.maybe(kind.half_open_probes, count);
      random.maybe(kind.honour_retry_after, [&] { return random.flag(); });
      random.maybe(kind.longest_hint, [&] { return random.duration(); });
      random.maybe(kind.slow_call, positive);
      random.maybe(kind.slow_ratio, share);
      random.maybe(kind.probe_timeout, positive);
      random.maybe(kind.failure_memory, positive);
      return kind;
    }
    case 1: {
      planb::RateLimitSettings kind{random.count(), random.positive(), std::nullopt};
      random.maybe(kind.burst, count);
      return kind;
    }
    case 2: return planb::ConcurrencyLimitSettings{random.count()};
    default: {
      planb::RetryBudgetSettings kind;
      random.maybe(kind.ratio, [&] { return random.ratio(); });
      random.maybe(kind.burst, count);
      return kind;
    }
  }
}

planb::RuleSettings rule(Random& random, int number) {
  const std::string text = random.text() + std::to_string(number);  // two rules are never about the same
  planb::RuleSettings result;
  if (random.flag()) {
    result.code = text;
  } else {
    result.text = text;
    random.maybe(result.status, [&] {
      const int status = 100 + random.upto(899);
      return planb::StatusRange{status, status};
    });
  }
  result.action = random.one_of(planb::Action::abort);
  result.alert = random.flag();
  random.maybe(result.failure_class, [&] { return random.one_of(planb::FailureClass::unknown); });
  return result;
}

planb::StepSettings step(Random& random, int number, const Settings& settings) {
  planb::StepSettings result;
  result.name = random.text() + std::to_string(number);
  const auto duration = [&] { return random.duration(); };
  const auto positive = [&] { return random.positive(); };
  random.maybe(result.provider, [&] { return planb::SettingsText(random.text()); });
  random.maybe(result.attempts, [&] { return random.count(); });
  result.schedule = random.schedule();
  result.retry = matches(random);
  result.enter = matches(random);
  random.maybe(result.max_wait, duration);
  random.maybe(result.timeout, positive);
  random.maybe(result.first_timeout, positive);
  random.maybe(result.reserve, duration);
  for (const auto& [name, gate] : settings.gates) {
    if (random.flag()) result.gates.emplace_back(name);
  }
  return result;
}

Settings random_settings(std::uint64_t seed) {
  Random random(seed);
  Settings settings;
  for (int i = random.upto(3); i != 0; --i) {
    planb::GateSettings& gate = settings.gates[random.text()];
    gate.kind = gate_kind(random);
    random.maybe(gate.patience, [&] { return random.duration(); });
  }
  for (int i = random.upto(2); i != 0; --i) {
    planb::ProviderSettings& provider = settings.providers[random.text()];
    for (int j = random.upto(3); j != 0; --j) {
      provider.options[random.text()] = random.flag() ? random.text() : std::string();
    }
  }
  for (int i = random.upto(2); i != 0; --i) {
    planb::ChainSettings chain;
    random.maybe(chain.budget, [&] { return random.duration(); });
    chain.content_refusal = static_cast<planb::ContentRefusal>(1 + random.upto(2));
    random.maybe(chain.partial, [&] { return random.one_of(planb::PartialStream::prevent_retry); });
    random.maybe(chain.entry, [&] { return random.one_of(planb::StepEntry::scheduled); });
    random.maybe(chain.failure, [&] { return random.one_of(planb::FailureStyle::original); });
    random.maybe(chain.seed, [&] { return random.bits(); });
    for (int j = random.upto(2); j != 0; --j) chain.rules.push_back(rule(random, j));
    for (int j = 1 + random.upto(2); j != 0; --j) chain.steps.push_back(step(random, j, settings));
    settings.chains[random.text()] = chain;
  }
  return settings;
}

}  // namespace

TEST_CASE("any settings, written and read, are the same") {
  for (std::uint64_t seed = 0; seed != 500; ++seed) {
    const Settings settings = random_settings(seed);
    const std::string text = to_string(settings);
    const planb::SettingsResult again = planb::parse_settings(text);
    INFO("seed " << seed << "\n" << text << again.error().message());
    REQUIRE(again.has_value());
    CHECK(*again == settings);
    CHECK(to_string(*again) == text);
  }
}

TEST_CASE("different settings are different, and are written differently") {
  for (std::uint64_t seed = 0; seed != 100; ++seed) {
    const Settings a = random_settings(seed);
    const Settings b = random_settings(seed + 1);
    CHECK((a == b) == (to_string(a) == to_string(b)));
  }
}

TEST_CASE("any settings give plans, or faults") {
  const auto provide = [](const planb::StepSettings& step) { return step.name; };
  int sound = 0;
  int faulty = 0;
  for (std::uint64_t seed = 0; seed != 500; ++seed) {
    INFO("seed " << seed);
    Settings settings = random_settings(seed);
    planb::GateRegistry gates;
    const auto chains = planb::make_plans<std::string>(settings, provide, gates);
    CHECK(chains.has_value() == chains.faults().empty());
    CHECK(gates.size() == (chains ? settings.gates.size() : 0));
    ++(chains ? sound : faulty);

    // And those that no file could have said.
    Random random(seed);
    const auto odd = [&] { return random.upto(4) - 2; };
    const auto time = [&] { return planb::OptionalDuration(Duration(odd())); };
    for (auto& [name, chain] : settings.chains) {
      random.maybe(chain.content_refusal, [&] { return static_cast<planb::ContentRefusal>(odd()); });
      for (planb::RuleSettings& rule : chain.rules) {
        random.maybe(rule.action, [&] { return static_cast<planb::Action>(random.upto(255)); });
        random.maybe(rule.status, [&] { return planb::StatusRange{odd(), odd()}; });
        random.maybe(rule.text, [&] { return random.flag() ? "" : "..."; });
      }
      for (planb::StepSettings& step : chain.steps) {
        random.maybe(step.name, [&] { return random.flag() ? "" : "twice"; });
        random.maybe(step.attempts, odd);
        random.maybe(step.schedule, [&] { return random.text(); });
        random.maybe(step.timeout, time);
        random.maybe(step.first_timeout, time);
        random.maybe(step.reserve, time);
        random.maybe(step.gates, [&] { return std::vector<planb::SettingsText>{random.text(), "x", "x"}; });
      }
    }
    for (auto& [name, gate] : settings.gates) {
      if (auto* const breaker = std::get_if<planb::CircuitBreakerSettings>(&gate.kind)) {
        random.maybe(breaker->failure_threshold, odd);
        random.maybe(breaker->failure_ratio, odd);
        random.maybe(breaker->probe_timeout, time);
      } else if (auto* const limit = std::get_if<planb::RateLimitSettings>(&gate.kind)) {
        random.maybe(limit->burst, odd);
        random.maybe(limit->period, time);
      }
      random.maybe(gate.patience, time);
    }
    const auto odd_chains = planb::make_plans<std::string>(settings, provide, gates);
    CHECK(odd_chains.has_value() == odd_chains.faults().empty());
  }
  CHECK(sound > 100);
  CHECK(faulty > 0);
}
