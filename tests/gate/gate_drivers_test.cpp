// What a step's gate is told of an attempt is the same in every driver, and it is told once on every way out.
#include <planb/coro.hpp>
#include <planb/planb.hpp>
#include <planb/stream.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "next_range.hpp"

namespace {

using namespace std::chrono_literals;
using planb::Admission;
using planb::Attempt;
using planb::Cause;
using planb::CircuitBreaker;
using planb::CircuitState;
using planb::Defect;
using planb::Duration;
using planb::ExecutionPlan;
using planb::LeaveReason;
using planb::PartialStream;
using planb::Permit;
using planb::PlanRun;
using planb::ProviderError;
using planb::RunEnd;
using planb::RunPhase;
using planb::RunReport;
using planb::Step;
using planb::StepSkipped;
using planb::StreamOptions;
using planb::Task;
using planb::TimePoint;
using planb::testing::AttemptLog;
using planb::testing::VirtualClock;
using Notes = std::vector<std::string>;

constexpr TimePoint at(Duration since_start) { return TimePoint{since_start}; }
constexpr TimePoint never = (TimePoint::max)();

// Writes down what it is told. Each permit has a ticket of its own.
class NotingGate final : public planb::Gate {
 public:
  Notes notes;
  std::vector<std::uint64_t> out;  // the tickets of permits that are out
  bool once = true;                // each was told one end
  std::function<void()> on_output;
  std::function<void()> on_end;

  Admission admit(const planb::GateRequest&) override {
    out.push_back(++tickets_);
    return Permit(*this, tickets_);
  }
  TimePoint opens_at(const planb::GateRequest& request) const override { return request.now; }

 private:
  void end(std::uint64_t ticket, const char* what) {
    once = once && std::erase(out, ticket) == 1;
    notes.emplace_back(what);
  }
  void on_outcome(std::uint64_t ticket, const planb::GateOutcome& outcome) override {
    end(ticket, outcome.cause == nullptr ? "success" : "failure");
    if (on_end) on_end();
  }
  void on_dropped(std::uint64_t ticket, bool) noexcept override { end(ticket, "dropped"); }
  void on_first_output(std::uint64_t ticket, TimePoint) override {
    once = once && out == std::vector{ticket};
    notes.emplace_back("output");
    if (on_output) on_output();
  }

  std::uint64_t tickets_ = 0;
};

// What an attempt does, in order.
struct Act {
  enum Kind { waits, gives, throws, throws_int, throws_defect, stops } kind;
  Duration time{};
};
using Script = std::vector<Act>;

Act wait(Duration time) { return {Act::waits, time}; }
constexpr Act give{Act::gives};
constexpr Act fail{Act::throws};

enum class Driver { call, attempt, retry, push, pull, coroutine, by_hand };
constexpr Driver drivers[] = {Driver::call, Driver::attempt,   Driver::retry,  Driver::push,
                              Driver::pull, Driver::coroutine, Driver::by_hand};
bool streams(Driver driver) { return driver == Driver::push || driver == Driver::pull || driver == Driver::by_hand; }

// One run, and what becomes of it.
struct World {
  VirtualClock clock = {};
  std::shared_ptr<NotingGate> gate = std::make_shared<NotingGate>();
  std::vector<Script> scripts;  // of the attempts, in order; then they answer at once
  int holds_back = 0;           // of a stream
  int wants = 1'000;
  bool consumer_throws = false;
  std::size_t attempts = 0;
  std::optional<RunReport> report = std::nullopt;
  std::string threw = {};
#if PLANB_HAS_STOP_TOKEN
  std::stop_source stop = {};
#endif

  // Up to the next element. False: there is none.
  bool go_on(const Script& script, std::size_t& place) {
    while (place != script.size()) {
      const Act& act = script[place++];
      switch (act.kind) {
        case Act::waits: clock.advance(act.time); break;
        case Act::gives: return true;
        case Act::throws: throw ProviderError(503, "busy");
        case Act::throws_int: throw 42;
        case Act::throws_defect: throw Defect("a bug");
        case Act::stops:
#if PLANB_HAS_STOP_TOKEN
          stop.request_stop();
#endif
          break;
      }
    }
    return false;
  }
  Script next_script() { return attempts++ < scripts.size() ? scripts[attempts - 1] : Script{}; }

  bool consume() {
    gate->notes.emplace_back("element");
    if (consumer_throws) throw std::runtime_error("consumer");
    return --wants != 0;
  }

  void run(Driver driver, Step<int> step, const Step<int>* second, StreamOptions options) {
    step.gate = gate;
    options.clock = &clock;
#if PLANB_HAS_STOP_TOKEN
    options.stop = stop.get_token();
#endif
    const planb::RunOptions run_options{
        .on_event = options.on_event, .budget = options.budget, .stop = options.stop, .clock = options.clock};
    const ExecutionPlan<int> plan = second != nullptr ? ExecutionPlan<int>{step, *second} : ExecutionPlan<int>{step};
    const auto silently = [&](const auto&...) {
      const Script script = next_script();
      for (std::size_t place = 0; go_on(script, place);) {
      }
    };
    const auto counts = [this, seen = 0](int) mutable { return ++seen > holds_back; };
    try {
      switch (driver) {
        case Driver::call:
          planb::run_with_plan(
              plan, [&](int& i) { silently(i); }, run_options);
          break;
        case Driver::attempt:
          report = planb::try_run_with_plan(
                       plan, [&](int& i) { silently(i); }, run_options)
                       .report();
          break;
        case Driver::retry:
          planb::retry(
              {.attempts = step.attempts, .timeout = step.timeout, .gate = gate}, [&] { silently(); }, run_options);
          break;
        case Driver::push: {
          const auto producer = [&](int&, auto& emit) {
            const Script script = next_script();
            for (std::size_t place = 0; go_on(script, place) && emit(1);) {
            }
          };
          planb::push_with_plan(
              plan, planb::committing(producer, counts, 10), [&](int) { return consume(); }, options);
          break;
        }
        case Driver::pull: {
          const auto source = [&](int&) {
            return NextRange([this, script = next_script(), place = std::size_t{}]() mutable {
              return go_on(script, place) ? std::optional(1) : std::nullopt;
            });
          };
          auto stream = planb::stream_with_plan(plan, planb::committing(source, counts, 10), options);
          for ([[maybe_unused]] int element : stream) {
            if (!consume()) break;
          }
          break;
        }
        case Driver::coroutine: {
          const auto task = [&](int) -> Task<> {
            silently();
            co_return;
          };
          const auto sleep = [this](Duration time) -> Task<> {
            clock.advance(time);
            co_return;
          };
          planb::sync_wait(planb::co_run_with_plan<Task<>>(plan, task, sleep, run_options));
          break;
        }
        case Driver::by_hand: by_hand(plan, run_options, counts); break;
      }
    } catch (const planb::PlanError& error) {
      report = error.report();
      threw = "plan error";
    } catch (const Defect&) {
      threw = "defect";
    } catch (const std::exception& error) {  // retry() throws the error itself
      threw = error.what();
    } catch (int) {
      threw = "42";
    }
  }

  template <class Counts>
  void by_hand(const ExecutionPlan<int>& plan, const planb::RunOptions& options, Counts counts) {
    PlanRun<int> run(plan, options);
    for (;;) {
      const RunPhase phase = run.next();
      if (phase == RunPhase::wait) clock.sleep_until(run.due(), {});
      if (phase == RunPhase::over) break;
      if (phase != RunPhase::attempt) continue;
      std::optional<Cause> failure;
      bool cut_short = false;
      try {
        const Script script = next_script();
        int held = 0;
        for (std::size_t place = 0; !cut_short && go_on(script, place);) {
          for (held += 1; counts(1) && held != 0 && !cut_short; --held) {
            cut_short = !run.deliver();
            if (!cut_short) consume();
          }
          cut_short = cut_short || !run.resume();
        }
        for (; held > 0 && !cut_short; --held) {
          cut_short = !run.deliver();
          if (!cut_short) consume();
        }
      } catch (...) {
        failure = Cause::current();
      }
      if (cut_short) failure = Cause::timed_out();
      if (failure) {
        run.fail(*failure);
      } else {
        run.succeed();
      }
    }
    report = run.report();
    if (run.end() == RunEnd::defect) threw = "defect";
  }

  [[nodiscard]] Notes told() const {
    Notes ends;
    for (const std::string& note : gate->notes) {
      if (note != "element" && note != "output") ends.push_back(note);
    }
    return ends;
  }
};

}  // namespace

// --- What ends an attempt
// ---------------------------------------------------------------------------------------------

TEST_CASE("an attempt that the budget ends before the step's timeout is neutral, in every driver", "[gate]") {
  struct Case {
    std::string name;
    Script script;
    std::optional<Duration> timeout;
    std::optional<Duration> reserve;  // of a second step
    std::string told;
    bool streams_alone = false;
    std::optional<Duration> budget = Duration(10s);
  };
  const Case cases[] = {
      {"no timeout, at the budget's end", {wait(10s), fail}, std::nullopt, {}, "dropped"},
      {"no timeout, after it", {wait(12s), fail}, std::nullopt, {}, "dropped"},
      {"no timeout, before it", {wait(10s - 1ns), fail}, std::nullopt, {}, "failure"},
      {"the timeout is shorter", {wait(5s), fail}, 5s, {}, "failure"},
      {"both are over, the timeout was first", {wait(12s), fail}, 9s, {}, "failure"},
      {"both are over, the budget was first", {wait(12s), fail}, 11s, {}, "dropped"},
      {"only the budget is over", {wait(10s), fail}, 10s + 1ns, {}, "dropped"},
      {"they end together", {wait(10s), fail}, 10s, {}, "failure"},
      {"without a budget", {wait(10s), fail}, 10s, {}, "failure", false, std::nullopt},
      {"without either", {wait(24h), fail}, std::nullopt, {}, "failure", false, std::nullopt},
      {"an answer that is late", {wait(12s)}, std::nullopt, {}, "success"},
      {"the share of a step with others behind it", {wait(6s), fail}, std::nullopt, 4s, "dropped"},
      {"the share, before the timeout", {wait(6s), fail}, 7s, 4s, "dropped"},
      {"the share, with the timeout", {wait(6s), fail}, 6s, 4s, "failure"},
      {"the share, after the timeout", {wait(6s), fail}, 5s, 4s, "failure"},
      {"silence after an element", {wait(4s), give, wait(5s), fail}, 5s, {}, "failure", true},
      {"silence beyond the budget", {wait(4s), give, wait(6s), fail}, 7s, {}, "dropped", true},
      {"silence that ends with the budget", {wait(4s), give, wait(6s), fail}, 6s, {}, "failure", true},
      {"silence that ends before the budget", {wait(4s), give, wait(7s), fail}, 5s, {}, "failure", true},
      {"silence from the start again", {wait(4s), give, wait(4s), fail}, 5s, {}, "failure", true},
      {"an element too late", {wait(10s), give}, std::nullopt, {}, "dropped", true},
      {"an element after a longer silence", {wait(10s), give}, 9s, {}, "failure", true},
      {"an element before the silence was too long", {wait(10s), give}, 11s, {}, "dropped", true},
  };
  for (const Case& c : cases) {
    for (const Driver driver : drivers) {
      if ((c.reserve && driver == Driver::retry) || (c.streams_alone && !streams(driver))) continue;
      CAPTURE(c.name, static_cast<int>(driver));
      World world{.scripts = {c.script}};
      const Step<int> second{.provide = 2, .reserve = c.reserve.value_or(0s)};
      world.run(driver, {.provide = 1, .timeout = c.timeout}, c.reserve ? &second : nullptr, {.budget = c.budget});
      CHECK(world.told() == Notes{c.told});
      CHECK(world.gate->once);
      CHECK(world.gate->out.empty());
      CHECK(world.attempts == (c.reserve ? 2 : 1));  // what follows is another matter
    }
  }
}

TEST_CASE("a breaker stays closed over what callers have no time for", "[gate][field-12]") {
  const auto breaker = planb::circuit_breaker({.failure_threshold = 1});
  VirtualClock clock;
  const ExecutionPlan<int> plan{{.provide = 1, .timeout = 20s, .gate = breaker}};
  const auto slow = [&](int&) {
    clock.advance(10s);
    throw ProviderError(503, "too slow for you");
  };
  CHECK_FALSE(try_run_with_plan(plan, slow, {.budget = 10s, .clock = &clock}).has_value());
  CHECK(breaker->state() == CircuitState::closed);
  CHECK_FALSE(try_run_with_plan(plan, slow, {.budget = 11s, .clock = &clock}).has_value());
  CHECK(breaker->state() == CircuitState::open);
}

// --- A stream's first output
// ------------------------------------------------------------------------------------------

TEST_CASE("a gate is told of an attempt's first output, before the consumer has it", "[gate][stream]") {
  struct Case {
    std::string name;
    std::vector<Script> scripts;
    int holds_back;
    Notes notes;
  };
  const Case cases[] = {
      {"two elements", {{give, give}}, 0, {"output", "element", "element", "success"}},
      {"none", {{}}, 0, {"success"}},
      {"none, and an error", {{fail}, {give}}, 0, {"failure", "output", "element", "success"}},
      {"an error after one",
       {{give, fail}, {give}},
       0,
       {"output", "element", "failure", "output", "element", "success"}},
      {"held back, then released", {{give, give, give}}, 2, {"output", "element", "element", "element", "success"}},
      {"held back, released at the end", {{give, give}}, 5, {"output", "element", "element", "success"}},
      {"a stop before it", {{{Act::stops}, give}}, 0, {"dropped"}},
      {"a stop after it", {{give, {Act::stops}, give}}, 0, {"output", "element", "dropped"}},
      {"the budget is gone", {{wait(10s), give}}, 0, {"dropped"}},
  };
  for (const Case& c : cases) {
#if !PLANB_HAS_STOP_TOKEN
    if (c.name.find("a stop") == 0) continue;
#endif
    for (const Driver driver : {Driver::push, Driver::pull, Driver::by_hand}) {
      CAPTURE(c.name, static_cast<int>(driver));
      World world{.scripts = c.scripts, .holds_back = c.holds_back};
      world.run(driver, {.provide = 1, .attempts = 2}, nullptr, {.budget = 10s});
      CHECK(world.gate->notes == c.notes);
      CHECK(world.gate->once);
      CHECK(world.gate->out.empty());
    }
  }
}

TEST_CASE("what a gate throws at the first output takes no element away; a defect leaves", "[gate][stream]") {
  for (const Driver driver : {Driver::push, Driver::pull, Driver::by_hand}) {
    CAPTURE(static_cast<int>(driver));
    World world{.scripts = {{give, give}}};
    world.gate->on_output = [] { throw std::runtime_error("gate"); };
    world.run(driver, {.provide = 1, .attempts = 2}, nullptr, {});
    CHECK(world.gate->notes == Notes{"output", "element", "element", "success"});
    CHECK(world.threw.empty());

    World broken{.scripts = {{give, give}}};
    broken.gate->on_output = [] { throw Defect("a gate's bug"); };
    const AttemptLog log;
    broken.run(driver, {.provide = 1, .attempts = 2}, nullptr, {.on_event = log});
    CHECK(broken.gate->notes == Notes{"output", "dropped"});
    CHECK(broken.threw == "defect");
    CHECK(broken.attempts == 1);
    REQUIRE(log.of<planb::AttemptFailure>().size() == 1);
    CHECK(log.of<planb::AttemptFailure>()[0].cause.kind() == planb::CauseKind::defect);
  }
}

TEST_CASE("a gate that drives the run at its first output is refused, as a handler would be", "[gate][stream]") {
  const auto gate = std::make_shared<NotingGate>();
  const ExecutionPlan<int> plan{{.provide = 1, .gate = gate}};
  PlanRun<int> run(plan);
  REQUIRE(run.next() == RunPhase::attempt);
  gate->on_output = [&run] { run.succeed(); };
  CHECK_FALSE(run.deliver());
  CHECK(run.end() == RunEnd::running);
  run.fail(Cause::timed_out());
  CHECK(run.end() == RunEnd::defect);
  CHECK(gate->notes == Notes{"output", "dropped"});
}

TEST_CASE("a gate's defect at the first output is not lost where the attempt is called a success", "[gate][stream]") {
  const auto gate = std::make_shared<NotingGate>();
  const ExecutionPlan<int> plan{{.provide = 1, .gate = gate}};
  PlanRun<int> run(plan);
  REQUIRE(run.next() == RunPhase::attempt);
  gate->on_output = [] { throw Defect("a gate's bug"); };
  CHECK_FALSE(run.deliver());
  CHECK_THROWS_AS(run.succeed(), Defect);
  CHECK(gate->notes == Notes{"output", "success"});
}

TEST_CASE("a gate's defect at the first output is not lost where the attempt's acceptance check throws too",
          "[gate][stream]") {
  const auto gate = std::make_shared<NotingGate>();
  gate->on_output = [] { throw Defect("a gate's bug"); };
  const ExecutionPlan<int> plan{{.provide = 1, .gate = gate}, {.provide = 2}};
  const auto producer = [](int& step, auto& emit) {
    emit(1);
    return step;
  };
  const auto check = [](int) -> bool { throw std::runtime_error("check"); };
  CHECK_THROWS_AS(push_with_plan(plan, planb::accepting(producer, check), [](int) {}), Defect);
  CHECK(gate->notes == Notes{"output", "dropped"});
}

TEST_CASE("the first element of a stream lets others past a half-open breaker", "[gate][stream][field-41]") {
  for (const Driver driver : {Driver::push, Driver::pull, Driver::by_hand}) {
    for (const bool fails : {false, true}) {
      CAPTURE(static_cast<int>(driver), fails);
      VirtualClock clock;
      const auto breaker = planb::circuit_breaker({.failure_threshold = 1, .open_for = 30s});
      const ExecutionPlan<int> plan{{.provide = 1, .gate = breaker}};
      breaker->force_open(at(30s));
      clock.advance(30s);
      int others = 0;
      const auto other = [&] {
        if (planb::try_run_with_plan(plan, [](int&) {}, {.clock = &clock})) ++others;
      };
      const auto ends = [&] {
        clock.advance(1min);
        if (fails) throw ProviderError(503, "broken off");
      };
      try {
        if (driver == Driver::push) {
          const auto producer = [&](int&, auto& emit) {
            other();  // too early
            emit(1);
            ends();
          };
          planb::push_with_plan(plan, producer, [&](int) { other(); }, {.clock = &clock});
        } else if (driver == Driver::pull) {
          const auto source = [&](int&) {
            return NextRange([&, given = false]() mutable -> std::optional<int> {
              if (given) return ends(), std::nullopt;
              other();
              given = true;
              return 1;
            });
          };
          for ([[maybe_unused]] int element : planb::stream_with_plan(plan, source, {.clock = &clock})) other();
        } else {
          PlanRun<int> run(plan, {.clock = &clock});
          REQUIRE(run.next() == RunPhase::attempt);
          other();
          REQUIRE(run.deliver());
          other();
          REQUIRE(run.resume());
          clock.advance(1min);
          if (fails) {
            run.fail(Cause::of(ProviderError(503, "broken off")));
          } else {
            run.succeed();
          }
        }
      } catch (const planb::PlanExhausted&) {
        CHECK(fails);
      }
      CHECK(others == 1);
      CHECK(breaker->state() == CircuitState::closed);  // its end was of an earlier generation
    }
  }
}

TEST_CASE("a closed breaker that counts failures in a row reads no clock at a first output", "[gate][stream]") {
  class CountingClock final : public planb::Clock {
   public:
    mutable int readings = 0;
    [[nodiscard]] TimePoint now() const override {
      ++readings;
      return TimePoint{};
    }
    void sleep_until(TimePoint, planb::StopToken) override {}
  };
  CountingClock clock;
  const ExecutionPlan<int> plan{{.provide = 1, .gate = planb::circuit_breaker({.failure_threshold = 5})}};
  planb::push_with_plan(
      plan, [](int&, auto& emit) { emit(1); }, [](int) {}, {.clock = &clock});
  CHECK(clock.readings == 0);
}

// --- Every way out
// ----------------------------------------------------------------------------------------------------

TEST_CASE("on every way out of an attempt its permit is told one end, in every driver", "[gate][field-12]") {
  struct Case {
    std::string name;
    Script script;
    std::string told;
    std::string threw;
  };
  const Case cases[] = {
      {"an answer", {}, "success", ""},
      {"an exception", {fail}, "failure", "plan error"},
      {"no exception class", {{Act::throws_int}}, "failure", "plan error"},
      {"a defect", {{Act::throws_defect}}, "dropped", "defect"},
      {"a stop", {{Act::stops}, fail}, "dropped", "plan error"},
  };
  const bool watched = GENERATE(false, true);
  const bool gate_throws = GENERATE(false, true);
  for (const Case& c : cases) {
#if !PLANB_HAS_STOP_TOKEN
    if (c.name == "a stop") continue;
#endif
    for (const Driver driver : drivers) {
      CAPTURE(c.name, static_cast<int>(driver), watched, gate_throws);
      World world{.scripts = {c.script}};
      if (gate_throws) world.gate->on_end = [] { throw std::runtime_error("gate"); };
      StreamOptions options;
      if (watched) options.on_event = [](const planb::Event&) { throw std::logic_error("handler"); };
      world.run(driver, {.provide = 1}, nullptr, options);
      CHECK(world.told() == Notes{c.told});
      CHECK(world.gate->once);
      CHECK(world.gate->out.empty());
      if (driver != Driver::attempt && driver != Driver::by_hand && driver != Driver::retry)
        CHECK(world.threw == c.threw);
    }
  }
}

TEST_CASE("a factory that fails, a consumer that leaves: the permit is told one end", "[gate][field-12]") {
  for (const Driver driver : drivers) {
    CAPTURE(static_cast<int>(driver));
    World world;
    const auto broken = []() -> int { throw ProviderError(500, "no key"); };
    if (driver == Driver::retry || driver == Driver::by_hand) continue;  // there is none, or it is not asked
    world.run(driver, {.provide = broken}, nullptr, {});
    CHECK(world.told() == Notes{"failure"});
    CHECK(world.gate->once);
    CHECK(world.gate->out.empty());
  }
  for (const Driver driver : {Driver::push, Driver::pull}) {
    CAPTURE(static_cast<int>(driver));
    World stops_early{.scripts = {{give, give, fail}}, .wants = 1};
    stops_early.run(driver, {.provide = 1}, nullptr, {});
    CHECK(stops_early.gate->notes == Notes{"output", "element", "success"});
    CHECK(stops_early.gate->once);

    World throws{.scripts = {{give, give}}, .consumer_throws = true};
    throws.run(driver, {.provide = 1}, nullptr, {});
    // A pulled stream whose consumer goes away was good enough as far as it went.
    CHECK(throws.gate->notes == Notes{"output", "element", driver == Driver::push ? "dropped" : "success"});
    CHECK(throws.threw == "consumer");
    CHECK(throws.gate->once);
    CHECK(throws.gate->out.empty());
  }
  World walks_away;
  {
    const ExecutionPlan<int> plan{{.provide = 1, .gate = walks_away.gate}};
    PlanRun<int> run(plan);
    REQUIRE(run.next() == RunPhase::attempt);
    REQUIRE(run.deliver());
  }
  CHECK(walks_away.gate->notes == Notes{"output", "dropped"});
}

// --- What a report says of gates
// --------------------------------------------------------------------------------------

TEST_CASE("a report counts a gate that the step's last failure has just shut", "[gate][report]") {
  for (const Driver driver : drivers) {
    CAPTURE(static_cast<int>(driver));
    VirtualClock clock;
    const auto breaker = planb::circuit_breaker({.failure_threshold = 2, .open_for = 30s});
    const auto body = [&](auto&&...) {
      clock.advance(1s);
      throw ProviderError(503, "busy");
    };
    const ExecutionPlan<int> plan{{.name = "only", .provide = 1, .attempts = 2, .gate = breaker}};
    std::optional<RunReport> report;
    const auto keep = [&](const auto& run) {
      try {
        run();
      } catch (const planb::PlanError& error) {
        report = error.report();
      }
    };
    switch (driver) {
      case Driver::call: keep([&] { planb::run_with_plan(plan, [&](int&) { body(); }, {.clock = &clock}); }); break;
      case Driver::attempt:
        report = planb::try_run_with_plan(plan, [&](int&) { body(); }, {.clock = &clock}).report();
        break;
      case Driver::retry:
        keep([&] {
          planb::retry({.attempts = 2, .gate = breaker}, [&] { body(); },
                       {.clock = &clock, .failure = planb::FailureStyle::aggregate});
        });
        break;
      case Driver::push:
        keep([&] {
          planb::push_with_plan(
              plan, [&](int&, auto& emit) { body(emit); }, [](int) {}, {.clock = &clock});
        });
        break;
      case Driver::pull:
        keep([&] {
          const auto source = [&](int&) { return NextRange([&]() -> std::optional<int> { return body(), 1; }); };
          auto stream = planb::stream_with_plan(plan, source, {.clock = &clock});
          static_cast<void>(stream.begin());
        });
        break;
      case Driver::coroutine:
        keep([&] {
          const auto task = [&](int) -> Task<> {
            body();
            co_return;
          };
          const auto sleep = [](Duration) -> Task<> { co_return; };
          planb::sync_wait(planb::co_run_with_plan<Task<>>(plan, task, sleep, {.clock = &clock}));
        });
        break;
      case Driver::by_hand: {
        PlanRun<int> run(plan, {.clock = &clock});
        while (run.next() == RunPhase::attempt) {
          clock.advance(1s);
          run.fail(Cause::of(ProviderError(503, "busy")));
        }
        report = run.report();
        break;
      }
    }
    REQUIRE(report);
    CHECK(report->opens_at() == at(32s));
    REQUIRE(report->steps.size() == 1);
    CHECK(report->steps[0].left == LeaveReason::attempts_spent);
    CHECK(report->steps[0].opens_at == at(32s));
    CHECK(report->steps[0].opens_in == Duration(30s));
    CHECK_FALSE(report->steps[0].skipped);
    CHECK(report->end == RunEnd::exhausted);
  }
}

TEST_CASE("a report knows until when the gate is shut, whatever the reason for which its step was left",
          "[gate][report]") {
  VirtualClock clock;
  const auto breaker = planb::circuit_breaker({.failure_threshold = 1, .open_for = 30s});
  const auto busy = [](int&) { throw ProviderError(503, "busy"); };
  const auto report = [&](Step<int> step, planb::RunOptions options = {}) {
    breaker->reset();
    step.gate = breaker;
    options.clock = &clock;
    const RunReport told = planb::try_run_with_plan(ExecutionPlan<int>{step}, busy, options).report();
    CHECK(told.opens_at() == clock.now() + 30s);
    return told;
  };
  using planb::Action;
  using planb::Verdict;
  CHECK(report({.provide = 1}).steps[0].left == LeaveReason::attempts_spent);
  CHECK(report({.provide = 1, .attempts = 3}).steps[0].left == LeaveReason::gate_closed);
  CHECK(report({.provide = 1, .attempts = 3, .retry_while = [](const Cause&) { return false; }}).steps[0].left ==
        LeaveReason::not_retryable);
  CHECK(report({.provide = 1, .attempts = 3, .classify = [](const Cause&) { return Verdict{Action::abort}; }}).end ==
        RunEnd::aborted);
  CHECK(report({.provide = 1, .attempts = 3, .schedule = planb::spaced(1h), .max_wait = 1s}).steps[0].left ==
        LeaveReason::wait_too_long);
  CHECK(report({.provide = 1, .attempts = 3, .schedule = planb::spaced(1h)}, {.budget = 1min}).end == RunEnd::deadline);
#if PLANB_HAS_STOP_TOKEN
  std::stop_source stop;
  const auto on_failure = [&](const planb::AttemptFailure&) { stop.request_stop(); };
  CHECK(report({.provide = 1, .attempts = 3, .schedule = planb::spaced(1h)},
               {.on_event = on_failure, .stop = stop.get_token()})
            .end == RunEnd::interrupted);
#endif
}

TEST_CASE("a gate that has opened again is no news of an attempt that answered", "[gate][report]") {
  VirtualClock clock;
  const auto breaker = planb::circuit_breaker({.failure_threshold = 1, .open_for = 5s});
  const ExecutionPlan<int> plan{
      {.name = "only", .provide = 1, .attempts = 2, .schedule = planb::spaced(10s), .gate = breaker}};
  int calls = 0;
  const auto second = [&](int&) {
    if (++calls == 1) throw ProviderError(503, "busy");
  };
  PlanRun<int> run(plan, {.clock = &clock});
  REQUIRE(run.next() == RunPhase::attempt);
  run.fail(Cause::of(ProviderError(503, "busy")));
  REQUIRE(run.next() == RunPhase::wait);
  CHECK(run.report().opens_at() == at(5s));  // while it waits
  clock.advance(10s);
  REQUIRE(run.next() == RunPhase::attempt);
  CHECK_FALSE(run.report().opens_at());
  run.succeed();
  CHECK_FALSE(run.report().opens_at());
  breaker->reset();
  const auto result = planb::try_run_with_plan(plan, second, {.clock = &clock});
  REQUIRE(result.has_value());
  CHECK_FALSE(result.report().opens_at());
}

TEST_CASE("a gate that throws when it is looked at after a failure ends the run, as any rule does", "[gate][report]") {
  struct Blind final : planb::Gate {
    Admission admit(const planb::GateRequest&) override { return Permit(*this, 0); }
    [[nodiscard]] TimePoint opens_at(const planb::GateRequest&) const override { throw std::runtime_error("blind"); }
    void on_outcome(std::uint64_t, const planb::GateOutcome&) override {}
    void on_dropped(std::uint64_t, bool) noexcept override {}
  };
  const ExecutionPlan<int> plan{{.provide = 1, .gate = std::make_shared<Blind>()}, {.provide = 2}};
  const auto result = planb::try_run_with_plan(plan, [](int&) { throw ProviderError(503, "busy"); });
  CHECK(result.report().end == RunEnd::aborted);
  REQUIRE(result.report().rule_error);
  CHECK(result.report().rule_error->message() == "blind");
}

TEST_CASE("all probes are out, for as long as they take: nobody knows when, and no report names a time",
          "[gate][report]") {
  VirtualClock clock;
  const auto breaker =
      planb::circuit_breaker({.failure_threshold = 1, .open_for = 10s, .probe_timeout = (Duration::max)()});
  breaker->force_open(at(10s));
  clock.advance(10s);
  const Admission probe = breaker->admit(clock.now());
  REQUIRE(probe.permit);
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .gate = breaker}};
  const AttemptLog log;
  const auto result = planb::try_run_with_plan(plan, [](int&) {}, {.on_event = log, .clock = &clock});
  CHECK(result.report().to_string() == "plan exhausted: alpha: skipped, probe running");
  CHECK_FALSE(result.report().opens_at());
  CHECK(result.report().steps[0].opens_at == never);
  CHECK(result.report().steps[0].opens_in == (Duration::max)());
  CHECK(log.lines() == Notes{"StepSkipped step=0 alpha probe running"});

  const auto other = planb::circuit_breaker({.failure_threshold = 1});
  other->force_open(at(1min));
  const ExecutionPlan<int> both{{.name = "alpha", .provide = 1, .gate = breaker},
                                {.name = "beta", .provide = 2, .gate = other}};
  const auto neither = planb::try_run_with_plan(both, [](int&) {}, {.clock = &clock});
  CHECK(neither.report().opens_at() == at(1min));  // of what is known
}

TEST_CASE("a gate of one's own that refuses and says now does not know: no report says so, and nobody spins",
          "[gate]") {
  struct Vague final : planb::Gate {
    explicit Vague(TimePoint t) : says(t) {}
    int asked = 0;
    int lets_pass = 1;
    TimePoint says;

    Admission admit(const planb::GateRequest&) override {
      if (++asked > lets_pass) return planb::GateRefusal{says};
      return Permit(*this, 0);
    }
    [[nodiscard]] TimePoint opens_at(const planb::GateRequest&) const override { return says; }
    void on_outcome(std::uint64_t, const planb::GateOutcome&) override {}
    void on_dropped(std::uint64_t, bool) noexcept override {}
  };
  const TimePoint says = GENERATE(TimePoint{}, at(10s), never);
  VirtualClock clock;
  clock.advance(10s);
  const auto gate = std::make_shared<Vague>(says);
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .attempts = planb::unlimited, .gate = gate}};
  const auto busy = [](int&) { throw ProviderError(503, "busy"); };
  const auto result = planb::try_run_with_plan(plan, busy, {.clock = &clock});
  CHECK(result.report().steps[0].left == LeaveReason::gate_closed);
  CHECK(result.report().steps[0].attempts == 1);
  CHECK(result.report().to_string() == "plan exhausted: alpha: 503 busy, gate closed");
  CHECK_FALSE(result.report().opens_at());
  CHECK(gate->asked <= 2);

  const AttemptLog log;
  const auto skipped = planb::try_run_with_plan(plan, busy, {.on_event = log, .clock = &clock});
  CHECK(skipped.report().to_string() == "plan exhausted: alpha: skipped, gate closed");
  CHECK_FALSE(skipped.report().opens_at());
  REQUIRE(log.of<StepSkipped>().size() == 1);
  CHECK(log.of<StepSkipped>()[0].opens_at == never);
}
