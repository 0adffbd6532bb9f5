// Checked: a value, or why there is none.
#include "catch.hpp"

#include <planb/error/checked.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace {

struct Refusal {
  std::string text;
  [[nodiscard]] const std::string& message() const noexcept { return text; }
};

using Number = planb::Checked<int, Refusal>;
using Owned = planb::Checked<std::unique_ptr<std::string>, Refusal>;

static_assert(std::is_convertible_v<int, Number> && std::is_convertible_v<Refusal, Number>);
static_assert(!std::is_convertible_v<Number, bool> && std::is_constructible_v<bool, Number>);
static_assert(std::is_same_v<Number::value_type, int> && std::is_same_v<Number::error_type, Refusal>);
static_assert(std::is_same_v<decltype(*std::declval<Owned>()), std::unique_ptr<std::string>>);
static_assert(std::is_same_v<decltype(*std::declval<const Owned&>()), const std::unique_ptr<std::string>&>);

Number halve(int n) {
  if (n % 2 != 0) return Refusal{"odd"};
  return n / 2;
}

}  // namespace

TEST_CASE("a Checked holds a value", "[checked]") {
  Number half = halve(8);
  REQUIRE(half.has_value());
  CHECK(half);
  CHECK(*half == 4);
  CHECK(half.value() == 4);
  *half = 5;
  CHECK(std::as_const(half).value() == 5);
  CHECK(halve(6).value() == 3);
}

TEST_CASE("a Checked holds an error, and value() throws it as text", "[checked]") {
  Number half = halve(7);
  CHECK_FALSE(half.has_value());
  CHECK_FALSE(half);
  CHECK(half.error().message() == "odd");
  CHECK_THROWS_AS(static_cast<void>(half.value()), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(std::as_const(half).value()), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(halve(7).value()), std::invalid_argument);
  try {
    static_cast<void>(half.value());
  } catch (const std::invalid_argument& e) {
    CHECK(std::string(e.what()) == "planb: odd");
  }
}

TEST_CASE("what a temporary Checked has outlives it", "[checked]") {
  const auto make = [] { return planb::Checked<std::string, Refusal>(std::string(40, 'x')); };
  const std::string& kept = *make();
  CHECK(kept == std::string(40, 'x'));
  planb::Checked<std::string, Refusal> checked = make();
  CHECK(*std::move(checked) == kept);
}

TEST_CASE("a Checked's value may be move-only", "[checked]") {
  Owned owned = std::make_unique<std::string>("owned");
  REQUIRE(owned.has_value());
  CHECK(**owned == "owned");
  CHECK(owned->get() == (*owned).get());
  const std::unique_ptr<std::string> taken = *std::move(owned);
  CHECK(*taken == "owned");
  const std::unique_ptr<std::string> again = Owned(std::make_unique<std::string>("again")).value();
  CHECK(*again == "again");
}

TEST_CASE("a Checked is copied, moved and assigned as what it holds", "[checked]") {
  Number a = halve(8);
  const Number b = halve(7);
  a = b;
  CHECK_FALSE(a);
  CHECK(a.error().message() == "odd");
  a = halve(2);
  CHECK(*a == 1);
  const Number c = a;
  CHECK(*c == 1);
  const Number d = std::move(a);
  CHECK(*d == 1);
}
