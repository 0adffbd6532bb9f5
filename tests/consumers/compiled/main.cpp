// Some of everything that is compiled once: schedules and their text, waits, timers, gates, classifiers, events,
// reports, errors.
#include "shared.hpp"

#include <planb/coro.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

int failures = 0;

void check(bool right, const char* what) {
  if (right) return;
  ++failures;
  std::printf("not so: %s\n", what);
}

void falls_back() {
  const planb::ExecutionPlan<Llm> plan{
      {.name = "openai",
       .provide = [] { return Llm{"openai"}; },
       .attempts = 3,
       .schedule = planb::jittered(planb::capped(planb::exponential(1ms), 2ms)),
       .classify = planb::http_classifier(planb::ContentRefusal::abort),
       .timeout = 1min,
       .gate = planb::circuit_breaker({})},
      {.name = "number", .provide = [] { return Llm{"number"}; }},
      {.name = "local", .provide = [] { return Llm{"local"}; }},
  };
  std::vector<std::string> lines;
  planb::RunOptions options;
  options.on_event = [&](const planb::AttemptFailure& event) { lines.push_back(to_string(event)); };
  check(ask(plan, options) == "from local", "the plan falls back");
  check(lines.size() == 4, "four attempts failed");
  check(!lines.empty() && lines.front().find("503 busy") != std::string::npos, "an event says why");
  check(!lines.empty() && lines.back().find("42") != std::string::npos, "a thrown number is told");

  const auto result = planb::try_run_with_plan(plan, [](Llm&) -> std::string { throw planb::ProviderError(401, "no"); });
  check(!result && std::string(result.error().what()).find("401 no") != std::string::npos, "the report says why");
  try {
    static_cast<void>(result.value());
    check(false, "value() throws where there is none");
  } catch (const planb::PlanExhausted& e) {
    check(e.end() == planb::RunEnd::exhausted, "as the type that says how the run ended");
  }
}

void reads_and_writes() {
  const planb::Schedule schedule = planb::up_to(planb::concat(planb::recurs(2), planb::spaced(1s)), 4);
  const auto read = planb::parse_schedule(planb::to_string(schedule));
  check(static_cast<bool>(read) && planb::to_string(*read) == planb::to_string(schedule), "a schedule's text is read back");
  check(planb::parse_retry_after("1.5", {}) == planb::Duration(1500ms), "a wait hint is read");
  try {
    static_cast<void>(planb::spaced(-1ms));
    check(false, "nonsense is refused");
  } catch (const std::invalid_argument&) {
  }
}

void takes_time() {
  planb::testing::VirtualClock clock;
  planb::RunOptions options;
  options.clock = &clock;
  options.budget = 1min;
  const planb::ExecutionPlan<int> plan{
      {.name = "a", .provide = 1, .attempts = planb::unlimited, .schedule = planb::spaced(25s), .timeout = 10s}};
  const auto result = planb::try_run_with_plan(plan, [](int&) { throw std::runtime_error("busy"); }, options);
  check(!result && result.report().attempts == 3, "the budget leaves time for three attempts");

  planb::Timer timer = planb::SteadyClock::instance().call_at(planb::TimePoint::max(), [] {});
  check(timer.move_to(planb::TimePoint::max()), "a timer can be moved");
}

}  // namespace

int main() {
  falls_back();
  reads_and_writes();
  takes_time();
  return failures == 0 ? 0 : 1;
}
