// What a user of settings compiles: text and a document read, written, and their faults told.
#include <planb/settings.hpp>

#include <cstdio>
#include <string>

namespace {

struct Leaf {
  [[nodiscard]] planb::DocumentKind kind() const { return planb::DocumentKind::nothing; }
  [[nodiscard]] std::string text() const { return {}; }
  [[nodiscard]] planb::DocumentItems<Leaf> items() const { return {}; }
  [[nodiscard]] planb::Place place() const { return {}; }
};

}  // namespace

int main() {
  planb::SettingsResult settings = planb::parse_settings("chain c content_refusal=abort\n  s timeout=30s\n", "a.conf");
  std::string told = settings ? to_string(*settings) : settings.error().message();
  for (const planb::SettingsFault& fault : planb::read_settings(Leaf{}, "a.json").faults()) told += to_string(fault);
  planb::Settings made = settings.value();
  made.chains["c"].steps.push_back({.name = "t", .attempts = 2, .gates = {"g"}});
  const bool good = !told.empty() && made != *settings && !planb::parse_duration("30");
  std::puts(good ? "ok" : "wrong");
  return good ? 0 : 1;
}
