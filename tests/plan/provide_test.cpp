// Step::provide: where the context of an attempt comes from.
#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <any>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if __has_include(<tl/expected.hpp>)
#include <tl/expected.hpp>
#define PLANB_TEST_TL_EXPECTED 1
#endif

namespace {

using namespace std::chrono_literals;
using planb::Attempt;
using planb::ExecutionPlan;
using planb::Provide;
using Strings = std::vector<std::string>;

struct Client {
  Client() = default;
  explicit Client(std::string n) : name(std::move(n)) {}
  virtual ~Client() = default;
  Client(const Client&) = default;
  Client(Client&&) = default;
  Client& operator=(const Client&) = default;
  Client& operator=(Client&&) = default;

  std::string name;
  int uses = 0;
};

struct SpecialClient : Client {
  using Client::Client;
};

struct Fault {
  int status = 503;
  std::string message = "no context";
};

// An expected-like.
template <class T>
class Made {
 public:
  Made(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Made(Fault fault) : fault_(std::move(fault)) {}     // NOLINT(google-explicit-constructor)
  [[nodiscard]] bool has_value() const { return value_.has_value(); }
  [[nodiscard]] T& operator*() & { return *value_; }
  [[nodiscard]] T&& operator*() && { return std::move(*value_); }
  [[nodiscard]] const Fault& error() const { return fault_; }

 private:
  std::optional<T> value_;
  Fault fault_;
};

struct MoveOnly {
  explicit MoveOnly(int n) : number(std::make_unique<int>(n)) {}
  std::unique_ptr<int> number;
};

class Immovable {
 public:
  explicit Immovable(int n) : number(n) {}
  Immovable(const Immovable&) = delete;
  Immovable& operator=(const Immovable&) = delete;
  ~Immovable() = default;

  int number;
};

// The context that a plan of one step gives to its callable.
template <class Ctx, class F>
Ctx provided(F&& provide) {
  const ExecutionPlan<Ctx> plan{{.provide = std::forward<F>(provide)}};
  return run_with_plan(plan, [](std::remove_reference_t<Ctx>& ctx) -> Ctx { return static_cast<Ctx&&>(ctx); });
}

// Its text, where it need not be copied.
template <class Ctx, class F, class Read>
auto read(F&& provide, Read read) {
  const ExecutionPlan<Ctx> plan{{.provide = std::forward<F>(provide)}};
  return run_with_plan(plan, [&](std::remove_reference_t<Ctx>& ctx) { return read(ctx); });
}

std::string free_factory() { return "free factory"; }
std::string attempt_factory(const Attempt& attempt) { return "attempt " + std::to_string(attempt.attempt); }

}  // namespace

TEST_CASE("a ready value is copied for each attempt", "[provide][field-29]") {
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client("ready"), .attempts = 3},
                                   {.name = "two", .provide = Client("other"), .attempts = 2}};
  Strings seen;
  const auto use_up = [&](Client& client) {
    seen.push_back(client.name + " " + std::to_string(client.uses++));
    std::string(std::move(client.name)).clear();
    throw std::runtime_error("used up");
  };
  CHECK_FALSE(try_run_with_plan(plan, use_up));
  CHECK_FALSE(try_run_with_plan(plan, use_up));
  CHECK(seen == Strings{"ready 0", "ready 0", "ready 0", "other 0", "other 0", "ready 0", "ready 0", "ready 0",
                        "other 0", "other 0"});
}

TEST_CASE("a ready value is copied into the plan", "[provide]") {
  Client client("mine");
  const ExecutionPlan<Client> plan{{.provide = client}};
  client.name = "changed";
  CHECK(run_with_plan(plan, [](Client& c) { return c.name; }) == "mine");
}

TEST_CASE("a factory may be anything that can be called through const", "[provide]") {
  struct Functor {
    std::string operator()() const { return "functor"; }
  };
  CHECK(provided<std::string>([] { return std::string("lambda"); }) == "lambda");
  CHECK(provided<std::string>(free_factory) == "free factory");
  CHECK(provided<std::string>(&free_factory) == "free factory");
  CHECK(provided<std::string>(attempt_factory) == "attempt 1");
  CHECK(provided<std::string>(Functor{}) == "functor");
  CHECK(provided<std::string>(std::function<std::string()>(free_factory)) == "free factory");
  CHECK(provided<std::string>([](const Attempt& a) { return "attempt " + std::to_string(a.attempt); }) == "attempt 1");
  CHECK(provided<std::string>([](Attempt a) { return std::string(a.step_name) + "unnamed"; }) == "unnamed");
  CHECK(provided<std::string>([big = std::array<char, 300>{'b'}] { return std::string(1, big[0]); }) == "b");
  CHECK(provided<std::string>([]() -> const std::string { return "const"; }) == "const");
  const std::string kept = "kept";
  CHECK(provided<std::string>([&]() -> const std::string& { return kept; }) == "kept");
}

TEST_CASE("of a factory's forms, the one with the most arguments is called", "[provide]") {
  struct Env {
    std::string name = "env";
  };
  struct All {
    std::string operator()() const { return "nothing"; }
    std::string operator()(const Attempt&) const { return "attempt"; }
    std::string operator()(Env& e) const { return e.name; }
    std::string operator()(Env& e, const Attempt&) const { return e.name + ", attempt"; }
  };
  struct WithoutBoth {
    std::string operator()() const { return "nothing"; }
    std::string operator()(const Attempt&) const { return "attempt"; }
    std::string operator()(Env& e) const { return e.name; }
  };
  struct AttemptOrNothing {
    std::string operator()() const { return "nothing"; }
    std::string operator()(const Attempt&) const { return "attempt"; }
  };
  const auto with_env = [](auto factory) {
    const ExecutionPlan<std::string, Env> plan{{.provide = factory}};
    return run_with_plan(plan.capture_requirements(Env{}), [](std::string& s) { return s; });
  };
  CHECK(with_env(All{}) == "env, attempt");
  CHECK(with_env(WithoutBoth{}) == "env");
  CHECK(with_env(AttemptOrNothing{}) == "attempt");
  CHECK(with_env(free_factory) == "free factory");
  CHECK(with_env(attempt_factory) == "attempt 1");
  CHECK(with_env(std::string("ready")) == "ready");

  CHECK(provided<std::string>(AttemptOrNothing{}) == "attempt");
  // A form that gives something else does not count.
  struct Other {
    int operator()(const Attempt&) const { return 1; }
    std::string operator()() const { return "nothing"; }
  };
  CHECK(provided<std::string>(Other{}) == "nothing");
}

TEST_CASE("a generic factory takes what it is given", "[provide]") {
  const auto count = [](auto&&... arguments) { return static_cast<int>(sizeof...(arguments)); };
  CHECK(provided<int>(count) == 1);
  const ExecutionPlan<int, Client> plan{{.provide = count}};
  CHECK(run_with_plan(plan.capture_requirements(Client()), [](int& n) { return n; }) == 2);
  // Also where the context converts to bool, or to anything.
  CHECK(provided<bool>([](const auto&...) { return true; }));
  CHECK(std::any_cast<int>(provided<std::any>([](const auto&...) { return 5; })) == 5);
}

TEST_CASE("something that converts to the context is a ready value", "[provide]") {
  CHECK(provided<std::string>("a literal") == "a literal");
  CHECK(read<std::string_view>(std::string("a string"), [](auto view) { return std::string(view); }) == "a string");
  CHECK(provided<double>(2) == 2.0);
  CHECK(provided<std::shared_ptr<Client>>(std::make_shared<SpecialClient>("derived"))->name == "derived");
  CHECK(provided<std::optional<std::string>>("in an optional") == "in an optional");
}

TEST_CASE("a factory may return what converts to the context", "[provide]") {
  CHECK(provided<std::string>([] { return "a literal"; }) == "a literal");
  CHECK(provided<std::shared_ptr<Client>>([] { return std::make_shared<SpecialClient>("derived"); })->name == "derived");
  CHECK(read<std::unique_ptr<Client>>([] { return std::make_unique<SpecialClient>("unique"); },
                                      [](auto& client) { return client->name; }) == "unique");
}

TEST_CASE("a context may be move-only or immovable: each attempt's is built in place", "[provide]") {
  CHECK(read<MoveOnly>([] { return MoveOnly(5); }, [](MoveOnly& m) { return *m.number; }) == 5);
  CHECK(read<Immovable>([] { return Immovable(6); }, [](Immovable& m) { return m.number; }) == 6);
  CHECK(read<Immovable>([](const Attempt& a) { return Immovable(a.attempt); }, [](Immovable& m) { return m.number; }) == 1);
  CHECK(read<MoveOnly>([] { return Made<MoveOnly>(MoveOnly(7)); }, [](MoveOnly& m) { return *m.number; }) == 7);
  // Moving out of it takes nothing from the next attempt.
  const ExecutionPlan<MoveOnly> plan{{.provide = [] { return MoveOnly(8); }, .attempts = 2}};
  std::vector<int> seen;
  CHECK_FALSE(try_run_with_plan(plan, [&](MoveOnly& m) {
    seen.push_back(*m.number);
    const MoveOnly taken = std::move(m);
    throw std::runtime_error("lost");
  }));
  CHECK(seen == std::vector<int>{8, 8});
}

TEST_CASE("a context may be a reference to what lives outside the plan", "[provide]") {
  SpecialClient client("outside");
  const auto same = [&](auto& ctx) { return static_cast<const Client*>(&ctx) == &client; };

  SECTION("the object itself") {
    CHECK(read<SpecialClient&>(client, same));
    CHECK(read<const SpecialClient&>(client, same));
    CHECK(read<const SpecialClient&>(std::as_const(client), same));
  }
  SECTION("as its base") {
    CHECK(read<Client&>(client, same));
    CHECK(read<const Client&>(std::as_const(client), same));
  }
  SECTION("std::ref and std::cref") {
    CHECK(read<SpecialClient&>(std::ref(client), same));
    CHECK(read<Client&>(std::ref(client), same));
    CHECK(read<const Client&>(std::ref(client), same));
    CHECK(read<const SpecialClient&>(std::cref(client), same));
  }
  SECTION("a factory") {
    CHECK(read<SpecialClient&>([&]() -> SpecialClient& { return client; }, same));
    CHECK(read<Client&>([&]() -> SpecialClient& { return client; }, same));
    CHECK(read<const Client&>([&](const Attempt&) -> const SpecialClient& { return client; }, same));
    CHECK(read<Client&>([&] { return std::ref(client); }, same));
    CHECK(read<Client&>([&] { return Made<std::reference_wrapper<Client>>(client); }, same));
  }
  SECTION("a factory that refers to an expected-like which is kept elsewhere") {
    Made<Client> kept(Client("kept"));
    CHECK(read<Client&>([&]() -> Made<Client>& { return kept; }, [&](Client& c) { return &c == &*kept; }));
  }
  SECTION("what one attempt does to it, the next one sees") {
    const ExecutionPlan<Client&> plan{{.provide = client, .attempts = 3}};
    CHECK_FALSE(try_run_with_plan(plan, [](Client& c) {
      ++c.uses;
      throw std::runtime_error("again");
    }));
    CHECK(client.uses == 3);
  }
}

TEST_CASE("a std::ref is copied into the plan, wherever it came from", "[provide]") {
  Client first("first");
  Client second("second");
  auto reference = std::ref(first);
  const ExecutionPlan<Client&> plan{{.provide = reference}};
  reference = std::ref(second);
  CHECK(run_with_plan(plan, [](Client& c) { return c.name; }) == "first");
}

TEST_CASE("a factory's expected-like gives the context or fails the attempt", "[provide]") {
  planb::testing::AttemptLog log;
  int seen = 0;
  const ExecutionPlan<std::string> plan{
      {.name = "broken",
       .provide = [] { return Made<std::string>(Fault{}); },
       .attempts = 3,
       .retry_while = [&seen](const Fault& f) { return seen += f.status, seen < 1000; }},
      {.name = "well", .provide = [] { return Made<std::string>("context"); }},
  };
  int calls = 0;
  const std::string answer = run_with_plan(
      plan,
      [&](std::string& ctx) {
        ++calls;
        return ctx;
      },
      {.on_event = log});
  CHECK(answer == "context");
  CHECK(calls == 1);
  CHECK(seen == 1006);
  CHECK(log.lines() == Strings{"AttemptStart #1 step=0 broken",
                               "AttemptFailure #1 step=0 broken 503 no context, retry",
                               "AttemptStart #2 step=0 broken",
                               "AttemptFailure #2 step=0 broken 503 no context, next step",
                               "AttemptStart #3 step=1 well", "AttemptSuccess #3 step=1 well"});
}

#if defined(PLANB_TEST_TL_EXPECTED)
TEST_CASE("a factory may return a tl::expected, also of what converts", "[provide]") {
  using Result = tl::expected<std::string, Fault>;
  CHECK(provided<std::string>([] { return Result("context"); }) == "context");
  CHECK(provided<std::string>([] { return tl::expected<const char*, Fault>("literal"); }) == "literal");
  CHECK(read<std::unique_ptr<Client>>(
            [] { return tl::expected<std::unique_ptr<SpecialClient>, Fault>(std::make_unique<SpecialClient>("d")); },
            [](auto& c) { return c->name; }) == "d");
  const ExecutionPlan<std::string> plan{{.provide = []() -> Result { return tl::make_unexpected(Fault{}); }}};
  const auto failed = try_run_with_plan(plan, [](std::string&) {});
  REQUIRE_FALSE(failed.has_value());
  REQUIRE(failed.report().last_cause() != nullptr);
  CHECK(failed.report().last_cause()->get_if<Fault>() != nullptr);
  CHECK(failed.report().last_cause()->status() == 503);
}
#endif

TEST_CASE("a factory's error and the callable's error come back alike", "[provide]") {
  // Both are the run's last returned error, where the types agree.
  const ExecutionPlan<int> plan{{.provide = [] { return Made<int>(Fault{.status = 418}); }}};
  const Made<std::string> result = run_with_plan(plan, [](int&) { return Made<std::string>("unused"); });
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().status == 418);
}

TEST_CASE("a context may be an expected-like itself; then it is the context, error or not", "[provide]") {
  using Ctx = Made<int>;
  const auto read_it = [](Ctx& ctx) { return ctx.has_value() ? *ctx : ctx.error().status; };
  CHECK(read<Ctx>(Ctx(5), read_it) == 5);
  CHECK(read<Ctx>(Ctx(Fault{}), read_it) == 503);
  CHECK(read<Ctx>([] { return Ctx(Fault{}); }, read_it) == 503);
  CHECK(read<Ctx>([] { return Made<Ctx>(Ctx(Fault{.status = 1})); }, read_it) == 1);
}

TEST_CASE("a context may be a callable itself", "[provide]") {
  using Ctx = std::function<std::string(int)>;
  const auto call = [](Ctx& ctx) { return ctx(5); };
  const auto spell = [](int n) { return std::to_string(n); };
  CHECK(read<Ctx>(Ctx(spell), call) == "5");
  CHECK(read<Ctx>(spell, call) == "5");                        // converts
  CHECK(read<Ctx>([&] { return Ctx(spell); }, call) == "5");   // a factory
  CHECK(read<Ctx>([&] { return spell; }, call) == "5");        // a factory of what converts

  // Exactly a Ctx is a ready value, although it could be called as a factory.
  struct Self {
    int depth = 0;
    Self operator()() const { return {depth + 1}; }
  };
  CHECK(provided<Self>(Self{7}).depth == 7);

  using Plain = std::string (*)();
  CHECK(read<Plain>(free_factory, [](Plain& f) { return f(); }) == "free factory");
  using Nullary = std::function<std::string()>;
  CHECK(read<Nullary>([] { return std::string("called"); }, [](Nullary& f) { return f(); }) == "called");
}

TEST_CASE("a context may be a std::any: a factory is still called", "[provide]") {
  CHECK(std::any_cast<int>(provided<std::any>(5)) == 5);
  CHECK(std::any_cast<int>(provided<std::any>(std::any(5))) == 5);
  CHECK(std::any_cast<int>(provided<std::any>([] { return 5; })) == 5);
  CHECK(std::any_cast<int>(provided<std::any>([] { return std::any(5); })) == 5);
  CHECK(std::any_cast<int>(provided<std::any>([] { return Made<int>(5); })) == 5);
  CHECK(std::any_cast<Client>(provided<std::any>(Client("any"))).name == "any");
}

TEST_CASE("a factory runs once per attempt, within it", "[provide]") {
  std::vector<planb::Metadata> seen;
  std::vector<std::string> order;
  const auto factory = [&](const Attempt& attempt) {
    seen.push_back(planb::CurrentMetadata::get());
    order.push_back("build " + std::string(attempt.step_name) + " " + std::to_string(attempt.step_attempt));
    return attempt.attempt;
  };
  const ExecutionPlan<int> plan{{.name = "a", .provide = factory, .attempts = 2}, {.name = "b", .provide = factory}};
  const auto call = [&](int& ctx) {
    order.push_back("call");
    if (ctx < 3) throw std::runtime_error("again");
    return ctx;
  };
  const int answer = run_with_plan(
      plan, call, {.on_event = planb::overloaded{[&](const planb::AttemptStart&) { order.emplace_back("start"); },
                                                 [&](const planb::AttemptFailure&) { order.emplace_back("failure"); },
                                                 [&](const planb::AttemptSuccess&) { order.emplace_back("success"); }}});
  CHECK(answer == 3);
  CHECK(order == Strings{"start", "build a 1", "call", "failure", "start", "build a 2", "call", "failure", "start",
                         "build b 1", "call", "success"});
  CHECK(seen == std::vector<planb::Metadata>{{1, 0}, {2, 0}, {3, 1}});
  CHECK(planb::CurrentMetadata::get() == planb::Metadata{});
}

TEST_CASE("a factory that throws is a failed attempt, and the chain goes on", "[provide][field-20]") {
  planb::testing::AttemptLog log;
  int calls = 0;
  const ExecutionPlan<int> plan{
      {.name = "std", .provide = []() -> int { throw planb::ProviderError(503, "no connection"); }, .attempts = 2},
      {.name = "other", .provide = []() -> int { throw 42; }},
      {.name = "well", .provide = 3},
  };
  CHECK(run_with_plan(plan, [&](int& ctx) { return ++calls, ctx; }, {.on_event = log}) == 3);
  CHECK(calls == 1);
  CHECK(log.lines() == Strings{"AttemptStart #1 step=0 std", "AttemptFailure #1 step=0 std 503 no connection, retry",
                               "AttemptStart #2 step=0 std",
                               "AttemptFailure #2 step=0 std 503 no connection, next step",
                               "AttemptStart #3 step=1 other", "AttemptFailure #3 step=1 other 42, next step",
                               "AttemptStart #4 step=2 well", "AttemptSuccess #4 step=2 well"});
}

TEST_CASE("a context is gone before its attempt's last event, and so before any wait", "[provide][field-31]") {
  struct Connection {
    explicit Connection(Strings* o) : order(o) { order->push_back("open"); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() { order->push_back("close"); }
    Strings* order;
  };
  Strings order;
  planb::testing::VirtualClock clock;
  const ExecutionPlan<Connection> plan{
      {.provide = [&] { return Connection(&order); }, .attempts = 2, .schedule = planb::spaced(1s)}};
  const auto tell = planb::overloaded{
      [&](const planb::AttemptStart& e) { order.push_back("start at " + std::to_string(e.at.time_since_epoch() / 1s)); },
      [&](const planb::AttemptFailure&) { order.emplace_back("failure"); },
      [&](const planb::AttemptSuccess&) { order.emplace_back("success"); }};
  int calls = 0;

  SECTION("a failure, then a success") {
    run_with_plan(plan, [&](Connection&) { return ++calls == 2 ? 1 : throw std::runtime_error("again"); },
                  {.on_event = tell, .clock = &clock});
    CHECK(order == Strings{"start at 0", "open", "close", "failure", "start at 1", "open", "close", "success"});
  }
  SECTION("without options") {
    run_with_plan(ExecutionPlan<Connection>{{.provide = [&] { return Connection(&order); }, .attempts = 2}},
                  [&](Connection&) { return ++calls == 2 ? 1 : throw std::runtime_error("again"); });
    CHECK(order == Strings{"open", "close", "open", "close"});
  }
}
