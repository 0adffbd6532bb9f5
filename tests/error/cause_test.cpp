// Cause: what is kept of a failed attempt, and what can be asked of it later.
#include "catch.hpp"

#include <planb/error/cause.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::Cause;
using planb::CauseKind;
using planb::Duration;
using planb::ProviderError;

static_assert(std::is_nothrow_default_constructible_v<Cause>);
static_assert(std::is_copy_constructible_v<Cause> && std::is_copy_assignable_v<Cause>);
static_assert(std::is_nothrow_move_constructible_v<Cause> && std::is_nothrow_move_assignable_v<Cause>);
static_assert(!std::is_convertible_v<std::exception_ptr, Cause> && !std::is_convertible_v<std::runtime_error, Cause>);

// Where an exception is copied to be held, what is found in it is a copy.
constexpr bool exceptions_are_stable = PLANB_STABLE_EXCEPTIONS;

// A second base of an exception, without virtual functions.
struct Tag {
  int tag = 7;
};

// An interface that errors may have besides std::exception. Nobody owns one through it.
class Retryable {
 public:
  [[nodiscard]] virtual bool retryable() const = 0;

 protected:
  ~Retryable() = default;
};

struct LlmError : std::runtime_error {
  explicit LlmError(int s) : std::runtime_error("llm failed"), status(s) {}
  int status;
};

struct DerivedLlmError : LlmError, Tag, Retryable {
  using LlmError::LlmError;
  [[nodiscard]] bool retryable() const override { return true; }
};

struct VirtualBase : virtual std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "virtual base"; }
};
struct Diamond : VirtualBase, virtual std::exception {
  int depth = 3;
};

struct LeftError : std::runtime_error {
  LeftError() : std::runtime_error("left") {}
};
struct RightError : std::logic_error {
  RightError() : std::logic_error("right") {}
};
// `catch (const std::exception&)` does not see it: it has two of them.
struct TwoExceptions : LeftError, RightError {};

// Not derived from std::exception.
struct Plain {
  int status = 503;
  std::string message = "plain";
};
struct PlainChild : Plain {};

struct Fatal final {
  int number = 1;
};

// Counts its copies and lives.
struct Counted {
  struct Counts {
    int alive = 0;
    int copies = 0;
    int moves = 0;
  };

  explicit Counted(Counts& c) : counts(&c) { ++counts->alive; }
  Counted(const Counted& other) : counts(other.counts) {
    ++counts->alive;
    ++counts->copies;
  }
  Counted(Counted&& other) noexcept : counts(other.counts) {
    ++counts->alive;
    ++counts->moves;
  }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --counts->alive; }

  Counts* counts;
};

struct BigCounted : Counted {
  using Counted::Counted;
  char text[100] = "big";
};

struct MoveOnly {
  std::unique_ptr<std::string> text;
  [[nodiscard]] std::string message() const { return text ? *text : "empty"; }
};

struct alignas(128) OverAligned {
  std::string message = "aligned";
};

struct Large {
  std::string message = "large";
  char rest[200] = {};
};

// Cannot be moved without the chance of an exception, and throws when `fuse` burns down.
struct ThrowingCopy {
  explicit ThrowingCopy(int& f) : fuse(&f) {}
  ThrowingCopy(const ThrowingCopy& other) : fuse(other.fuse) { burn(); }
  ThrowingCopy& operator=(const ThrowingCopy&) = delete;

  void burn() const {
    if (--*fuse < 0) throw std::bad_alloc();
  }

  int* fuse;
};

// The same, where only the copy may throw: held in place.
struct SmallThrowingCopy {
  explicit SmallThrowingCopy(int& f) : fuse(&f) {}
  SmallThrowingCopy(const SmallThrowingCopy& other) : fuse(other.fuse) {
    if (--*fuse < 0) throw std::bad_alloc();
  }
  SmallThrowingCopy(SmallThrowingCopy&&) noexcept = default;
  SmallThrowingCopy& operator=(const SmallThrowingCopy&) = delete;

  int* fuse;
};

template <class E>
Cause thrown(E error) {
  return Cause::of(std::make_exception_ptr(std::move(error)));
}

// As an attempt sees it: inside a handler.
template <class E>
Cause current(const E& error) {
  try {
    throw error;
  } catch (...) {
    return Cause::current();
  }
}

// What the engine does with the types that a plan names.
template <class... E>
void name(Cause& cause) {
  planb::detail::CauseAccess::name(cause, planb::detail::error_ops_of<E...>, sizeof...(E));
}

template <class E>
bool throws_as(const Cause& cause) {
  try {
    cause.rethrow();
  } catch (const E&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

TEST_CASE("a cause tells of what kind it is", "[cause]") {
  CHECK(Cause().kind() == CauseKind::error);
  CHECK(Cause::of(5).kind() == CauseKind::error);
  CHECK(Cause::timed_out().kind() == CauseKind::timeout);
  CHECK(current(LlmError(503)).kind() == CauseKind::error);
  CHECK(current(42).kind() == CauseKind::error);
  CHECK(current(planb::Defect("bug")).kind() == CauseKind::defect);
  CHECK(thrown(planb::Defect("bug")).kind() == CauseKind::defect);
  CHECK(Cause::of(planb::Defect("bug")).kind() == CauseKind::defect);

  struct Worse : planb::Defect {
    using planb::Defect::Defect;
  };
  CHECK(current(Worse("bug")).kind() == CauseKind::defect);
  CHECK(Cause::of(Worse("bug")).kind() == CauseKind::defect);
}

TEST_CASE("an unknown error says so", "[cause]") {
  const Cause outside = Cause::current();  // no exception is being handled
  const Cause none = Cause::of(std::exception_ptr());
  for (const Cause& cause : {Cause(), outside, none}) {
    CHECK(cause.kind() == CauseKind::error);
    CHECK(cause.message() == "unknown error");
    CHECK(cause.status() == std::nullopt);
    CHECK(cause.code().empty());
    CHECK(cause.retry_after() == std::nullopt);
    CHECK(cause.get_if<int>() == nullptr);
    CHECK(cause.get_if<std::exception>() == nullptr);
    CHECK(throws_as<std::runtime_error>(cause));
    CHECK(cause.exception() != nullptr);
  }
}

TEST_CASE("a cause of a cause is that cause", "[cause]") {
  const Cause first = Cause::of(Plain{});
  const Cause second = Cause::of(first);
  REQUIRE(second.get_if<Plain>() != nullptr);
  CHECK(second.get_if<Cause>() == nullptr);
  CHECK(second.status() == 503);
}

TEST_CASE("a thrown error is found as a handler would catch it", "[cause]") {
  SECTION("by its exact type, its bases and std::exception") {
    const Cause cause = current(DerivedLlmError(503));
    REQUIRE(cause.get_if<DerivedLlmError>() != nullptr);
    CHECK(cause.get_if<DerivedLlmError>()->status == 503);
    REQUIRE(cause.get_if<LlmError>() != nullptr);
    CHECK(cause.get_if<LlmError>()->status == 503);
    REQUIRE(cause.get_if<std::runtime_error>() != nullptr);
    REQUIRE(cause.get_if<std::exception>() != nullptr);
    CHECK(std::string(cause.get_if<std::exception>()->what()) == "llm failed");
  }
  SECTION("by a second base, with virtual functions or without") {
    const Cause cause = current(DerivedLlmError(503));
    REQUIRE(cause.get_if<Tag>() != nullptr);
    CHECK(cause.get_if<Tag>()->tag == 7);
    if constexpr (exceptions_are_stable) {  // an abstract class cannot be copied
      REQUIRE(cause.get_if<Retryable>() != nullptr);
      CHECK(cause.get_if<Retryable>()->retryable());
    }
  }
  SECTION("not by anything else") {
    const Cause cause = current(DerivedLlmError(503));
    CHECK(cause.get_if<std::logic_error>() == nullptr);
    CHECK(cause.get_if<ProviderError>() == nullptr);
    CHECK(cause.get_if<Plain>() == nullptr);
    CHECK(cause.get_if<Fatal>() == nullptr);
    CHECK(cause.get_if<std::string>() == nullptr);
    CHECK(cause.get_if<int>() == nullptr);
    CHECK(current(LlmError(503)).get_if<DerivedLlmError>() == nullptr);
  }
  SECTION("through a virtual base") {
    const Cause cause = current(Diamond());
    REQUIRE(cause.get_if<std::exception>() != nullptr);
    REQUIRE(cause.get_if<VirtualBase>() != nullptr);
    REQUIRE(cause.get_if<Diamond>() != nullptr);
    CHECK(cause.get_if<Diamond>()->depth == 3);
    CHECK(cause.message() == "virtual base");
  }
  SECTION("not by an ambiguous base") {
    const Cause cause = current(TwoExceptions());
    CHECK(cause.get_if<std::exception>() == nullptr);
    REQUIRE(cause.get_if<TwoExceptions>() != nullptr);
    REQUIRE(cause.get_if<RightError>() != nullptr);
    CHECK(std::string(cause.get_if<RightError>()->what()) == "right");
    CHECK(cause.get_if<std::logic_error>() != nullptr);
  }
  SECTION("a class that does not derive from std::exception") {
    const Cause cause = current(PlainChild());
    REQUIRE(cause.get_if<PlainChild>() != nullptr);
    REQUIRE(cause.get_if<Plain>() != nullptr);
    CHECK(cause.get_if<Plain>()->status == 503);
    CHECK(cause.get_if<std::exception>() == nullptr);
    CHECK(cause.get_if<Tag>() == nullptr);
  }
  SECTION("what is no class at all") {
    const Cause cause = current(42);
    REQUIRE(cause.get_if<int>() != nullptr);
    CHECK(*cause.get_if<int>() == 42);
    CHECK(cause.get_if<long>() == nullptr);
    CHECK(cause.get_if<std::exception>() == nullptr);
  }
}

TEST_CASE("a thrown error is found from an exception_ptr, too", "[cause]") {
  const std::exception_ptr pointer = std::make_exception_ptr(LlmError(429));
  const Cause cause = Cause::of(pointer);
  CHECK(pointer != nullptr);
  REQUIRE(cause.get_if<LlmError>() != nullptr);
  CHECK(cause.get_if<LlmError>()->status == 429);
  CHECK(cause.exception() == pointer);
  CHECK(*thrown(5).get_if<int>() == 5);
}

TEST_CASE("a returned error is found as a handler would catch it, too", "[cause]") {
  const Cause derived = Cause::of(DerivedLlmError(503));
  REQUIRE(derived.get_if<DerivedLlmError>() != nullptr);
  CHECK(derived.get_if<LlmError>() == derived.get_if<DerivedLlmError>());
  CHECK(derived.get_if<std::exception>() == derived.get_if<DerivedLlmError>());
  CHECK(derived.get_if<ProviderError>() == nullptr);

  CHECK(*Cause::of(42).get_if<int>() == 42);
  CHECK(Cause::of(42).get_if<long>() == nullptr);
  CHECK(*Cause::of(std::string("text")).get_if<std::string>() == "text");
}

TEST_CASE("a text as error is kept, not pointed to", "[cause]") {
  char text[] = "connection reset";
  const Cause cause = Cause::of(text);
  text[0] = 'X';
  CHECK(cause.message() == "connection reset");
  CHECK(Cause::of("connection reset").message() == "connection reset");
  REQUIRE(cause.get_if<std::string>() != nullptr);
}

TEST_CASE("an error that converts to a text stays what it is", "[cause]") {
  struct Textual {
    int status = 503;
    operator const char*() const { return "textual"; }  // NOLINT(google-explicit-constructor)
  };
  const Cause cause = Cause::of(Textual{});
  REQUIRE(cause.get_if<Textual>() != nullptr);
  CHECK(cause.status() == 503);
}

// Text that is gone when it is read.
template <class Make>
Cause of_short_lived(Make make) {
  auto text = std::make_unique<std::string>("somebody else is writing to the database");
  Cause cause = make(*text);
  std::fill(text->begin(), text->end(), 'X');
  return cause;
}

TEST_CASE("a pointer to a text or a view of one is kept as a std::string", "[cause]") {
  const std::string whole = "somebody else is writing to the database";
  const std::pair<const char*, Cause> forms[] = {
      {"returned const char*", of_short_lived([](std::string& s) { return Cause::of(s.c_str()); })},
      {"returned char*", of_short_lived([](std::string& s) { return Cause::of(s.data()); })},
      {"returned view", of_short_lived([](std::string& s) { return Cause::of(std::string_view(s)); })},
      {"thrown const char*", of_short_lived([](std::string& s) { return thrown(s.c_str()); })},
      {"thrown char*", of_short_lived([](std::string& s) { return thrown(s.data()); })},
      {"thrown view", of_short_lived([](std::string& s) { return thrown(std::string_view(s)); })},
  };
  for (const auto& [form, cause] : forms) {
    CAPTURE(form);
    const Cause copy = cause;
    for (const Cause& one : {cause, copy}) {
      CHECK(one.message() == whole);
      REQUIRE(one.get_if<std::string>() != nullptr);
      CHECK(*one.get_if<std::string>() == whole);
      CHECK(planb::detail::ErrorPredicate([&](const std::string& s) { return s == whole; })(one));
      CHECK(planb::detail::ErrorPredicate([&](std::string_view s) { return s == whole; })(one));
      CHECK(planb::detail::ErrorPredicate([&](const char* s) { return s == whole; })(one));
    }
  }
  const char* const none = nullptr;
  CHECK(Cause::of(none).message() == "unknown error");
  CHECK(thrown(none).message() == "unknown exception");
  CHECK(throws_as<std::string>(Cause::of("text")));
  CHECK(throws_as<const char*>(thrown(static_cast<const char*>("text"))));
  CHECK(throws_as<std::string_view>(thrown(std::string_view("text"))));
}

TEST_CASE("a pointer from get_if is good for as long as the cause", "[cause]") {
  std::optional<Cause> kept;
  try {
    throw LlmError(503);
  } catch (...) {
    kept = Cause::current();
  }
  const LlmError* const error = kept->get_if<LlmError>();
  REQUIRE(error != nullptr);
  CHECK(error->status == 503);
  CHECK(std::string(error->what()) == "llm failed");
  CHECK(kept->get_if<LlmError>() == error);
}

TEST_CASE("copies of a cause are equal in what they say, and independent in life", "[cause]") {
  std::optional<Cause> original;
  SECTION("of a thrown error, which they share") {
    original = current(LlmError(503));
    const Cause copy(*original);
    CHECK(copy.get_if<LlmError>() == original->get_if<LlmError>());
    CHECK(copy.exception() == original->exception());
    original.reset();
    CHECK(copy.get_if<LlmError>()->status == 503);
  }
  SECTION("of a returned error") {
    original = Cause::of(Plain{.status = 418});
    const Cause copy(*original);
    CHECK(copy.get_if<Plain>() != original->get_if<Plain>());
    original.reset();
    CHECK(copy.get_if<Plain>()->status == 418);
    CHECK(copy.message() == "plain");
  }
  SECTION("of a large returned error") {
    original = Cause::of(Large{});
    const Cause copy(*original);
    original.reset();
    CHECK(copy.message() == "large");
  }
  SECTION("of a timeout") {
    original = Cause::timed_out();
    const Cause copy(*original);
    original.reset();
    CHECK(copy.kind() == CauseKind::timeout);
    CHECK(copy.message() == "timed out");
  }
}

TEST_CASE("causes of every sort are assigned over each other", "[cause]") {
  const auto sorts = [] {
    std::vector<Cause> causes;
    causes.emplace_back();
    causes.push_back(Cause::timed_out());
    causes.push_back(current(LlmError(500)));
    causes.push_back(current(42));
    causes.push_back(Cause::of(Plain{.status = 501}));
    causes.push_back(Cause::of(7));
    causes.push_back(Cause::of(Large{}));
    causes.push_back(Cause::of(OverAligned{}));
    return causes;
  };
  const std::vector<Cause> all = sorts();
  for (std::size_t from = 0; from != all.size(); ++from) {
    for (std::size_t to = 0; to != all.size(); ++to) {
      CAPTURE(from, to);
      Cause copied = all[to];
      copied = all[from];
      CHECK(copied.message() == all[from].message());
      CHECK(copied.kind() == all[from].kind());

      Cause moved = all[to];
      Cause source = all[from];
      moved = std::move(source);
      CHECK(moved.message() == all[from].message());
      CHECK(moved.kind() == all[from].kind());
      source = all[to];  // a moved-from cause can be assigned to
      CHECK(source.message() == all[to].message());
    }
  }
}

TEST_CASE("assigning a cause to itself changes nothing", "[cause]") {
  for (Cause cause : {Cause::of(Plain{}), current(LlmError(1)), Cause::of(Large{}), Cause::timed_out()}) {
    const std::string before = cause.message();
    Cause& self = cause;
    cause = self;
    CHECK(cause.message() == before);
    cause = std::move(self);
    CHECK(cause.message() == before);
  }
}

TEST_CASE("a moved-from cause holds nothing", "[cause]") {
  std::vector<Cause> causes;
  causes.push_back(current(LlmError(503)));
  causes.push_back(current(42));
  causes.push_back(Cause::of(Plain{}));
  causes.push_back(Cause::of(Large{}));
  for (Cause& cause : causes) {
    { const Cause taken(std::move(cause)); }
    CHECK(cause.get_if<LlmError>() == nullptr);
    CHECK(cause.get_if<std::exception>() == nullptr);
    CHECK(cause.get_if<int>() == nullptr);
    CHECK(cause.get_if<Plain>() == nullptr);
    CHECK(cause.status() == std::nullopt);
    CHECK(cause.message() == "unknown error");
    CHECK(throws_as<std::runtime_error>(cause));
  }
}

TEST_CASE("every error that a cause takes is destroyed once", "[cause]") {
  Counted::Counts counts;
  SECTION("held in place") {
    {
      Cause cause = Cause::of(Counted(counts));
      CHECK(counts.copies == 0);
      CHECK(counts.alive == 1);
      const Cause copy = cause;
      CHECK(counts.copies == 1);
      CHECK(counts.alive == 2);
      Cause moved = std::move(cause);
      CHECK(counts.copies == 1);
      CHECK(counts.alive == 2);
      moved = copy;
      CHECK(counts.alive == 2);
      moved = Cause();
      CHECK(counts.alive == 1);
    }
    CHECK(counts.alive == 0);
  }
  SECTION("too large for that") {
    {
      Cause cause = Cause::of(BigCounted(counts));
      CHECK(counts.copies == 0);
      CHECK(counts.alive == 1);
      const Cause copy = cause;
      const Cause moved = std::move(cause);
      CHECK(moved.get_if<BigCounted>() != nullptr);
      CHECK(copy.get_if<BigCounted>() != nullptr);
    }
    CHECK(counts.alive == 0);
  }
  SECTION("thrown") {
    {
      const Cause cause = current(Counted(counts));
      const Cause copy = cause;
      CHECK(counts.alive == 1);
      CHECK(copy.get_if<Counted>() == cause.get_if<Counted>());
    }
    CHECK(counts.alive == 0);
  }
  SECTION("an lvalue is copied, and left alone") {
    {
      const Counted error(counts);
      const Cause cause = Cause::of(error);
      CHECK(counts.copies == 1);
      CHECK(counts.alive == 2);
    }
    CHECK(counts.alive == 0);
  }
}

TEST_CASE("an error that cannot be copied may be kept; copies of its cause share it", "[cause]") {
  Cause cause = Cause::of(MoveOnly{std::make_unique<std::string>("moved")});
  const Cause copy = cause;
  CHECK(copy.message() == "moved");
  CHECK(cause.message() == "moved");
  CHECK(copy.get_if<MoveOnly>() == cause.get_if<MoveOnly>());
  const Cause moved = std::move(cause);
  CHECK(moved.message() == "moved");

  CHECK_THROWS_AS(moved.rethrow(), std::exception);  // no copy to throw: its message in an exception
  try {
    moved.rethrow();
  } catch (const std::exception& e) {
    CHECK(std::string(e.what()) == "moved");
  }
}

TEST_CASE("errors of any size and alignment are kept", "[cause]") {
  const Cause aligned = Cause::of(OverAligned{});
  REQUIRE(aligned.get_if<OverAligned>() != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(aligned.get_if<OverAligned>()) % alignof(OverAligned) == 0);
  CHECK(Cause(aligned).message() == "aligned");
  CHECK(Cause::of(Large{}).message() == "large");
  CHECK(throws_as<Large>(Cause::of(Large{})));

  // The runtime does not align what is thrown so far: its message is thrown instead.
  CHECK(throws_as<std::exception>(aligned));
  CHECK(Cause::of(aligned.exception()).message() == "aligned");
}

TEST_CASE("an error whose copy throws leaves every cause as it was", "[cause]") {
  int fuse = 1000;
  SECTION("taken in") {
    const ThrowingCopy error(fuse);
    fuse = 0;
    CHECK_THROWS_AS(Cause::of(error), std::bad_alloc);
    const SmallThrowingCopy small(fuse);
    CHECK_THROWS_AS(Cause::of(small), std::bad_alloc);
  }
  SECTION("copied") {
    const Cause cause = Cause::of(SmallThrowingCopy(fuse));
    fuse = 0;
    CHECK_THROWS_AS(Cause(cause), std::bad_alloc);
    CHECK(cause.get_if<SmallThrowingCopy>() != nullptr);
  }
  SECTION("assigned") {
    const Cause cause = Cause::of(SmallThrowingCopy(fuse));
    Cause target = Cause::of(Plain{});
    fuse = 0;
    CHECK_THROWS_AS(target = cause, std::bad_alloc);
    REQUIRE(target.get_if<Plain>() != nullptr);
    CHECK(target.message() == "plain");
  }
  SECTION("moved: never, a cause's move does not throw") {
    Cause cause = Cause::of(ThrowingCopy(fuse));
    fuse = 0;
    const Cause moved = std::move(cause);
    CHECK(moved.get_if<ThrowingCopy>() != nullptr);
    const Cause copied = moved;  // shared
    CHECK(copied.get_if<ThrowingCopy>() != nullptr);
  }
  SECTION("thrown again: what the copy threw comes instead") {
    const Cause cause = Cause::of(SmallThrowingCopy(fuse));
    fuse = 0;
    CHECK(throws_as<std::bad_alloc>(cause));
    const std::exception_ptr pointer = cause.exception();
    CHECK_THROWS_AS(std::rethrow_exception(pointer), std::bad_alloc);
  }
}

TEST_CASE("a cause can be thrown again as what it was", "[cause]") {
  CHECK(throws_as<LlmError>(current(LlmError(503))));
  CHECK(throws_as<int>(current(42)));
  CHECK(throws_as<Plain>(current(Plain{})));
  CHECK(throws_as<LlmError>(Cause::of(LlmError(503))));
  CHECK(throws_as<int>(Cause::of(42)));
  CHECK(throws_as<std::string>(Cause::of(std::string("text"))));
  CHECK(throws_as<planb::AttemptTimeout>(Cause::timed_out()));
  CHECK_THROWS_WITH(Cause::timed_out().rethrow(), "timed out");
  CHECK(throws_as<planb::Defect>(Cause::of(planb::Defect("bug"))));

  try {
    current(DerivedLlmError(418)).rethrow();
  } catch (const LlmError& e) {
    CHECK(e.status == 418);
    CHECK(dynamic_cast<const DerivedLlmError*>(&e) != nullptr);
  }
}

TEST_CASE("a cause's exception makes the round trip", "[cause]") {
  SECTION("a thrown one is the same object") {
    const Cause cause = current(LlmError(503));
    const Cause back = Cause::of(cause.exception());
    REQUIRE(back.get_if<LlmError>() != nullptr);
    CHECK(back.get_if<LlmError>()->status == 503);
    CHECK((back.get_if<LlmError>() == cause.get_if<LlmError>()) == exceptions_are_stable);
  }
  SECTION("a returned one is copied into an exception") {
    const Cause cause = Cause::of(LlmError(503));
    const Cause back = Cause::of(cause.exception());
    REQUIRE(back.get_if<LlmError>() != nullptr);
    CHECK(back.get_if<LlmError>() != cause.get_if<LlmError>());
    CHECK(back.get_if<LlmError>()->status == 503);
    CHECK(back.get_if<std::exception>() != nullptr);  // it has been thrown now
  }
  SECTION("a timeout becomes an AttemptTimeout") {
    CHECK(Cause::of(Cause::timed_out().exception()).get_if<planb::AttemptTimeout>() != nullptr);
  }
  SECTION("and another exception that is being handled is left alone") {
    try {
      throw std::logic_error("outer");
    } catch (...) {
      const std::exception_ptr outer = std::current_exception();
      static_cast<void>(Cause::of(LlmError(1)).exception());
      static_cast<void>(current(42));
      static_cast<void>(thrown(Plain{}).get_if<Plain>());
      CHECK(std::current_exception() == outer);
      CHECK(Cause::current().message() == "outer");
    }
  }
}

TEST_CASE("what a cause says of itself", "[cause]") {
  struct Silent {};
  enum class Code { bad = 3 };
  struct EmptyWhat : std::exception {
    [[nodiscard]] const char* what() const noexcept override { return ""; }
  };

  const std::vector<std::pair<Cause, std::string>> table{
      {current(LlmError(503)), "llm failed"},
      {current(ProviderError(503, "service unavailable")), "service unavailable"},
      {current(ProviderError("connection refused")), "connection refused"},
      {current(planb::Defect("bug")), "bug"},
      {current(EmptyWhat()), "unknown error"},
      {current(std::string("a text")), "a text"},
      {thrown<const char*>("a literal"), "a literal"},
      {thrown<const char*>(nullptr), "unknown exception"},
      {current(42), "42"},
      {current(Silent()), "unknown exception"},
      {current(TwoExceptions()), "unknown exception"},
      {Cause::of(LlmError(503)), "llm failed"},
      {Cause::of(ProviderError(503, "service unavailable")), "service unavailable"},
      {Cause::of(std::make_error_code(std::errc::timed_out)), std::make_error_code(std::errc::timed_out).message()},
      {Cause::of(std::string("a text")), "a text"},
      {Cause::of(std::string()), "unknown error"},
      {Cause::of(42), "42"},
      {Cause::of(true), "true"},
      {Cause::of(false), "false"},
      {Cause::of(1.5), "1.500000"},
      {Cause::of(Code::bad), "error 3"},
      {Cause::of(Silent()), "unknown error"},
      {Cause::of(EmptyWhat()), "unknown error"},
      {Cause::of(Plain{}), "plain"},
      {Cause::timed_out(), "timed out"},
  };
  for (const auto& [cause, message] : table) CHECK(cause.message() == message);
}

TEST_CASE("the kind of a cause shows in its message where no error does", "[cause]") {
  using planb::detail::CauseAccess;
  Cause interrupted;
  CauseAccess::set_kind(interrupted, CauseKind::interrupted);
  CHECK(interrupted.message() == "interrupted");
  Cause rejected;
  CauseAccess::set_rejected(rejected);
  CHECK(rejected.message() == "value rejected");
  Cause value = Cause::of(std::string("I cannot help with that"));
  CauseAccess::set_rejected(value);
  CHECK(value.message() == "value rejected: I cannot help with that");
  REQUIRE(value.get_if<std::string>() != nullptr);

  struct Opaque {};
  Cause opaque = Cause::of(Opaque());
  CauseAccess::set_rejected(opaque);
  CHECK(opaque.message() == "value rejected");
}

TEST_CASE("a refused value stays one where its attempt was late or stopped, too", "[cause]") {
  using planb::detail::CauseAccess;
  for (const CauseKind kind : {CauseKind::timeout, CauseKind::interrupted}) {
    Cause cause = Cause::of(std::string("no"));
    CauseAccess::set_rejected(cause);
    CauseAccess::set_kind(cause, kind);
    const Cause copy = cause;
    CHECK(copy.kind() == kind);
    CHECK(copy.message() == "value rejected: no");
    CHECK(throws_as<planb::RejectedValue>(copy));
    const Cause moved = std::move(cause);
    CHECK(throws_as<planb::RejectedValue>(moved));
  }
}

TEST_CASE("a refused value that nests an error says nothing of it", "[cause]") {
  struct Nesting : std::nested_exception {};
  try {
    throw ProviderError(503, "busy", "overloaded", 2s);
  } catch (...) {
    CHECK(Cause::of(Nesting()).status() == 503);
    const Cause refused = planb::detail::CauseAccess::of_value(Nesting());
    CHECK(refused.status() == std::nullopt);
    CHECK(refused.code().empty());
    CHECK(refused.retry_after() == std::nullopt);
    CHECK(refused.get_if<Nesting>() != nullptr);
    CHECK(refused.get_if<std::nested_exception>() == nullptr);
  }
}

TEST_CASE("a refused value is thrown as RejectedValue, with the value in its cause", "[cause]") {
  Cause cause = Cause::of(std::string("no"));
  planb::detail::CauseAccess::set_rejected(cause);
  try {
    cause.rethrow();
    FAIL("rethrow() returned");
  } catch (const planb::RejectedValue& e) {
    CHECK(std::string(e.what()) == "value rejected: no");
    REQUIRE(e.cause().get_if<std::string>() != nullptr);
    CHECK(*e.cause().get_if<std::string>() == "no");
    static_assert(std::is_nothrow_copy_constructible_v<planb::RejectedValue>);
  }
  CHECK(Cause::of(cause.exception()).get_if<planb::RejectedValue>() != nullptr);
}

TEST_CASE("a cause in one line begins with its status", "[cause]") {
  using planb::detail::describe;
  struct Coded {
    int status = 0;
    std::string message;
  };
  const std::vector<std::pair<Cause, std::string>> table{
      {Cause::of(Coded{503, "service unavailable"}), "503 service unavailable"},
      {Cause::of(Coded{503, ""}), "503"},
      {Cause::of(Coded{503, "503 service unavailable"}), "503 service unavailable"},
      {Cause::of(Coded{503, "503"}), "503"},
      {Cause::of(Coded{503, "5031 items"}), "503 5031 items"},
      {Cause::of(Coded{503, "503: unavailable"}), "503: unavailable"},
      {Cause::of(Coded{0, "no route to host"}), "no route to host"},
      {Cause::of(Coded{0, ""}), "unknown error"},
      {Cause::of(planb::Defect("")), "unknown error"},
      {current(ProviderError(503, "service unavailable")), "503 service unavailable"},
      {current(ProviderError(503)), "503"},
      {current(LlmError(503)), "llm failed"},
      {Cause::timed_out(), "timed out"},
      {Cause(), "unknown error"},
  };
  for (const auto& [cause, line] : table) CHECK(describe(cause) == line);

  Cause late = Cause::of(Coded{503, "too late"});
  planb::detail::CauseAccess::set_kind(late, CauseKind::timeout);
  CHECK(describe(late) == "timed out: 503 too late");
}

TEST_CASE("a returned error can always be read", "[cause]") {
  struct Full {
    int status = 429;
    std::string code = "rate_limited";
    std::chrono::seconds retry_after{3};
    std::string message = "slow down";
  };
  const Cause cause = Cause::of(Full{});
  CHECK(cause.status() == 429);
  CHECK(cause.code() == "rate_limited");
  CHECK(cause.retry_after() == Duration(3s));
  CHECK(cause.message() == "slow down");

  const Cause provider = Cause::of(ProviderError(429, "slow down", "rate_limited", 3s));
  CHECK(provider.status() == 429);
  CHECK(provider.code() == "rate_limited");
  CHECK(provider.retry_after() == Duration(3s));
}

TEST_CASE("a thrown error can be read once its type has been named", "[cause]") {
  struct Hinted : std::runtime_error {
    Hinted() : std::runtime_error("hinted") {}
    int status = 429;
    std::string code = "busy";
    std::optional<std::chrono::milliseconds> retry_after = 1500ms;
  };

  SECTION("one that derives from std::exception") {
    Cause cause = current(Hinted());
    CHECK(cause.status() == std::nullopt);
    name<LlmError, Hinted>(cause);
    CHECK(cause.status() == 429);
    CHECK(cause.code() == "busy");
    CHECK(cause.retry_after() == Duration(1500ms));
    CHECK(cause.message() == "hinted");
    CHECK(cause.get_if<Hinted>() != nullptr);
    CHECK(cause.get_if<std::exception>() != nullptr);
    CHECK(cause.get_if<LlmError>() == nullptr);
  }
  SECTION("by a base") {
    Cause cause = current(DerivedLlmError(503));
    name<LlmError>(cause);
    CHECK(cause.status() == 503);
    CHECK(cause.get_if<DerivedLlmError>() != nullptr);
    CHECK(cause.get_if<Tag>() != nullptr);
  }
  SECTION("one that does not") {
    Cause cause = current(Plain{.status = 418});
    CHECK(cause.status() == std::nullopt);
    name<Plain>(cause);
    CHECK(cause.status() == 418);
    CHECK(cause.message() == "plain");
    CHECK(cause.get_if<Plain>() != nullptr);
  }
  SECTION("a copy can be read as well") {
    Cause cause = current(LlmError(503));
    name<LlmError>(cause);
    const Cause copy = cause;
    cause = Cause();
    CHECK(copy.status() == 503);
    CHECK(copy.get_if<LlmError>()->status == 503);
  }
  SECTION("names that do not fit change nothing") {
    Cause cause = current(LlmError(503));
    name<Plain, int, std::logic_error>(cause);
    CHECK(cause.status() == std::nullopt);
    CHECK(cause.message() == "llm failed");
    CHECK(cause.get_if<LlmError>() != nullptr);
    CHECK(cause.get_if<Plain>() == nullptr);
    CHECK(cause.get_if<std::logic_error>() == nullptr);
  }
}

TEST_CASE("a base that is named as well does not hide what an error says", "[cause]") {
  SECTION("named first") {
    Cause cause = current(LlmError(503));
    name<std::exception, std::runtime_error, LlmError>(cause);
    CHECK(cause.status() == 503);
    CHECK(cause.get_if<std::exception>() != nullptr);
  }
  SECTION("named last") {
    Cause cause = current(LlmError(503));
    name<LlmError, std::exception>(cause);
    CHECK(cause.status() == 503);
  }
  SECTION("where the error's own type is not named, but a base that has a status is") {
    Cause cause = current(DerivedLlmError(503));
    name<std::exception, Tag, Retryable, LlmError>(cause);
    CHECK(cause.status() == 503);
  }
  SECTION("of an error that does not derive from std::exception") {
    struct Base {};
    struct Child : Base {
      int status = 418;
    };
    Cause cause = current(Child());
    name<Base, Child>(cause);
    CHECK(cause.status() == 418);
  }
  SECTION("of a ProviderError, which need not be named") {
    struct Derived : ProviderError {
      using ProviderError::ProviderError;
    };
    for (Cause cause : {current(ProviderError(429, "slow down", "busy", 2s)),
                        current(Derived(429, "slow down", "busy", 2s))}) {
      name<std::exception>(cause);
      CHECK(cause.status() == 429);
      CHECK(cause.code() == "busy");
      CHECK(cause.retry_after() == Duration(2s));
      CHECK(cause.message() == "slow down");
    }
  }
}

TEST_CASE("of several bases that are named each is read, thrown or returned", "[cause]") {
  struct Status {
    int status = 429;
  };
  struct Hint {
    std::chrono::seconds retry_after{3};
  };
  struct Both : Status, Hint {};
  struct BothThrown : std::runtime_error, Status, Hint {
    BothThrown() : std::runtime_error("both") {}
  };
  struct OtherStatus {
    int status = 0;
    std::string message = "hidden";
  };
  struct Hiding : Status, OtherStatus, Hint {};  // has two of that name: neither can be read
  class Private : public ProviderError {
   public:
    Private() : ProviderError(503, "busy", "overloaded", 2s) {}

   private:
    using ProviderError::code;
    using ProviderError::retry_after;
    using ProviderError::status;
  };
  const auto both = [](const auto& error, const char* what, auto check) {
    for (const bool returned : {false, true}) {
      INFO(what << (returned ? ", returned" : ", thrown"));
      Cause cause = returned ? Cause::of(error) : thrown(error);
      check(cause);
      const Cause copy = cause;
      check(cause);
    }
  };
  const auto of_two = [](Cause& cause) {
    name<Status, Hint, OtherStatus>(cause);
    CHECK(cause.status() == 429);
    CHECK(cause.retry_after() == Duration(3s));
  };
  both(Both(), "both", of_two);
  both(BothThrown(), "an exception", of_two);
  both(Hiding(), "hiding", of_two);
  both(Hiding(), "hiding", [](Cause& cause) {
    name<OtherStatus, Hint>(cause);
    name<Status>(cause);  // by another plan
    CHECK(cause.status() == 429);
    CHECK(cause.message() == "hidden");
  });
  both(Private(), "private", [](const Cause& cause) {
    CHECK(cause.status() == 503);
    CHECK(cause.code() == "overloaded");
    CHECK(cause.retry_after() == Duration(2s));
  });
}

namespace {

struct Silent {
  std::string code;
};

}  // namespace

TEST_CASE("a named type that the error is not, or that says nothing of it, leaves the word to the next", "[cause]") {
  struct Status {
    int status = 429;
  };
  struct Other {
    std::string code = "other";
  };
  struct Code {
    std::string code = "slow";
  };
  struct Thrown : Status, Silent, Code {};  // neither code is its own
  for (const bool returned : {false, true}) {
    INFO((returned ? "returned" : "thrown"));
    Cause cause = returned ? Cause::of(Thrown()) : thrown(Thrown());
    name<Status, Other, Silent, Code>(cause);
    CHECK(cause.status() == 429);
    CHECK(cause.code() == "slow");
    CHECK(cause.retry_after() == std::nullopt);
  }
}

namespace {

template <int I>
struct Numbered {
  int status = 400 + I;
};

template <int... I>
void name_numbered(Cause& cause, std::integer_sequence<int, I...>) {
  name<Numbered<I>...>(cause);
}

template <int I>
struct Loud {  // says more than each of the next two
  int status = 400 + I;
  std::string code = "loud";
};
struct OwnStatus {
  int status = 429;
};
struct OwnCode {
  std::string code = "slow";
};

template <int... I>
void name_loud(Cause& cause, std::integer_sequence<int, I...>) {
  name<OwnStatus, OwnCode, Loud<I>...>(cause);
}

template <int I>
struct SecondBase : Plain, Tag {
  explicit SecondBase(int t) : Tag{t} {}
};

template <int I>
void find_second_base() {
  for (const int tag : {I + 1, I + 100}) {
    const Cause cause = Cause::of(SecondBase<I>(tag));
    REQUIRE(cause.get_if<Tag>() != nullptr);
    CHECK(cause.get_if<Tag>()->tag == tag);
    const Cause other = thrown(SecondBase<I>(tag));
    CHECK(other.get_if<Fatal>() == nullptr);
    REQUIRE(other.get_if<Tag>() != nullptr);
    CHECK(other.get_if<Tag>()->tag == tag);
  }
}

template <int... I>
void find_second_bases(std::integer_sequence<int, I...>) {
  (find_second_base<I>(), ...);
}

}  // namespace

TEST_CASE("a plan may name any number of types, and errors of any number of types may be looked into", "[cause]") {
  const auto last_of_many = [](Cause cause) {
    name_numbered(cause, std::make_integer_sequence<int, 70>());
    return cause;
  };
  CHECK(last_of_many(thrown(Numbered<0>())).status() == 400);
  CHECK(last_of_many(thrown(Numbered<31>())).status() == 431);
  CHECK(last_of_many(thrown(Numbered<32>())).status() == 432);
  CHECK(last_of_many(thrown(Numbered<69>())).status() == 469);
  CHECK(last_of_many(Cause::of(Numbered<69>())).status() == 469);
  CHECK(last_of_many(thrown(Plain())).status() == std::nullopt);
  struct Hidden : OwnStatus, OwnCode, Silent {};  // its code is not its own
  Cause hidden = thrown(Hidden());
  name_loud(hidden, std::make_integer_sequence<int, 70>());
  CHECK(hidden.status() == 429);
  CHECK(hidden.code() == "slow");
  find_second_bases(std::make_integer_sequence<int, 40>());
}

TEST_CASE("a returned class with virtual functions need be no std::exception", "[cause]") {
  struct Virtual {
    Virtual() = default;
    Virtual(const Virtual&) = default;
    Virtual& operator=(const Virtual&) = default;
    virtual ~Virtual() = default;
    [[nodiscard]] virtual int status() const { return 503; }
  };
  const Cause cause = Cause::of(Virtual());
  CHECK(cause.get_if<std::exception>() == nullptr);
  CHECK(cause.get_if<Virtual>() != nullptr);
  CHECK(cause.status() == 503);
}

TEST_CASE("what is only seen as a base is kept as much as can be", "[cause]") {
  struct Own : std::logic_error {
    Own() : std::logic_error("base") {}
    [[nodiscard]] const char* what() const noexcept override { return "own"; }
  };
  struct Vendor : ProviderError {
    Vendor() : ProviderError(429, "slow", "rate_limit", 2s) {}
  };
  const auto outside = [](const auto& error) { return Cause::of(error); };
  const auto in_another_handler = [](const auto& error) {
    try {
      throw 1;
    } catch (int) {
      return Cause::of(error);
    }
  };
  const auto each = [&](const auto& error, auto check) {
    check(outside(error));
    check(in_another_handler(error));
  };
  const planb::Defect defect("a bug");
  const Own own;
  const Vendor vendor;
  const auto is_defect = [](const Cause& cause) {
    CHECK(cause.kind() == CauseKind::defect);
    CHECK(cause.message() == "a bug");
    CHECK(throws_as<planb::Defect>(cause));
  };
  each(static_cast<const std::exception&>(defect), is_defect);
  each(static_cast<const std::logic_error&>(defect), is_defect);
  each(static_cast<const std::exception&>(vendor), [](const Cause& cause) {
    CHECK(cause.status() == 429);
    CHECK(cause.retry_after() == Duration(2s));
    CHECK(cause.get_if<ProviderError>() != nullptr);
  });
  each(static_cast<const std::logic_error&>(own), [](const Cause& cause) {
    CHECK(cause.message() == "own");
    CHECK(cause.get_if<std::logic_error>() != nullptr);
    CHECK(cause.kind() == CauseKind::error);
  });
  each(static_cast<const std::exception&>(own), [](const Cause& cause) { CHECK(cause.message() == "own"); });
  each(std::logic_error("itself"), [](const Cause& cause) { CHECK(cause.message() == "itself"); });
  struct SameText : std::runtime_error {
    SameText() : std::runtime_error("same") {}
  };
  const SameText same;
  each(static_cast<const std::runtime_error&>(same), [](const Cause& cause) {
    CHECK(cause.message() == "same");
    try {
      cause.rethrow();
    } catch (const std::runtime_error& e) {
      CHECK(typeid(e) == typeid(std::runtime_error));  // no other class is needed for that
    }
  });
}

TEST_CASE("what cannot be copied is taken where it is being handled, and else its text", "[cause]") {
  struct Abstract : std::exception {
    [[nodiscard]] virtual int status() const = 0;
    [[nodiscard]] const char* what() const noexcept override { return "abstract"; }
  };
  struct Concrete : Abstract {
    [[nodiscard]] int status() const override { return 429; }
  };
  class Protected : public std::exception {
   public:
    Protected() = default;
    [[nodiscard]] const char* what() const noexcept override { return "protected"; }

   protected:
    Protected(const Protected&) = default;
  };
  struct Open : Protected {};
  struct MoveOnly final {
    std::unique_ptr<int> number = std::make_unique<int>(5);
    std::string message = "move-only";
  };
  try {
    throw Concrete();
  } catch (const Abstract& e) {
    const Cause cause = Cause::of(e);
    REQUIRE(cause.get_if<Concrete>() != nullptr);
    CHECK((cause.get_if<Concrete>() == &e) == exceptions_are_stable);
  }
  try {
    throw Open();
  } catch (const Protected& e) {
    const Cause cause = Cause::of(e);
    REQUIRE(cause.get_if<Open>() != nullptr);
    CHECK((cause.get_if<Open>() == &e) == exceptions_are_stable);
  }
  try {
    throw MoveOnly();
  } catch (const MoveOnly& e) {
    CHECK(Cause::of(e).get_if<MoveOnly>() == (exceptions_are_stable ? &e : nullptr));
  }
  const Concrete concrete;
  const Open open;
  const MoveOnly move_only;
  CHECK(Cause::of(static_cast<const Abstract&>(concrete)).message() == "abstract");
  CHECK(Cause::of(static_cast<const Protected&>(open)).message() == "protected");
  CHECK(Cause::of(move_only).message() == "move-only");
}

TEST_CASE("a thrown ProviderError, and what derives from it, can be read unnamed", "[cause]") {
  struct Derived : ProviderError {
    using ProviderError::ProviderError;
  };
  for (const Cause& cause : {current(ProviderError(429, "slow down", "busy", 2s)),
                             current(Derived(429, "slow down", "busy", 2s))}) {
    CHECK(cause.status() == 429);
    CHECK(cause.code() == "busy");
    CHECK(cause.retry_after() == Duration(2s));
    CHECK(cause.message() == "slow down");
  }
  const Cause refused = current(ProviderError("connection refused"));
  CHECK(refused.status() == std::nullopt);
  CHECK(refused.code().empty());
  CHECK(refused.retry_after() == std::nullopt);
}

TEST_CASE("a type that a predicate anywhere in the plan names can be read everywhere in it", "[cause]") {
  std::vector<std::optional<int>> seen;
  const auto look = [&seen](const Cause& cause) {
    seen.push_back(cause.status());
    return true;
  };
  const auto fail = [](int&) -> int { throw LlmError(503); };

  SECTION("a retry_while in a later step") {
    const planb::ExecutionPlan<int> plan{
        {.name = "reads", .provide = 1, .attempts = 2, .retry_while = look},
        {.name = "names", .provide = 2, .retry_while = [](const LlmError&) { return true; }},
    };
    CHECK_FALSE(try_run_with_plan(plan, fail));
  }
  SECTION("a classify in an earlier step") {
    const planb::ExecutionPlan<int> plan{
        {.name = "names", .provide = 2, .classify = [](const LlmError&) { return planb::Verdict{}; }},
        {.name = "reads", .provide = 1, .attempts = 2, .retry_while = look},
    };
    CHECK_FALSE(try_run_with_plan(plan, fail));
  }
  SECTION("an enter_when") {
    const planb::ExecutionPlan<int> plan{
        {.name = "reads", .provide = 1, .attempts = 2, .retry_while = look},
        {.name = "names", .provide = 2, .enter_when = [](const LlmError&) { return false; }},
    };
    CHECK_FALSE(try_run_with_plan(plan, fail));
  }
  SECTION("and another one that names std::exception is not in the way") {
    const planb::ExecutionPlan<int> plan{
        {.name = "base", .provide = 2, .retry_while = [](const std::exception&) { return true; }},
        {.name = "reads", .provide = 1, .attempts = 2, .retry_while = look},
        {.name = "names", .provide = 2, .enter_when = [](const LlmError&) { return false; }},
    };
    CHECK_FALSE(try_run_with_plan(plan, fail));
  }
  CHECK(seen == std::vector<std::optional<int>>{503, 503});
}

TEST_CASE("a ProviderError's wait hint counts where a predicate takes std::exception", "[cause]") {
  planb::testing::VirtualClock clock;
  const planb::ExecutionPlan<int> plan{
      {.provide = 1, .attempts = 2, .retry_while = [](const std::exception&) { return true; }}};
  const auto busy = [](int&) -> int { throw ProviderError(429, "busy", {}, 5s); };
  CHECK_FALSE(try_run_with_plan(plan, busy, {.clock = &clock}));
  CHECK(clock.elapsed() == Duration(5s));
}

TEST_CASE("an error of unnamed type that is thrown in a plan cannot be read, only described", "[cause]") {
  std::optional<Cause> seen;
  const planb::ExecutionPlan<int> plan{{.provide = 1, .retry_while = [&seen](const Cause& cause) {
                                          seen = cause;
                                          return false;
                                        }}};
  CHECK_FALSE(try_run_with_plan(plan, [](int&) -> int { throw LlmError(503); }));
  REQUIRE(seen.has_value());
  CHECK(seen->status() == std::nullopt);
  CHECK(seen->message() == "llm failed");
  CHECK(seen->get_if<LlmError>() != nullptr);
}

TEST_CASE("what a handler stored of a returned error is not taken away by the run's result", "[cause]") {
  // An expected-like that comes back in its own type holds the last error; so does the cause that was told before.
  struct Error {
    std::string first = std::string(40, 'a');
    std::string second = std::string(40, 'b');
    std::string third = std::string(40, 'c');
  };
  struct Result {
    std::optional<int> value;
    Error failure;
    Result(Error e) : failure(std::move(e)) {}  // NOLINT(google-explicit-constructor)
    [[nodiscard]] bool has_value() const { return value.has_value(); }
    [[nodiscard]] const Error& error() const { return failure; }
    int operator*() const { return *value; }
  };
  static_assert(sizeof(Error) > 64, "one that copies of a cause may share");

  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  std::optional<Cause> told;
  const auto keep = [&told](const planb::AttemptFailure& f) { told = f.cause; };
  const auto fail = [](int&) { return Result(Error{}); };
  for (const auto style : {planb::FailureStyle::aggregate, planb::FailureStyle::original}) {
    const Result result = run_with_plan(plan, fail, {.on_event = keep, .failure = style});
    CHECK(result.error().first == std::string(40, 'a'));
    REQUIRE(told.has_value());
    REQUIRE(told->get_if<Error>() != nullptr);
    CHECK(told->get_if<Error>()->first == std::string(40, 'a'));
    CHECK(told->get_if<Error>()->third == std::string(40, 'c'));
  }
}
