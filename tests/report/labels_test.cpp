// Labels: one word for each value of each public enumeration, and back.
#include <planb/observe.hpp>
#include <planb/observe/explanation.hpp>
#include <planb/planb.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"

using planb::parse_label;

namespace {

// The compiler's own name of a value: "retry" of planb::Action::retry; empty of a number that is no value.
template <class E, E value>
constexpr std::string_view own_name() {
  // GCC: `[with E = ...; E value = planb::v1::retry; ...]`, Clang: `[E = ..., value = planb::v1::retry]`
  std::string_view name = __PRETTY_FUNCTION__;
  name = name.substr(name.find(" value = ") + 9);
  name = name.substr(0, name.find_first_of(";]"));
  if (name.find('(') != std::string_view::npos) return {};  // a cast
  return name.substr(name.rfind(':') + 1);
}

template <class E, std::size_t... I>
std::vector<std::string_view> own_names(std::index_sequence<I...>) {
  return {own_name<E, static_cast<E>(I)>()...};
}

// How many values it has. All of them, and nothing else, have a word: their own name.
template <class E>
int check_labels() {
  int values = 0;
  const std::vector<std::string_view> names = own_names<E>(std::make_index_sequence<64>());
  for (std::size_t i = 0; i != names.size(); ++i) {
    const E value = static_cast<E>(i);
    INFO(names[i] << " " << to_label(value));
    CHECK(to_label(value) == names[i]);
    if (names[i].empty()) continue;
    ++values;
    CHECK(parse_label<E>(to_label(value)) == value);
    const std::string word(names[i]);
    CHECK_FALSE(parse_label<E>(word + " "));
    CHECK_FALSE(parse_label<E>(word.substr(1)));
    CHECK(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos);
  }
  CHECK(to_label(static_cast<E>(200)).empty());
  CHECK_FALSE(parse_label<E>(""));
  CHECK_FALSE(parse_label<E>("no_such_word"));
  return values;
}

}  // namespace

TEST_CASE("every value of every public enumeration has its name as its label, and is found by it", "[labels]") {
  CHECK(check_labels<planb::Action>() == 4);
  CHECK(check_labels<planb::FailureClass>() == 14);
  CHECK(check_labels<planb::CauseKind>() == 5);
  CHECK(check_labels<planb::ContentRefusal>() == 3);
  CHECK(check_labels<planb::VerdictSource>() == 7);
  CHECK(check_labels<planb::CircuitState>() == 3);
  CHECK(check_labels<planb::GateReason>() == 6);
  CHECK(check_labels<planb::FindingKind>() == 13);
  CHECK(check_labels<planb::RunEnd>() == 7);
  CHECK(check_labels<planb::SkipReason>() == 3);
  CHECK(check_labels<planb::LeaveReason>() == 9);
  CHECK(check_labels<planb::NextMove::Kind>() == 3);
  CHECK(check_labels<planb::RunPhase>() == 3);
  CHECK(check_labels<planb::StepEntry>() == 2);
  CHECK(check_labels<planb::FailureStyle>() == 2);
  CHECK(check_labels<planb::PartialStream>() == 3);
  CHECK(check_labels<planb::MetricType>() == 2);
}

TEST_CASE("a reason as a text, and that of no value", "[labels]") {
  using planb::LeaveReason;
  const std::vector<std::string> texts{"none",          "not worth retrying here", "not worth retrying",
                                       "attempts used up", "schedule ended",       "wait too long",
                                       "out of time",   "gate closed",             "after partial output"};
  for (std::size_t i = 0; i != texts.size(); ++i) CHECK(to_string(static_cast<LeaveReason>(i)) == texts[i]);
  CHECK(to_string(static_cast<LeaveReason>(200)) == std::string("unknown"));
  CHECK(to_string(static_cast<planb::SkipReason>(200)) == std::string("unknown"));
  CHECK(to_string(static_cast<planb::RunEnd>(200)) == std::string("unknown"));
}

TEST_CASE("a label is a constant, and no other word is taken for it", "[labels]") {
  STATIC_REQUIRE(to_label(planb::FailureClass::rate_limited) == "rate_limited");
  STATIC_REQUIRE(parse_label<planb::FailureClass>("rate_limited") == planb::FailureClass::rate_limited);
  STATIC_REQUIRE(!parse_label<planb::FailureClass>("Rate_limited"));
  STATIC_REQUIRE(!parse_label<planb::FailureClass>("rate limited"));
}
