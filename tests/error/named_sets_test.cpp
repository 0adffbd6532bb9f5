// The sets of types that plans name: each once, under a number that a Cause has room for.
#include "catch.hpp"

#include <planb/planb.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
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

std::uint16_t number_of(NamedSets& sets, unsigned bits) {
  const auto all = chosen(bits);
  return sets.number_of(all.data(), all.size());
}
std::uint16_t joined(NamedSets& sets, std::uint16_t set, unsigned bits) {
  const auto all = chosen(bits);
  return sets.joined(set, all.data(), all.size());
}

bool holds(const NamedSet& set, const std::vector<const ErrorOps*>& all) {
  return set.count == all.size() && std::equal(all.begin(), all.end(), set.types.get());
}

}  // namespace

TEST_CASE("there is room for 1,024 sets of named types, each of which keeps its number", "[cause]") {
  static constinit NamedSets sets;  // which keeps them, as the program's own do
  std::map<unsigned, std::uint16_t> numbers;
  for (unsigned bits = 1; bits <= 1024; ++bits) numbers[bits] = number_of(sets, bits);
  std::set<std::uint16_t> different;
  for (const auto& [bits, number] : numbers) {
    REQUIRE(number != 0);
    REQUIRE(different.insert(number).second);
    REQUIRE(holds(sets[number], chosen(bits)));
    REQUIRE(number_of(sets, bits) == number);
  }
  CHECK(number_of(sets, 1025) == 0);

  // What finds no room leaves a Cause with the set that it has.
  CHECK(joined(sets, numbers[1], 1025) == numbers[1]);
  CHECK(joined(sets, 0, 1025) == 0);
}

TEST_CASE("sets of named types are joined, each type once, the first ones first", "[cause]") {
  static constinit NamedSets sets;
  CHECK(joined(sets, number_of(sets, 0b011), 0b001) == number_of(sets, 0b011));
  CHECK(joined(sets, number_of(sets, 0b011), 0b110) == number_of(sets, 0b111));
  CHECK(joined(sets, number_of(sets, 0b100), 0b011) != number_of(sets, 0b111));
  CHECK(holds(sets[joined(sets, number_of(sets, 0b100), 0b011)], {types[2], types[0], types[1]}));
  CHECK(joined(sets, 0, 0b101) == number_of(sets, 0b101));
}
