// detail::InlineVector: what a report keeps its steps in.
#include "catch.hpp"

#include <planb/detail/inline_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using planb::detail::InlineVector;
using Strings = InlineVector<std::string, 2>;

static_assert(std::is_nothrow_default_constructible_v<Strings>);
static_assert(std::is_nothrow_move_constructible_v<Strings> && std::is_nothrow_move_assignable_v<Strings>);

const std::string text(const std::string& s) { return s + " " + std::string(40, 'x'); }

Strings of(std::size_t count) {
  Strings strings;
  for (std::size_t i = 0; i != count; ++i) strings.emplace_back(text(std::to_string(i)));
  return strings;
}

std::vector<std::string> content(const Strings& strings) { return {strings.begin(), strings.end()}; }

std::vector<std::string> expected(std::size_t count) {
  std::vector<std::string> strings;
  for (std::size_t i = 0; i != count; ++i) strings.push_back(text(std::to_string(i)));
  return strings;
}

template <class T>
bool is_inside(const T& vector) {
  const auto address = reinterpret_cast<std::uintptr_t>(vector.data());
  const auto object = reinterpret_cast<std::uintptr_t>(&vector);
  return address >= object && address < object + sizeof(T);
}

// Counts its lives; its copies throw once `fuse` has burnt down.
struct Counted {
  Counted(int& l, int& f) : lives(&l), fuse(&f) { ++*lives; }
  Counted(const Counted& other) : lives(other.lives), fuse(other.fuse) {
    if (--*fuse < 0) throw std::bad_alloc();
    ++*lives;
  }
  Counted(Counted&& other) noexcept : lives(other.lives), fuse(other.fuse) { ++*lives; }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*lives; }

  int* lives;
  int* fuse;
};

}  // namespace

TEST_CASE("a new vector is empty, and holds its first elements in place", "[inline_vector]") {
  Strings strings;
  CHECK(strings.empty());
  CHECK(strings.size() == 0);
  CHECK(strings.begin() == strings.end());
  CHECK(is_inside(strings));
  strings.emplace_back("a");
  strings.emplace_back("b");
  CHECK(is_inside(strings));
  strings.emplace_back("c");
  CHECK_FALSE(is_inside(strings));
  CHECK(strings.size() == 3);
}

TEST_CASE("elements keep their order and values while a vector grows", "[inline_vector]") {
  for (const std::size_t count : {0U, 1U, 2U, 3U, 4U, 5U, 100U}) {
    const Strings strings = of(count);
    CHECK(strings.size() == count);
    CHECK(strings.empty() == (count == 0));
    CHECK(content(strings) == expected(count));
    if (count == 0) continue;
    CHECK(strings.front() == expected(count).front());
    CHECK(strings.back() == expected(count).back());
    CHECK(strings[count / 2] == expected(count)[count / 2]);
    CHECK(strings.data() == &strings[0]);
  }
}

TEST_CASE("emplace_back gives the new element, which can be changed", "[inline_vector]") {
  InlineVector<std::pair<int, std::string>, 1> pairs;
  pairs.emplace_back(1, "one").second += "!";
  pairs.emplace_back().first = 2;
  CHECK(pairs[0] == std::pair<int, std::string>(1, "one!"));
  CHECK(pairs[1] == std::pair<int, std::string>(2, ""));
  for (auto& pair : pairs) pair.first *= 10;
  pairs.back().second = "two";
  CHECK(pairs.front().first == 10);
  CHECK(pairs[1] == std::pair<int, std::string>(20, "two"));
}

TEST_CASE("an element may be added that is in the vector already", "[inline_vector]") {
  Strings strings = of(2);
  strings.emplace_back(strings[0]);  // grows
  CHECK(strings.back() == text("0"));
  strings.emplace_back(strings[1]);
  strings.emplace_back(strings.front());  // grows again
  CHECK(content(strings) == std::vector<std::string>{text("0"), text("1"), text("0"), text("1"), text("0")});
}

TEST_CASE("vectors of every size are copied and assigned over each other", "[inline_vector]") {
  const std::size_t counts[] = {0, 1, 2, 3, 50};
  for (const std::size_t from : counts) {
    const Strings copy = Strings(of(from));
    CHECK(content(copy) == expected(from));
    for (const std::size_t to : counts) {
      CAPTURE(from, to);
      const Strings source = of(from);
      Strings copied = of(to);
      copied = source;
      CHECK(content(copied) == expected(from));
      CHECK(content(source) == expected(from));

      Strings given = of(from);
      Strings moved = of(to);
      moved = std::move(given);
      CHECK(content(moved) == expected(from));
      CHECK(given.empty());  // NOLINT(bugprone-use-after-move)
      given.emplace_back("again");
      CHECK(given.back() == "again");
      moved.emplace_back("more");
      CHECK(moved.size() == from + 1);
    }
  }
}

TEST_CASE("moving a large vector takes its block", "[inline_vector]") {
  Strings large = of(10);
  const std::string* const block = large.data();
  Strings moved = std::move(large);
  CHECK(moved.data() == block);
  CHECK(large.empty());  // NOLINT(bugprone-use-after-move)
  CHECK(is_inside(large));
  const Strings again = std::move(moved);
  CHECK(again.data() == block);
}

TEST_CASE("assigning a vector to itself changes nothing", "[inline_vector]") {
  for (const std::size_t count : {1U, 5U}) {
    Strings strings = of(count);
    Strings& self = strings;
    strings = self;
    CHECK(content(strings) == expected(count));
    strings = std::move(self);
    CHECK(content(strings) == expected(count));
  }
}

TEST_CASE("reserve makes room once", "[inline_vector]") {
  Strings strings = of(1);
  strings.reserve(1);
  CHECK(is_inside(strings));
  strings.reserve(10);
  CHECK(content(strings) == expected(1));
  const std::string* const block = strings.data();
  while (strings.size() != 10) strings.emplace_back("more");
  CHECK(strings.data() == block);
}

TEST_CASE("elements may be move-only", "[inline_vector]") {
  InlineVector<std::unique_ptr<int>, 1> owners;
  for (int i = 0; i != 5; ++i) owners.emplace_back(std::make_unique<int>(i));
  const InlineVector<std::unique_ptr<int>, 1> moved = std::move(owners);
  REQUIRE(moved.size() == 5);
  for (int i = 0; i != 5; ++i) CHECK(*moved[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("elements may be aligned more than usual", "[inline_vector]") {
  struct alignas(64) Aligned {
    int number = 0;
  };
  InlineVector<Aligned, 2> vector;
  for (int i = 0; i != 5; ++i) {
    vector.emplace_back(Aligned{i});
    for (const Aligned& element : vector) CHECK(reinterpret_cast<std::uintptr_t>(&element) % 64 == 0);
  }
}

TEST_CASE("every element is destroyed once, also where a copy throws", "[inline_vector]") {
  int lives = 0;
  int fuse = 1000;
  for (const int count : {1, 2, 3, 9}) {
    {
      InlineVector<Counted, 2> vector;
      for (int i = 0; i != count; ++i) vector.emplace_back(lives, fuse);
      CHECK(lives == count);
      const InlineVector<Counted, 2> copy = vector;
      CHECK(lives == 2 * count);

      fuse = count - 1;
      CHECK_THROWS_AS((InlineVector<Counted, 2>(vector)), std::bad_alloc);
      CHECK(lives == 2 * count);

      InlineVector<Counted, 2> target;
      target.emplace_back(lives, fuse);
      fuse = count - 1;
      CHECK_THROWS_AS(target = vector, std::bad_alloc);
      CHECK(target.size() == 1);

      fuse = 0;
      const Counted one(lives, fuse);
      CHECK_THROWS_AS(vector.emplace_back(one), std::bad_alloc);
      CHECK(vector.size() == static_cast<std::size_t>(count));
      fuse = 1000;
    }
    CHECK(lives == 0);
  }
}
