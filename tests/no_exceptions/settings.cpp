// Settings without exceptions and RTTI: read, refused and written. Built with -fno-exceptions -fno-rtti.
#include <planb/settings.hpp>

#include <string>

#include "check.hpp"

#if PLANB_HAS_EXCEPTIONS || PLANB_HAS_RTTI
#error "build this with -fno-exceptions -fno-rtti"
#endif

namespace {

struct Empty {
  [[nodiscard]] planb::DocumentKind kind() const { return planb::DocumentKind::map; }
  [[nodiscard]] std::string text() const { return {}; }
  [[nodiscard]] planb::DocumentItems<Empty> items() const { return {}; }
};

}  // namespace

int main() {
  const std::string text = "chain c content_refusal=abort\n  s attempts=2\n";
  const planb::SettingsResult good = planb::parse_settings(text);
  EXPECT(good.has_value());
  EXPECT(to_string(*good) == text);
  EXPECT(good.value() == *good);

  const planb::SettingsResult bad = planb::parse_settings("chain c\n  s attempts=0\n", "f");
  EXPECT(!bad);
  EXPECT(bad.faults().size() == 2);
  EXPECT(bad.faults()[1].message() ==
         "f:2:14: found \"0\", expected a whole number from 1 to 2147483647, or unlimited");

  EXPECT(planb::read_settings(Empty{}).value() == planb::Settings{});
  EXPECT(!planb::parse_duration("30"));
  return check::result();
}
