// RunFinish: once for every run that began, after everything else, on every way out of every driver.
#include <planb/planb.hpp>

#include "catch.hpp"
#include "two_steps.hpp"

#include <planb/coro.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <functional>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::RunEnd;
using planb::RunFinish;
using planb::RunOptions;
using planb::StreamOptions;
using planb::testing::AttemptLog;
using planb::testing::VirtualClock;
using two::Client;
using two::two_steps;

const auto fails = [](Client&) -> int { throw planb::ProviderError(503); };
const auto answers = [](Client& client) { return client.id; };
const auto no_wait = [](planb::Duration) -> planb::Task<> { co_return; };

struct Way {
  const char* what;
  RunEnd end;
  std::function<void(const AttemptLog&)> out;
};

template <class Options = RunOptions>
Options telling(const AttemptLog& log, Options options = {}) {
  options.on_event = log;
  options.label = "request 7";
  return options;
}

planb::Task<int> co_fails(Client&) {
  throw planb::ProviderError(503);
  co_return 1;
}
planb::Task<int> co_answers(Client& client) { co_return client.id; }

const std::vector<Way>& ways() {
  static const std::vector<Way> table {
    {"a call that succeeds", RunEnd::succeeded,
     [](const AttemptLog& log) { planb::run_with_plan(two_steps(), answers, telling(log)); }},
        {"a call that fails everywhere", RunEnd::exhausted,
         [](const AttemptLog& log) { planb::run_with_plan(two_steps(), fails, telling(log)); }},
        {"the original style", RunEnd::exhausted,
         [](const AttemptLog& log) {
           planb::run_with_plan(two_steps(), fails,
                                telling<RunOptions>(log, {.failure = planb::FailureStyle::original}));
         }},
        {"a try that succeeds", RunEnd::succeeded,
         [](const AttemptLog& log) {
           static_cast<void>(planb::try_run_with_plan(two_steps(), answers, telling(log)));
         }},
        {"a try that fails", RunEnd::exhausted,
         [](const AttemptLog& log) { static_cast<void>(planb::try_run_with_plan(two_steps(), fails, telling(log))); }},
        {"retry()", RunEnd::exhausted,
         [](const AttemptLog& log) {
           planb::retry(
               {.attempts = 2}, []() -> int { throw planb::ProviderError(503); }, telling(log));
         }},
        {"a classifier that aborts", RunEnd::aborted,
         [](const AttemptLog& log) {
           planb::run_with_plan(
               two_steps().with_classifier([](const planb::Cause&) { return planb::Verdict{planb::Action::abort}; }),
               fails, telling(log));
         }},
        {"a callback that throws", RunEnd::aborted,
         [](const AttemptLog& log) {
           planb::run_with_plan(two_steps().with_classifier([](const planb::Cause&) -> planb::Verdict { throw 42; }),
                                fails, telling(log));
         }},
        {"an empty budget", RunEnd::deadline,
         [](const AttemptLog& log) {
           VirtualClock clock;
           planb::run_with_plan(two_steps(), answers, telling<RunOptions>(log, {.budget = 0s, .clock = &clock}));
         }},
        {"a Defect", RunEnd::defect,
         [](const AttemptLog& log) {
           planb::run_with_plan(
               two_steps(), [](Client&) -> int { throw planb::Defect("bug"); }, telling(log));
         }},
        {"a pushed stream that succeeds", RunEnd::succeeded,
         [](const AttemptLog& log) {
           planb::push_with_plan(
               two_steps(), [](Client&, auto& emit) { emit(1); }, [](int) {}, telling<StreamOptions>(log));
         }},
        {"a consumer that stops", RunEnd::succeeded,
         [](const AttemptLog& log) {
           planb::push_with_plan(
               two_steps(), [](Client&, auto& emit) { emit(1); }, [](int) { return false; },
               telling<StreamOptions>(log));
         }},
        {"a sink that throws", RunEnd::interrupted,
         [](const AttemptLog& log) {
           planb::push_with_plan(
               two_steps(), [](Client&, auto& emit) { emit(1); }, [](int) { throw 42; }, telling<StreamOptions>(log));
         }},
        {"a pulled stream", RunEnd::succeeded,
         [](const AttemptLog& log) {
           for ([[maybe_unused]] const int i : planb::stream_with_plan(
                    two_steps(),
                    [](Client&) {
                      return std::vector<int>{1, 2};
                    },
                    telling<StreamOptions>(log))) {
           }
         }},
        {"a pulled stream that is left", RunEnd::succeeded,
         [](const AttemptLog& log) {
           for ([[maybe_unused]] const int i : planb::stream_with_plan(
                    two_steps(),
                    [](Client&) {
                      return std::vector<int>{1, 2};
                    },
                    telling<StreamOptions>(log))) {
             break;
           }
         }},
        {"a pulled stream that fails", RunEnd::exhausted,
         [](const AttemptLog& log) {
           for ([[maybe_unused]] const int i : planb::stream_with_plan(
                    two_steps(), [](Client&) -> std::vector<int> { throw planb::ProviderError(503); },
                    telling<StreamOptions>(log))) {
           }
         }},
        {"a coroutine that succeeds", RunEnd::succeeded,
         [](const AttemptLog& log) {
           planb::sync_wait(planb::co_run_with_plan<planb::Task<int>>(two_steps(), co_answers, no_wait, telling(log)));
         }},
        {"a coroutine that fails", RunEnd::exhausted,
         [](const AttemptLog& log) {
           planb::sync_wait(planb::co_run_with_plan<planb::Task<int>>(two_steps(), co_fails, no_wait, telling(log)));
         }},
        {"a run by hand", RunEnd::succeeded,
         [](const AttemptLog& log) {
           planb::PlanRun<Client> run(two_steps(), telling(log));
           static_cast<void>(run.next());
           run.succeed();
         }},
        {"a run by hand that is given up in its attempt", RunEnd::interrupted,
         [](const AttemptLog& log) {
           planb::PlanRun<Client> run(two_steps(), telling(log));
           static_cast<void>(run.next());
         }},
        {"a run by hand that is given up between two attempts", RunEnd::interrupted,
         [](const AttemptLog& log) {
           planb::PlanRun<Client> run(two_steps(), telling(log));
           static_cast<void>(run.next());
           run.fail(planb::Cause::of(planb::ProviderError(503)));
         }},
#if PLANB_HAS_STOP_TOKEN
        {"a stop", RunEnd::interrupted, [](const AttemptLog& log) {
           std::stop_source stop;
           stop.request_stop();
           planb::run_with_plan(two_steps(), answers, telling<RunOptions>(log, {.stop = stop.get_token()}));
         }},
#endif
  };
  return table;
}

}  // namespace

TEST_CASE("every run that began ends with one RunFinish, after everything else") {
  for (const Way& way : ways()) {
    INFO(way.what);
    const AttemptLog log;
    try {
      way.out(log);
    } catch (...) {  // as it should
    }
    const std::vector<planb::Event> events = log.all();
    REQUIRE_FALSE(events.empty());
    CHECK(log.of<RunFinish>().size() == 1);
    const RunFinish* const last = events.back().get_if<RunFinish>();
    REQUIRE(last != nullptr);
    CHECK(to_string(last->end) == std::string(to_string(way.end)));
    CHECK(last->report.end == last->end);
    CHECK(last->label == "request 7");
    CHECK(last->report.label == "request 7");
    CHECK(static_cast<std::size_t>(last->report.attempts) == log.of<planb::AttemptStart>().size());
    CHECK(last->report.started_at.has_value());
    CHECK(last->report.duration == last->duration);
  }
}

TEST_CASE("a run that never began has no end") {
  const AttemptLog log;
  { const planb::PlanRun<Client> run(two_steps(), telling(log)); }
  {
    const auto stream = planb::stream_with_plan(
        two_steps(), [](Client&) { return std::vector<int>{1}; }, telling<StreamOptions>(log));
  }
  { const auto task = planb::co_run_with_plan<planb::Task<int>>(two_steps(), co_answers, no_wait, telling(log)); }
  CHECK(log.all().empty());
}

TEST_CASE("it comes before the result or the exception reaches the caller, and after the context has ended") {
  struct Ends {
    explicit Ends(std::vector<std::string>& s) : seen(&s) {}
    Ends(const Ends&) = delete;
    Ends& operator=(const Ends&) = delete;
    ~Ends() { seen->push_back("context ends"); }
    std::vector<std::string>* seen;
  };
  std::vector<std::string> seen;
  const planb::ExecutionPlan<Ends> plan{{.name = "only", .provide = [&] { return Ends(seen); }}};
  const RunOptions options{
      .on_event = planb::overloaded{[&](const planb::AttemptSuccess&) { seen.push_back("success"); },
                                    [&](const planb::AttemptFailure&) { seen.push_back("failure"); },
                                    [&](const RunFinish& finish) { seen.push_back(to_string(finish.end)); }}};
  planb::run_with_plan(
      plan, [](Ends&) {}, options);
  seen.push_back("caller");
  CHECK(seen == std::vector<std::string>{"context ends", "success", "succeeded", "caller"});

  seen.clear();
  try {
    planb::run_with_plan(
        plan, [](Ends&) { throw 1; }, options);
  } catch (const planb::PlanExhausted&) {
    seen.push_back("caller");
  }
  CHECK(seen == std::vector<std::string>{"context ends", "failure", "exhausted", "caller"});
}

TEST_CASE("its handler belongs to no attempt, and what it throws changes nothing") {
  std::optional<planb::Metadata> metadata;
  const RunOptions options{.on_event = [&](const RunFinish&) {
    metadata = planb::CurrentMetadata::get();
    throw 42;
  }};
  CHECK(planb::run_with_plan(two_steps(), answers, options) == 1);
  CHECK(metadata == planb::Metadata{0, 0});
}

TEST_CASE("its report and duration tell the whole run") {
  const AttemptLog log;
  VirtualClock clock;
  const planb::ExecutionPlan<Client> plan{
      {.name = "one", .provide = Client{1}, .attempts = 2, .schedule = planb::spaced(3s)},
      {.name = "two", .provide = Client{2}}};
  const auto slow = [&](Client& client) {
    clock.advance(2s);
    if (client.id == 1) throw planb::ProviderError(503);
    return client.id;
  };
  clock.advance(100s);
  planb::run_with_plan(plan, slow, telling<RunOptions>(log, {.clock = &clock}));
  const RunFinish finish = log.of<RunFinish>().at(0);
  CHECK(finish.at.time_since_epoch() == 109s);
  CHECK(finish.duration == 9s);
  CHECK(finish.report.started_at->time_since_epoch() == 100s);
  CHECK(finish.report.answered_by() == "two");
  CHECK(finish.report.steps[0].attempt_time == 4s);
  CHECK(finish.report.steps[0].wait_time == 3s);
  CHECK(finish.report.steps[0].failed_at->time_since_epoch() == 107s);
  CHECK(finish.report.steps[1].attempt_time == 2s);
  CHECK(finish.report.steps[1].wait_time == 0s);
  CHECK_FALSE(finish.report.steps[1].failed_at.has_value());
}

TEST_CASE("what a failed run says when to ask again counts from the failure") {
  VirtualClock clock;
  const auto busy = [&](Client&) -> int {
    clock.advance(1s);
    throw planb::ProviderError(429, "slow down", "", 30s);
  };
  const auto result = planb::try_run_with_plan(two_steps(), busy, {.clock = &clock});
  REQUIRE_FALSE(result.has_value());
  REQUIRE(result.report().retry_at().has_value());
  CHECK(result.report().retry_at()->time_since_epoch() == 31s);  // of the first step, which failed earlier
}

TEST_CASE("a run that nobody watches reads no clock") {
  struct Counting final : planb::Clock {
    [[nodiscard]] planb::TimePoint now() const override { return ++readings, planb::TimePoint(); }
    void sleep_until(planb::TimePoint, planb::StopToken) override {}
    mutable int readings = 0;
  };
  Counting clock;
  CHECK(planb::run_with_plan(two_steps(), answers, {.clock = &clock}) == 1);
  CHECK_THROWS_AS(planb::run_with_plan(two_steps(), fails, {.clock = &clock}), planb::PlanExhausted);
  CHECK(clock.readings == 0);
  CHECK(planb::try_run_with_plan(two_steps(), answers, {.clock = &clock}).report().duration == 0s);
  CHECK(clock.readings > 0);
}
