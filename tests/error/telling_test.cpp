// Telling of an error never fails, whatever the error does when it is read; and takes nothing from others.
#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/report/detail/text.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using planb::Cause;
using planb::ExecutionPlan;
using planb::ProviderError;

struct NullWhat : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return nullptr; }
};
struct NullWhatAlone {
  [[nodiscard]] static const char* what() { return nullptr; }
};
struct ThrowingReaders {
  [[nodiscard]] static int status() { throw std::runtime_error("no status"); }
  [[nodiscard]] static std::string code() { throw 1; }
  [[nodiscard]] static std::chrono::seconds retry_after() { throw planb::Defect("no hint"); }
  [[nodiscard]] static std::string message() { throw std::bad_alloc(); }
  [[nodiscard]] static std::optional<bool> retryable() { throw NullWhat(); }
};
struct ThrowingText {
  int status = 503;
  [[nodiscard]] static std::string message() { throw std::runtime_error("no text"); }
};

template <class E>
struct Failed {
  std::unique_ptr<E> failure;
  [[nodiscard]] static bool has_value() { return false; }
  [[nodiscard]] E error() const { return E(*failure); }
  int operator*() const { return 0; }
};

// What a run tells whose first step fails in a way that can be read, and whose second fails with an E.
template <class E, bool Returned>
void check_told(const std::string& expected) {
  const auto names = [](const E&) { return false; };
  const ExecutionPlan<int> plan{{.name = "first", .provide = 1},
                                {.name = "second", .provide = 2, .retry_while = names}};
  std::vector<std::string> lines;
  const auto tell = [&](const planb::AttemptFailure& f) { lines.push_back(to_string(f)); };
  const auto call = [](int& step) -> Failed<E> {
    if (step == 1) throw ProviderError(401, "key expired");
    if constexpr (!Returned) throw E();
    return {std::make_unique<E>()};
  };
  const auto result = try_run_with_plan(plan, call, {.on_event = tell});
  REQUIRE_FALSE(result.has_value());
  CHECK_THAT(result.report().to_string(), ContainsSubstring("first: 401 key expired; second: " + expected));
  CHECK(std::string(result.error().what()) == result.report().to_string());
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[1], ContainsSubstring(expected));
  CHECK_THROWS_AS(run_with_plan(plan, call), planb::PlanExhausted);
}

}  // namespace

TEST_CASE("an error without a text has a placeholder in that place alone", "[telling]") {
  check_told<NullWhat, false>("<no text>");
  check_told<NullWhat, true>("<no text>");
  check_told<NullWhatAlone, false>("<no text>");
  check_told<NullWhatAlone, true>("<no text>");
  check_told<ThrowingReaders, false>("<no text>");
  check_told<ThrowingReaders, true>("<no text>");
  check_told<ThrowingText, false>("503 <no text>");
  check_told<ThrowingText, true>("503 <no text>");
}

TEST_CASE("a reader that throws has said nothing", "[telling]") {
  const Cause cause = Cause::of(ThrowingReaders());
  CHECK(cause.status() == std::nullopt);
  CHECK(cause.code().empty());
  CHECK(cause.retry_after() == std::nullopt);
  CHECK(cause.retryable() == std::nullopt);
  CHECK(cause.message() == "<no text>");
  CHECK(planb::detail::describe(cause) == "<no text>");

  // What it wraps is asked then.
  struct Nesting : ThrowingReaders, std::nested_exception {};
  try {
    throw ProviderError(429, "slow down");
  } catch (...) {
    CHECK(Cause::of(Nesting()).status() == 429);
  }
}

TEST_CASE("a text of any bytes is cut to length", "[telling]") {
  const std::string no_utf8(1000, '\x80');
  const ExecutionPlan<int> plan{{.name = "only", .provide = 1}};
  const auto result = try_run_with_plan(plan, [&](int&) -> int { throw ProviderError(500, no_utf8); });
  CHECK_THAT(result.report().to_string(), ContainsSubstring("500 " + no_utf8.substr(0, 150)));
  std::string line;
  planb::detail::append_clipped(line, "abc\xE2\x82\xAC", 4);  // within the sign for euro
  CHECK(line == "abc...");
}

TEST_CASE("a cause of a reference to what is being handled is that exception", "[cause]") {
  const auto caught = [](const auto& error, auto base) {
    using Base = typename decltype(base)::type;
    try {
      throw error;
    } catch (const Base& e) {
      return Cause::of(e);
    }
  };
  const std::type_identity<std::exception> any;
  const Cause limit = caught(ProviderError(429, "slow down", "rate_limit"), any);
  CHECK(limit.status() == 429);
  CHECK(limit.code() == "rate_limit");
  CHECK(limit.message() == "slow down");
  CHECK(limit.get_if<ProviderError>() != nullptr);
  CHECK(caught(planb::Defect("bug"), any).kind() == planb::CauseKind::defect);
  CHECK(caught(planb::Defect("bug"), std::type_identity<std::logic_error>()).kind() == planb::CauseKind::defect);

  struct Plain {
    int status = 503;
  };
  struct Derived : Plain {
    int more = 7;
  };
  const Cause derived = caught(Derived(), std::type_identity<Plain>());
  REQUIRE(derived.get_if<Derived>() != nullptr);
  CHECK(derived.get_if<Derived>()->more == 7);

  // Another exception than the one that is being handled, and none: a copy.
  try {
    throw ProviderError(429, "slow down");
  } catch (const std::exception&) {
    const std::runtime_error other("other");
    CHECK(Cause::of(other).message() == "other");
    CHECK(Cause::of(static_cast<const std::exception&>(other)).message() == "other");
    CHECK(Cause::of(Plain()).status() == 503);
    const Plain plain;
    CHECK(Cause::of(plain).status() == 503);
  }
  const ProviderError outside(429, "slow down");
  CHECK(Cause::of(static_cast<const std::exception&>(outside)).message() == "slow down");
}

namespace {

struct MoveOnly {
  std::unique_ptr<std::string> body;
  [[nodiscard]] std::string message() const { return body ? *body : "<emptied>"; }
};
struct Big {
  std::string text;
  char room[64] = {};
  [[nodiscard]] const std::string& message() const { return text; }
};

template <class E>
struct Reply {
  using unexpected_type = E;
  E failure;
  Reply(E e) : failure(std::move(e)) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] bool has_value() const { return false; }
  [[nodiscard]] E& error() & { return failure; }
  [[nodiscard]] E&& error() && { return std::move(failure); }
  int operator*() const { return 0; }
};

const std::string body = "a message that is too long to be held in place";

Reply<MoveOnly> move_only() { return {MoveOnly{std::make_unique<std::string>(body)}}; }
Reply<Big> big() { return {Big{body}}; }

}  // namespace

TEST_CASE("a cause that somebody keeps is never emptied", "[cause]") {
  const ExecutionPlan<int> plan{{.name = "only", .provide = 1}};
  std::optional<Cause> kept;
  planb::RunOptions options{.on_event = [&](const planb::AttemptFailure& f) { kept = f.cause; }};
  for (const auto style : {planb::FailureStyle::aggregate, planb::FailureStyle::original}) {
    options.failure = style;
    kept.reset();
    CHECK_THROWS(run_with_plan(
        plan, [](int&) { return move_only(); }, options));  // there is none to be given back
    REQUIRE(kept);
    CHECK(kept->message() == body);
    kept.reset();
    CHECK_THROWS(planb::retry(
        {}, [] { return move_only(); }, options));
    CHECK(kept->message() == body);
    CHECK(run_with_plan(
              plan, [](int&) { return big(); }, options)
              .failure.text == body);
    CHECK(kept->message() == body);
  }
  // A predicate may keep one, too.
  const ExecutionPlan<int> asking{{.provide = 1, .retry_while = [&kept](const Cause& cause) {
                                     kept = cause;
                                     return false;
                                   }}};
  CHECK_THROWS_AS(run_with_plan(asking, [](int&) { return move_only(); }), planb::PlanExhausted);
  CHECK(kept->message() == body);
}

TEST_CASE("an error that nobody else keeps is given back", "[cause]") {
  const ExecutionPlan<int> plan{{.name = "only", .provide = 1}};
  CHECK(run_with_plan(plan, [](int&) { return move_only(); }).failure.message() == body);
  CHECK(planb::retry({}, [] { return move_only(); }).failure.message() == body);
  std::string seen;
  const auto look = [&](const planb::AttemptFailure& f) {
    const Cause passing = f.cause;
    seen = passing.message();
  };
  CHECK(run_with_plan(plan, [](int&) { return move_only(); }, {.on_event = look}).failure.message() == body);
  CHECK(seen == body);

  // A text that was given by pointer comes back as that pointer.
  const char* const text = "connection reset";
  CHECK(run_with_plan(plan, [&](int&) { return Reply<const char*>(text); }).failure == text);
}

TEST_CASE("a cause may be read on another thread while its run goes on", "[cause]") {
  const ExecutionPlan<int> plan{{.name = "only", .provide = 1}};
  for (int i = 0; i != 20; ++i) {
    std::thread reader;
    std::size_t seen = 0;
    const auto hand_over = [&](const planb::AttemptFailure& f) {
      reader = std::thread([cause = f.cause, &seen] { seen = cause.get_if<Big>()->text.size(); });
    };
    const Reply<Big> reply = run_with_plan(plan, [](int&) { return big(); }, {.on_event = hand_over});
    reader.join();
    CHECK(seen == body.size());
    CHECK(reply.failure.text == body);
  }
}
