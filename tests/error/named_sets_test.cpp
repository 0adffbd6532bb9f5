// The sets of types that plans name: each once, under a number that a Cause has room for.
#include "catch.hpp"

#include <planb/planb.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace {

using planb::detail::error_ops;
using planb::detail::ErrorOps;
using planb::detail::NamedSet;
using planb::detail::NamedSets;

template <std::size_t N>
struct Numbered {
  int status = 500;
};

template <std::size_t... Is>
constexpr std::array<const ErrorOps*, sizeof...(Is)> types_of(std::index_sequence<Is...>) {
  return {&error_ops<Numbered<Is>>...};
}
constexpr auto types = types_of(std::make_index_sequence<11>());

// Those of `types` whose bit is set.
std::vector<const ErrorOps*> chosen(unsigned bits) {
  std::vector<const ErrorOps*> all;
  for (std::size_t i = 0; i != types.size(); ++i) {
    if ((bits >> i & 1U) != 0) all.push_back(types[i]);
  }
  return all;
}

bool holds(const NamedSet& set, const std::vector<const ErrorOps*>& all) {
  return set.count == all.size() && std::equal(all.begin(), all.end(), set.types.get());
}

}  // namespace

TEST_CASE("there is room for 1,024 sets of named types, each of which keeps its number", "[cause]") {
  static constinit NamedSets sets;  // which keeps them, as the program's own do
  std::set<std::uint16_t> numbers;
  for (unsigned bits = 1; bits <= 1024; ++bits) {
    const auto all = chosen(bits);
    const std::uint16_t number = sets.number_of(all.data(), all.size());
    REQUIRE(number != 0);
    REQUIRE(numbers.insert(number).second);
    REQUIRE(holds(sets[number], all));
  }
  for (unsigned bits = 1; bits <= 1024; ++bits) {
    const auto all = chosen(bits);
    const std::uint16_t number = sets.number_of(all.data(), all.size());
    REQUIRE(numbers.count(number) == 1);
    REQUIRE(holds(sets[number], all));
  }
  const auto one_more = chosen(1025);
  CHECK(sets.number_of(one_more.data(), one_more.size()) == 0);

  // What finds no room leaves a Cause with the set that it has.
  const auto first = chosen(1);
  const auto number = sets.number_of(first.data(), first.size());
  CHECK(sets.joined(number, one_more.data(), one_more.size()) == number);
  CHECK(sets.joined(0, one_more.data(), one_more.size()) == 0);
}

TEST_CASE("sets of named types are joined, each type once, the first ones first", "[cause]") {
  static constinit NamedSets sets;
  const auto number_of = [&](unsigned bits) {
    const auto all = chosen(bits);
    return sets.number_of(all.data(), all.size());
  };
  const auto joined = [&](std::uint16_t set, unsigned bits) {
    const auto all = chosen(bits);
    return sets.joined(set, all.data(), all.size());
  };
  CHECK(joined(number_of(0b011), 0b001) == number_of(0b011));
  CHECK(joined(number_of(0b011), 0b110) == number_of(0b111));
  CHECK(joined(number_of(0b100), 0b011) != number_of(0b111));
  CHECK(holds(sets[joined(number_of(0b100), 0b011)], {types[2], types[0], types[1]}));
  CHECK(joined(0, 0b101) == number_of(0b101));
}
