// The events of a run: which come, in which order, with what in them; and the handlers that take them.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "results.hpp"
#include "two_steps.hpp"

using namespace std::chrono_literals;
using planb::AttemptFailure;
using planb::AttemptStart;
using planb::AttemptSuccess;
using planb::Cause;
using planb::CauseKind;
using planb::Event;
using planb::ExecutionPlan;
using planb::NextMove;
using planb::run_with_plan;
using planb::RunEnd;
using planb::StepSkipped;
using planb::try_run_with_plan;
using results::Fault;
using two::Client;
using two::two_steps;

namespace {

template <class E>
constexpr bool gives_pointer = requires(E&& event) { static_cast<E&&>(event).template get_if<AttemptStart>(); };

int fail_at_first(Client& client) {
  if (client.id == 1) throw planb::ProviderError(503, "busy");
  return client.id;
}

planb::TimePoint at(planb::Duration since) { return planb::TimePoint{since}; }

// "S1" for a start, "F1" for a failure, "T1" for a success, of attempt 1; "K0" for a skipped step 0.
struct Brief {
  std::string operator()(const AttemptStart& e) const { return "S" + std::to_string(e.attempt); }
  std::string operator()(const AttemptFailure& e) const { return "F" + std::to_string(e.attempt); }
  std::string operator()(const AttemptSuccess& e) const { return "T" + std::to_string(e.attempt); }
  std::string operator()(const StepSkipped& e) const { return "K" + std::to_string(e.step_index); }
  std::string operator()(const planb::FirstOutput& e) const { return "O" + std::to_string(e.attempt); }
  std::string operator()(const planb::RunFinish&) const { return "E"; }
};

std::vector<std::string> brief(const std::vector<Event>& events) {
  std::vector<std::string> texts;
  for (const Event& event : events) texts.push_back(event.visit(Brief()));
  return texts;
}

// Every start is followed by exactly one terminal event of the same attempt, in order.
bool paired(const std::vector<Event>& events) {
  std::optional<AttemptStart> open;
  int last = 0;
  const auto closes = [&](const auto& e) {
    const bool fits = open && open->attempt == e.attempt && open->step_attempt == e.step_attempt &&
                      open->step_index == e.step_index && open->step_name == e.step_name && e.at >= open->at &&
                      e.duration == e.at - open->at;
    open.reset();
    return fits;
  };
  for (const Event& event : events) {
    const bool fits = event.visit(planb::overloaded{[&](const AttemptStart& e) {
                                                      const bool next = !open && e.attempt == last + 1;
                                                      open = e;
                                                      last = e.attempt;
                                                      return next;
                                                    },
                                                    [&](const AttemptFailure& e) { return closes(e); },
                                                    [&](const AttemptSuccess& e) { return closes(e); },
                                                    [&](const auto&) { return !open; }});
    if (!fits) return false;
  }
  return !open;
}

}  // namespace

// --- What they tell
// ----------------------------------------------------------------------------------------------------

TEST_CASE("events carry their place, their times, their cause and what comes next", "[event]") {
  planb::testing::VirtualClock clock;
  clock.advance(1h);
  const planb::testing::AttemptLog log;
  const ExecutionPlan<Client> plan{
      {.name = "one", .provide = Client{1}, .attempts = 2, .schedule = planb::spaced(100ms)},
      {.name = "guarded", .provide = Client{2}, .enter_when = [](const Cause&) { return false; }},
      {.name = "three", .provide = Client{3}}};
  run_with_plan(plan,
                [&](Client& client) {
                  clock.advance(5ms);
                  return fail_at_first(client);
                },
                {.on_event = log, .clock = &clock});
  const std::vector<Event> events = log.events();
  REQUIRE(brief(events) == std::vector<std::string>{"S1", "F1", "S2", "F2", "K1", "S3", "T3"});
  CHECK(paired(events));

  const auto& first = *events[0].get_if<AttemptStart>();
  CHECK(first.attempt == 1);
  CHECK(first.step_attempt == 1);
  CHECK(first.step_index == 0);
  CHECK(first.step_name == "one");
  CHECK(first.at == at(1h));

  const auto& failure = *events[1].get_if<AttemptFailure>();
  CHECK(failure.attempt == 1);
  CHECK(failure.step_attempt == 1);
  CHECK(failure.step_index == 0);
  CHECK(failure.step_name == "one");
  CHECK(failure.at == at(1h + 5ms));
  CHECK(failure.duration == 5ms);
  CHECK(failure.cause.kind() == CauseKind::error);
  CHECK(failure.cause.status() == 503);
  CHECK_FALSE(failure.verdict.has_value());  // nobody was asked
  CHECK(failure.next.kind == NextMove::retry);
  CHECK(failure.next.delay == 100ms);

  const auto& second = *events[2].get_if<AttemptStart>();
  CHECK(second.attempt == 2);
  CHECK(second.step_attempt == 2);
  CHECK(second.step_index == 0);
  CHECK(second.at == at(1h + 105ms));

  const auto& last_failure = *events[3].get_if<AttemptFailure>();
  CHECK(last_failure.next.kind == NextMove::next_step);
  CHECK(last_failure.next.reason == planb::LeaveReason::attempts_spent);

  const auto& skipped = *events[4].get_if<StepSkipped>();
  CHECK(skipped.step_index == 1);
  CHECK(skipped.step_name == "guarded");
  CHECK(skipped.at == at(1h + 110ms));
  CHECK(skipped.reason == planb::SkipReason::declined);
  CHECK_FALSE(skipped.opens_at.has_value());

  const auto& success = *events[6].get_if<AttemptSuccess>();
  CHECK(success.attempt == 3);
  CHECK(success.step_attempt == 1);
  CHECK(success.step_index == 2);
  CHECK(success.step_name == "three");
  CHECK(success.at == at(1h + 115ms));
  CHECK(success.duration == 5ms);
}

TEST_CASE("a failure tells what the step decided", "[event]") {
  struct Row {
    const char* what;
    std::function<void(planb::Step<Client>&)> arm;
    NextMove first;  // after the first failure
    bool last_step;  // nothing behind it
    std::optional<planb::Verdict> verdict = std::nullopt;  // none: nobody was asked
  };
  using planb::Action;
  using planb::LeaveReason;
  using planb::Verdict;
  const NextMove next{.kind = NextMove::next_step};
  const auto leaves = [&](LeaveReason reason) {
    NextMove move = next;
    move.reason = reason;
    return move;
  };
  const auto ends = [](RunEnd end, LeaveReason reason = LeaveReason::none) {
    return NextMove{.kind = NextMove::end, .run_end = end, .reason = reason};
  };
  const std::vector<Row> rows{
      {"attempts left", [](auto& s) { s.attempts = 2; }, {.kind = NextMove::retry}, false},
      {"a schedule", [](auto& s) { s.schedule = planb::delays({2s}); }, {.kind = NextMove::retry, .delay = 2s}, false},
      {"attempts used up", [](auto&) {}, leaves(LeaveReason::attempts_spent), false},
      {"attempts used up in the last step", [](auto&) {}, ends(RunEnd::exhausted, LeaveReason::attempts_spent), true},
      {"a schedule that ends", [](auto& s) { s.schedule = planb::recurs(0); }, leaves(LeaveReason::schedule_ended),
       false},
      {"a predicate's no", [](auto& s) { s.attempts = 2, s.retry_while = [](const Cause&) { return false; }; },
       leaves(LeaveReason::not_retryable), false},
      {"a predicate's no in the last step", [](auto& s) { s.retry_while = [](const Cause&) { return false; }; },
       ends(RunEnd::exhausted, LeaveReason::not_retryable), true},
      {"a wait that is too long", [](auto& s) { s.attempts = 2, s.schedule = planb::spaced(1min), s.max_wait = 1s; },
       leaves(LeaveReason::wait_too_long), false},
      {"a classifier's next",
       [](auto& s) { s.attempts = 2, s.classify = [](const Cause&) {
                       return Verdict{Action::next_step, true};
                     }; },
       leaves(LeaveReason::classified),
       false,
       Verdict{Action::next_step, true}},
      {"a classifier's abort",
       [](auto& s) { s.classify = [](const Cause&) { return Verdict{Action::abort}; }; },
       ends(RunEnd::aborted),
       false,
       Verdict{Action::abort}}};
  for (const Row& row : rows) {
    INFO(row.what);
    planb::testing::VirtualClock clock;
    planb::Step<Client> step{.name = "one", .provide = Client{1}};
    row.arm(step);
    std::vector<planb::Step<Client>> steps{step};
    const planb::Step<Client> second{.name = "two", .provide = Client{2}};
    if (!row.last_step) steps.push_back(second);
    const planb::testing::AttemptLog log;
    const auto result =
        try_run_with_plan(ExecutionPlan<Client>(steps), fail_at_first, {.on_event = log, .clock = &clock});
    static_cast<void>(result);
    const AttemptFailure failure = log.of<AttemptFailure>().front();
    CHECK(failure.next.kind == row.first.kind);
    CHECK(failure.next.delay == row.first.delay);
    CHECK(failure.next.reason == row.first.reason);
    if (row.first.kind == NextMove::end) CHECK(failure.next.run_end == row.first.run_end);
    CHECK(failure.verdict == row.verdict);
    CHECK(paired(log.events()));
  }
}

TEST_CASE("the schedule's delay is told as it is waited", "[event]") {
  planb::testing::VirtualClock clock;
  const planb::testing::AttemptLog log;
  const ExecutionPlan<Client> plan{
      {.provide = Client{1}, .attempts = 5, .schedule = planb::jittered(planb::exponential(100ms))}};
  CHECK_FALSE(try_run_with_plan(plan, fail_at_first, {.on_event = log, .clock = &clock, .seed = 7}).has_value());
  const std::vector<AttemptStart> starts = log.of<AttemptStart>();
  const std::vector<AttemptFailure> failures = log.of<AttemptFailure>();
  REQUIRE(starts.size() == 5);
  for (std::size_t i = 0; i != 4; ++i) {
    CHECK(failures[i].next.kind == NextMove::retry);
    CHECK(starts[i + 1].at - failures[i].at == failures[i].next.delay);
  }
}

TEST_CASE("durations and times are saturated, not overflown", "[event]") {
  struct EndOfTime final : planb::Clock {
    [[nodiscard]] planb::TimePoint now() const override {
      return std::exchange(begun, true) ? (planb::TimePoint::max)() : (planb::TimePoint::min)();
    }
    void sleep_until(planb::TimePoint, planb::StopToken) override {}
    mutable bool begun = false;
  };
  EndOfTime clock;
  const planb::testing::AttemptLog log;
  run_with_plan(two_steps(), [](Client& c) { return c.id; }, {.on_event = log, .clock = &clock});
  CHECK(log.of<AttemptSuccess>().front().duration == (planb::Duration::max)());
}

TEST_CASE("a refused value gets the same events as an error", "[event][field-54]") {
  const planb::testing::AttemptLog log;
  const auto fn = planb::accepting([](Client& client) { return client.id; }, [](int id) { return id == 2; });
  CHECK(run_with_plan(two_steps(), fn, {.on_event = log}) == 2);
  CHECK(brief(log.events()) == std::vector<std::string>{"S1", "F1", "S2", "T2"});
  const AttemptFailure failure = log.of<AttemptFailure>().front();
  CHECK(failure.cause.kind() == CauseKind::rejected);
  CHECK(*failure.cause.get_if<int>() == 1);
  CHECK(failure.next.kind == NextMove::next_step);
  CHECK(paired(log.events()));
}

// --- Pairing
// -----------------------------------------------------------------------------------------------------------

namespace {

// The ways in which the first attempt of "one" may go wrong, or right. Each gives a step and a callable.
struct Mishap {
  const char* what;
  std::function<void(planb::Step<Client>&)> arm;
  std::function<int(Client&)> call;
  std::function<bool(int)> accepts = [](int) { return true; };
};

// What each of them comes to, in the same order: the events, how the result begins, and which contexts were called.
struct Course {
  std::vector<std::string> events;
  std::string result;
  std::string calls;
};
const std::vector<Course> courses{
    {{"S1", "T1"}, "value 1", "1"},
    {{"S1", "F1", "S2", "F2"}, "plan exhausted: one: down; two: down", "12"},
    {{"S1", "F1", "S2", "F2"}, "plan exhausted: one: 42; two: 42", "12"},
    {{"S1", "F1", "S2", "T2"}, "value 2", "12"},
    {{"S1", "F1", "S2", "F2", "S3", "F3", "S4", "T4"}, "value 2", "1112"},
    {{"S1", "F1", "S2", "T2"}, "value 2", "2"},
    {{"S1", "F1", "S2", "T2"}, "value 2", "2"},
    {{"S1", "F1", "S2", "T2"}, "value 2", "12"},
    {{"S1", "F1"}, "plan aborted: one: value rejected: 1; a rule of the plan threw: 1", "1"},
    {{"S1", "F1"}, "defect", "1"},
    {{"S1", "F1"}, "plan aborted: one: ", "1"},
    {{"S1", "F1"}, "plan aborted: one: ", "1"},
    {{"S1", "F1"}, "plan aborted: one: ", "1"},
    {{"S1", "F1"}, "plan aborted: one: ", "1"},
    {{"S1", "F1"}, "defect", "1"},
    {{"S1", "F1"}, "defect", ""},
    {{"S1", "F1"}, "defect", "1"},
};

[[noreturn]] void raise() { throw Fault{1}; }

std::vector<Mishap> mishaps() {
  const auto nothing = [](planb::Step<Client>&) {};
  const auto good = [](Client& client) { return client.id; };
  const auto bad = [](Client& client) -> int {
    if (client.id == 1) raise();
    return client.id;
  };
  return {
      {"a success", nothing, good},
      {"an exception", nothing, [](Client&) -> int { throw std::runtime_error("down"); }},
      {"an int", nothing, [](Client&) -> int { throw 42; }},
      {"a failure, then a success", nothing, bad},
      {"attempts", [](auto& s) { s.attempts = 3; }, bad},
      {"a factory that throws", [](auto& s) { s.provide = []() -> Client { throw 1; }; }, good},
      {"a factory that returns an error",
       [](auto& s) { s.provide = []() -> results::Outcome<Client, Fault> { return Fault{1}; }; }, good},
      {"a refused value", nothing, good, [](int id) { return id == 2; }},
      {"an acceptance check that throws", nothing, good, [](int) -> bool { throw 1; }},
      {"a Defect from an acceptance check", nothing, good, [](int) -> bool { throw planb::Defect("a bug"); }},
      {"a predicate that throws", [](auto& s) { s.retry_while = [](const Cause&) -> bool { throw 1; }; }, bad},
      {"a classifier that throws", [](auto& s) { s.classify = [](const Cause&) -> planb::Verdict { throw 1; }; }, bad},
      {"a schedule that throws",
       [](auto& s) {
         s.schedule = planb::Schedule::from(
             "own", [](const planb::ScheduleInput&) -> std::optional<planb::Duration> { throw 1; });
       },
       bad},
      {"an abort", [](auto& s) { s.classify = [](const Cause&) { return planb::Verdict{planb::Action::abort}; }; },
       bad},
      {"a Defect", nothing, [](Client&) -> int { throw planb::Defect("a bug"); }},
      {"a Defect from a factory", [](auto& s) { s.provide = []() -> Client { throw planb::Defect("a bug"); }; }, good},
      {"a Defect from a predicate",
       [](auto& s) { s.retry_while = [](const Cause&) -> bool { throw planb::Defect("a bug"); }; }, bad}};
}

// What a run gives and whom it asked, as text.
std::string run_mishap(const Mishap& mishap, const planb::RunOptions& options) {
  planb::Step<Client> first{.name = "one", .provide = Client{1}};
  mishap.arm(first);
  const ExecutionPlan<Client> plan{first, {.name = "two", .provide = Client{2}}};
  std::string calls;
  const auto fn = [&](Client& client) {
    calls += std::to_string(client.id);
    return mishap.call(client);
  };
  std::string result;
  try {
    const auto value = try_run_with_plan(plan, planb::accepting(fn, mishap.accepts), options);
    result = value.has_value() ? "value " + std::to_string(*value) : value.error().what();
    result += " attempts " + std::to_string(value.report().attempts);
  } catch (const planb::Defect&) {
    result = "defect";
  }
  return result + " calls " + calls;
}

}  // namespace

TEST_CASE("every start has its end, in order, whatever happens", "[event]") {
  for (const Mishap& mishap : mishaps()) {
    INFO(mishap.what);
    planb::testing::VirtualClock clock;
    const planb::testing::AttemptLog log;
    run_mishap(mishap, {.on_event = log, .clock = &clock});
    CHECK_FALSE(log.events().empty());
    CHECK(paired(log.events()));
  }
}

TEST_CASE("a handler that throws, on whatever event, changes nothing", "[event][field-51]") {
  const std::vector<Mishap> all = mishaps();
  REQUIRE(all.size() == courses.size());
  for (std::size_t i = 0; i != all.size(); ++i) {
    const Mishap& mishap = all[i];
    const std::vector<std::string>& events = courses[i].events;
    planb::testing::VirtualClock clock;
    const planb::testing::AttemptLog quiet;
    const std::string expected = run_mishap(mishap, {.on_event = quiet, .clock = &clock});
    INFO(mishap.what);
    CHECK(expected.starts_with(courses[i].result));
    CHECK(expected.ends_with(" calls " + courses[i].calls));
    CHECK(brief(quiet.events()) == events);
    std::vector<std::string> told = events;
    told.emplace_back("E");
    for (std::size_t bad = 0; bad <= told.size(); ++bad) {  // the last: all of them
      for (const int kind : {0, 1, 2}) {
        INFO(mishap.what << ", event " << bad << ", thrown kind " << kind);
        std::vector<Event> seen;
        const auto handler = [&](const Event& event) {
          seen.push_back(event);
          if (bad != told.size() && seen.size() != bad + 1) return;
          if (kind == 0) throw std::runtime_error("handler");
          if (kind == 1) throw 42;
          throw planb::Defect("handler");
        };
        CHECK(run_mishap(mishap, {.on_event = handler, .clock = &clock}) == expected);
        CHECK(brief(seen) == told);
        CHECK(paired(seen));
      }
    }
  }
}

TEST_CASE("a handler that throws after a success does not run the call again", "[event][field-52]") {
  int calls = 0;
  int told = 0;
  const auto fn = [&](Client&) { return ++calls; };
  const planb::RunOptions options{.on_event = [&](const AttemptSuccess&) {
    ++told;
    throw std::runtime_error("handler");
  }};
  CHECK(run_with_plan(two_steps(), fn, options) == 1);
  CHECK(try_run_with_plan(two_steps(), fn, options).value() == 2);
  CHECK(planb::retry(
            {.attempts = 3}, [&] { return ++calls; }, options) == 3);
  CHECK(told == 3);
}

TEST_CASE("a skipped step is told, and a handler that throws there changes nothing", "[event][field-51]") {
  const ExecutionPlan<Client> plan{
      {.name = "guarded", .provide = Client{1}, .enter_when = [](const Cause&) { return true; }},
      {.name = "two", .provide = Client{2}}};
  const planb::testing::AttemptLog log;
  CHECK(run_with_plan(plan, fail_at_first, {.on_event = log}) == 2);
  CHECK(brief(log.events()) == std::vector<std::string>{"K0", "S1", "T1"});
  CHECK(run_with_plan(plan, fail_at_first, {.on_event = [](const StepSkipped&) { throw 1; }}) == 2);
}

TEST_CASE("exceptions under way are no concern of the handlers", "[event]") {
  // A run inside a destructor that runs because of an exception.
  struct Last {
    explicit Last(std::vector<std::string>& l) : log(l) {}
    Last(const Last&) = delete;
    Last& operator=(const Last&) = delete;
    ~Last() {
      const planb::testing::AttemptLog events;
      const int answer = run_with_plan(two_steps(), fail_at_first, {.on_event = events});
      log = brief(events.events());
      log.push_back(std::to_string(answer));
    }
    std::vector<std::string>& log;
  };
  std::vector<std::string> log;
  try {
    const Last last(log);
    throw std::runtime_error("unrelated");
  } catch (const std::runtime_error& e) {
    CHECK(std::string(e.what()) == "unrelated");
  }
  CHECK(log == std::vector<std::string>{"S1", "F1", "S2", "T2", "2"});
}

// --- Handlers
// ----------------------------------------------------------------------------------------------------------

TEST_CASE("a handler is called with the events that it takes, and not with others", "[event]") {
  std::vector<std::string> seen;
  const auto note = [&](const auto& e) { seen.push_back(Brief()(e)); };
  const auto run = [&](planb::EventHandler handler) {
    seen.clear();
    run_with_plan(two_steps(), fail_at_first, {.on_event = std::move(handler)});
    return seen;
  };
  using Seen = std::vector<std::string>;

  CHECK(run([&](const AttemptStart& e) { note(e); }) == Seen{"S1", "S2"});
  CHECK(run([&](const AttemptFailure& e) { note(e); }) == Seen{"F1"});
  CHECK(run([&](const AttemptSuccess& e) { note(e); }) == Seen{"T2"});
  CHECK(run([&](const StepSkipped& e) { note(e); }).empty());
  CHECK(run(planb::overloaded{[&](const AttemptStart& e) { note(e); }, [&](const AttemptSuccess& e) { note(e); }}) ==
        Seen{"S1", "S2", "T2"});
  CHECK(run(note) == Seen{"S1", "F1", "S2", "T2", "E"});
  CHECK(run([&](const Event& e) { seen.push_back(e.visit(Brief())); }) == Seen{"S1", "F1", "S2", "T2", "E"});
  CHECK(run(planb::overloaded{[&](const AttemptFailure& e) { note(e); },
                              [&](const Event& e) { seen.push_back("any " + e.visit(Brief())); }}) ==
        Seen{"any S1", "F1", "any S2", "any T2", "any E"});
  CHECK(run([&](AttemptFailure e) { note(e); }) == Seen{"F1"});
  CHECK(run([&](Event e) { seen.push_back(e.visit(Brief())); }) == Seen{"S1", "F1", "S2", "T2", "E"});
  CHECK(run({}).empty());
}

TEST_CASE("a handler may keep state of its own", "[event]") {
  SECTION("outside, through std::ref") {
    struct Counter {
      int count = 0;
      Counter() = default;
      Counter(const Counter&) = delete;
      Counter& operator=(const Counter&) = delete;
      void operator()(const AttemptStart&) { ++count; }
    };
    Counter counter;
    const planb::RunOptions options{.on_event = std::ref(counter)};
    run_with_plan(two_steps(), fail_at_first, options);
    run_with_plan(two_steps(), fail_at_first, options);
    CHECK(counter.count == 4);
  }
  SECTION("inside, as a mutable lambda") {
    std::vector<int> seen;
    run_with_plan(two_steps(), fail_at_first,
                  {.on_event = [&seen, count = 0](const Event&) mutable { seen.push_back(++count); }});
    CHECK(seen == std::vector<int>{1, 2, 3, 4, 5});
  }
}

TEST_CASE("handlers of other shapes", "[event]") {
  static int count = 0;
  count = 0;
  struct Free {
    static void on_start(const AttemptStart&) { ++count; }
  };
  run_with_plan(two_steps(), fail_at_first, {.on_event = Free::on_start});
  run_with_plan(two_steps(), fail_at_first, {.on_event = &Free::on_start});
  CHECK(count == 4);
  run_with_plan(two_steps(), fail_at_first,
                {.on_event = std::function<void(const AttemptStart&)>([](const AttemptStart&) { ++count; })});
  CHECK(count == 6);
  run_with_plan(two_steps(), fail_at_first, {.on_event = [](const AttemptStart&) { return ++count; }});  // not void
  CHECK(count == 8);
  const auto big = [pad = std::string(100, 'x'), more = std::vector<int>(100)](const AttemptStart&) {
    count += static_cast<int>(pad.size() + more.size());
  };
  run_with_plan(two_steps(), fail_at_first, {.on_event = big});
  CHECK(count == 408);
}

TEST_CASE("handlers side by side are called in order, each with the events that it takes", "[event]") {
  using Seen = std::vector<std::string>;
  Seen seen;
  const auto all = [&](const Event& e) { seen.push_back("1:" + e.visit(Brief())); };
  const auto failures = [&](const AttemptFailure&) { seen.emplace_back("2"); };
  const auto throws = [](const AttemptSuccess&) { throw 1; };
  const auto last = planb::overloaded{[&](const AttemptSuccess&) { seen.emplace_back("4"); },
                               [&](const planb::RunFinish&) { seen.emplace_back("4 end"); }};
  const planb::RunOptions options{.on_event = {all, failures, throws, last}};
  CHECK(run_with_plan(two_steps(), fail_at_first, options) == run_with_plan(two_steps(), fail_at_first));
  CHECK(seen == Seen{"1:S1", "1:F1", "2", "1:S2", "1:T2", "4", "1:E", "4 end"});

  // Who of them takes none is not asked, and what none of them takes is not made.
  const planb::EventHandler two{failures, planb::EventHandler{}};
  CHECK(two.wants<AttemptFailure>());
  CHECK_FALSE(two.wants<AttemptStart>());
  CHECK_FALSE(two.wants<planb::RunFinish>());
  CHECK_FALSE(planb::EventHandler(planb::EventHandler{}, std::function<void(const Event&)>()));
  seen.clear();
  const planb::EventHandler copy = planb::EventHandler{two, all};
  run_with_plan(two_steps(), fail_at_first, {.on_event = copy});
  CHECK(seen == Seen{"1:S1", "2", "1:F1", "1:S2", "1:T2", "1:E"});
}

TEST_CASE("no event is made where no handler takes it", "[event]") {
  struct CountingClock final : planb::Clock {
    [[nodiscard]] planb::TimePoint now() const override { return ++reads, planb::TimePoint{}; }
    void sleep_until(planb::TimePoint, planb::StopToken) override {}
    mutable int reads = 0;
  };
  CountingClock clock;
  const auto good = [](Client& client) { return client.id; };
  run_with_plan(two_steps(), good, {.clock = &clock});
  CHECK(clock.reads == 0);
  run_with_plan(two_steps(), good, {.on_event = [](const Event&) {}, .clock = &clock});
  CHECK(clock.reads == 2);  // one for each event
  CHECK(planb::EventHandler([](const AttemptFailure&) {}).wants<AttemptFailure>());
  CHECK_FALSE(planb::EventHandler([](const AttemptFailure&) {}).wants<AttemptStart>());
  CHECK_FALSE(planb::EventHandler().wants<AttemptStart>());
  CHECK_FALSE(static_cast<bool>(planb::EventHandler()));
}

TEST_CASE("a handler may be an event log of another run, and may run plans itself", "[event]") {
  const planb::testing::AttemptLog outer;
  const planb::testing::AttemptLog inner;
  run_with_plan(two_steps(), fail_at_first, {.on_event = [&](const Event& event) {
                  outer(event);
                  if (event.get_if<AttemptFailure>() == nullptr) return;
                  run_with_plan(two_steps(), fail_at_first, {.on_event = inner});
                }});
  CHECK(brief(outer.events()) == std::vector<std::string>{"S1", "F1", "S2", "T2"});
  CHECK(brief(inner.events()) == std::vector<std::string>{"S1", "F1", "S2", "T2"});
}

// --- Event as a value
// --------------------------------------------------------------------------------------------------

TEST_CASE("stored events outlive their plan and their run", "[event]") {
  std::vector<Event> kept;
  std::vector<AttemptFailure> failures;
  const std::string long_name(100, 'n');
  const std::string long_text(100, 't');
  {
    const ExecutionPlan<Client> plan{{.name = long_name, .provide = Client{1}, .attempts = 2}};
    int calls = 0;
    const auto result = try_run_with_plan(plan,
                                          [&](Client&) -> results::Outcome<int, results::Status> {
                                            if (++calls == 1) throw planb::ProviderError(503, long_text, "code");
                                            return results::Status(429, long_text);
                                          },
                                          {.on_event = planb::overloaded{[&](const AttemptFailure& e) {
                                                                           failures.push_back(e);
                                                                           kept.emplace_back(e);
                                                                         },
                                                                         [&](const Event& e) { kept.push_back(e); }}});
    static_cast<void>(result);
  }
  REQUIRE(failures.size() == 2);
  CHECK(failures[0].step_name == long_name);
  CHECK(failures[0].cause.get_if<planb::ProviderError>()->message == long_text);
  CHECK(failures[0].cause.status() == 503);
  CHECK(failures[0].cause.code() == "code");
  CHECK_THROWS_AS(failures[0].cause.rethrow(), planb::ProviderError);
  CHECK(failures[1].cause.get_if<results::Status>()->message() == long_text);
  CHECK(failures[1].cause.status() == 429);
  CHECK_THROWS_AS(failures[1].cause.rethrow(), results::Status);
  CHECK(brief(kept) == std::vector<std::string>{"S1", "F1", "S2", "F2", "E"});
  CHECK(to_string(kept[0]) == "AttemptStart #1 step=0 " + std::string(64, 'n') + "...");
}

TEST_CASE("an Event is one of the four, and is not made of them by accident", "[event]") {
  STATIC_REQUIRE_FALSE(std::convertible_to<AttemptStart, Event>);
  STATIC_REQUIRE_FALSE(std::convertible_to<AttemptFailure, Event>);
  STATIC_REQUIRE(std::constructible_from<Event, AttemptStart>);
  STATIC_REQUIRE_FALSE(std::constructible_from<Event, int>);
  STATIC_REQUIRE(std::copyable<Event>);
  STATIC_REQUIRE(gives_pointer<const Event&>);
  STATIC_REQUIRE_FALSE(gives_pointer<Event>);  // it would dangle
  STATIC_REQUIRE_FALSE(gives_pointer<const Event>);

  AttemptStart start;
  start.attempt = 3;
  const Event event(start);
  REQUIRE(event.get_if<AttemptStart>() != nullptr);
  CHECK(event.get_if<AttemptStart>()->attempt == 3);
  CHECK(event.get_if<AttemptSuccess>() == nullptr);
  CHECK(event.get_if<AttemptFailure>() == nullptr);
  CHECK(event.get_if<StepSkipped>() == nullptr);
  CHECK(event.visit(
            planb::overloaded{[](const AttemptStart& e) { return e.attempt; }, [](const auto&) { return 0; }}) == 3);
}

TEST_CASE("an Event is assigned from one of any kind, and from itself", "[event]") {
  AttemptFailure failure;
  failure.step_name = "a name that is too long to be held in place";
  failure.cause = Cause::of(planb::ProviderError(503, "busy"));
  const Event source(failure);
  Event event{AttemptStart()};
  event = source;
  REQUIRE(event.get_if<AttemptFailure>() != nullptr);
  CHECK(event.get_if<AttemptStart>() == nullptr);
  CHECK(to_string(event) == to_string(source));
  CHECK(source.get_if<AttemptFailure>()->step_name == failure.step_name);  // a copy
  const Event& same = event;
  event = same;
  CHECK(to_string(event) == to_string(source));
  Event& itself = event;
  event = std::move(itself);
  CHECK(to_string(event) == to_string(source));

  Event other{StepSkipped()};
  other = std::move(event);
  CHECK(to_string(other) == to_string(source));
  other = Event(AttemptSuccess());
  CHECK(other.get_if<AttemptSuccess>() != nullptr);
}

namespace {

template <class E>
E event_of(int attempt, int step_index, std::string name) {
  E event;
  event.attempt = attempt;
  event.step_attempt = attempt;
  event.step_index = step_index;
  event.step_name = std::move(name);
  return event;
}

StepSkipped skipped(std::string name, planb::SkipReason reason) {
  StepSkipped event;
  event.step_index = 1;
  event.step_name = std::move(name);
  event.reason = reason;
  return event;
}

}  // namespace

TEST_CASE("an event as a line", "[event]") {
  using planb::LeaveReason;
  auto failure = event_of<AttemptFailure>(2, 0, "openai");
  const auto line = [&](const NextMove& next) {
    failure.next = next;
    return to_string(failure);
  };
  const std::string start = "AttemptFailure #2 step=0 openai 503 service unavailable";
  failure.cause = Cause::of(planb::ProviderError(503, "service unavailable"));
  CHECK(line({.kind = NextMove::retry}) == start + ", retry");
  CHECK(line({.kind = NextMove::retry, .delay = 20ms}) == start + ", retry in 20 ms");
  for (const LeaveReason granted : {LeaveReason::none, LeaveReason::classified, LeaveReason::not_retryable,
                                    LeaveReason::attempts_spent}) {
    CHECK(line({.kind = NextMove::next_step, .reason = granted}) == start + ", next step");
  }
  CHECK(line({.kind = NextMove::next_step, .reason = LeaveReason::schedule_ended}) ==
        start + ", next step: schedule ended");
  CHECK(line({.kind = NextMove::next_step, .reason = LeaveReason::gate_closed}) == start + ", next step: gate closed");
  CHECK(line({.kind = NextMove::next_step, .reason = LeaveReason::wait_too_long}) ==
        start + ", next step: wait too long");
  CHECK(line({.kind = NextMove::next_step, .reason = LeaveReason::out_of_time}) == start + ", next step: out of time");
  CHECK(line({.kind = NextMove::end, .run_end = RunEnd::deadline}) == start + ", end: deadline exceeded");
  CHECK(line({.kind = NextMove::end, .run_end = RunEnd::exhausted}) == start + ", end: exhausted");
  failure.verdict = {planb::Action::abort, true};
  CHECK(line({.kind = NextMove::end, .run_end = RunEnd::aborted}) == start + " (alert), end: aborted");
  failure.verdict.reset();
  failure.cause = Cause::timed_out();
  CHECK(line({.kind = NextMove::retry}) == "AttemptFailure #2 step=0 openai timed out, retry");
  failure.cause = Cause::of(planb::ProviderError(503, "503 service unavailable"));
  CHECK(line({.kind = NextMove::retry}) == start + ", retry");
  failure.cause = Cause::of(planb::ProviderError(503));
  CHECK(line({.kind = NextMove::retry}) == "AttemptFailure #2 step=0 openai 503, retry");

  CHECK(to_string(event_of<AttemptStart>(1, 0, "openai")) == "AttemptStart #1 step=0 openai");
  CHECK(to_string(event_of<AttemptStart>(1, 0, "")) == "AttemptStart #1 step=0");
  CHECK(to_string(event_of<AttemptSuccess>(4, 2, "local")) == "AttemptSuccess #4 step=2 local");
  CHECK(to_string(Event(event_of<AttemptStart>(1, 0, "a\nb"))) == "AttemptStart #1 step=0 a b");
  auto output = event_of<planb::FirstOutput>(2, 1, "local");
  output.after = 1500ms;
  CHECK(to_string(output) == "FirstOutput #2 step=1 local after 1.5 s");
  CHECK(to_string(Event(output)) == to_string(output));

  CHECK(to_string(skipped("wide", planb::SkipReason::declined)) == "StepSkipped step=1 wide declined");
  CHECK(to_string(skipped("", planb::SkipReason::out_of_time)) == "StepSkipped step=1 out of time");
  StepSkipped closed = skipped("wide", planb::SkipReason::gate_closed);
  closed.at = at(1s);
  closed.opens_at = at(5200ms);
  CHECK(to_string(Event(closed)) == "StepSkipped step=1 wide gate closed for 4.2 s");
  closed.gate_reason = planb::GateReason::rate_limited;
  CHECK(to_string(closed) == "StepSkipped step=1 wide rate limited for 4.2 s");
  closed.gate_reason = planb::GateReason::other;
  closed.gate_text = "maintenance\nuntil noon";
  CHECK(to_string(closed) == "StepSkipped step=1 wide maintenance until noon for 4.2 s");
}
