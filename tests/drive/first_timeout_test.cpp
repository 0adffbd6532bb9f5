// Step::first_timeout: how long a stream may take to its first output, whatever comes before.
#include <planb/stream.hpp>

#include "catch.hpp"
#include "next_range.hpp"

#include <planb/coro.hpp>
#include <planb/engine/plan_run.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::Attempt;
using planb::CauseKind;
using planb::Duration;
using planb::OptionalDuration;
using planb::testing::AttemptLog;
using planb::testing::VirtualClock;

constexpr int keep_alive = 0;  // an element that is no output

// What a source does: after a while it gives an element, or fails.
struct Move {
  Duration after{};
  std::optional<int> element = std::nullopt;
};

struct Case {
  const char* what;
  OptionalDuration first_timeout;
  OptionalDuration timeout;
  std::vector<Move> moves;
  std::optional<CauseKind> failure;  // none: the stream succeeds
  int delivered = 0;
  Duration budget = 1h;
  std::size_t prelude_limit = 10;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> table{
      {"in time", 5s, 2s, {{4s, 1}, {1s, 2}}, std::nullopt, 2},
      {"no output in time", 5s, 2s, {{6s}}, CauseKind::timeout},
      {"nor at the very end of it", 5s, 2s, {{5s}}, CauseKind::timeout},
      {"an error before its time is one", 5s, 2s, {{4s}}, CauseKind::error},
      {"a late output is one", 5s, 2s, {{6s, 1}, {1s, 2}}, std::nullopt, 2},
      {"and the timeout counts from it", 5s, 2s, {{6s, 1}, {1s}}, CauseKind::error, 1},
      {"the timeout counts from the first output", 5s, 2s, {{4s, 1}, {3s}}, CauseKind::timeout, 1},
      {"and not before", 5s, 2s, {{4s, 1}, {1s}}, CauseKind::error, 1},
      {"a timeout may be the longer one", 2s, 5s, {{1s, 1}, {4s}}, CauseKind::error, 1},
      {"and does not stand in for it", 2s, 5s, {{3s}}, CauseKind::timeout},
      {"without a timeout, silence may last afterwards", 5s, std::nullopt, {{1s, 1}, {60s}}, CauseKind::error, 1},
      {"keep-alives are no output", 5s, 2s, {{1s, keep_alive}, {1s, keep_alive}, {4s}}, CauseKind::timeout},
      {"nor do they end the wait for it",
       5s,
       2s,
       {{1s, keep_alive}, {3s, keep_alive}, {500ms, 1}},
       std::nullopt,
       2 + 1},
      {"nor is their silence counted", 5s, 2s, {{1s, keep_alive}, {3s}}, CauseKind::error},
      {"a source that gives nothing else is ended",
       5s,
       2s,
       {{3s, keep_alive}, {2s, keep_alive}, {1s, 1}},
       CauseKind::timeout},
      {"without first_timeout nobody ends it",
       std::nullopt,
       2s,
       {{3s, keep_alive}, {2s, keep_alive}, {1s, 1}},
       std::nullopt,
       2 + 1},
      {"one too many of them is output",
       5s,
       2s,
       {{1s, keep_alive}, {1s, keep_alive}, {3s}},
       CauseKind::timeout,
       2,
       1h,
       1},
      {"from then on the timeout counts",
       5s,
       2s,
       {{1s, keep_alive}, {3500ms, keep_alive}, {1s}},
       CauseKind::error,
       2,
       1h,
       1},
      {"without a prelude each is output", 5s, 2s, {{1s, keep_alive}, {3s}}, CauseKind::timeout, 1, 1h, 0},
      {"without first_timeout the timeout counts from the start", std::nullopt, 2s, {{3s}}, CauseKind::timeout},
      {"above the budget it is legal", 2h, std::nullopt, {{1s, 1}}, std::nullopt, 1},
      {"and the budget ends first", 5s, std::nullopt, {{4s}}, CauseKind::timeout, 0, 3s},
      {"the budget ends a source of keep-alives, too",
       5s,
       std::nullopt,
       {{2s, keep_alive}, {2s, keep_alive}, {1s, 1}},
       CauseKind::timeout,
       0,
       3s},
      {"and is not moved by an output", 5s, 2s, {{2s, 1}, {2s, 2}}, CauseKind::timeout, 1, 3s},
  };
  return table;
}

planb::ExecutionPlan<int> plan_of(const Case& c) {
  return {{.name = "only", .provide = 1, .timeout = c.timeout, .first_timeout = c.first_timeout}};
}

const auto is_output = [](int element) { return element != keep_alive; };

void check(const Case& c, const AttemptLog& log, int delivered) {
  CHECK(delivered == c.delivered);
  const std::vector<planb::AttemptFailure> failures = log.of<planb::AttemptFailure>();
  if (!c.failure) {
    CHECK(failures.empty());
  } else {
    REQUIRE(failures.size() == 1);
    CHECK(failures[0].cause.kind() == *c.failure);
  }
}

// What committing() does, on a PlanRun. True: the attempt has failed.
bool play_by_hand(const Case& c, VirtualClock& clock, planb::PlanRun<int>& run, int& delivered) {
  const auto cut_short = [&] { return run.fail(planb::Cause::timed_out()), true; };
  std::size_t held = 0;
  bool output = false;
  for (const Move& move : c.moves) {
    clock.advance(move.after);
    if (!move.element) return run.fail(planb::Cause::of(planb::ProviderError(503))), true;
    output = output || is_output(*move.element) || held == c.prelude_limit;
    ++held;
    if (!output && !run.resume()) return cut_short();
    for (; output && held != 0; --held) {
      if (!run.deliver()) return cut_short();
      ++delivered;
      if (!run.resume()) return cut_short();
    }
  }
  return false;
}

}  // namespace

TEST_CASE("a stream's first output has its own time") {
  for (const Case& c : cases()) {
    INFO(c.what);
    {
      INFO("pushed");
      VirtualClock clock;
      const AttemptLog log;
      const auto producer = [&](int&, auto& emit) {
        for (const Move& move : c.moves) {
          clock.advance(move.after);
          if (!move.element) throw planb::ProviderError(503);
          if (!emit(*move.element)) return;
        }
      };
      int delivered = 0;
      static_cast<void>(planb::try_push_with_plan(plan_of(c), planb::committing(producer, is_output, c.prelude_limit),
                                                  [&](int) { ++delivered; },
                                                  {.on_event = log, .budget = c.budget, .clock = &clock}));
      check(c, log, delivered);
    }
    {
      INFO("pushed in a coroutine");
      VirtualClock clock;
      const AttemptLog log;
      const auto producer = [&](int&, auto& emit) -> planb::Task<> {
        for (const Move& move : c.moves) {
          clock.advance(move.after);
          if (!move.element) throw planb::ProviderError(503);
          const bool wanted = co_await emit(*move.element);
          if (!wanted) co_return;
        }
      };
      int delivered = 0;
      const auto sink = [&](int) -> planb::Task<> {
        ++delivered;
        co_return;
      };
      static_cast<void>(planb::sync_wait(planb::co_try_push_with_plan<planb::Task<planb::PlanResult<void>>>(
          plan_of(c), planb::committing(producer, is_output, c.prelude_limit), sink,
          [](Duration) -> planb::Task<> { co_return; }, {.on_event = log, .budget = c.budget, .clock = &clock})));
      check(c, log, delivered);
    }
    {
      INFO("pulled");
      VirtualClock clock;
      const AttemptLog log;
      const auto source = [&](int&) {
        return NextRange([&, at = std::size_t{0}]() mutable -> std::optional<int> {
          if (at == c.moves.size()) return std::nullopt;
          const Move& move = c.moves[at++];
          clock.advance(move.after);
          if (!move.element) throw planb::ProviderError(503);
          return move.element;
        });
      };
      int delivered = 0;
      try {
        for ([[maybe_unused]] const int element :
             planb::stream_with_plan(plan_of(c), planb::committing(source, is_output, c.prelude_limit),
                                     {.on_event = log, .budget = c.budget, .clock = &clock})) {
          ++delivered;
        }
      } catch (const planb::PlanError&) {  // as the table says
      }
      check(c, log, delivered);
    }
    {
      INFO("by hand");
      VirtualClock clock;
      const AttemptLog log;
      int delivered = 0;
      planb::PlanRun<int> run(plan_of(c), {.on_event = log, .budget = c.budget, .clock = &clock});
      REQUIRE(run.next() == planb::RunPhase::attempt);
      const bool ended = play_by_hand(c, clock, run, delivered);
      if (!ended) run.succeed();
      check(c, log, delivered);
    }
  }
}

TEST_CASE("the attempt shows the deadline that stands") {
  VirtualClock clock;
  std::vector<std::optional<Duration>> seen;
  const planb::ExecutionPlan<int> plan{{.provide = 1, .timeout = 2s, .first_timeout = 5s}};
  const auto producer = [&](int&, auto& emit, const Attempt& attempt) {
    seen.push_back(attempt.timeout());
    emit(1);
    seen.push_back(attempt.timeout());
  };
  planb::push_with_plan(plan, producer, [](int) {}, {.clock = &clock});
  CHECK(seen == std::vector<std::optional<Duration>>{5s, 2s});

  seen.clear();
  planb::push_with_plan(plan, producer, [](int) {}, {.budget = 3s, .clock = &clock});
  CHECK(seen == std::vector<std::optional<Duration>>{3s, 2s});  // the budget ends earlier
}

TEST_CASE("each attempt has it anew") {
  VirtualClock clock;
  const AttemptLog log;
  const planb::ExecutionPlan<int> plan{{.name = "one", .provide = 1, .attempts = 2, .first_timeout = 5s},
                                       {.name = "two", .provide = 2}};
  std::vector<std::optional<Duration>> seen;
  planb::push_with_plan(
      plan,
      [&](int& step, auto& emit, const Attempt& attempt) {
        seen.push_back(attempt.timeout());
        clock.advance(6s);
        if (step == 1) throw planb::ProviderError(503);
        emit(step);
      },
      [](int) {}, {.on_event = log, .clock = &clock});
  CHECK(seen == std::vector<std::optional<Duration>>{5s, 5s, std::nullopt});
  CHECK(log.of<planb::AttemptFailure>()[1].cause.kind() == CauseKind::timeout);
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("a source's stop token fires when its first output is overdue, and then when it is silent") {
  for (const bool gives_output : {false, true}) {
    VirtualClock clock;
    const AttemptLog log;
    const planb::ExecutionPlan<int> plan{{.name = "one", .provide = 1, .timeout = 2s, .first_timeout = 5s}};
    const auto producer = [&](int&, auto& emit, const Attempt& attempt) {
      const planb::StopToken stop = attempt.stop_token();
      for (int i = 0; i != 3; ++i) {  // keep-alives do not move it
        clock.advance(1s);
        CHECK(emit(keep_alive));
      }
      if (gives_output) CHECK(emit(1));
      CHECK_FALSE(stop.stop_requested());
      clock.sleep_until(clock.now() + 1h, stop);
      CHECK(stop.stop_requested());
      throw planb::ProviderError(503, "stopped");
    };
    static_cast<void>(planb::try_push_with_plan(plan, planb::committing(producer, is_output, 10), [](int) {},
                                                {.on_event = log, .clock = &clock}));
    CHECK(clock.elapsed() == 5s);  // 3 s and 2 s of silence, or 5 s
    REQUIRE(log.of<planb::AttemptFailure>().size() == 1);
    CHECK(log.of<planb::AttemptFailure>()[0].cause.kind() == CauseKind::timeout);
    CHECK(log.of<planb::AttemptFailure>()[0].cause.status() == 503);
  }
}
#endif

TEST_CASE("what later steps reserve ends the wait for an output earlier") {
  VirtualClock clock;
  const AttemptLog log;
  const planb::ExecutionPlan<int> plan{{.name = "one", .provide = 1, .first_timeout = 8s},
                                       {.name = "two", .provide = 2, .reserve = 4s}};
  std::vector<int> got;
  planb::push_with_plan(plan,
                        planb::committing(
                            [&](int& step, auto& emit, const Attempt& attempt) {
                              CHECK(attempt.timeout() == (step == 1 ? 6s : 4s));
                              while (step == 1) {
                                clock.advance(2s);
                                if (!emit(keep_alive)) return;
                              }
                              emit(step);
                            },
                            is_output, 100),
                        [&](int element) { got.push_back(element); },
                        {.on_event = log, .budget = 10s, .clock = &clock});
  CHECK(got == std::vector<int>{2});
  CHECK(log.of<planb::AttemptFailure>().at(0).cause.kind() == CauseKind::timeout);
  CHECK(log.of<planb::AttemptFailure>().at(0).at == planb::TimePoint(6s));
}

namespace {

// Counts how often it is asked.
class CountedClock final : public planb::Clock {
 public:
  [[nodiscard]] planb::TimePoint now() const override { return ++asked, inner.now(); }
  void sleep_until(planb::TimePoint due, planb::StopToken stop) override { inner.sleep_until(due, std::move(stop)); }

  mutable int asked = 0;
  VirtualClock inner;

 private:
  planb::Timer make_timer(planb::TimePoint due, planb::detail::Function<void()> fn) override {
    return inner.call_at(due, std::move(fn));
  }
};

template <class Rules>
concept HasFirstTimeout = requires(Rules rules) {
  rules.first_timeout;
};

}  // namespace

TEST_CASE("a call has no first output: its time is that of `timeout`, and the clock is not asked") {
  static_assert(HasFirstTimeout<planb::Step<int>> && !HasFirstTimeout<planb::RetryPolicy>);
  CountedClock clock;
  const planb::RunOptions options{.clock = &clock};
  const planb::ExecutionPlan<int> plan{{.provide = 1, .first_timeout = 5s}};
  int failures = 0;
  const auto look = [&](int&, const Attempt& attempt) {
    CHECK(attempt.timeout() == std::nullopt);
    clock.inner.advance(6s);
    if (failures++ == 0) throw planb::ProviderError(503);
  };
  const planb::ExecutionPlan<int> twice{{.provide = 1, .attempts = 2, .first_timeout = 5s}};
  planb::run_with_plan(twice, look);
  failures = 0;
  planb::run_with_plan(twice, look, options);
  failures = 0;
  try {
    planb::run_with_plan(plan, look, options);
    FAIL("it succeeded");
  } catch (const planb::PlanError& error) {
    CHECK(error.report().last_cause()->kind() == CauseKind::error);
  }
  planb::sync_wait(planb::co_run_with_plan<planb::Task<void>>(
      plan,
      [](int&, const Attempt& attempt) -> planb::Task<void> {
        CHECK(attempt.timeout() == std::nullopt);
        co_return;
      },
      [](Duration) -> planb::Task<void> { co_return; }, options));
  CHECK(clock.asked == 0);

  const planb::ExecutionPlan<int> both{{.provide = 1, .timeout = 2s, .first_timeout = 5s}};
  planb::run_with_plan(
      both, [](int&, const Attempt& attempt) { CHECK(attempt.timeout() == 2s); }, options);
}

TEST_CASE("a first_timeout of zero or less is refused, with the step's name") {
  try {
    static_cast<void>(planb::ExecutionPlan<int>{{.name = "one", .provide = 1, .first_timeout = 0s}});
    FAIL("a plan was made");
  } catch (const std::invalid_argument& error) {
    CHECK(std::string(error.what()).find("step \"one\": `first_timeout` must be above zero") != std::string::npos);
  }
}
