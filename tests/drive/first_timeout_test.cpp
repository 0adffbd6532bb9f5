// Step::first_timeout: how long a stream may take to its first output, whatever comes before.
#include <planb/stream.hpp>

#include "catch.hpp"
#include "next_range.hpp"

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
};

const std::vector<Case>& cases() {
  static const std::vector<Case> table{
      {"in time", 5s, 2s, {{4s, 1}, {1s, 2}}, std::nullopt},
      {"no output in time", 5s, 2s, {{6s}}, CauseKind::timeout},
      {"an error before its time is one", 5s, 2s, {{4s}}, CauseKind::error},
      {"the timeout counts from the first output", 5s, 2s, {{4s, 1}, {3s}}, CauseKind::timeout},
      {"and not before", 5s, 2s, {{4s, 1}, {1s}}, CauseKind::error},
      {"without a timeout, silence may last afterwards", 5s, std::nullopt, {{1s, 1}, {60s}}, CauseKind::error},
      {"keep-alives are no output", 5s, 2s, {{1s, keep_alive}, {1s, keep_alive}, {4s}}, CauseKind::timeout},
      {"nor do they end the wait for it", 5s, 2s, {{1s, keep_alive}, {3s, keep_alive}, {500ms, 1}}, std::nullopt},
      {"without first_timeout the timeout counts from the start", std::nullopt, 2s, {{3s}}, CauseKind::timeout},
      {"above the budget it is legal", 1h, std::nullopt, {{1s, 1}}, std::nullopt},
  };
  return table;
}

planb::ExecutionPlan<int> plan_of(const Case& c) {
  return {{.name = "only", .provide = 1, .timeout = c.timeout, .first_timeout = c.first_timeout}};
}

const auto is_output = [](int element) { return element != keep_alive; };

void check(const Case& c, const AttemptLog& log) {
  const std::vector<planb::AttemptFailure> failures = log.of<planb::AttemptFailure>();
  if (!c.failure) {
    CHECK(failures.empty());
  } else {
    REQUIRE(failures.size() == 1);
    CHECK(failures[0].cause.kind() == *c.failure);
  }
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
      static_cast<void>(planb::try_push_with_plan(plan_of(c), planb::committing(producer, is_output, 10), [](int) {},
                                                  {.on_event = log, .budget = 1h, .clock = &clock}));
      check(c, log);
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
      try {
        for ([[maybe_unused]] const int element :
             planb::stream_with_plan(plan_of(c), planb::committing(source, is_output, 10),
                                     {.on_event = log, .budget = 1h, .clock = &clock})) {
        }
      } catch (const planb::PlanError&) {  // as the table says
      }
      check(c, log);
    }
    {
      INFO("by hand");
      VirtualClock clock;
      const AttemptLog log;
      planb::PlanRun<int> run(plan_of(c), {.on_event = log, .budget = 1h, .clock = &clock});
      REQUIRE(run.next() == planb::RunPhase::attempt);
      bool failed = false;
      for (const Move& move : c.moves) {
        clock.advance(move.after);
        if (!move.element) {
          run.fail(planb::Cause::of(planb::ProviderError(503)));
          failed = true;
        } else if (is_output(*move.element)) {
          CHECK(run.deliver());
          CHECK(run.resume());
        }
      }
      if (!failed) run.succeed();
      check(c, log);
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

TEST_CASE("each attempt has it anew, and a call has none") {
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

  planb::run_with_plan(plan, [&](int&, const Attempt& attempt) { CHECK(attempt.timeout() == std::nullopt); });
}

TEST_CASE("a first_timeout of zero or less is refused, with the step's name") {
  try {
    static_cast<void>(planb::ExecutionPlan<int>{{.name = "one", .provide = 1, .first_timeout = 0s}});
    FAIL("a plan was made");
  } catch (const std::invalid_argument& error) {
    CHECK(std::string(error.what()).find("step \"one\": `first_timeout` must be above zero") != std::string::npos);
  }
}
