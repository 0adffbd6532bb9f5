// co_run_with_plan: a run in a coroutine. Its rules are those of run_with_plan; what is of its own is the waiting, the
// life of the frame, and the metadata.
#include <planb/coro.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <algorithm>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
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
#include "two_steps.hpp"
#include "lives.hpp"
#include "loop.hpp"
#include "pool.hpp"
#include "results.hpp"

using two::Client;
using namespace std::chrono_literals;
using planb::Attempt;
using planb::AttemptFailure;
using planb::AttemptStart;
using planb::CauseKind;
using planb::co_run_with_plan;
using planb::CurrentMetadata;
using planb::Defect;
using planb::Duration;
using planb::ExecutionPlan;
using planb::FailureStyle;
using planb::Metadata;
using planb::ProviderError;
using planb::RunOptions;
using planb::Step;
using planb::StopToken;
using planb::sync_wait;
using planb::Task;
using planb::TimePoint;
using planb::testing::AttemptLog;
using planb::testing::VirtualClock;
using event_loop::finish;
using event_loop::Loop;
using results::Fault;
using results::Outcome;

namespace {

using lives::Counted;
using Lines = std::vector<std::string>;

// For runs that never wait.
constexpr auto no_sleep = [](Duration) -> Task<> { co_return; };

Lines timed(const AttemptLog& log) {
  Lines lines;
  for (const planb::Event& event : log.events()) {
    const TimePoint at = event.visit([](const auto& e) { return e.at; });
    lines.push_back(std::to_string(at.time_since_epoch() / 1ms) + ": " + to_string(event));
  }
  return lines;
}

// What a call came to, as text.
template <class Call>
std::string outcome(Call call) {
  try {
    return std::to_string(call());
  } catch (const planb::PlanError& error) {
    std::string text = error.what();
    if (const auto* nesting = dynamic_cast<const std::nested_exception*>(&error)) {
      try {
        nesting->rethrow_nested();
      } catch (const std::exception& nested) {
        text += std::string(" <- ") + nested.what();
      }
    }
    return text + " (" + planb::to_string(error.end()) + ")";
  } catch (const Defect& defect) {
    return std::string("defect: ") + defect.what();
  } catch (const std::exception& error) {
    return std::string("threw ") + error.what();
  } catch (int number) {
    return "threw " + std::to_string(number);
  }
}

}  // namespace

// --- The same rules as run_with_plan ---------------------------------------------------------------------------------

namespace {

using Steps = std::vector<Step<Client>>;

struct Scene {
  const char* name;
  std::function<Steps()> steps;  // afresh for each run: gates have a memory
  std::function<int(Client&, const Attempt&, VirtualClock&)> call;
  RunOptions options = {};
};

int always(int status) { throw ProviderError(status, "upstream"); }

std::vector<Scene> scenes() {
  const auto one = [](Step<Client> step) { return [step] { return Steps{step}; }; };
  const auto two = [](Step<Client> first, Step<Client> second) { return [=] { return Steps{first, second}; }; };
  const Step<Client> plain{.name = "plain", .provide = Client{1}};
  const Step<Client> last{.name = "last", .provide = Client{2}};
  const Step<Client> patient{
      .name = "patient", .provide = Client{1}, .attempts = 3, .schedule = planb::exponential(100ms)};
  const auto fails_before = [](int attempt) {
    return [attempt](Client& client, const Attempt& a, VirtualClock&) {
      if (a.attempt < attempt) always(503);
      return client.id;
    };
  };
  const auto takes = [](Duration time) {
    return [time](Client& client, const Attempt&, VirtualClock& clock) {
      clock.advance(time);
      if (client.id == 1) always(503);
      return client.id;
    };
  };
  const auto hopeless = [](Client&, const Attempt&, VirtualClock&) { return always(500); };
  Step<Client> picky = patient;
  picky.retry_while = [](const ProviderError& e) { return e.status != 500; };
  Step<Client> classified = plain;
  classified.classify = [](const planb::Cause&) { return planb::Verdict{planb::Action::abort, true}; };
  Step<Client> broken = plain;
  broken.retry_while = [](const planb::Cause&) -> bool { throw std::logic_error("rule"); };
  Step<Client> hurried = plain;
  hurried.timeout = 50ms;
  Step<Client> guarded = last;
  guarded.enter_when = [](const ProviderError& e) { return e.status == 429; };
  Step<Client> unprovided = plain;
  unprovided.provide = []() -> Client { throw std::runtime_error("no client"); };
  Step<Client> refused = plain;
  refused.provide = []() -> Outcome<Client, Fault> { return Fault{3}; };
  Step<Client> scheduled = patient;
  scheduled.name = "scheduled";
  Step<Client> jittered = patient;
  jittered.schedule = planb::jittered(planb::spaced(100ms));
  jittered.attempts = 5;
  Step<Client> reserving = last;
  reserving.reserve = 400ms;
  return {
      {"success at once", one(plain), fails_before(1), {}},
      {"retried until it answers", one(patient), fails_before(3), {}},
      {"the next step answers", two(patient, last), fails_before(4), {}},
      {"exhausted", two(patient, last), hopeless, {}},
      {"exhausted, in the original style", two(patient, last), hopeless, {.failure = FailureStyle::original}},
      {"a predicate says no", two(picky, last), hopeless, {}},
      {"a classifier says abort", two(classified, last), hopeless, {}},
      {"a classifier says abort, in the original style",
       two(classified, last),
       hopeless,
       {.failure = FailureStyle::original}},
      {"a predicate throws", two(broken, last), hopeless, {}},
      {"the budget goes in an attempt", two(patient, last), takes(1s), {.budget = 900ms}},
      {"the budget has no room for a wait", two(patient, last), takes(100ms), {.budget = 250ms}},
      {"a reserve is kept", two(patient, reserving), takes(100ms), {.budget = 600ms}},
      {"an attempt takes too long", two(hurried, last), takes(60ms), {}},
      {"a guard declines", two(plain, guarded), hopeless, {}},
      {"a factory throws", two(unprovided, last), fails_before(1), {}},
      {"a factory returns an error", two(refused, last), fails_before(1), {}},
      {"scheduled entry", two(plain, scheduled), fails_before(3), {.entry = planb::StepEntry::scheduled}},
      {"jitter", one(jittered), hopeless, {.seed = 7}},
      {"a wait hint",
       one({.name = "busy", .provide = Client{1}, .attempts = 2}),
       [](Client& client, const Attempt& a, VirtualClock&) {
         if (a.attempt == 1) throw ProviderError(429, "slow down", {}, 2s);
         return client.id;
       },
       {}},
      {"a gate closes",
       [last] {
         return Steps{
             {.name = "gated",
              .provide = Client{1},
              .attempts = 4,
              .gate = std::make_shared<planb::CircuitBreaker>(planb::CircuitBreakerOptions{.failure_threshold = 2})},
             last};
       },
       [](Client& client, const Attempt&, VirtualClock&) { return client.id == 1 ? always(503) : client.id; },
       {}},
      {"a defect", two(patient, last), [](Client&, const Attempt&, VirtualClock&) -> int { throw Defect("bug"); }, {}},
      {"what is thrown is no std::exception",
       two(plain, last),
       [](Client&, const Attempt&, VirtualClock&) -> int { throw 7; },
       {.failure = FailureStyle::original}},
  };
}

}  // namespace

TEST_CASE("the rules, events and outcomes are those of run_with_plan", "[coro]") {
  for (const Scene& scene : scenes()) {
    for (const bool observed : {true, false}) {
      DYNAMIC_SECTION(scene.name << (observed ? ", observed" : "")) {
        const auto options = [&](VirtualClock& clock, const AttemptLog& log) {
          RunOptions run = scene.options;
          run.clock = &clock;
          if (observed) run.on_event = log;
          return run;
        };
        VirtualClock clock;
        const AttemptLog expected;
        const std::string expected_outcome = outcome([&] {
          return planb::run_with_plan(
              ExecutionPlan<Client>(scene.steps()),
              [&](Client& client, const Attempt& attempt) { return scene.call(client, attempt, clock); },
              options(clock, expected));
        });

        Loop loop;
        const AttemptLog log;
        const bool suspends = GENERATE(false, true);
        const std::string actual = outcome([&] {
          return finish(loop, co_run_with_plan<Task<int>>(
                                  ExecutionPlan<Client>(scene.steps()),
                                  [&](Client& client, const Attempt& attempt) -> Task<int> {
                                    if (suspends) co_await loop.sleep(0ns);
                                    co_return scene.call(client, attempt, loop.clock);
                                  },
                                  [&](Duration time) { return loop.sleep(time); }, options(loop.clock, log)));
        });
        CHECK(actual == expected_outcome);
        CHECK(timed(log) == timed(expected));
        CHECK(loop.clock.elapsed() == clock.elapsed());
      }
    }
  }
}

TEST_CASE("without options a run needs no clock and no handler", "[coro]") {
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}}, {.name = "two", .provide = Client{2}}};
  const auto answers_from = [](int id) {
    return [id](Client& client, const Attempt& attempt) -> Task<int> {
      if (client.id < id) throw ProviderError(503);
      co_return 10 * client.id + attempt.attempt;
    };
  };
  CHECK(sync_wait(co_run_with_plan<Task<int>>(plan, answers_from(1), no_sleep)) == 11);
  CHECK(sync_wait(co_run_with_plan<Task<int>>(plan, answers_from(2), no_sleep)) == 22);
  CHECK(outcome([&] { return sync_wait(co_run_with_plan<Task<int>>(plan, answers_from(3), no_sleep)); }) ==
        outcome([&] { return planb::run_with_plan(plan, [](Client&) -> int { throw ProviderError(503); }); }));
}

// --- What a callable gives -------------------------------------------------------------------------------------------

TEST_CASE("the run gives what awaiting gives: nothing, a reference, something that can only be moved", "[coro]") {
  const ExecutionPlan<Client> plan{{.provide = Client{1}}};
  int calls = 0;
  sync_wait(co_run_with_plan<Task<>>(
      plan,
      [&](Client&) -> Task<> {
        ++calls;
        co_return;
      },
      no_sleep));
  CHECK(calls == 1);

  int place = 0;
  const auto reference = [&](Client&) -> Task<int&> { co_return place; };
  CHECK(&sync_wait(co_run_with_plan<Task<int&>>(plan, reference, no_sleep)) == &place);

  const auto move_only = [](Client& client) -> Task<std::unique_ptr<int>> {
    co_return std::make_unique<int>(client.id);
  };
  CHECK(*sync_wait(co_run_with_plan<Task<std::unique_ptr<int>>>(plan, move_only, no_sleep)) == 1);
}

TEST_CASE("a reference is copied before what it may refer to is gone, unless the task gives a reference", "[coro]") {
  struct Holding {  // an awaitable that gives a reference into itself
    std::string text = std::string(100, 'x');
    static bool await_ready() noexcept { return true; }
    static void await_suspend(std::coroutine_handle<>) noexcept {}
    std::string& await_resume() noexcept { return text; }
  };
  const ExecutionPlan<Client> plan{{.provide = Client{1}}};
  CHECK(sync_wait(co_run_with_plan<Task<std::string>>(
            plan, [](Client&) { return Holding(); }, no_sleep)) == std::string(100, 'x'));
}

TEST_CASE("an expected-like is a failure where it holds an error, and comes back in its own type", "[coro]") {
  using Reply = Outcome<int, Fault>;
  Loop loop;
  const AttemptLog log;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .attempts = 2},
                                   {.name = "two", .provide = Client{2}}};
  const auto answering_from = [](int attempt) {
    return [attempt](Client& client, const Attempt& a) -> Task<Reply> {
      if (a.attempt < attempt) co_return Fault{a.attempt};
      co_return client.id;
    };
  };
  const auto run = [&](auto fn) {
    return finish(loop, co_run_with_plan<Task<Reply>>(plan, fn, no_sleep, {.on_event = log, .clock = &loop.clock}));
  };
  CHECK(*run(answering_from(3)) == 2);
  CHECK(log.names() == std::vector<const char*>{"one", "one", "two"});
  CHECK(log.of<AttemptFailure>()[1].cause.get_if<Fault>()->id == 2);
  const Reply failed = run(answering_from(4));
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error() == Fault{3});
}

TEST_CASE("accepting() looks at what awaiting gave", "[coro]") {
  Loop loop;
  const AttemptLog log;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}}, {.name = "two", .provide = Client{2}}};
  const auto id = [](Client& client) -> Task<int> { co_return client.id; };
  const auto run = [&](auto fn) {
    return finish(loop,
                  co_run_with_plan<Task<int>>(plan, std::move(fn), no_sleep, {.on_event = log, .clock = &loop.clock}));
  };
  CHECK(run(planb::accepting(id, [](int n) { return n > 1; })) == 2);
  CHECK(log.of<AttemptFailure>().front().cause.kind() == CauseKind::rejected);
  CHECK(*log.of<AttemptFailure>().front().cause.get_if<int>() == 1);
  CHECK_THROWS_AS(run(planb::accepting(id, [](int) { return false; })), planb::PlanExhausted);
  CHECK_THROWS_AS(run(planb::accepting(id, [](int) -> bool { throw std::logic_error("rule"); })), planb::PlanAborted);
}

TEST_CASE("a callable may fail before there is anything to await, and while it is awaited", "[coro]") {
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .attempts = 3}};
  const auto fn = [](Client& client, const Attempt& attempt) {
    if (attempt.attempt == 1) throw std::runtime_error("at once");
    return [](int id, int number) -> Task<int> {
      if (number == 2) throw std::runtime_error("later");
      co_return id;
    }(client.id, attempt.attempt);
  };
  const AttemptLog log;
  CHECK(sync_wait(co_run_with_plan<Task<int>>(plan, fn, no_sleep, {.on_event = log})) == 1);
  CHECK(log.lines() == Lines{"AttemptStart #1 step=0 one", "AttemptFailure #1 step=0 one at once, retry",
                             "AttemptStart #2 step=0 one", "AttemptFailure #2 step=0 one later, retry",
                             "AttemptStart #3 step=0 one", "AttemptSuccess #3 step=0 one"});
}

TEST_CASE("members of the context will do as the callable", "[coro]") {
  struct Asking {
    int id;
    Task<int> ask() { co_return id; }
  };
  const ExecutionPlan<Asking> plan{{.provide = Asking{4}}};
  CHECK(sync_wait(co_run_with_plan<Task<int>>(plan, &Asking::ask, no_sleep)) == 4);
}

// --- Lives -----------------------------------------------------------------------------------------------------------

TEST_CASE("plan, callable, sleep and options live in the coroutine", "[coro]") {
  Loop loop;
  const AttemptLog log;
  int alive = 0;
  {
    Task<int> task;
    {
      const ExecutionPlan<Client> plan{
          {.name = std::string(50, 'n'), .provide = Client{1}, .attempts = 2, .schedule = planb::spaced(10ms)}};
      const auto fn = [counted = Counted(alive)](Client& client, const Attempt& attempt) -> Task<int> {
        if (attempt.attempt == 1) throw ProviderError(503);
        co_return client.id + *counted.alive;
      };
      auto sleep = [&loop, counted = Counted(alive)](Duration time) { return loop.sleep(time); };
      const RunOptions options{.on_event = [&log, counted = Counted(alive)](const planb::Event& event) { log(event); },
                               .clock = &loop.clock};
      CHECK(alive == 3);
      task = co_run_with_plan<Task<int>>(plan, fn, sleep, options);
      CHECK(alive == 6);
    }
    CHECK(alive == 3);
    CHECK(log.lines().empty());  // nothing has run
    task.start();
    loop.run();
    CHECK(task.get() == 4);
    CHECK(log.names().size() == 2);
  }
  CHECK(alive == 0);
}

TEST_CASE("everything may be move-only, and the context cannot even be moved", "[coro]") {
  struct Pinned {
    explicit Pinned(int n) : id(n) {}
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;
    int id;
  };
  Loop loop;
  const ExecutionPlan<Pinned> plan{
      {.provide = [] { return Pinned(6); }, .attempts = 2, .schedule = planb::spaced(10ms)}};
  auto fn = [own = std::make_unique<int>(1)](Pinned& client, const Attempt& a) -> Task<std::unique_ptr<int>> {
    if (a.attempt == 1) throw ProviderError(503);
    co_return std::make_unique<int>(client.id + *own);
  };
  auto sleep = [&loop, own = std::make_unique<int>(2)](Duration time) { return loop.sleep(time); };
  CHECK(*finish(loop, co_run_with_plan<Task<std::unique_ptr<int>>>(plan, std::move(fn), std::move(sleep),
                                                                   {.clock = &loop.clock})) == 7);
}

TEST_CASE("a context lives until its attempt is over, and ends before the terminal event", "[coro]") {
  Loop loop;
  int alive = 0;
  int awaiting = 0;
  Lines seen;
  const ExecutionPlan<Counted> plan{
      {.provide = [&] { return Counted(alive); }, .attempts = 2, .schedule = planb::spaced(10ms)}};
  const auto fn = [&](Counted& client, const Attempt& attempt) -> Task<int> {
    const Counted local(awaiting);
    co_await loop.sleep(1ms);
    seen.push_back("awaited with " + std::to_string(*client.alive));
    if (attempt.attempt == 1) throw ProviderError(503);
    co_return 1;
  };
  const auto handler = [&](const planb::Event& event) {
    if (event.get_if<AttemptStart>() != nullptr || event.get_if<planb::RunFinish>() != nullptr) return;
    seen.push_back("told with " + std::to_string(alive) + " and " + std::to_string(awaiting));
  };
  const auto sleep = [&](Duration time) {
    seen.push_back("waits with " + std::to_string(alive));
    return loop.sleep(time);
  };
  CHECK(finish(loop, co_run_with_plan<Task<int>>(plan, fn, sleep, {.on_event = handler, .clock = &loop.clock})) == 1);
  CHECK(seen == Lines{"awaited with 1", "told with 0 and 0", "waits with 0", "awaited with 1", "told with 0 and 0"});
  CHECK(alive == 0);
}

TEST_CASE("a context may be a client that lives elsewhere", "[coro]") {
  Client shared{8};
  const ExecutionPlan<Client&> plan{{.provide = shared}};
  const auto fn = [](Client& client) -> Task<int> { co_return ++client.id; };
  CHECK(sync_wait(co_run_with_plan<Task<int>>(plan, fn, no_sleep)) == 9);
  CHECK(shared.id == 9);
}

TEST_CASE("destroyed inside an attempt: it ends as interrupted, and its gate is neutral", "[coro]") {
  Loop loop;
  const AttemptLog log;
  int alive = 0;
  int alive_when_told = -1;
  const auto gate = std::make_shared<planb::CircuitBreaker>(planb::CircuitBreakerOptions{.failure_threshold = 1});
  const ExecutionPlan<Counted> plan{{.name = "one", .provide = [&] { return Counted(alive); }, .gate = gate},
                                    {.name = "two", .provide = [&] { return Counted(alive); }}};
  const auto fn = [&](Counted&) -> Task<int> {
    const Counted local(alive);
    co_await loop.sleep(1h);
    co_return 1;
  };
  {
    Task<int> task = co_run_with_plan<Task<int>>(plan, fn, no_sleep,
                                                 {.on_event =
                                                      [&](const planb::Event& event) {
                                                        log(event);
                                                        alive_when_told = alive;
                                                      },
                                                  .clock = &loop.clock});
    task.start();
    CHECK(alive == 2);
    CHECK(log.lines() == Lines{"AttemptStart #1 step=0 one"});
  }
  REQUIRE(log.of<AttemptFailure>().size() == 1);
  CHECK(log.of<AttemptFailure>()[0].cause.kind() == CauseKind::interrupted);
  CHECK(log.events().size() == 2);
  CHECK(alive_when_told == 0);
  CHECK(loop.sleeping() == 0);
  CHECK(gate->state() == planb::CircuitState::closed);
}

TEST_CASE("destroyed in a wait, or before it has run: nothing more happens", "[coro]") {
  Loop loop;
  const AttemptLog log;
  const ExecutionPlan<Client> plan{
      {.name = "one", .provide = Client{1}, .attempts = 2, .schedule = planb::spaced(10ms)}};
  const auto fn = [&](Client&) -> Task<int> {
    throw ProviderError(503);
    co_return 1;
  };
  const auto sleep = [&](Duration time) { return loop.sleep(time); };
  const RunOptions options{.on_event = log, .clock = &loop.clock};
  { const Task<int> never = co_run_with_plan<Task<int>>(plan, fn, sleep, options); }
  CHECK(log.events().empty());
  {
    Task<int> task = co_run_with_plan<Task<int>>(plan, fn, sleep, options);
    task.start();
    CHECK(loop.sleeping() == 1);
  }
  CHECK(loop.sleeping() == 0);
  CHECK(log.lines() == Lines{"AttemptStart #1 step=0 one", "AttemptFailure #1 step=0 one 503, retry in 10 ms"});
}

// --- Waits -----------------------------------------------------------------------------------------------------------

TEST_CASE("waits go through `sleep`, and a zero wait calls nothing", "[coro]") {
  Loop loop;
  std::vector<Duration> waits;
  const ExecutionPlan<Client> plan{{.provide = Client{1}, .attempts = 4, .schedule = planb::delays({10ms, 0ms, 20ms})}};
  const auto fn = [](Client&, const Attempt& a) -> Task<int> {
    if (a.attempt < 4) throw ProviderError(503);
    co_return a.attempt;
  };
  const auto sleep = [&](Duration time) {
    waits.push_back(time);
    return loop.sleep(time);
  };
  CHECK(finish(loop, co_run_with_plan<Task<int>>(plan, fn, sleep, {.clock = &loop.clock})) == 4);
  CHECK(waits == std::vector<Duration>{10ms, 20ms});
}

TEST_CASE("a sleep that ends early is called again for the rest", "[coro]") {
  Loop loop;
  std::vector<Duration> waits;
  const ExecutionPlan<Client> plan{{.provide = Client{1}, .attempts = 2, .schedule = planb::spaced(10ms)}};
  const auto fn = [](Client&, const Attempt& a) -> Task<TimePoint> {
    if (a.attempt == 1) throw ProviderError(503);
    co_return TimePoint{};
  };
  const auto sleep = [&](Duration time) {
    waits.push_back(time);
    return loop.sleep((std::min)(time, Duration(4ms)));
  };
  static_cast<void>(finish(loop, co_run_with_plan<Task<TimePoint>>(plan, fn, sleep, {.clock = &loop.clock})));
  CHECK(waits == std::vector<Duration>{10ms, 6ms, 2ms});
  CHECK(loop.clock.elapsed() == 10ms);
}

TEST_CASE("what `sleep` throws leaves unchanged, and the run is over", "[coro]") {
  Loop loop;
  const AttemptLog log;
  const ExecutionPlan<Client> plan{
      {.name = "one", .provide = Client{1}, .attempts = 2, .schedule = planb::spaced(10ms)},
      {.name = "two", .provide = Client{1}}};
  const auto fn = [](Client&) -> Task<int> {
    throw ProviderError(503);
    co_return 1;
  };
  const auto run = [&](auto sleep) {
    return finish(loop, co_run_with_plan<Task<int>>(plan, fn, sleep, {.on_event = log, .clock = &loop.clock}));
  };
  struct Closed {};
  SECTION("at the call") {
    CHECK_THROWS_AS(run([](Duration) -> Task<> { throw Closed(); }), Closed);
  }
  SECTION("when it is awaited") {
    CHECK_THROWS_AS(run([&](Duration) -> Task<> {
                      co_await loop.sleep(1ms);
                      throw Closed();
                    }),
                    Closed);
  }
  CHECK(log.names() == std::vector<const char*>{"one"});
  CHECK(log.events().size() == 2);
}

// --- Stopping --------------------------------------------------------------------------------------------------------

#if PLANB_HAS_STOP_TOKEN

TEST_CASE("a stop ends the run as it ends any other", "[coro]") {
  Loop loop;
  const AttemptLog log;
  std::stop_source stop;
  const ExecutionPlan<Client> plan{
      {.name = "one", .provide = Client{1}, .attempts = 3, .schedule = planb::spaced(10ms)},
      {.name = "two", .provide = Client{2}}};
  const auto failing = [&](Client&) -> Task<int> {
    co_await loop.sleep(1ms);
    throw ProviderError(503);
  };
  RunOptions options{.on_event = log, .stop = stop.get_token(), .clock = &loop.clock};
  int waits = 0;
  const auto sleep = [&](Duration time, const StopToken& token) {
    ++waits;
    return loop.sleep(time, token);
  };
  const auto start = [&](auto fn) { return co_run_with_plan<Task<int>>(plan, fn, sleep, options); };

  SECTION("before it has begun") {
    stop.request_stop();
    CHECK_THROWS_AS(finish(loop, start(failing)), planb::PlanInterrupted);
    CHECK(log.events().empty());
  }
  SECTION("in the handler of an attempt's start: no factory is called") {
    options.on_event = [&](const planb::Event& event) {
      log(event);
      if (event.get_if<AttemptStart>() != nullptr) stop.request_stop();
    };
    CHECK_THROWS_AS(finish(loop, start(failing)), planb::PlanInterrupted);
    CHECK(log.events().size() == 2);
    CHECK(loop.clock.elapsed() == 0ns);
  }
  SECTION("in an attempt: the attempt goes on, and its failure is the last") {
    Task<int> task = start(failing);
    task.start();
    stop.request_stop();
    loop.run();
    CHECK_THROWS_AS(task.get(), planb::PlanInterrupted);
    CHECK(log.lines() == Lines{"AttemptStart #1 step=0 one", "AttemptFailure #1 step=0 one 503, end: interrupted"});
    CHECK(log.of<AttemptFailure>().back().cause.kind() == CauseKind::interrupted);
    CHECK(waits == 0);
  }
  SECTION("in an attempt that succeeds: that is a success") {
    Task<int> task = start([&](Client& client, const Attempt& attempt) -> Task<int> {
      co_await loop.sleep(1ms);
      CHECK(attempt.stop_token().stop_requested());
      co_return client.id;
    });
    task.start();
    stop.request_stop();
    loop.run();
    CHECK(task.get() == 1);
  }
  SECTION("in a wait, which ends at once") {
    Task<int> task = start(failing);
    task.start();
    loop.step();
    CHECK(waits == 1);
    stop.request_stop();
    loop.run();
    CHECK_THROWS_AS(task.get(), planb::PlanInterrupted);
    CHECK(loop.clock.elapsed() == 1ms);
    CHECK(log.names().size() == 1);
  }
}

#endif

// --- The task's own cancellation -------------------------------------------------------------------------------------

namespace {

struct Cancelled {};

// A user's own coroutine type, as small as it can be: started by hand, cancelled by a flag that its awaits look at.
template <class T>
class Job {
 public:
  struct promise_type {
    Job get_return_object() { return Job(std::coroutine_handle<promise_type>::from_promise(*this)); }
    static std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct Back {
        static bool await_ready() noexcept { return false; }
        static std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> me) noexcept {
          return me.promise().parent ? me.promise().parent : std::noop_coroutine();
        }
        static void await_resume() noexcept {}
      };
      return Back();
    }
    void return_value(T v) { value.emplace(std::move(v)); }
    void unhandled_exception() { error = std::current_exception(); }

    std::coroutine_handle<> parent;
    std::optional<T> value;
    std::exception_ptr error;
    bool* cancelled = nullptr;
  };

  Job(Job&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Job& operator=(Job&&) = delete;
  ~Job() {
    if (frame_) frame_.destroy();
  }

  static bool await_ready() noexcept { return false; }
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    frame_.promise().parent = parent;
    frame_.promise().cancelled = parent.promise().cancelled;
    return frame_;
  }
  T await_resume() { return result(); }

  void start(bool& cancelled) {
    frame_.promise().cancelled = &cancelled;
    frame_.resume();
  }
  T result() {
    if (frame_.promise().error) std::rethrow_exception(frame_.promise().error);
    return std::move(*frame_.promise().value);
  }

 private:
  explicit Job(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  std::coroutine_handle<promise_type> frame_;
};

// Throws where the job that awaits it was cancelled.
struct CancellationPoint {
  bool* flag = nullptr;
  static bool await_ready() noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> job) noexcept {
    flag = job.promise().cancelled;
    return false;
  }
  void await_resume() const {
    if (*flag) throw Cancelled();
  }
};

}  // namespace

template <class T>
struct planb::task_traits<Job<T>> {
  static CancellationPoint checkpoint() { return {}; }
};

TEST_CASE("any coroutine type will do", "[coro]") {
  Loop loop;
  const AttemptLog log;
  const ExecutionPlan<Client> plan{
      {.name = "one", .provide = Client{1}, .attempts = 2, .schedule = planb::spaced(10ms)},
      {.name = "two", .provide = Client{2}}};
  bool cancelled = false;
  Job<int> job = co_run_with_plan<Job<int>>(
      plan,
      [&](Client& client) -> Job<int> {
        co_await loop.sleep(1ms);
        if (client.id == 1) throw ProviderError(503);
        co_return client.id;
      },
      [&](Duration time) { return loop.sleep(time); }, {.on_event = log, .clock = &loop.clock});
  job.start(cancelled);
  loop.run();
  CHECK(job.result() == 2);
  CHECK(log.names() == std::vector<const char*>{"one", "one", "two"});
  CHECK(loop.clock.elapsed() == 13ms);
}

TEST_CASE("a cancelled task is not retried and does not fall back: its own exception leaves", "[coro]") {
  Loop loop;
  const AttemptLog log;
  int alive = 0;
  int alive_when_told = -1;
  const ExecutionPlan<Counted> plan{{.name = "one", .provide = [&] { return Counted(alive); }, .attempts = 2},
                                    {.name = "two", .provide = [&] { return Counted(alive); }}};
  bool cancelled = false;
  const auto handler = [&](const planb::Event& event) {
    log(event);
    alive_when_told = alive;
  };
  const auto start = [&](auto fn) {
    Job<int> job = co_run_with_plan<Job<int>>(plan, fn, [&](Duration time) { return loop.sleep(time); },
                                              {.on_event = handler, .clock = &loop.clock});
    job.start(cancelled);
    cancelled = true;
    loop.run();
    return job;
  };
  SECTION("an error that came of it") {
    Job<int> job = start([&](Counted&) -> Job<int> {
      co_await loop.sleep(1ms);
      co_await CancellationPoint();
      co_return 1;
    });
    CHECK_THROWS_AS(job.result(), Cancelled);
    CHECK(log.lines() ==
          Lines{"AttemptStart #1 step=0 one", "AttemptFailure #1 step=0 one interrupted, end: interrupted"});
    CHECK(alive_when_told == 0);
  }
  SECTION("another error at that time") {
    Job<int> job = start([&](Counted&) -> Job<int> {
      co_await loop.sleep(1ms);
      throw ProviderError(503);
    });
    CHECK_THROWS_AS(job.result(), Cancelled);
    CHECK(log.names().size() == 1);
  }
  SECTION("but a defect is a defect") {
    Job<int> job = start([&](Counted&) -> Job<int> {
      co_await loop.sleep(1ms);
      throw Defect("bug");
    });
    CHECK_THROWS_AS(job.result(), Defect);
  }
  SECTION("an answer that is there all the same") {
    Job<int> job = start([&](Counted&) -> Job<int> {
      co_await loop.sleep(1ms);
      co_return 1;
    });
    CHECK(job.result() == 1);
  }
}

// --- Metadata --------------------------------------------------------------------------------------------------------

TEST_CASE("metadata holds for factory, callable and handlers, in a Task over its awaits too", "[coro]") {
  Loop loop;
  std::vector<Metadata> seen;
  const auto see = [&] { seen.push_back(CurrentMetadata::get()); };
  const ExecutionPlan<Client> plan{{.provide =
                                        [&] {
                                          see();
                                          return Client{1};
                                        },
                                    .attempts = 2,
                                    .schedule = planb::spaced(10ms)}};
  const auto fn = [&](Client& client, const Attempt& attempt) -> Task<int> {
    see();
    co_await loop.sleep(1ms);
    see();
    if (attempt.attempt == 1) throw ProviderError(503);
    co_return client.id;
  };
  const auto sleep = [&](Duration time) {
    CHECK(CurrentMetadata::get() == Metadata{});
    return loop.sleep(time);
  };
  const auto handler = [&](const planb::Event& event) {
    if (event.get_if<planb::RunFinish>() == nullptr) see();
  };
  CHECK(finish(loop, co_run_with_plan<Task<int>>(plan, fn, sleep, {.on_event = handler, .clock = &loop.clock})) == 1);
  CHECK(CurrentMetadata::get() == Metadata{});
  std::vector<Metadata> expected(5, Metadata{1, 0});
  expected.resize(10, Metadata{2, 0});
  CHECK(seen == expected);
}

TEST_CASE("in other coroutine types metadata holds for the call itself, and the thread has its own afterwards",
          "[coro]") {
  Loop loop;
  std::vector<Metadata> seen;
  const ExecutionPlan<Client> plan{{.provide = Client{1}}};
  const auto body = [&](int id) -> Job<int> {
    seen.push_back(CurrentMetadata::get());
    co_await loop.sleep(1ms);
    co_return id;
  };
  bool cancelled = false;
  Job<int> job = co_run_with_plan<Job<int>>(
      plan,
      [&](Client& client) {
        seen.push_back(CurrentMetadata::get());
        return body(client.id);
      },
      [&](Duration time) { return loop.sleep(time); });
  job.start(cancelled);
  CHECK(CurrentMetadata::get() == Metadata{});
  loop.run();
  CHECK(job.result() == 1);
  CHECK(seen == std::vector<Metadata>{{1, 0}, {}});
}

TEST_CASE("runs within runs shadow the metadata and give it back", "[coro]") {
  Loop loop;
  std::vector<Metadata> seen;
  const ExecutionPlan<Client> inner{{.provide = Client{1}}, {.provide = Client{2}}};
  const ExecutionPlan<Client> outer{{.provide = Client{1}, .attempts = 2}};
  const auto ask = [&](Client& client) -> Task<int> {
    co_await loop.sleep(1ms);
    seen.push_back(CurrentMetadata::get());
    if (client.id == 1) throw ProviderError(503);
    co_return client.id;
  };
  const auto sleep = [&](Duration time) { return loop.sleep(time); };
  const auto nested = [&](Client&, const Attempt& attempt) -> Task<int> {
    const int result = co_await co_run_with_plan<Task<int>>(inner, ask, sleep);
    seen.push_back(CurrentMetadata::get());
    if (attempt.attempt == 1) throw ProviderError(503);
    co_return result;
  };
  CHECK(finish(loop, co_run_with_plan<Task<int>>(outer, nested, sleep)) == 2);
  CHECK(seen == std::vector<Metadata>{{1, 0}, {2, 1}, {1, 0}, {1, 0}, {2, 1}, {2, 0}});
  CHECK(CurrentMetadata::get() == Metadata{});
}

TEST_CASE("runs that move between threads keep plan, order and metadata", "[coro][threads]") {
  Pool pool;
  std::atomic<int> wrong = 0;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .attempts = 3}, {.provide = Client{2}}};
  const auto fn = [&](Client& client, const Attempt& attempt) -> Task<int> {
    for (int i = 0; i != 3; ++i) {
      co_await pool.hop();
      if (CurrentMetadata::get() != Metadata{attempt.attempt, attempt.step_index}) ++wrong;
    }
    if (client.id == 1) throw ProviderError(503);
    co_return attempt.attempt;
  };
  std::vector<Task<int>> runs;
  std::vector<AttemptLog> logs(20);
  for (const AttemptLog& log : logs) {
    runs.push_back(co_run_with_plan<Task<int>>(plan, fn, no_sleep, {.on_event = log}));
    runs.back().start();
  }
  for (Task<int>& run : runs) CHECK(sync_wait(std::move(run)) == 4);
  CHECK(pool.stop() == 0);
  CHECK(wrong == 0);
  for (const AttemptLog& log : logs) CHECK(log.lines().size() == 8);
}

// --- Depth -----------------------------------------------------------------------------------------------------------

#if defined(__GNUC__)

namespace {

// Sanitizers slow it down, and need no million to see a stack that grows.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int many = 200'000;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
constexpr int many = 200'000;
#else
constexpr int many = 1'000'000;
#endif
#else
constexpr int many = 1'000'000;
#endif

}  // namespace

TEST_CASE("a million attempts that fail at once keep the stack flat", "[coro]") {
  struct Reply {  // as plain as can be: this is a million times
    int number = 0;
    bool good = false;
    [[nodiscard]] bool has_value() const { return good; }
    [[nodiscard]] int error() const { return number; }
    [[nodiscard]] int operator*() const { return number; }
  };
  const ExecutionPlan<Client> plan{{.provide = Client{1}, .attempts = planb::unlimited}};
  std::uintptr_t first = 0;
  std::uintptr_t lowest = UINTPTR_MAX;
  const auto fn = [&](Client&, const Attempt& attempt) -> Task<Reply> {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (first == 0) first = here;
    lowest = (std::min)(lowest, here);
    co_return Reply{attempt.attempt, attempt.attempt == many};
  };
  CHECK(*sync_wait(co_run_with_plan<Task<Reply>>(plan, fn, no_sleep)) == many);
  CHECK(first - lowest < 4096);
}

TEST_CASE("so do those that throw, and waits that are over at once", "[coro]") {
  Loop loop;
  const ExecutionPlan<Client> plan{
      {.provide = Client{1}, .attempts = planb::unlimited, .schedule = planb::spaced(1ns)}};
  std::uintptr_t first = 0;
  std::uintptr_t lowest = UINTPTR_MAX;
  const auto fn = [&](Client&, const Attempt& attempt) -> Task<int> {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (first == 0) first = here;
    lowest = (std::min)(lowest, here);
    if (attempt.attempt < 10'000) throw 1;
    co_return attempt.attempt;
  };
  const auto sleep = [&](Duration time) -> Task<> {
    loop.clock.advance(time);
    co_return;
  };
  CHECK(sync_wait(co_run_with_plan<Task<int>>(plan, fn, sleep, {.clock = &loop.clock})) == 10'000);
  CHECK(first - lowest < 4096);
}

#endif

// --- A thread that goes away -----------------------------------------------------------------------------------------

// libstdc++ only, as in unwind_test.cpp.
#if defined(__GLIBC__) && defined(__GLIBCXX__)
#include <pthread.h>

TEST_CASE("a thread that exits inside an attempt of a Task: the attempt is told as interrupted", "[coro]") {
  const AttemptLog log;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .attempts = 2}};
  std::thread thread([&] {
    static_cast<void>(sync_wait(co_run_with_plan<Task<int>>(plan,
                                                            [](Client&) -> Task<int> {
                                                              pthread_exit(nullptr);
                                                              co_return 1;
                                                            },
                                                            no_sleep, {.on_event = log})));
  });
  thread.join();
  CHECK(log.lines() ==
        Lines{"AttemptStart #1 step=0 one", "AttemptFailure #1 step=0 one interrupted, end: interrupted"});
}

#endif

TEST_CASE("an awaiter is called as an lvalue, as the language does", "[coro]") {
  struct Ready {
    bool await_ready() & { return true; }
    void await_suspend(std::coroutine_handle<>) & {}
    int await_resume() & { return 3; }
  };
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  const auto sleep = [](planb::Duration) -> planb::Task<> { co_return; };
  CHECK(planb::sync_wait(planb::co_run_with_plan<planb::Task<int>>(
            plan, [](int&) { return Ready{}; }, sleep)) == 3);
  CHECK(planb::sync_wait([]() -> planb::Task<int> { co_return co_await Ready{}; }()) == 3);
}

TEST_CASE("an answer that refers into its context becomes the task's own before that goes", "[coro]") {
  struct Model {
    std::string buffer = "a text that is longer than a small buffer has room for";
    planb::Task<const char*> complete() { co_return buffer.c_str(); }
  };
  const planb::ExecutionPlan<Model> plan{{.provide = [] { return Model{}; }}};
  const std::string answer = planb::sync_wait(planb::co_run_with_plan<planb::Task<std::string>>(
      plan, &Model::complete, [](planb::Duration) -> planb::Task<> { co_return; }));
  CHECK(answer == "a text that is longer than a small buffer has room for");
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("a provider that goes on when its stop token fires may end the attempt there and then", "[coro]") {
  struct UntilStopped {
    struct Resume {
      std::coroutine_handle<> frame;
      void operator()() const noexcept {
        if (frame) frame.resume();
      }
    };
    planb::StopToken token;
    std::optional<std::stop_callback<Resume>> watcher = std::nullopt;
    std::optional<std::stop_callback<Resume>> callback = std::nullopt;

    [[nodiscard]] bool await_ready() const { return token.stop_requested(); }
    void await_suspend(std::coroutine_handle<> frame) {
      const planb::StopToken copy = std::move(token);
      watcher.emplace(copy, Resume{});
      callback.emplace(copy, Resume{frame});
    }
    void await_resume() { throw planb::ProviderError(499, "gave up"); }
  };
  planb::testing::VirtualClock clock;
  std::stop_source stop;
  const planb::ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .timeout = std::chrono::seconds(1)}};
  auto run = planb::co_run_with_plan<planb::Task<int>>(
      plan,
      [](int&, const planb::Attempt& attempt) -> planb::Task<int> {
        UntilStopped stopped{attempt.stop_token()};
        co_await stopped;
        co_return 1;
      },
      [](planb::Duration) -> planb::Task<> { co_return; }, {.stop = stop.get_token(), .clock = &clock});
  run.start();
  CHECK_FALSE(run.done());
  stop.request_stop();
  REQUIRE(run.done());
  CHECK_THROWS_AS(run.get(), planb::PlanInterrupted);
}
#endif

namespace {

int moves_left = -1;  // until one throws

struct Fragile {
  Fragile() = default;
  Fragile(const Fragile&) { count(); }
  Fragile(Fragile&&) { count(); }  // NOLINT(performance-noexcept-move-constructor)
  static void count() {
    if (moves_left >= 0 && moves_left-- == 0) throw std::runtime_error("a move");
  }
};

struct FragileClient {
  Fragile own;
  int* calls;
  Task<const Fragile&> look() {
    ++*calls;
    co_return own;
  }
  Task<Fragile> make() {
    ++*calls;
    co_return Fragile();
  }
};

// An awaitable of which there is one, in the context: it is awaited there.
struct Once {
  Once() = default;
  Once(Once&&) = delete;
  int resumed = 0;
  static bool await_ready() { return true; }
  static void await_suspend(std::coroutine_handle<>) {}
  int await_resume() { return ++resumed; }
};
struct OnceClient {
  Once once;
  Once& when() { return once; }
};

}  // namespace

TEST_CASE("an answer whose copy or move throws leads to no other attempt", "[coro]") {
  int calls = 0;
  const ExecutionPlan<FragileClient> plan{
      {.name = "only", .provide = [&] { return FragileClient{{}, &calls}; }, .attempts = 3}};
  const auto sleep = [](Duration) -> Task<> { co_return; };
  AttemptLog log;
  const auto run = [&](auto member, int moves) {
    calls = 0;
    auto task = co_run_with_plan<Task<Fragile>>(plan, member, sleep, {.on_event = std::ref(log)});
    moves_left = moves;
    std::string what = "none";
    try {
      static_cast<void>(sync_wait(std::move(task)));
    } catch (const std::runtime_error& error) {
      what = error.what();
    }
    moves_left = -1;
    return what;
  };
  // Compilers differ in how often they move an answer. The first move of one that is made is within the callable.
  const auto run_to_the_end = [&](auto member, int moves) {
    for (int tried = 0; tried != 10; ++tried, ++moves) {
      CAPTURE(moves);
      const std::string what = run(member, moves);
      CHECK(calls == 1);
      if (what == "none") return tried;
      CHECK(what == "a move");
    }
    return -1;
  };
  CHECK(run_to_the_end(&FragileClient::look, 0) >= 2);
  CHECK(run_to_the_end(&FragileClient::make, 2) >= 2);
}

TEST_CASE("an awaitable that a member of the context refers to is awaited where it is", "[coro]") {
  const ExecutionPlan<OnceClient> plan{{.provide = [] { return OnceClient(); }}};
  CHECK(sync_wait(co_run_with_plan<Task<int>>(plan, &OnceClient::when, [](Duration) -> Task<> { co_return; })) == 1);
}
