// Numbers as text, whatever the locale.
#include <planb/detail/decimal.hpp>

#include "catch.hpp"

#include <cstddef>
#include <limits>
#include <string>
#include <utility>

TEST_CASE("a number that the locale has written has a point") {
  const std::pair<const char*, const char*> rows[] = {
      {"1,500000", "1.500000"},
      {"-0,100000", "-0.100000"},
      {"1.500000", "1.500000"},
      {"12\xD9\xAB"
       "25",
       "12.25"},  // a decimal separator of two bytes
      {"-17", "-17"},
      {"inf", "inf"},
      {"-nan", "-nan"},
      {"", ""},
  };
  for (const auto& [written, expected] : rows) CHECK(planb::detail::with_point(written) == expected);
}

TEST_CASE("a number is read to its end, with its exponent, as the nearest one that there is") {
  struct Row {
    std::string text;
    double value;
    std::size_t length;
  };
  const std::string zeros(70, '0');
  const double infinity = std::numeric_limits<double>::infinity();
  const Row rows[] = {
      {"0", 0, 1},
      {"15", 15, 2},
      {"1.25", 1.25, 4},
      {"1.", 1, 1},
      {"1e3", 1000, 3},
      {"1E3", 1000, 3},
      {"1e+3", 1000, 4},
      {"1e-3", 0.001, 4},
      {"1e", 1, 1},
      {"1e+", 1, 1},
      {"1ex", 1, 1},
      {"1e400", infinity, 5},
      {"1e-400", 0, 6},
      {"1e99999999999999999999", infinity, 22},
      {"1e-99999999999999999999", 0, 23},
      // Digits that are no more than zeros, in front of the point and behind it.
      {"5" + zeros, 5e70, 71},
      {"5" + zeros + "e-70", 5, 75},
      {"0." + zeros + "5e71", 5, 76},
      // Half way between two numbers, which zeros do not change and another digit does, however far it is.
      {"9007199254740993", 9007199254740992, 16},
      {"9007199254740993." + zeros, 9007199254740992, 87},
      {"9007199254740993." + zeros + "1", 9007199254740994, 88},
      {"9007199254740993" + zeros + "e-70", 9007199254740992, 90},
      {"9007199254740993" + zeros + "1e-71", 9007199254740994, 91},
  };
  for (const auto& [text, value, length] : rows) {
    INFO(text);
    const auto read = planb::detail::read_decimal(text);
    REQUIRE(read.has_value());
    CHECK_FALSE((read->value < value || read->value > value));
    CHECK(read->length == length);
  }
  for (const char* const text : {"", "-1", ".5", "e3", "x"}) CHECK_FALSE(planb::detail::read_decimal(text));
}
