// run_with_plan: what may be called, what it may give back, and in which order steps are tried.
#include <planb/planb.hpp>
#include <planb/report/detail/text.hpp>
#include <planb/testing.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "lives.hpp"
#include "results.hpp"

#if defined(PLANB_TESTS_WANT_SINGLE_HEADER) && !defined(PLANB_SINGLE_HEADER)
#error "these tests were to see the single header"
#endif

#if __has_include(<tl/expected.hpp>)
#include <tl/expected.hpp>
#endif
#ifdef __cpp_lib_expected
#include <expected>
#endif

using namespace std::chrono_literals;
using lives::Immovable;
using planb::Attempt;
using planb::ExecutionPlan;
using planb::run_with_plan;
using planb::try_run_with_plan;
using results::Fault;

namespace {

struct Client {
  int id = 0;
  int calls = 0;

  int same_id() { return id; }
  int with_attempt(const Attempt& attempt) const { return 10 * id + attempt.attempt; }
};

// Steps 1, 2, 3, one attempt each, whose clients know their number.
ExecutionPlan<Client> numbered(int size = 3) {
  std::vector<planb::Step<Client>> steps;
  for (int i = 1; i <= size; ++i) steps.push_back({.name = "step" + std::to_string(i), .provide = Client{i}});
  return ExecutionPlan<Client>(std::move(steps));
}

int free_function(Client& client) { return client.id; }

// Carries an error in a way of its own.
struct Envelope {
  std::string text;
  int failure = 0;
};

}  // namespace

template <>
struct planb::result_traits<Envelope> {
  static bool has_value(const Envelope& e) { return e.failure == 0; }
  static int error(Envelope&& e) { return e.failure; }
  static std::string value(Envelope&& e) { return std::move(e.text); }
  static Envelope from_error(int failure) { return {{}, failure}; }
};

// --- The order of things
// -----------------------------------------------------------------------------------------------

TEST_CASE("twenty runs of one plan at once each see their own order, metadata and events", "[run][field-28]") {
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1}}, {.name = "beta", .provide = Client{2}}};
  struct Seen {
    planb::testing::AttemptLog log;
    std::vector<planb::Metadata> metadata;
    int answer = 0;
  };
  std::vector<Seen> seen(20);
  std::vector<std::thread> threads;
  for (Seen& mine : seen) {
    mine.log = planb::testing::AttemptLog();
    threads.emplace_back([&plan, &mine] {
      mine.answer = run_with_plan(plan,
                                  [&](Client& client) {
                                    mine.metadata.push_back(planb::CurrentMetadata::get());
                                    std::this_thread::yield();
                                    if (client.id == 1) throw std::runtime_error("down");
                                    return client.id;
                                  },
                                  {.on_event = mine.log});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Seen& mine : seen) {
    CHECK(mine.log.names() == std::vector{"alpha", "beta"});
    CHECK(mine.log.events().size() == 4);
    CHECK(mine.metadata == std::vector<planb::Metadata>{{1, 0}, {2, 1}});
    CHECK(mine.answer == 2);
  }
}

// --- What may be called
// ------------------------------------------------------------------------------------------------

TEST_CASE("the callable takes the context, and the attempt where it wants it", "[run]") {
  const ExecutionPlan<Client> plan = numbered(2);
  CHECK(run_with_plan(plan, [](Client& c) { return c.id; }) == 1);
  CHECK(run_with_plan(plan, [](const Client& c) { return c.id; }) == 1);
  CHECK(run_with_plan(plan, [](Client c) { return c.id; }) == 1);
  CHECK(run_with_plan(plan, [](auto& c) { return c.id; }) == 1);
  CHECK(run_with_plan(plan, free_function) == 1);
  CHECK(run_with_plan(plan, &free_function) == 1);
  CHECK(run_with_plan(plan, std::function<int(Client&)>(free_function)) == 1);
  int calls = 0;
  auto counting = [&calls](Client&) mutable { return ++calls; };
  CHECK(run_with_plan(plan, std::ref(counting)) == 1);
  CHECK(run_with_plan(plan, counting) == 2);

  const auto both = planb::overloaded{[](Client&) { return std::string("without"); },
                                      [](Client&, const Attempt&) { return std::string("with"); }};
  CHECK(run_with_plan(plan, both) == "with");
  CHECK(run_with_plan(plan, both, {}) == "with");
}

TEST_CASE("the attempt knows its place in the run", "[run]") {
  const ExecutionPlan<Client> plan{{.name = "first", .provide = Client{1}, .attempts = 2},
                                   {.name = "second", .provide = Client{2}}};
  std::vector<std::string> seen;
  const auto fn = [&](Client& client, const Attempt& a) {
    seen.push_back(std::to_string(a.attempt) + " " + std::to_string(a.step_attempt) + " " +
                   std::to_string(a.step_index) + " " + std::string(a.step_name) + " after " +
                   (a.previous() != nullptr ? a.previous()->message() : "nothing"));
    CHECK_FALSE(a.deadline().has_value());
    CHECK_FALSE(a.timeout().has_value());
    if (client.id == 1) throw std::runtime_error("failure " + std::to_string(a.attempt));
    return client.id;
  };
  const std::vector<std::string> expected{"1 1 0 first after nothing", "2 2 0 first after failure 1",
                                          "3 1 1 second after failure 2"};
  SECTION("without options") {
    CHECK(run_with_plan(plan, fn) == 2);
    CHECK(seen == expected);
  }
  SECTION("with options") {
    CHECK(run_with_plan(plan, fn, {.seed = 1}) == 2);
    CHECK(seen == expected);
  }
}

TEST_CASE("an attempt's deadline is that of its own step", "[run][field-15]") {
  const ExecutionPlan<Client> plan{{.name = "limited", .provide = Client{1}, .timeout = 1h},
                                   {.name = "unlimited", .provide = Client{2}},
                                   {.name = "limited again", .provide = Client{3}, .timeout = 2h}};
  std::vector<std::string> seen;
  const auto fn = [&](Client&, const Attempt& a) {
    seen.push_back(!a.deadline() ? "none" : *a.timeout() <= 1h ? "1h" : "2h");
    CHECK(a.deadline().has_value() == a.timeout().has_value());
    throw std::runtime_error("down");
  };
  const std::vector<std::string> expected{"1h", "none", "2h"};
  SECTION("without options") {
    CHECK_THROWS_AS(run_with_plan(plan, fn), planb::PlanExhausted);
    CHECK(seen == expected);
  }
  SECTION("with a handler") {
    CHECK_THROWS_AS(run_with_plan(plan, fn, {.on_event = [](const planb::Event&) {}}), planb::PlanExhausted);
    CHECK(seen == expected);
  }
}

TEST_CASE("members of the context may be called", "[run]") {
  CHECK(run_with_plan(numbered(), &Client::same_id) == 1);
  CHECK(run_with_plan(numbered(), &Client::with_attempt) == 11);

  Client outside{7};
  const ExecutionPlan<Client&> plan{{.provide = std::ref(outside)}};
  CHECK(run_with_plan(plan, &Client::same_id) == 7);

  // Of a data member, a copy: the context is gone when the run is over.
  STATIC_REQUIRE(std::is_same_v<decltype(run_with_plan(plan, &Client::id)), int>);
  CHECK(run_with_plan(plan, &Client::id) == 7);
  CHECK(run_with_plan(numbered(), &Client::id) == 1);
}

TEST_CASE("members may be called through a context that points to the object", "[run]") {
  Client outside{7};
  const ExecutionPlan<Client*> pointers{{.provide = [&] { return &outside; }}};
  CHECK(run_with_plan(pointers, &Client::same_id) == 7);
  CHECK(run_with_plan(pointers, &Client::with_attempt) == 71);
  CHECK(run_with_plan(pointers, &Client::id) == 7);

  const ExecutionPlan<std::shared_ptr<Client>> shared{{.provide = [] { return std::make_shared<Client>(Client{8}); }}};
  CHECK(run_with_plan(shared, &Client::same_id) == 8);
}

TEST_CASE("a functor is called as an lvalue, however it was handed over", "[run]") {
  struct Functor {
    const char* operator()(Client&) & { return "lvalue"; }
    const char* operator()(Client&) && { return "rvalue"; }
    const char* operator()(Client&) const& { return "const lvalue"; }
  };
  Functor functor;
  const Functor constant;
  CHECK(run_with_plan(numbered(), functor) == std::string("lvalue"));
  CHECK(run_with_plan(numbered(), Functor()) == std::string("lvalue"));
  CHECK(run_with_plan(numbered(), std::move(functor)) == std::string("lvalue"));
  CHECK(run_with_plan(numbered(), constant) == std::string("const lvalue"));
  CHECK(try_run_with_plan(numbered(), Functor()).value() == std::string("lvalue"));
  CHECK(run_with_plan(numbered(), Functor(), {.seed = 1}) == std::string("lvalue"));
  CHECK(run_with_plan(numbered(), planb::accepting(Functor(), [](const char*) { return true; })) ==
        std::string("lvalue"));

  struct OnlyLvalue {
    int operator()(Client& c) & { return c.id; }
    int operator()(Client&) && = delete;
  };
  CHECK(run_with_plan(numbered(), OnlyLvalue()) == 1);
}

TEST_CASE("a functor that can be neither copied nor moved will do", "[run]") {
  struct Pinned {
    Pinned() = default;
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;
    int operator()(Client& c) { return calls += c.id; }
    int calls = 0;
  };
  Pinned pinned;
  CHECK(run_with_plan(numbered(), pinned) == 1);
  CHECK(run_with_plan(numbered(), Pinned()) == 1);
  CHECK(pinned.calls == 1);
}

// --- What it may give back
// ---------------------------------------------------------------------------------------------

TEST_CASE("a run gives exactly the type that the callable returns", "[run]") {
  const ExecutionPlan<Client> plan = numbered();
  const auto type_of = [&](auto fn) { return std::type_identity<decltype(run_with_plan(plan, fn))>(); };
  int outside = 0;
  CHECK(std::is_same_v<decltype(type_of([](Client&) { return 1; })), std::type_identity<int>>);
  CHECK(std::is_same_v<decltype(type_of([](Client&) {})), std::type_identity<void>>);
  CHECK(std::is_same_v<decltype(type_of([&](Client&) -> int& { return outside; })), std::type_identity<int&>>);
  CHECK(std::is_same_v<decltype(type_of([&](Client&) -> const int& { return outside; })),
                       std::type_identity<const int&>>);
  CHECK(std::is_same_v<decltype(type_of([&](Client&) -> int&& { return std::move(outside); })),
                       std::type_identity<int&&>>);
}

TEST_CASE("values of every kind come back, after failures too", "[run]") {
  const auto fails_before = GENERATE(0, 1, 2);
  const auto with_options = GENERATE(false, true);
  CAPTURE(fails_before, with_options);
  const auto run = [&](auto fn) -> decltype(auto) {
    int calls = 0;
    auto failing = [&](Client& client) -> decltype(auto) {
      if (calls++ < fails_before) throw std::runtime_error("down");
      return fn(client);
    };
    return with_options ? run_with_plan(numbered(), failing, {.seed = 1}) : run_with_plan(numbered(), failing);
  };
  int outside = 5;

  CHECK(run([](Client&) { return std::string("text"); }) == "text");
  CHECK(*run([](Client&) { return std::make_unique<int>(3); }) == 3);
  CHECK(&run([&](Client&) -> int& { return outside; }) == &outside);
  CHECK(&run([&](Client&) -> const int& { return outside; }) == &outside);
  int done = 0;
  run([&](Client&) { ++done; });
  CHECK(done == 1);
  const Immovable there = run([](Client& c) { return Immovable(c.id); });
  CHECK(there.id == fails_before + 1);
  CHECK(there.self == &there);
}

TEST_CASE("a value is built in place, once", "[run]") {
  struct Counted {
    Counted() = default;
    Counted(const Counted& other) : copies(other.copies + 1), moves(other.moves) {}
    Counted(Counted&& other) noexcept : copies(other.copies), moves(other.moves + 1) {}
    Counted& operator=(const Counted&) = delete;
    int copies = 0;
    int moves = 0;
  };
  const auto fn = [](Client&) { return Counted(); };
  const Counted plain = run_with_plan(numbered(), fn);
  const Counted with_options = run_with_plan(numbered(), fn, {.seed = 1});
  const auto tried = try_run_with_plan(numbered(), fn);
  CHECK(plain.copies + plain.moves == 0);
  CHECK(with_options.copies + with_options.moves == 0);
  CHECK(tried->copies + tried->moves == 0);
}

TEST_CASE("an empty answer is a success", "[run][field-23]") {
  const planb::testing::AttemptLog log;
  CHECK(run_with_plan(numbered(), [](Client&) { return std::string(); }, {.on_event = log}).empty());
  CHECK(log.names() == std::vector{"step1"});
}

// --- Return types that carry errors
// ------------------------------------------------------------------------------------

namespace {

// `fail(n)` makes a failed R, `value(n)` a good one; `error(r)` reads the number of a failure.
template <class R, class Fail, class Value, class Error>
void check_result_type(Fail fail, Value value, Error error) {
  const ExecutionPlan<Client> plan = numbered();
  int calls = 0;
  const auto answers_at = [&](int step) {
    return [&calls, step, fail, value](Client& client) -> R {
      ++calls;
      return client.id == step ? value(client.id) : fail(client.id);
    };
  };

  const planb::testing::AttemptLog log;
  R good = run_with_plan(plan, answers_at(2), {.on_event = log});
  CHECK(planb::result_traits<R>::has_value(good));
  CHECK(log.names() == std::vector{"step1", "step2"});
  CHECK(log.of<planb::AttemptFailure>().size() == 1);
  CHECK(log.of<planb::AttemptSuccess>().size() == 1);

  calls = 0;
  R plain = run_with_plan(plan, answers_at(1));
  CHECK(planb::result_traits<R>::has_value(plain));
  CHECK(calls == 1);

  calls = 0;
  R bad = run_with_plan(plan, answers_at(0));
  CHECK_FALSE(planb::result_traits<R>::has_value(bad));
  CHECK(error(bad) == 3);
  CHECK(calls == 3);

  R original = run_with_plan(plan, answers_at(0), {.failure = planb::FailureStyle::original});
  CHECK(error(original) == 3);

  // Errors thrown and errors returned are treated alike.
  calls = 0;
  R after_throw = run_with_plan(plan, [&](Client& client) -> R {
    if (client.id == 1) throw std::runtime_error("down");
    return answers_at(2)(client);
  });
  CHECK(planb::result_traits<R>::has_value(after_throw));
  CHECK(calls == 1);

  CHECK(try_run_with_plan(plan, answers_at(3)).has_value());
  const auto failed = try_run_with_plan(plan, answers_at(0));
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().end() == planb::RunEnd::exhausted);
}

}  // namespace

#if __has_include(<tl/expected.hpp>)
TEST_CASE("tl::expected comes back as itself", "[run]") {
  using R = tl::expected<std::string, Fault>;
  check_result_type<R>([](int i) -> R { return tl::unexpected(Fault{i}); },
                       [](int i) -> R { return std::to_string(i); }, [](const R& r) { return r.error().id; });
  using Nothing = tl::expected<void, int>;
  check_result_type<Nothing>([](int i) -> Nothing { return tl::unexpected(i); }, [](int) { return Nothing(); },
                             [](const Nothing& r) { return r.error(); });
  using MoveOnly = tl::expected<std::unique_ptr<int>, std::unique_ptr<int>>;
  check_result_type<MoveOnly>([](int i) -> MoveOnly { return tl::unexpected(std::make_unique<int>(i)); },
                              [](int i) -> MoveOnly { return std::make_unique<int>(i); },
                              [](const MoveOnly& r) { return *r.error(); });
  CHECK(*run_with_plan(numbered(), [](Client& c) -> R { return std::to_string(c.id); }) == "1");
}

TEST_CASE("the error may be of the value's own type", "[run]") {
  using R = tl::expected<std::string, std::string>;
  const R bad = run_with_plan(numbered(), [](Client& c) -> R { return tl::unexpected(std::to_string(c.id)); });
  REQUIRE_FALSE(bad.has_value());
  CHECK(bad.error() == "3");
}

TEST_CASE("an exception_ptr may be the error that is returned", "[run]") {
  using R = tl::expected<int, std::exception_ptr>;
  const auto fn = [](Client& c) -> R { return tl::unexpected(std::make_exception_ptr(Fault{c.id})); };
  const auto style = GENERATE(planb::FailureStyle::aggregate, planb::FailureStyle::original);
  std::vector<int> asked;
  const ExecutionPlan<Client> plan{{.provide = Client{1}}, {.provide = Client{2}, .retry_while = [&](const Fault& f) {
                                                              asked.push_back(f.id);
                                                              return true;
                                                            }}};
  const R bad = run_with_plan(plan, fn, {.failure = style});
  REQUIRE_FALSE(bad.has_value());
  CHECK(planb::Cause::of(bad.error()).get_if<Fault>()->id == 2);
  CHECK(asked == std::vector<int>{2});
}
#endif

#ifdef __cpp_lib_expected
TEST_CASE("std::expected comes back as itself", "[run]") {
  using R = std::expected<std::string, Fault>;
  check_result_type<R>([](int i) -> R { return std::unexpected(Fault{i}); },
                       [](int i) -> R { return std::to_string(i); }, [](const R& r) { return r.error().id; });
  using Nothing = std::expected<void, int>;
  check_result_type<Nothing>([](int i) -> Nothing { return std::unexpected(i); }, [](int) { return Nothing(); },
                             [](const Nothing& r) { return r.error(); });
}
#endif

TEST_CASE("a hand-made expected-like comes back as itself", "[run]") {
  using R = results::Outcome<std::string, Fault>;
  check_result_type<R>([](int i) -> R { return Fault{i}; }, [](int i) -> R { return std::to_string(i); },
                       [](const R& r) { return r.error().id; });
}

TEST_CASE("a StatusOr-like comes back as itself", "[run]") {
  using R = results::StatusOr<std::string>;
  check_result_type<R>([](int i) -> R { return results::Status(i, "no"); },
                       [](int i) -> R { return std::to_string(i); }, [](const R& r) { return r.status().status(); });
}

TEST_CASE("result_traits says how a type of one's own carries errors", "[run]") {
  check_result_type<Envelope>(
      [](int i) {
        return Envelope{{}, i};
      },
      [](int i) {
        return Envelope{std::to_string(i), 0};
      },
      [](const Envelope& e) { return e.failure; });
  const Envelope answer = run_with_plan(numbered(), [](Client& c) { return Envelope{std::to_string(c.id), 0}; });
  CHECK(answer.text == "1");
}

TEST_CASE("an acceptance check leaves an accepted result as it was", "[run]") {
  const std::string text = "a text that is long enough to live on the heap";
  const auto fn = [&](Client&) { return Envelope{text, 0}; };
  std::vector<std::string> asked;
  const auto accepts = [&](const std::string& value) {
    asked.push_back(value);
    return true;
  };
  CHECK(run_with_plan(numbered(), planb::accepting(fn, accepts)).text == text);
  CHECK(run_with_plan(numbered(), planb::accepting(fn, accepts), {.seed = 1}).text == text);
  CHECK(try_run_with_plan(numbered(), planb::accepting(fn, accepts)).value() == text);
  CHECK(asked == std::vector<std::string>(3, text));
}

TEST_CASE("an expected-like without operator* gives its value through value()", "[run]") {
  struct Plain {
    [[nodiscard]] bool has_value() const { return good; }
    [[nodiscard]] int error() const { return number; }
    [[nodiscard]] int value() const { return number; }
    bool good;
    int number;
  };
  const auto result = try_run_with_plan(numbered(), [](Client& c) { return Plain{c.id == 2, c.id}; });
  STATIC_REQUIRE(std::is_same_v<decltype(result.value()), const int&>);
  CHECK(result.value() == 2);
}

TEST_CASE("a result may come as a reference to one that lives elsewhere", "[run]") {
  using R = results::Outcome<int, Fault>;
  R good(5);
  R bad(Fault{3});
  const auto fn = [&](Client& c) -> R& { return c.id == 1 ? bad : good; };
  CHECK(&run_with_plan(numbered(), fn) == &good);
  CHECK(bad.error().id == 3);
  CHECK(try_run_with_plan(numbered(), fn).value() == 5);
}

TEST_CASE("a plan's run may be another plan's attempt, as a PlanResult", "[run][field-2]") {
  int calls = 0;
  const auto inner = [&](Client& outer) {
    return try_run_with_plan(numbered(), [&](Client& client) {
      ++calls;
      if (outer.id < 2 || client.id < 2) throw std::runtime_error("down");
      return 10 * outer.id + client.id;
    });
  };
  const planb::PlanResult<int> result = run_with_plan(numbered(), inner);
  CHECK(result.value() == 22);
  CHECK(result.report().answered_step == 1);
  CHECK(calls == 3 + 2);

  const auto failing = [&](Client&) {
    return try_run_with_plan(numbered(), [](Client&) -> int { throw std::runtime_error("down"); });
  };
  const planb::PlanResult<int> failed = run_with_plan(numbered(), failing);
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().report().steps.size() == 3);
  CHECK(failed.error().report().last_cause()->get_if<planb::PlanError>() != nullptr);
}

TEST_CASE("types that only look like results are values", "[run]") {
  struct Response {  // an HTTP client's: ok() and a status that is a number
    [[nodiscard]] bool ok() const { return false; }
    [[nodiscard]] int status() const { return 503; }
    int operator*() const { return 1; }
  };
  const planb::testing::AttemptLog log;
  CHECK(run_with_plan(numbered(), [](Client&) { return Response(); }, {.on_event = log}).status() == 503);
  CHECK_FALSE(run_with_plan(numbered(), [](Client&) { return std::optional<int>(); }, {.on_event = log}).has_value());
  CHECK(run_with_plan(numbered(), [](Client&) { return std::unique_ptr<int>(); }, {.on_event = log}) == nullptr);
  CHECK_FALSE(run_with_plan(numbered(), [](Client&) { return false; }, {.on_event = log}));
  CHECK(log.names() == std::vector<std::string>(4, "step1"));
}

// --- What may be thrown
// ------------------------------------------------------------------------------------------------

namespace {

struct Bare {  // derives from nothing
  int number;
};
struct VirtualBase : virtual std::exception {};
struct Twice : std::runtime_error, std::logic_error {  // std::exception is an ambiguous base
  Twice() : std::runtime_error("left"), std::logic_error("right") {}
};

}  // namespace

TEST_CASE("anything may be thrown: the next step is tried, and the last error comes back as it was", "[run]") {
  struct Row {
    const char* what;
    std::function<void()> raise;
    std::function<bool()> caught;  // inside a handler: rethrows, and says whether it is that one
    const char* message;
  };
  const auto row = GENERATE(Row{"a std::exception", [] { throw std::runtime_error("down"); },
                                [] {
                                  try {
                                    throw;
                                  } catch (const std::runtime_error& e) {
                                    return std::string(e.what()) == "down";
                                  }
                                },
                                "down"},
                            Row{"a ProviderError", [] { throw planb::ProviderError(503, "busy"); },
                                [] {
                                  try {
                                    throw;
                                  } catch (const planb::ProviderError& e) {
                                    return e.status == 503;
                                  }
                                },
                                "503 busy"},
                            Row{"an int", [] { throw 42; },
                                [] {
                                  try {
                                    throw;
                                  } catch (int number) {
                                    return number == 42;
                                  }
                                },
                                "42"},
                            Row{"a text", [] { throw "text"; },
                                [] {
                                  try {
                                    throw;
                                  } catch (const char* text) {
                                    return std::string(text) == "text";
                                  }
                                },
                                "text"},
                            Row{"a null text", [] { throw static_cast<const char*>(nullptr); },
                                [] {
                                  try {
                                    throw;
                                  } catch (const char* text) {
                                    return text == nullptr;
                                  }
                                },
                                "unknown exception"},
                            Row{"a std::string", [] { throw std::string("a string"); },
                                [] {
                                  try {
                                    throw;
                                  } catch (const std::string& text) {
                                    return text == "a string";
                                  }
                                },
                                "a string"},
                            Row{"a class of its own", [] { throw Bare{7}; },
                                [] {
                                  try {
                                    throw;
                                  } catch (const Bare& bare) {
                                    return bare.number == 7;
                                  }
                                },
                                "unknown exception"},
                            Row{"one with a virtual base", [] { throw VirtualBase(); },
                                [] {
                                  try {
                                    throw;
                                  } catch (const VirtualBase&) {
                                    return true;
                                  }
                                },
                                nullptr},
                            Row{"one that is a std::exception twice over", [] { throw Twice(); },
                                [] {
                                  try {
                                    throw;
                                  } catch (const Twice&) {
                                    return true;
                                  }
                                },
                                "unknown exception"});
  INFO(row.what);
  const planb::testing::AttemptLog log;
  const auto fails = [&](Client& client) {
    if (client.id < 3) row.raise();
    return client.id;
  };
  CHECK(run_with_plan(numbered(), fails) == 3);
  CHECK(run_with_plan(numbered(), fails, {.on_event = log}) == 3);
  CHECK(log.of<planb::AttemptFailure>().size() == 2);
  if (row.message != nullptr) CHECK(planb::detail::describe(log.of<planb::AttemptFailure>()[0].cause) == row.message);

  bool came_back = false;
  try {
    run_with_plan(numbered(2), fails, {.failure = planb::FailureStyle::original});
  } catch (...) {
    came_back = row.caught();
  }
  CHECK(came_back);

  bool nested = false;
  try {
    run_with_plan(numbered(2), fails);
  } catch (const planb::PlanExhausted& e) {
    try {
      std::rethrow_if_nested(e);
    } catch (...) {
      nested = row.caught();
    }
  }
  CHECK(nested);
}

TEST_CASE("what the original style throws is the object itself, not a copy", "[run]") {
  const std::exception* thrown = nullptr;
  try {
    run_with_plan(numbered(1),
                  [&](Client&) {
                    try {
                      throw std::runtime_error("down");
                    } catch (const std::exception& e) {
                      thrown = &e;
                      throw;
                    }
                  },
                  {.failure = planb::FailureStyle::original});
  } catch (const std::exception& e) {
    CHECK(&e == thrown);
  }
}

// --- The factory's failure
// ---------------------------------------------------------------------------------------------

#if __has_include(<tl/expected.hpp>)
TEST_CASE("a factory that fails is a failed attempt, and the chain goes on", "[run][field-20]") {
  struct Row {
    const char* what;
    std::function<tl::expected<Client, Fault>()> make;
  };
  const auto row = GENERATE(Row{"thrown", []() -> tl::expected<Client, Fault> { throw Fault{1}; }},
                            Row{"returned", []() -> tl::expected<Client, Fault> { return tl::unexpected(Fault{1}); }});
  INFO(row.what);
  std::vector<planb::Metadata> in_factory;
  std::vector<int> asked;
  const ExecutionPlan<Client> plan{{.name = "broken",
                                    .provide =
                                        [&] {
                                          in_factory.push_back(planb::CurrentMetadata::get());
                                          return row.make();
                                        },
                                    .attempts = 2,
                                    .retry_while =
                                        [&](const Fault& fault) {
                                          asked.push_back(fault.id);
                                          return true;
                                        }},
                                   {.name = "fine", .provide = [&] {
                                      in_factory.push_back(planb::CurrentMetadata::get());
                                      return Client{2};
                                    }}};
  const planb::testing::AttemptLog log;
  int calls = 0;
  const auto fn = [&](Client& client) {
    ++calls;
    return client.id;
  };
  SECTION("with options") {
    CHECK(run_with_plan(plan, fn, {.on_event = log}) == 2);
    CHECK(log.names() == std::vector{"broken", "broken", "fine"});
    const std::vector<planb::AttemptFailure> failures = log.of<planb::AttemptFailure>();
    REQUIRE(failures.size() == 2);
    CHECK(failures[0].cause.get_if<Fault>() != nullptr);
    CHECK(failures[1].attempt == 2);
  }
  SECTION("without") { CHECK(run_with_plan(plan, fn) == 2); }
  CHECK(calls == 1);
  CHECK(in_factory == std::vector<planb::Metadata>{{1, 0}, {2, 0}, {3, 1}});
  CHECK(asked == std::vector<int>{1, 1});
  CHECK(planb::CurrentMetadata::get() == planb::Metadata{});
}
#endif

TEST_CASE("a factory's errors alone exhaust a plan", "[run][field-20]") {
  const ExecutionPlan<Client> plan{{.name = "broken", .provide = []() -> Client { throw Fault{1}; }}};
  int calls = 0;
  const auto fn = [&](Client&) { return ++calls; };
  CHECK_THROWS_AS(run_with_plan(plan, fn), planb::PlanExhausted);
  CHECK_THROWS_AS(run_with_plan(plan, fn, {.failure = planb::FailureStyle::original}), Fault);
  CHECK_FALSE(try_run_with_plan(plan, fn).has_value());
  CHECK(calls == 0);
}

TEST_CASE("a value that comes after its time is still a success", "[run][field-19]") {
  planb::testing::VirtualClock clock;
  const ExecutionPlan<Client> plan{{.name = "slow", .provide = Client{1}, .timeout = 1s},
                                   {.name = "other", .provide = Client{2}}};
  const planb::testing::AttemptLog log;
  const int answer = run_with_plan(plan,
                                   [&](Client& c) {
                                     clock.advance(1h);
                                     return c.id;
                                   },
                                   {.on_event = log, .budget = 2s, .clock = &clock});
  CHECK(answer == 1);
  CHECK(log.names() == std::vector{"slow"});
}
