// Numbers as text, whatever the locale.
#include <planb/detail/decimal.hpp>

#include "catch.hpp"

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
