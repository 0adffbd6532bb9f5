// One plan, many threads. To be run under ThreadSanitizer too.
#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::Attempt;
using planb::CurrentMetadata;
using planb::Duration;
using planb::ExecutionPlan;
using planb::Metadata;
using planb::ProviderError;
using planb::TimePoint;
using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;

constexpr std::size_t many = 20;

// Calls fn(0), fn(1), ... each on a thread of its own. What is to be asserted is gathered there and asserted here:
// assertions belong to one thread.
template <class F>
void on_threads(std::size_t count, F fn) {
  std::latch ready(static_cast<std::ptrdiff_t>(count));
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (std::size_t i = 0; i != count; ++i) {
    threads.emplace_back([&, i] {
      ready.arrive_and_wait();
      fn(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<Metadata> metadata_of(const AttemptLog& log) {
  std::vector<Metadata> list;
  for (const auto& start : log.of<planb::AttemptStart>()) list.push_back({start.attempt, start.step_index});
  return list;
}

ExecutionPlan<FakeProvider> alpha_then_beta(const FakeProvider& alpha, const FakeProvider& beta) {
  return {{.name = "alpha", .provide = alpha, .schedule = planb::up_to(planb::jittered(planb::spaced(10ms)), 0)},
          {.name = "beta", .provide = beta, .attempts = 2}};
}

}  // namespace

TEST_CASE("twenty interleaved runs of one plan: each sees its own order, metadata and events",
          "[concurrency][field-28]") {
  const FakeProvider alpha("alpha", {Behaviour::status(503)});
  const FakeProvider beta("beta");
  const auto plan = alpha_then_beta(alpha, beta);
  std::barrier attempts(static_cast<std::ptrdiff_t>(many));  // no attempt ends before all runs are in theirs
  std::vector<AttemptLog> logs(many);
  std::vector<std::string> answers(many);
  std::vector<std::vector<Metadata>> seen(many);
  std::vector<Metadata> before(many);
  std::vector<Metadata> after(many);

  on_threads(many, [&](std::size_t i) {
    VirtualClock clock;
    before[i] = CurrentMetadata::get();
    answers[i] = planb::run_with_plan(plan,
                                      [&](const FakeProvider& provider) {
                                        attempts.arrive_and_wait();
                                        seen[i].push_back(CurrentMetadata::get());
                                        const std::string answer = provider.complete("run " + std::to_string(i));
                                        seen[i].push_back(CurrentMetadata::get());
                                        return answer;
                                      },
                                      {.on_event = logs[i], .clock = &clock});
    after[i] = CurrentMetadata::get();
  });

  for (std::size_t i = 0; i != many; ++i) {
    INFO("run " << i);
    CHECK(answers[i] == "beta");
    CHECK(logs[i].names() == std::vector{"alpha", "beta"});
    CHECK(logs[i].lines() == std::vector<std::string>{"AttemptStart #1 step=0 alpha",
                                                      "AttemptFailure #1 step=0 alpha 503 service unavailable, next "
                                                      "step: schedule ended",
                                                      "AttemptStart #2 step=1 beta", "AttemptSuccess #2 step=1 beta"});
    CHECK(seen[i] == std::vector<Metadata>{{1, 0}, {2, 1}, {2, 1}});
    CHECK(before[i] == Metadata{});
    CHECK(after[i] == Metadata{});
  }
  CHECK(alpha.calls() == many);
  CHECK(beta.calls() == many);
}

TEST_CASE("runs that are in different steps at the same time keep their own metadata", "[concurrency][field-28]") {
  // Run i fails i times, so that at any time the runs stand at different places of the plan.
  constexpr std::size_t runs = 8;
  std::vector<planb::Step<int>> steps;
  for (std::size_t i = 0; i != runs; ++i) steps.push_back({.name = std::to_string(i), .provide = static_cast<int>(i)});
  const ExecutionPlan<int> plan(std::move(steps));
  std::vector<AttemptLog> logs(runs);
  std::vector<std::vector<Metadata>> seen(runs);
  std::barrier round(static_cast<std::ptrdiff_t>(runs));

  on_threads(runs, [&](std::size_t i) {
    for (std::size_t wait = 0; wait != runs - 1 - i; ++wait) round.arrive_and_wait();
    planb::run_with_plan(plan,
                         [&](int step) {
                           round.arrive_and_wait();
                           seen[i].push_back(CurrentMetadata::get());
                           if (static_cast<std::size_t>(step) < i) throw ProviderError(503);
                         },
                         {.on_event = logs[i]});
  });

  for (std::size_t i = 0; i != runs; ++i) {
    INFO("run " << i);
    std::vector<Metadata> expected;
    for (int attempt = 0; attempt <= static_cast<int>(i); ++attempt) expected.push_back({attempt + 1, attempt});
    CHECK(seen[i] == expected);
    CHECK(metadata_of(logs[i]) == expected);
  }
}

TEST_CASE("a plan gives every one of many concurrent runs its full attempts, again and again",
          "[concurrency][field-8]") {
  const FakeProvider alpha("alpha", {Behaviour::status(503)});
  const FakeProvider beta("beta", {Behaviour::status(429)});
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha",
       .provide = alpha,
       .attempts = 3,
       .schedule = planb::exponential(20ms),
       .retry_while = [](const ProviderError& e) { return e.status >= 500; }},
      {.name = "beta", .provide = beta, .schedule = planb::up_to(planb::spaced(5ms), 1)}};
  constexpr int rounds = 25;
  std::atomic<int> wrong{0};

  on_threads(many, [&](std::size_t) {
    const std::vector<const char*> expected{"alpha", "alpha", "alpha", "beta", "beta"};
    for (int round = 0; round != rounds; ++round) {
      VirtualClock clock;
      const AttemptLog log;
      const auto copy = plan;  // copies are made and dropped meanwhile
      const auto result = planb::try_run_with_plan(
          copy, [](const FakeProvider& provider) { return provider.complete(); }, {.on_event = log, .clock = &clock});
      if (result.has_value() || !(log.names() == expected) || clock.elapsed() != 65ms) ++wrong;
    }
  });

  CHECK(wrong == 0);
  CHECK(alpha.calls() == many * rounds * 3);
  CHECK(beta.calls() == many * rounds * 2);
}

TEST_CASE("runs without options share a plan too", "[concurrency]") {
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .attempts = 2}, {.name = "beta", .provide = 2}};
  std::atomic<int> wrong{0};
  on_threads(many, [&](std::size_t) {
    for (int round = 0; round != 50; ++round) {
      std::vector<int> contexts;
      const int answer = planb::run_with_plan(plan, [&](int context) {
        contexts.push_back(context);
        if (context == 1) throw ProviderError(503);
        return context;
      });
      if (answer != 2 || contexts != std::vector{1, 1, 2}) ++wrong;
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("one log and one provider may serve many runs: nothing is lost", "[concurrency]") {
  const AttemptLog log;
  const FakeProvider alpha("alpha", {Behaviour::status(503), Behaviour::status(500)});
  const FakeProvider beta("beta");
  const auto plan = alpha_then_beta(alpha, beta);
  constexpr std::size_t rounds = 10;

  on_threads(many, [&](std::size_t i) {
    for (std::size_t round = 0; round != rounds; ++round) {
      VirtualClock clock;
      planb::run_with_plan(plan, [&](const FakeProvider& provider) { return provider.complete(std::to_string(i)); },
                           {.on_event = log, .clock = &clock});
      static_cast<void>(log.names());  // read while others write
      static_cast<void>(alpha.prompts());
    }
  });

  const auto names = log.names();
  CHECK(std::count(names.begin(), names.end(), "alpha") == many * rounds);
  CHECK(std::count(names.begin(), names.end(), "beta") == many * rounds);
  CHECK(log.of<planb::AttemptFailure>().size() == many * rounds);
  CHECK(log.of<planb::AttemptSuccess>().size() == many * rounds);
  int first_behaviour = 0;
  for (const auto& failure : log.of<planb::AttemptFailure>()) first_behaviour += failure.cause.status() == 503 ? 1 : 0;
  CHECK(first_behaviour == 1);

  std::vector<std::string> prompts = beta.prompts();
  CHECK(prompts.size() == many * rounds);
  for (std::size_t i = 0; i != many; ++i) {
    CHECK(std::count(prompts.begin(), prompts.end(), std::to_string(i)) == static_cast<std::ptrdiff_t>(rounds));
  }
}

TEST_CASE("runs on one virtual clock share its time, and wait no less than they must", "[concurrency]") {
  VirtualClock clock;
  const ExecutionPlan<FakeProvider> plan{{.name = "alpha",
                                          .provide = FakeProvider("alpha", {Behaviour::status(503)}),
                                          .attempts = 4,
                                          .schedule = planb::spaced(10ms)}};
  std::vector<AttemptLog> logs(many);
  on_threads(many, [&](std::size_t i) {
    static_cast<void>(planb::try_run_with_plan(plan, [](const FakeProvider& provider) { return provider.complete(); },
                                               {.on_event = logs[i], .clock = &clock}));
  });
  int too_early = 0;
  for (const AttemptLog& log : logs) {
    CHECK(log.names().size() == 4);
    std::optional<TimePoint> failed_at;
    for (const planb::Event& event : log.events()) {
      if (const auto* const start = event.get_if<planb::AttemptStart>()) {
        if (failed_at && start->at < *failed_at + 10ms) ++too_early;
      } else if (const auto* const failure = event.get_if<planb::AttemptFailure>()) {
        failed_at = failure->at;
      }
    }
  }
  CHECK(too_early == 0);
  CHECK(clock.elapsed() >= 30ms);
  CHECK(clock.elapsed() <= many * 30ms);
  CHECK(clock.waits() <= many * 3);
}

TEST_CASE("an attempt's work on another thread: its Attempt still holds, and CurrentMetadata can be carried there",
          "[concurrency][field-32]") {
  VirtualClock clock;
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 0}, {.name = "beta", .provide = 1, .timeout = 40ms}};
  std::vector<Metadata> uncarried;
  std::vector<Metadata> carried;
  std::vector<Metadata> restored;
  std::vector<std::string> attempts;
  std::vector<std::optional<Duration>> timeouts;

  planb::run_with_plan(plan,
                       [&](int step, const Attempt& attempt) {
                         const Metadata here = CurrentMetadata::get();
                         std::thread([&, copy = attempt] {
                           uncarried.push_back(CurrentMetadata::get());
                           {
                             const CurrentMetadata::Scope scope(here);
                             carried.push_back(CurrentMetadata::get());
                           }
                           restored.push_back(CurrentMetadata::get());
                           attempts.push_back(std::to_string(copy.attempt) + "/" + std::to_string(copy.step_index) +
                                              " " + std::string(copy.step_name));
                           clock.advance(15ms);
                           timeouts.push_back(copy.timeout());
                         }).join();
                         if (step == 0) throw ProviderError(503);
                       },
                       {.clock = &clock});

  CHECK(uncarried == std::vector<Metadata>{{0, 0}, {0, 0}});
  CHECK(carried == std::vector<Metadata>{{1, 0}, {2, 1}});
  CHECK(restored == std::vector<Metadata>{{0, 0}, {0, 0}});
  CHECK(attempts == std::vector<std::string>{"1/0 alpha", "2/1 beta"});
  CHECK(timeouts == std::vector<std::optional<Duration>>{std::nullopt, 25ms});
}

TEST_CASE("a run inside a callable on another thread leaves the outer run's metadata alone", "[concurrency]") {
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 0, .attempts = 2}};
  std::vector<Metadata> outer;
  std::vector<Metadata> inner;
  CHECK_THROWS_AS(planb::run_with_plan(plan,
                                       [&](int) {
                                         std::thread([&] {
                                           static_cast<void>(planb::try_run_with_plan(plan, [&](int) {
                                             inner.push_back(CurrentMetadata::get());
                                             throw ProviderError(500);
                                           }));
                                         }).join();
                                         outer.push_back(CurrentMetadata::get());
                                         throw ProviderError(503);
                                       }),
                  planb::PlanExhausted);
  CHECK(outer == std::vector<Metadata>{{1, 0}, {2, 0}});
  CHECK(inner == std::vector<Metadata>{{1, 0}, {2, 0}, {1, 0}, {2, 0}});
}

TEST_CASE("destroying a virtual clock's timer waits for its call on another thread", "[concurrency]") {
  for (int round = 0; round != 50; ++round) {
    VirtualClock clock;
    std::latch called(1);
    std::atomic<bool> going{false};
    bool finished = false;  // not atomic: the timer's end must order it
    std::optional<planb::Timer> timer = clock.call_at(TimePoint{1ms}, [&] {
      called.count_down();
      while (!going) std::this_thread::yield();
      for (int i = 0; i != 100; ++i) std::this_thread::yield();
      finished = true;
    });
    std::thread advancing([&] { clock.advance(1ms); });
    called.wait();
    going = true;
    timer.reset();
    CHECK(finished);
    advancing.join();
  }
}

TEST_CASE("a timer that is destroyed while another one's call holds it up is never called", "[concurrency]") {
  VirtualClock clock;
  std::latch called(1);
  std::latch release(1);
  std::atomic<int> calls{0};
  const planb::Timer first = clock.call_at(TimePoint{1ms}, [&] {
    called.count_down();
    release.wait();
  });
  std::optional<planb::Timer> second = clock.call_at(TimePoint{2ms}, [&] { ++calls; });
  std::thread one([&] { clock.sleep_until(TimePoint{1ms}, {}); });
  called.wait();
  std::thread two([&] { clock.sleep_until(TimePoint{2ms}, {}); });
  while (clock.waits() != 2) std::this_thread::yield();  // the second timer is due, behind the first one's call
  second.reset();
  release.count_down();
  one.join();
  two.join();
  CHECK(calls == 0);
}

TEST_CASE("a source may look at its time and at what was delivered from a thread of its own", "[concurrency]") {
  const planb::ExecutionPlan<int> plan{{.provide = 1, .timeout = std::chrono::hours(1)}};
  std::size_t last = 0;
  planb::push_with_plan(
      plan,
      [&](int&, auto& emit, const planb::Attempt& attempt) {
        std::atomic<bool> done = false;
        std::thread reader([&] {
          while (!done) {
            const std::size_t delivered = attempt.delivered();
            if (delivered < last || attempt.timeout() > std::chrono::hours(1)) std::abort();
            last = delivered;
          }
        });
        for (int i = 0; i != 1000; ++i) emit(i);
        done = true;
        reader.join();
      },
      [](int) {});
  CHECK(last <= 1000);
}
