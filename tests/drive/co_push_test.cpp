// co_push_with_plan: a pushed stream in a coroutine. Its rules are those of push_with_plan; what is of its own is that
// emit() and the sink are awaited.
#include <planb/coro.hpp>
#include <planb/planb.hpp>
#include <planb/stream.hpp>
#include <planb/testing.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
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
#include <utility>
#include <vector>

#include "catch.hpp"
#include "lives.hpp"
#include "loop.hpp"
#include "pool.hpp"
#include "results.hpp"
#include "two_steps.hpp"

using namespace std::chrono_literals;
using event_loop::finish;
using event_loop::Loop;
using lives::Counted;
using planb::Attempt;
using planb::AttemptFailure;
using planb::CauseKind;
using planb::co_push_with_plan;
using planb::co_try_push_with_plan;
using planb::CurrentMetadata;
using planb::Defect;
using planb::Duration;
using planb::ExecutionPlan;
using planb::Metadata;
using planb::PartialStream;
using planb::PlanResult;
using planb::ProviderError;
using planb::Step;
using planb::StreamOptions;
using planb::sync_wait;
using planb::Task;
using planb::testing::AttemptLog;
using planb::testing::VirtualClock;
using results::Fault;
using results::Outcome;
using two::Client;
using two::two_steps;

namespace {

using Lines = std::vector<std::string>;
using Numbers = std::vector<int>;

constexpr auto no_sleep = [](Duration) -> Task<> { co_return; };

// Three numbers from the first step, and an error; two more from the second.
constexpr auto breaks_once = [](Client& client, auto& emit) -> Task<> {
  for (int i = 1; i != 4; ++i) {
    if (!co_await emit(10 * client.id + i)) co_return;
    if (client.id == 1 && i == 2) throw ProviderError(503, "gone");
  }
};

template <class Call>
std::string outcome(Call call) {
  try {
    call();
    return "ok";
  } catch (const planb::PlanError& error) {
    return std::string(error.what()) + " (" + planb::to_string(error.end()) + ")";
  } catch (const Defect& defect) {
    return std::string("defect: ") + defect.what();
  } catch (const std::exception& error) {
    return std::string("threw ") + error.what();
  } catch (int number) {
    return "threw " + std::to_string(number);
  }
}

Lines timed(const AttemptLog& log) {
  Lines lines;
  for (const planb::Event& event : log.events()) {
    const planb::TimePoint at = event.visit([](const auto& e) { return e.at; });
    lines.push_back(std::to_string(at.time_since_epoch() / 1ms) + ": " + to_string(event));
  }
  return lines;
}

}  // namespace

// --- The same rules as push_with_plan --------------------------------------------------------------------------------

namespace {

// What a producer does with its elements, one after the other.
struct Act {
  enum Kind { emits, fails, takes, throws_defect } kind;
  int number = 0;  // the element, the status, or milliseconds
};

struct Scene {
  const char* name;
  std::vector<Step<Client>> steps;
  std::vector<std::vector<Act>> acts;  // of each attempt
  StreamOptions options = {};
  int wanted = 1000;    // elements
  int sink_takes = 0;   // milliseconds
  int sink_throws = 0;  // at this element
};

std::vector<Scene> scenes() {
  const Step<Client> one{.name = "one", .provide = Client{1}};
  const Step<Client> two{.name = "two", .provide = Client{2}};
  Step<Client> patient = one;
  patient.attempts = 2;
  patient.schedule = planb::spaced(100ms);
  Step<Client> hurried = one;
  hurried.timeout = 50ms;
  Step<Client> late = one;
  late.timeout = 50ms;
  late.first_timeout = 20ms;
  const std::vector<Act> good{{Act::emits, 7}, {Act::emits, 8}};
  const std::vector<Act> half{{Act::emits, 1}, {Act::fails, 503}};
  const std::vector<Act> none{{Act::fails, 503}};
  return {
      {"success at once", {one}, {good}},
      {"an empty stream", {one}, {{}}},
      {"retried, and then another step", {patient, two}, {none, half, good}},
      {"exhausted", {patient, two}, {half, none, none}},
      {"no other step after output", {patient, two}, {half, half}, {.partial = PartialStream::prevent_fallback}},
      {"nothing after output", {patient, two}, {half}, {.partial = PartialStream::prevent_retry}},
      {"retried after output", {patient, two}, {half, good}, {.partial = PartialStream::prevent_fallback}},
      {"the consumer wants one", {one}, {good}, {}, 1},
      {"the consumer wants one, of a producer that throws then", {one}, {half}, {}, 1},
      {"the sink throws", {patient, two}, {good}, {}, 1000, 0, 2},
      {"a defect", {patient, two}, {{{Act::emits, 1}, {Act::throws_defect}}}},
      {"silence before the first element", {hurried, two}, {{{Act::takes, 60}, {Act::emits, 1}}, good}},
      {"silence between elements",
       {hurried, two},
       {{{Act::emits, 1}, {Act::takes, 60}, {Act::emits, 2}, {Act::fails, 500}}, good}},
      {"the first element is late", {late, two}, {{{Act::takes, 30}, {Act::fails, 500}}, good}},
      {"a slow consumer is no silence",
       {hurried, two},
       {{{Act::emits, 1}, {Act::takes, 40}, {Act::emits, 2}, {Act::takes, 40}, {Act::emits, 3}}},
       {},
       1000,
       500},
      {"the budget goes in the source",
       {one, two},
       {{{Act::emits, 1}, {Act::takes, 90}, {Act::emits, 2}}},
       {.budget = 80ms}},
      {"the budget goes in the sink", {one, two}, {good}, {.budget = 80ms}, 1000, 50},
      {"scheduled entry", {one, patient}, {half, none, good}, {.entry = planb::StepEntry::scheduled}},
  };
}

// One run: what acts, at its clock.
struct Play {
  const Scene& scene;
  VirtualClock clock;
  AttemptLog log;
  Numbers seen;

  explicit Play(const Scene& of) : scene(of) {}

  [[nodiscard]] StreamOptions options() const {
    StreamOptions given = scene.options;
    given.on_event = log;
    given.clock = const_cast<VirtualClock*>(&clock);
    return given;
  }
  [[nodiscard]] const std::vector<Act>& acts(const Attempt& attempt) const {
    return scene.acts[static_cast<std::size_t>(attempt.attempt) - 1];
  }
  void act(const Act& act) {
    switch (act.kind) {
      case Act::fails: throw ProviderError(act.number, "down");
      case Act::throws_defect: throw Defect("bug");
      case Act::takes: clock.advance(std::chrono::milliseconds(act.number)); break;
      case Act::emits: break;
    }
  }
  bool receive(int x) {
    seen.push_back(x);
    clock.advance(std::chrono::milliseconds(scene.sink_takes));
    if (static_cast<int>(seen.size()) == scene.sink_throws) throw std::runtime_error("disk full");
    return static_cast<int>(seen.size()) < scene.wanted;
  }
};

}  // namespace

TEST_CASE("the rules, events and outcomes are those of push_with_plan", "[co_push]") {
  for (const Scene& scene : scenes()) {
    DYNAMIC_SECTION(scene.name) {
      Play expected(scene);
      const std::string expected_outcome = outcome([&] {
        planb::push_with_plan(
            ExecutionPlan<Client>(scene.steps),
            [&](Client&, auto& emit, const Attempt& attempt) {
              for (const Act& act : expected.acts(attempt)) {
                if (act.kind != Act::emits) {
                  expected.act(act);
                } else if (!emit(act.number)) {
                  // goes on: nothing more may reach the sink
                }
              }
            },
            [&](int x) { return expected.receive(x); }, expected.options());
      });

      const bool suspends = GENERATE(false, true);
      const bool sink_is_task = GENERATE(false, true);
      const bool swallows = GENERATE(false, true);  // what comes out of emit()
      Play actual(scene);
      Loop hops;  // whose own clock nobody reads
      const auto producer = [&](Client&, auto& emit, const Attempt& attempt) -> Task<> {
        for (const Act& act : actual.acts(attempt)) {
          if (suspends) co_await hops.sleep(0ns);
          if (act.kind != Act::emits) {
            actual.act(act);
          } else {
            bool swallowed = false;
            try {
              static_cast<void>(co_await emit(act.number));
            } catch (const std::runtime_error&) {
              if (!swallows) throw;
              swallowed = true;
            }
            if (swallowed) continue;
          }
        }
      };
      const auto sleep = [&](Duration time) -> Task<> {
        if (suspends) co_await hops.sleep(0ns);
        actual.clock.advance(time);
      };
      const ExecutionPlan<Client> plan(scene.steps);
      const std::string actual_outcome = outcome([&] {
        if (sink_is_task) {
          const auto sink = [&](int x) -> Task<bool> {
            if (suspends) co_await hops.sleep(0ns);
            co_return actual.receive(x);
          };
          finish(hops, co_push_with_plan<Task<>>(plan, producer, sink, sleep, actual.options()));
        } else {
          finish(hops, co_push_with_plan<Task<>>(
                           plan, producer, [&](int x) { return actual.receive(x); }, sleep, actual.options()));
        }
      });
      CHECK(actual_outcome == expected_outcome);
      CHECK(actual.seen == expected.seen);
      CHECK(timed(actual.log) == timed(expected.log));
    }
  }
}

// --- What goes in ----------------------------------------------------------------------------------------------------

TEST_CASE("in a coroutine, emit may be taken in any way, and be named by a std::function", "[co_push]") {
  Numbers seen;
  const auto sink = [&](int x) { seen.push_back(x); };
  const auto run = [&](auto producer) { sync_wait(co_push_with_plan<Task<>>(two_steps(), producer, sink, no_sleep)); };
  run([](Client&, auto& emit) -> Task<> { co_await emit(1); });
  run([](Client&, const auto& emit) -> Task<> { co_await emit(2); });
  run([](Client&, auto emit, const Attempt& attempt) -> Task<> { co_await emit(2 + attempt.attempt); });
  run([](Client, auto&& emit) -> Task<> { co_await emit(4); });
  run([](Client&, std::function<Task<bool>(int)> emit) -> Task<> { co_await emit(5); });
  CHECK(seen == Numbers{1, 2, 3, 4, 5});
}

TEST_CASE("a sink may return nothing, a bool, or a task of these", "[co_push]") {
  Numbers seen;
  const auto producer = [](Client&, auto& emit) -> Task<int> {
    int given = 0;
    while (co_await emit(++given) && given != 5) {
    }
    co_return given;
  };
  const auto run = [&](auto sink) {
    return sync_wait(co_push_with_plan<Task<int>>(two_steps(), producer, sink, no_sleep));
  };
  CHECK(run([&](int x) { seen.push_back(x); }) == 5);
  CHECK(run([&](int x) { return x != 2; }) == 2);
  CHECK(run([&](int x) -> Task<> {
          seen.push_back(x);
          co_return;
        }) == 5);
  CHECK(run([&](int x) -> Task<bool> { co_return x != 3; }) == 3);
  CHECK(run([&](int) { return std::suspend_never(); }) == 5);  // or anything that can be awaited
  CHECK(seen.size() == 10);
}

TEST_CASE("an element is moved or copied at once, and the sink has it as its own", "[co_push]") {
  Loop loop;
  std::vector<std::string> seen;
  const auto sink = [&](const std::string& text) -> Task<> {  // refers to it over its suspension
    co_await loop.sleep(1ms);
    seen.push_back(text);
  };
  const auto producer = [](Client&, auto& emit) -> Task<> {
    std::string text = "a text that is longer than what fits into the object";
    auto first = emit(text);
    text = "changed";
    co_await std::move(first);
    co_await emit(std::move(text));
  };
  finish(loop, co_push_with_plan<Task<>>(two_steps(), producer, sink, no_sleep));
  CHECK(seen == std::vector<std::string>{"a text that is longer than what fits into the object", "changed"});
}

// By value: a sink that is a coroutine must not refer to what an element was converted to for its call.
TEST_CASE("an array is kept as one, and a sink takes it as text", "[co_push]") {
  Loop loop;
  std::vector<std::string> seen;
  const auto sink = [&](std::string text) -> Task<> {
    co_await loop.sleep(1ms);
    seen.push_back(text);
  };
  const auto producer = [](Client&, auto& emit) -> Task<> {
    char buffer[] = "buffer";
    auto third = emit(buffer);
    buffer[0] = 'X';
    co_await std::move(third);
    co_await emit("literal");
  };
  finish(loop, co_push_with_plan<Task<>>(two_steps(), producer, sink, no_sleep));
  CHECK(seen == std::vector<std::string>{"buffer", "literal"});
}

TEST_CASE("move-only elements, of several types, to sinks by value, by reference and by rvalue", "[co_push]") {
  int sum = 0;
  const auto producer = [](Client&, auto& emit) -> Task<> {
    co_await emit(std::make_unique<int>(3));
    auto named = std::make_unique<int>(4);
    co_await emit(std::move(named));
  };
  const auto run = [&](auto sink) { sync_wait(co_push_with_plan<Task<>>(two_steps(), producer, sink, no_sleep)); };
  run([&](std::unique_ptr<int> x) -> Task<> {
    sum += *x;
    co_return;
  });
  run([&](std::unique_ptr<int>& x) { sum += *x; });
  run([&](std::unique_ptr<int>&& x) { sum += *x; });
  run([&](const std::unique_ptr<int>& x) { sum += *x; });
  CHECK(sum == 28);
}

TEST_CASE("plan, producer, sink, sleep and options live in the coroutine", "[co_push]") {
  Loop loop;
  int alive = 0;
  Numbers seen;
  {
    std::optional<Task<>> task;
    {
      ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .attempts = 2, .schedule = planb::spaced(10ms)}};
      task = co_push_with_plan<Task<>>(
          plan,
          [held = Counted(alive), own = std::make_unique<int>(1), &loop](Client&, auto& emit,
                                                                         const Attempt& attempt) -> Task<> {
            co_await loop.sleep(1ms);
            if (attempt.attempt == *own) throw ProviderError(503);
            co_await emit(5);
          },
          [held = Counted(alive), own = std::make_unique<int>(1), &seen, &loop](int x) mutable -> Task<> {
            co_await loop.sleep(1ms);
            seen.push_back(x + *own);
          },
          [held = Counted(alive), own = std::make_unique<int>(1), &loop](Duration time) -> Task<> {
            co_await loop.sleep(time);
          },
          {.clock = &loop.clock, .label = std::string(100, 'x')});
      CHECK(alive == 3);
    }
    CHECK(seen.empty());
    finish(loop, std::move(*task));
  }
  CHECK(seen == Numbers{6});
  CHECK(alive == 0);
}

// --- Back-pressure and time ------------------------------------------------------------------------------------------

TEST_CASE("the sink's task is awaited before the producer goes on", "[co_push]") {
  Loop loop;
  Lines order;
  const auto producer = [&](Client&, auto& emit) -> Task<> {
    for (int i = 1; i != 3; ++i) {
      order.push_back("make " + std::to_string(i));
      co_await emit(i);
    }
    order.push_back("end");
  };
  const auto sink = [&](int x) -> Task<> {
    order.push_back("begin " + std::to_string(x));
    co_await loop.sleep(1s);
    order.push_back("done " + std::to_string(x));
  };
  finish(loop, co_push_with_plan<Task<>>(two_steps(), producer, sink, no_sleep, {.clock = &loop.clock}));
  CHECK(order == Lines{"make 1", "begin 1", "done 1", "make 2", "begin 2", "done 2", "end"});
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("an attempt's stop token counts the source's silence, not the sink's time", "[co_push]") {
  Loop loop;
  bool stopped_in_sink = false;
  bool stopped_in_source = false;
  planb::StopToken stop;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .timeout = 50ms},
                                   {.name = "two", .provide = Client{2}}};
  const auto producer = [&](Client& client, auto& emit, const Attempt& attempt) -> Task<> {
    stop = attempt.stop_token();
    co_await emit(client.id);
    if (client.id == 2) co_return;
    // A task that ignores its token delays the timeout: it is told when the attempt is over.
    co_await loop.sleep(200ms);
    stopped_in_source = stop.stop_requested();
  };
  const auto sink = [&](int) -> Task<> {
    co_await loop.sleep(10s);
    stopped_in_sink = stopped_in_sink || stop.stop_requested();
  };
  const AttemptLog log;
  finish(loop, co_push_with_plan<Task<>>(plan,
                                         [&](Client& c, auto& emit, const Attempt& a) -> Task<> {
                                           co_await producer(c, emit, a);
                                           if (a.stop_token().stop_requested()) throw ProviderError(500);
                                         },
                                         sink, no_sleep, {.on_event = log, .clock = &loop.clock}));
  CHECK_FALSE(stopped_in_sink);
  CHECK(stopped_in_source);
  REQUIRE(log.of<AttemptFailure>().size() == 1);
  CHECK(log.of<AttemptFailure>()[0].cause.kind() == CauseKind::timeout);
  CHECK(log.of<AttemptFailure>()[0].at.time_since_epoch() == 10'200ms);
}

TEST_CASE("a stop is seen between two elements: no further element reaches the sink", "[co_push]") {
  for (const bool in_sink : {false, true}) {
    std::stop_source source;
    Numbers seen;
    const AttemptLog log;
    const auto producer = [&](Client&, auto& emit) -> Task<> {
      int i = 0;
      while (co_await emit(++i)) {
        if (!in_sink && i == 2) source.request_stop();
      }
      {
        const bool wanted = co_await emit(99);
        CHECK_FALSE(wanted);
      }
    };
    const auto sink = [&](int x) -> Task<> {
      seen.push_back(x);
      if (in_sink && x == 2) source.request_stop();
      co_return;
    };
    CHECK_THROWS_AS(sync_wait(co_push_with_plan<Task<>>(two_steps(), producer, sink, no_sleep,
                                                        {.on_event = log, .stop = source.get_token()})),
                    planb::PlanInterrupted);
    CHECK(seen == Numbers{1, 2});
    REQUIRE(log.of<AttemptFailure>().size() == 1);
    CHECK(log.of<AttemptFailure>()[0].cause.kind() == CauseKind::interrupted);
  }
}
#endif

#if defined(__GNUC__)
TEST_CASE("synchronous completion costs no stack: sinks, held-back elements, and what is given after the end",
          "[co_push]") {
  constexpr int count = 200'000;  // each of which would be a few calls deep
  std::uintptr_t lowest = UINTPTR_MAX;
  std::uintptr_t highest = 0;
  int left = 0;
  const auto look = [&] {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    lowest = (std::min)(lowest, here);
    highest = (std::max)(highest, here);
    --left;
  };
  const auto producer = [&](Client&, auto& emit) -> Task<> {
    for (int i = 0; i != count; ++i) co_await emit(i);
  };
  const auto run = [&](auto from, auto sink) {
    left = count;
    lowest = UINTPTR_MAX;
    highest = 0;
    sync_wait(co_push_with_plan<Task<>>(two_steps(), from, sink, no_sleep));
    CHECK(left == 0);
    CHECK(highest - lowest < 4096);
  };
  const auto plain = [&](int) { look(); };
  const auto task = [&](int) -> Task<bool> {
    look();
    co_return true;
  };
  run(producer, plain);
  run(producer, task);
  run(planb::committing(
          producer, [](int x) { return x == count - 1; }, count),
      task);
  run(planb::committing(
          producer, [](int) { return false; }, count),
      task);
}
#endif

// --- What goes wrong -------------------------------------------------------------------------------------------------

TEST_CASE("what a sink throws leaves unchanged, also where the producer swallows it; the gate is neutral",
          "[co_push]") {
  const bool swallows = GENERATE(false, true);
  const bool later = GENERATE(false, true);  // in its task, after a suspension
  Loop loop;
  const AttemptLog log;
  const auto gate = std::make_shared<planb::CircuitBreaker>(planb::CircuitBreakerOptions{.failure_threshold = 1});
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .attempts = 3, .gate = gate},
                                   {.name = "two", .provide = Client{2}}};
  bool further = true;
  const auto producer = [&](Client&, auto& emit) -> Task<int> {
    try {
      co_await emit(1);
    } catch (const std::runtime_error&) {
      if (!swallows) throw;
    }
    further = co_await emit(2);
    co_return 5;
  };
  const auto sink = [&](int) -> Task<> {
    if (later) co_await loop.sleep(1ms);
    throw std::runtime_error("disk full");
  };
  Task<int> task =
      co_push_with_plan<Task<int>>(plan, producer, sink, no_sleep, {.on_event = log, .clock = &loop.clock});
  CHECK_THROWS_WITH(finish(loop, std::move(task)), "disk full");
  CHECK(further == !swallows);
  REQUIRE(log.of<AttemptFailure>().size() == 1);
  CHECK(log.of<AttemptFailure>()[0].cause.kind() == CauseKind::interrupted);
  CHECK(gate->state() == planb::CircuitState::closed);
}

TEST_CASE("a second emit before the first is over is a Defect, whatever the producer does with it", "[co_push]") {
  Loop loop;
  Numbers seen;
  const bool swallows = GENERATE(false, true);
  const auto sink = [&](int x) -> Task<> {
    seen.push_back(x);
    co_await loop.sleep(1s);
  };
  const auto producer = [&](Client&, auto& emit) -> Task<> {
    Task<bool> first = emit(1);
    first.start();
    Task<bool> second = emit(2);
    second.start();
    co_await loop.sleep(2s);
    {
      const bool wanted = co_await std::move(first);
      CHECK_FALSE(wanted);
    }
    if (!swallows) co_await std::move(second);
  };
  const std::string end = outcome(
      [&] { finish(loop, co_push_with_plan<Task<>>(two_steps(), producer, sink, no_sleep, {.clock = &loop.clock})); });
  CHECK(end == "defect: planb: a second `co_await emit(x)` before the first was over");
  CHECK(seen == Numbers{1});
}

TEST_CASE("an emit that is not over when the producer returns is a Defect", "[co_push]") {
  Loop loop;
  std::optional<Task<bool>> left;
  const auto producer = [&](Client&, auto& emit) -> Task<> {
    left = emit(1);
    left->start();
    co_return;
  };
  Task<> task = co_push_with_plan<Task<>>(two_steps(), producer, [&](int) { return loop.sleep(1s); }, no_sleep,
                                          {.clock = &loop.clock});
  task.start();
  REQUIRE(task.done());
  left.reset();
  CHECK(outcome([&] { task.get(); }) == "defect: planb: a producer returned before its `co_await emit(x)` was over");
}

TEST_CASE("a producer that swallows the refusal of a second emit, and returns before the first is over", "[co_push]") {
  Loop loop;
  std::optional<Task<bool>> left;
  const auto producer = [&](Client&, auto& emit) -> Task<> {
    left = emit(1);
    left->start();
    for (int i = 2; i != 4; ++i) {
      try {
        co_await emit(i);
      } catch (const Defect&) {  // each time
      }
    }
  };
  AttemptLog log;
  Task<> task = co_push_with_plan<Task<>>(two_steps(), producer, [&](int) { return loop.sleep(1s); }, no_sleep,
                                          {.on_event = log, .clock = &loop.clock});
  task.start();
  REQUIRE(task.done());
  left.reset();
  CHECK(outcome([&] { task.get(); }) == "defect: planb: a producer returned before its `co_await emit(x)` was over");
  CHECK(log.of<AttemptFailure>().size() == 1);
}

TEST_CASE("an emit that its attempt left behind in the sink ends no later one", "[co_push]") {
  for (const bool sink_throws : {false, true}) {
    CAPTURE(sink_throws);
    Loop loop;
    Numbers seen;
    std::optional<Task<bool>> left;
    const auto producer = [&](Client& client, auto& emit) -> Task<> {
      if (client.id == 1) {
        left = emit(1);
        left->start();
        throw ProviderError(503);
      }
      co_await loop.sleep(2s);
      for (int i = 20; i != 22; ++i) {
        const bool wanted = co_await emit(i);
        CHECK(wanted);
      }
    };
    const auto sink = [&](int x) -> Task<bool> {
      if (x == 1) {
        co_await loop.sleep(1s);
        if (sink_throws) throw std::runtime_error("late");
        co_return false;
      }
      seen.push_back(x);
      co_return true;
    };
    finish(loop, co_push_with_plan<Task<>>(two_steps(), producer, sink, no_sleep, {.clock = &loop.clock}));
    CHECK(seen == Numbers{20, 21});
    REQUIRE(left);
    CHECK(left->done());
  }
}

TEST_CASE("an emit whose frame is destroyed gives its turn back", "[co_push]") {
  Loop loop;
  Numbers seen;
  const auto producer = [&](Client&, auto& emit) -> Task<> {
    {
      Task<bool> given_up = emit(1);
      given_up.start();
    }
    co_await emit(2);
  };
  const auto sink = [&](int x) -> Task<> {
    co_await loop.sleep(1s);
    seen.push_back(x);
  };
  finish(loop, co_push_with_plan<Task<>>(two_steps(), producer, sink, no_sleep, {.clock = &loop.clock}));
  CHECK(seen == Numbers{2});
}

TEST_CASE("in a coroutine, an emit that outlives its attempt does nothing", "[co_push]") {
  Numbers seen;
  std::function<Task<bool>(int)> kept;
  const auto producer = [&](Client& client, auto& emit) -> Task<> {
    if (client.id == 1) {
      kept = emit;
      throw ProviderError(503);
    }
    co_await emit(2);
  };
  const auto handler = [&](const planb::Event& event) {
    if (event.get_if<AttemptFailure>() != nullptr) CHECK_FALSE(sync_wait(kept(1)));
  };
  sync_wait(co_push_with_plan<Task<>>(two_steps(), producer, [&](int x) { seen.push_back(x); }, no_sleep,
                                      {.on_event = handler}));
  CHECK(seen == Numbers{2});
}

TEST_CASE("in a coroutine, an emitted expected-like with an error is a failure of the attempt", "[co_push]") {
  Numbers seen;
  const auto producer = [](Client& client, auto& emit) -> Task<> {
    co_await emit(Outcome<int, Fault>(client.id));
    if (client.id == 1) {
      const bool wanted = co_await emit(Outcome<int, Fault>(Fault{4}));
      CHECK_FALSE(wanted);
    }
  };
  const auto sink = [&](Outcome<int, Fault> x) -> Task<> {
    seen.push_back(*x);
    co_return;
  };
  const PlanResult<void> result =
      sync_wait(co_try_push_with_plan<Task<PlanResult<void>>>(two_steps(), producer, sink, no_sleep));
  REQUIRE(result.has_value());
  CHECK(seen == Numbers{1, 2});
  CHECK(result.report().steps.size() == 2);
}

// --- The end of the frame --------------------------------------------------------------------------------------------

TEST_CASE("destroyed in producer, sink or wait: the attempt ends as interrupted, and nothing is left", "[co_push]") {
  struct Place {
    const char* name;
    int suspends;  // 0: producer, 1: sink, 2: sink of what was held back at the end, 3: wait
    std::size_t failures;
  };
  for (const Place place : {Place{"in the producer", 0, 1}, Place{"in the sink", 1, 1},
                            Place{"in the sink, at the end", 2, 1}, Place{"in the wait", 3, 1}}) {
    DYNAMIC_SECTION(place.name) {
      Loop loop;
      const AttemptLog log;
      int alive = 0;
      const auto gate = std::make_shared<planb::CircuitBreaker>(planb::CircuitBreakerOptions{.failure_threshold = 9});
      const ExecutionPlan<Counted> plan{{.name = "one",
                                         .provide = [&] { return Counted(alive); },
                                         .attempts = 2,
                                         .schedule = planb::spaced(1s),
                                         .gate = gate}};
      const auto producer = [&](Counted&, auto& emit) -> Task<> {
        const Counted local(alive);
        co_await emit(Counted(alive));
        if (place.suspends == 0) co_await loop.sleep(1h);
        if (place.suspends == 3) throw ProviderError(503);
      };
      const auto sink = [&](Counted) -> Task<> {
        if (place.suspends == 1 || place.suspends == 2) co_await loop.sleep(1h);
      };
      const auto predicate = [&](const Counted&) { return place.suspends != 2; };
      {
        Task<> task = co_push_with_plan<Task<>>(plan, planb::committing(producer, predicate, 10), sink,
                                                [&](Duration time) { return loop.sleep(time); },
                                                {.on_event = log, .clock = &loop.clock});
        task.start();
        CHECK(loop.sleeping() == 1);
      }
      CHECK(alive == 0);
      CHECK(loop.sleeping() == 0);
      REQUIRE(log.of<AttemptFailure>().size() == place.failures);
      CHECK(log.of<AttemptFailure>()[0].cause.kind() ==
            (place.suspends == 3 ? CauseKind::error : CauseKind::interrupted));
    }
  }
}

// --- What counts as output -------------------------------------------------------------------------------------------

TEST_CASE("committing() holds back what comes before the output, and drops it with its attempt", "[co_push]") {
  struct Row {
    const char* name;
    Numbers first;   // of step one, which fails then
    Numbers second;  // of step two
    std::size_t limit;
    Numbers seen;
  };
  for (const Row& row : std::vector<Row>{
           {"dropped with the attempt", {-1, -2}, {-3, 4, -5}, 9, {-3, 4, -5}},
           {"given before the first that counts", {-1, 2}, {-3, 4}, 9, {-1, 2, -3, 4}},
           {"given at the end", {}, {-1, -2}, 9, {-1, -2}},
           {"given at the limit", {-1, -2, -3}, {4}, 2, {-1, -2, -3, 4}},
       }) {
    DYNAMIC_SECTION(row.name) {
      Loop loop;
      Numbers seen;
      const auto producer = [&](Client& client, auto& emit) -> Task<int> {
        for (const int x : client.id == 1 ? row.first : row.second) {
          {
            const bool wanted = co_await emit(x);
            CHECK(wanted);
          }
        }
        if (client.id == 1) throw ProviderError(503);
        co_return client.id;
      };
      const auto sink = [&](int x) -> Task<> {
        co_await loop.sleep(1ms);
        seen.push_back(x);
      };
      CHECK(finish(loop, co_push_with_plan<Task<int>>(two_steps(),
                                                      planb::committing(
                                                          producer, [](int x) { return x > 0; }, row.limit),
                                                      sink, no_sleep)) == 2);
      CHECK(seen == row.seen);
    }
  }
}

TEST_CASE("what is held back at the end meets a sink that throws, or wants no more", "[co_push]") {
  const auto producer = [](Client&, auto& emit) -> Task<int> {
    co_await emit(1);
    co_await emit(2);
    co_return 7;
  };
  const auto held = planb::committing(
      producer, [](int) { return false; }, 9);
  Numbers seen;
  CHECK(sync_wait(co_push_with_plan<Task<int>>(
            two_steps(), held,
            [&](int x) {
              seen.push_back(x);
              return false;
            },
            no_sleep)) == 7);
  CHECK(seen == Numbers{1});
  CHECK_THROWS_AS(sync_wait(co_push_with_plan<Task<int>>(
                      two_steps(), held, [](int) { throw 5; }, no_sleep)),
                  int);
}

TEST_CASE("a predicate that throws ends the run; accepting() looks at what the producer gives", "[co_push]") {
  const auto producer = [](Client& client, auto& emit) -> Task<int> {
    co_await emit(1);
    co_return client.id;
  };
  const auto sink = [](int) {};
  CHECK_THROWS_AS(
      sync_wait(co_push_with_plan<Task<int>>(two_steps(),
                                             planb::committing(
                                                 producer, [](int) -> bool { throw std::logic_error("rule"); }, 2),
                                             sink, no_sleep)),
      planb::PlanAborted);
  CHECK(sync_wait(co_push_with_plan<Task<int>>(two_steps(), planb::accepting(producer, [](int x) { return x == 2; }),
                                               sink, no_sleep)) == 2);
}

// --- What comes out --------------------------------------------------------------------------------------------------

TEST_CASE("what the producer gives comes back: a value, move-only, a reference, an expected-like", "[co_push]") {
  const auto sink = [](int) {};
  CHECK(*sync_wait(co_push_with_plan<Task<std::unique_ptr<int>>>(
            two_steps(), [](Client&, auto&) -> Task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); }, sink,
            no_sleep)) == 3);
  int number = 0;
  CHECK(&sync_wait(co_push_with_plan<Task<int&>>(
            two_steps(), [&](Client&, auto&) -> Task<int&> { co_return number; }, sink, no_sleep)) == &number);
  const auto replies = [](Client& client, auto& emit) -> Task<Outcome<int, Fault>> {
    co_await emit(client.id);
    if (client.id == 1) co_return Fault{9};
    co_return client.id;
  };
  CHECK(*sync_wait(co_push_with_plan<Task<Outcome<int, Fault>>>(two_steps(), replies, sink, no_sleep)) == 2);
  // When the consumer has stopped, an error is given back as it is.
  CHECK(sync_wait(co_push_with_plan<Task<Outcome<int, Fault>>>(
                      two_steps(), replies, [](int) { return false; }, no_sleep))
            .error() == Fault{9});
}

TEST_CASE("the try form gives a PlanResult with a report, and throws only a Defect and what the sink throws",
          "[co_push]") {
  using Tried = Task<PlanResult<int>>;
  const auto producer = [](int fails) {
    return [fails](Client& client, auto& emit) -> Task<int> {
      co_await emit(client.id);
      if (client.id <= fails) throw ProviderError(503);
      co_return client.id;
    };
  };
  const auto sink = [](int) {};
  const auto run = [&](auto fn, auto into) {
    return sync_wait(co_try_push_with_plan<Tried>(two_steps(), fn, into, no_sleep));
  };
  const PlanResult<int> good = run(producer(1), sink);
  REQUIRE(good.has_value());
  CHECK(*good == 2);
  CHECK(good.report().fell_back());
  CHECK(good.report().duration.has_value());
  const PlanResult<int> bad = run(producer(2), sink);
  REQUIRE_FALSE(bad.has_value());
  CHECK(bad.error().end() == planb::RunEnd::exhausted);
  CHECK_THROWS_AS(run(producer(0), [](int) { throw 5; }), int);
  CHECK_THROWS_AS(run([](Client&, auto&) -> Task<int> { throw Defect("bug"); }, sink), Defect);
  // A sink that stops early makes a success; without a value, what the producer throws then is thrown.
  CHECK(*run(producer(0), [](int) { return false; }) == 1);
  CHECK_THROWS_AS(run(producer(1), [](int) { return false; }), ProviderError);
  // Where it gives nothing, that is dropped: as in try_push_with_plan.
  const auto breaks_off = [](Client& client, auto& emit) -> Task<> {
    co_await emit(client.id);
    throw ProviderError(503);
  };
  const PlanResult<void> enough = sync_wait(co_try_push_with_plan<Task<PlanResult<void>>>(
      two_steps(), breaks_off, [](int) { return false; }, no_sleep));
  REQUIRE(enough.has_value());
  CHECK(enough.report().delivered == 1);
}

namespace {

// An expected-like that throws when it is asked.
struct Evasive {
  using unexpected_type = Fault;
  explicit Evasive(int x) : value(x) {}
  explicit Evasive(Fault) {}
  [[nodiscard]] static bool has_value() { throw std::logic_error("ask somebody else"); }
  [[nodiscard]] static Fault error() { return {}; }
  int& operator*() { return value; }
  int value = 0;
};

// Its moves throw, from the given number on.
struct Heavy {
  inline static int moves_left = 1000;
  Heavy() = default;
  Heavy(Heavy&&) {
    if (moves_left-- <= 0) throw std::runtime_error("a move");
  }
};

}  // namespace

TEST_CASE("when the consumer has stopped, a result that throws when it is asked: that leaves, in both forms",
          "[co_push]") {
  const auto sink = [](int) { return false; };
  const auto pushed = outcome([&] {
    static_cast<void>(planb::try_push_with_plan(two_steps(), [](Client&, auto& emit) { return emit(1), Evasive(2); },
                                                sink));
  });
  const auto awaited = outcome([&] {
    static_cast<void>(sync_wait(co_try_push_with_plan<Task<PlanResult<int>>>(
        two_steps(),
        [](Client&, auto& emit) -> Task<Evasive> {
          co_await emit(1);
          co_return Evasive(2);
        },
        sink, no_sleep)));
  });
  CHECK(pushed == "threw ask somebody else");
  CHECK(awaited == pushed);
}

TEST_CASE("in a coroutine, an answer of a producer whose move throws leads to no other attempt", "[co_push]") {
  int calls = 0;
  const auto producer = [&](Client&, auto& emit) -> Task<Heavy> {
    ++calls;
    co_await emit(1);
    Heavy made;
    co_return std::move(made);
  };
  for (const bool tries : {false, true}) {
    int lost = 0;
    // The first move is within the producer. Compilers differ in how often they move it after that.
    for (int moves = 1; moves != 20; ++moves) {
      CAPTURE(tries, moves);
      calls = 0;
      AttemptLog log;
      const StreamOptions options{.on_event = log};
      Heavy::moves_left = 1000;
      const auto go = [&](auto task) {
        Heavy::moves_left = moves;
        return outcome([&] { static_cast<void>(sync_wait(std::move(task))); });
      };
      const std::string what =
          tries ? go(co_try_push_with_plan<Task<PlanResult<Heavy>>>(two_steps(), producer, [](int) {}, no_sleep, options))
                : go(co_push_with_plan<Task<Heavy>>(two_steps(), producer, [](int) {}, no_sleep, options));
      Heavy::moves_left = 1000;
      CHECK(calls == 1);
      if (what == "ok") break;
      ++lost;
      CHECK(what == "threw a move");
      if (moves == 1) continue;
      CHECK(log.of<AttemptFailure>().empty());
      CHECK(log.of<planb::AttemptSuccess>().size() == 1);
    }
    CHECK(lost >= 2);
  }
}

TEST_CASE("breaks_once: the second step goes on from its start", "[co_push]") {
  Numbers seen;
  sync_wait(co_push_with_plan<Task<>>(
      two_steps(), breaks_once, [&](int x) { seen.push_back(x); }, no_sleep));
  CHECK(seen == Numbers{11, 12, 21, 22, 23});
}

// --- Metadata and threads --------------------------------------------------------------------------------------------

TEST_CASE("metadata holds for producer and sink over their awaits, in a Task", "[co_push]") {
  Loop loop;
  std::vector<Metadata> seen;
  const auto producer = [&](Client& client, auto& emit) -> Task<> {
    co_await loop.sleep(1ms);
    seen.push_back(CurrentMetadata::get());
    co_await emit(1);
    seen.push_back(CurrentMetadata::get());
    if (client.id == 1) throw ProviderError(503);
  };
  const auto sink = [&](int) -> Task<> {
    seen.push_back(CurrentMetadata::get());
    co_await loop.sleep(1ms);
    seen.push_back(CurrentMetadata::get());
  };
  finish(loop, co_push_with_plan<Task<>>(two_steps(), producer, sink, no_sleep, {.clock = &loop.clock}));
  CHECK(seen == std::vector<Metadata>{{1, 0}, {1, 0}, {1, 0}, {1, 0}, {2, 1}, {2, 1}, {2, 1}, {2, 1}});
  CHECK(CurrentMetadata::get() == Metadata{});
}

namespace {

constexpr int streams = 200;

// Twenty elements with a wait before each; the first step breaks off after three. `wait()` and `take(element)` give
// what is awaited in the producer and in the sink.
template <class Wait, class Take>
Task<> counted(const ExecutionPlan<Client>& plan, Wait wait, Take take) {
  return co_push_with_plan<Task<>>(
      plan,
      [wait](Client& client, auto& emit) -> Task<> {
        for (int i = 0; i != 20; ++i) {
          co_await wait();
          if (client.id == 1 && i == 3) throw ProviderError(503);
          co_await emit(100 * client.id + i);
        }
      },
      take, no_sleep);
}

Numbers all_that_counts() {
  Numbers all{100, 101, 102};
  for (int i = 0; i != 20; ++i) all.push_back(200 + i);
  return all;
}

}  // namespace

TEST_CASE("two hundred streams take turns on one thread", "[co_push]") {
  Loop loop;
  const ExecutionPlan<Client> plan = two_steps();
  std::vector<Numbers> seen(streams);
  Numbers order;  // of all elements
  std::vector<Task<>> tasks;
  int ended = 0;
  for (Numbers& mine : seen) {
    tasks.push_back(counted(
        plan, [&loop] { return loop.sleep(2ms); },
        [&](int x) -> Task<> {
          co_await loop.sleep(1ms);
          mine.push_back(x);
          order.push_back(x);
        }));
  }
  for (Task<>& task : tasks) task.start([&ended] { ++ended; });
  CHECK(loop.sleeping() == streams);
  loop.run();
  CHECK(ended == streams);
  CHECK(std::count(seen.begin(), seen.end(), all_that_counts()) == streams);
  CHECK(std::is_sorted(order.begin(), order.end()));  // nobody is an element ahead of another
}

TEST_CASE("streams that move between two threads keep their elements in order", "[co_push][threads]") {
  Pool pool;
  std::vector<Numbers> seen(streams);
  const ExecutionPlan<Client> plan = two_steps();
  std::vector<Task<>> tasks;
  std::atomic<int> ended = 0;
  for (Numbers& mine : seen) {
    tasks.push_back(counted(
        plan, [&pool] { return pool.hop(); },
        [&pool, &mine](int x) -> Task<> {
          co_await pool.hop();
          mine.push_back(x);
        }));
  }
  for (Task<>& task : tasks) task.start([&] { ++ended; });
  while (ended != streams) std::this_thread::yield();
  CHECK(pool.stop() == 0);
  CHECK(std::count(seen.begin(), seen.end(), all_that_counts()) == streams);
}
