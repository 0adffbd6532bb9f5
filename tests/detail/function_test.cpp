// detail::Function: the callables that plans, options and clocks hold.
#include "catch.hpp"

#include <planb/detail/function.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using planb::detail::Function;

static_assert(std::is_nothrow_default_constructible_v<Function<void()>>);
static_assert(std::is_nothrow_move_constructible_v<Function<void()>>);
static_assert(std::is_nothrow_move_assignable_v<Function<void()>>);
static_assert(std::is_copy_constructible_v<Function<void()>> && std::is_copy_assignable_v<Function<void()>>);
static_assert(!std::is_convertible_v<void (*)(), Function<void()>>);

// Counts its lives; `Size` decides whether it is held in place.
template <std::size_t Size, bool NoexceptMove = true>
struct Counted {
  explicit Counted(int& l) : lives(&l) { ++*lives; }
  Counted(const Counted& other) : lives(other.lives), fuse(other.fuse) {
    if (fuse != nullptr && --*fuse < 0) throw std::bad_alloc();
    ++*lives;
  }
  Counted(Counted&& other) noexcept(NoexceptMove) : lives(other.lives), fuse(other.fuse) { ++*lives; }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*lives; }

  int operator()() const { return *lives; }

  int* lives;
  int* fuse = nullptr;  // copies left until one throws
  std::array<char, Size> ballast{};
};

using Small = Counted<1>;
using Big = Counted<200>;
using ThrowingMove = Counted<1, false>;

int twice(int n) { return 2 * n; }

template <class Target>
void check_lives() {
  int lives = 0;
  {
    Function<int()> function{Target(lives)};
    CHECK(lives == 1);
    CHECK(function() == 1);
    const Function<int()> copy = function;
    CHECK(lives == 2);
    Function<int()> moved = std::move(function);
    CHECK(lives == 2);
    CHECK_FALSE(function);  // NOLINT(bugprone-use-after-move): a moved-from Function is empty
    CHECK(moved() == 2);
    moved = copy;
    CHECK(lives == 2);
    function = std::move(moved);
    CHECK(lives == 2);
    Function<int()>& self = function;
    function = self;
    function = std::move(self);
    CHECK(lives == 2);
    CHECK(function() == 2);
    function = Function<int()>();
    CHECK(lives == 1);
    CHECK_FALSE(function);
    function = Function<int()>([] { return 7; });
    CHECK(function() == 7);
  }
  CHECK(lives == 0);
}

template <class Target>
void check_throwing_copy() {
  int lives = 0;
  int fuse = 1000;
  {
    Target target(lives);
    target.fuse = &fuse;
    const Function<int()> function{std::move(target)};
    const int before = lives;
    fuse = 0;
    CHECK_THROWS_AS(Function<int()>(function), std::bad_alloc);
    CHECK(lives == before);
    Function<int()> assigned([] { return 7; });
    fuse = 0;
    CHECK_THROWS_AS(assigned = function, std::bad_alloc);
    CHECK(assigned() == 7);
    CHECK(lives == before);
    fuse = 1;
    assigned = function;
    CHECK(lives == before + 1);
  }
  CHECK(lives == 0);
}

}  // namespace

TEST_CASE("an empty Function is told apart", "[function]") {
  const Function<void()> empty{};
  CHECK_FALSE(empty);
  const Function<void()> copy = empty;  // NOLINT(performance-unnecessary-copy-initialization)
  CHECK_FALSE(copy);
  Function<void()> moved = Function<void()>();
  CHECK_FALSE(moved);
  moved = empty;
  CHECK_FALSE(moved);
  CHECK(Function<void()>([] {}));
}

TEST_CASE("a Function calls what it holds", "[function]") {
  struct Overloaded {
    int operator()(int) const { return 1; }
    int operator()(int) { return 2; }  // not const: never called
  };
  CHECK(Function<int(int)>(twice)(4) == 8);
  CHECK(Function<int(int)>(&twice)(4) == 8);
  CHECK(Function<int(int)>([](int n) { return n + 1; })(4) == 5);
  CHECK(Function<int(int)>(std::function<int(int)>(twice))(4) == 8);
  CHECK(Function<int(int)>(Overloaded{})(0) == 1);
  CHECK(Function<double(int)>(twice)(4) == 8.0);
  Function<void(int)>{twice}(4);  // what it returns is dropped
}

TEST_CASE("a Function passes arguments and results on as they are", "[function]") {
  int n = 5;
  const Function<int&(int&)> same([](int& i) -> int& { return i; });
  CHECK(&same(n) == &n);
  const Function<std::unique_ptr<int>(std::unique_ptr<int>&&)> move([](std::unique_ptr<int>&& p) { return std::move(p); });
  CHECK(*move(std::make_unique<int>(3)) == 3);
  const Function<int(std::unique_ptr<int>)> take([](std::unique_ptr<int> p) { return *p; });
  CHECK(take(std::make_unique<int>(4)) == 4);
}

TEST_CASE("a Function keeps its target's state, and each copy its own", "[function]") {
  auto shared = std::make_shared<int>(0);
  const std::string text(100, 'x');
  const Function<std::size_t()> function([shared, text] { return text.size() + static_cast<std::size_t>(++*shared); });
  const Function<std::size_t()> copy = function;
  CHECK(function() == 101);
  CHECK(copy() == 102);
  CHECK(shared.use_count() == 3);
}

TEST_CASE("a target in place lives and dies with its Function", "[function]") { check_lives<Small>(); }
TEST_CASE("a large target lives and dies with its Function", "[function]") { check_lives<Big>(); }
TEST_CASE("so does one whose move may throw: it is never moved", "[function]") { check_lives<ThrowingMove>(); }

TEST_CASE("a copy that throws leaves both Functions as they were", "[function]") {
  check_throwing_copy<Small>();
  check_throwing_copy<Big>();
}

TEST_CASE("a target may be aligned more than usual", "[function]") {
  struct alignas(128) Aligned {
    int number = 7;
    bool operator()() const { return reinterpret_cast<std::uintptr_t>(this) % 128 == 0 && number == 7; }
  };
  const Function<bool()> function{Aligned()};
  CHECK(function());
  const Function<bool()> copy = function;
  CHECK(copy());
}

TEST_CASE("an exception of the target passes through", "[function]") {
  const Function<void()> function([] { throw 42; });
  CHECK_THROWS_AS(function(), int);
  CHECK_THROWS_AS(function(), int);
}

TEST_CASE("Functions live in containers", "[function]") {
  int lives = 0;
  {
    std::vector<Function<int()>> functions;
    for (int i = 0; i != 20; ++i) {
      functions.emplace_back(Small(lives));
      functions.emplace_back(Big(lives));
    }
    CHECK(lives == 40);
    functions.erase(functions.begin(), functions.begin() + 10);
    CHECK(lives == 30);
    for (const auto& function : functions) CHECK(function() == 30);
  }
  CHECK(lives == 0);
}
