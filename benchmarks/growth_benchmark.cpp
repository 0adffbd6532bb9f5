// What one more costs: a step, an attempt, a kind of event that somebody wants to hear of. Failures are returned, so
// that no throw hides what is asked for.
#include "hand_written.hpp"
#include "rows.hpp"

#include <planb/run.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace {

constexpr auto complete = [](int& prompt) { return [&prompt](Client& client) { return client.try_complete(prompt); }; };
constexpr auto again = [](const ErrorValue& e) { return e.retryable(); };

// Some steps of so many attempts each, over a provider that answers every so many calls, or never.
struct Steps {
  [[nodiscard]] auto provide() const {
    return [this] { return Client{nullptr, &answer}; };
  }

  Steps(int steps, int attempts, int answers_every = 0)
      : answer([this, answers_every](int prompt) -> Reply {
          if (answers_every == 0 || ++calls != answers_every) return tl::unexpected(ErrorValue{503});
          calls = 0;
          return prompt + 1;
        }),
        table(static_cast<std::size_t>(steps), Row{provide(), attempts, {}, again}),
        plan(std::vector(
            static_cast<std::size_t>(steps),
            planb::Step<Client>{.name = "one", .provide = provide(), .attempts = attempts, .retry_while = again})) {}
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  int calls = 0;
  const std::function<Reply(int)> answer;
  const Table table;
  const planb::ExecutionPlan<Client> plan;
};

// A run in which every attempt fails.
void add_failing(const std::string& row, int steps, int attempts) {
  const auto s = std::make_shared<Steps>(steps, attempts);
  add_in_parts(row.c_str(), "hand", steps * attempts, [s](int& prompt) { return try_call_by_hand(s->table, prompt); });
  add_in_parts(row.c_str(), "planb", steps * attempts,
               [s](int& prompt) { return planb::run_with_plan(s->plan, complete(prompt)); });
}

// --- Events ----------------------------------------------------------------------------------------------------------

void add_told(const char* row, Handlers handlers, planb::RunOptions options) {
  static Steps s(1, 2, 2);  // one failure, then success
  add(row, "hand",
      [handlers = std::move(handlers)](int& prompt) { return try_call_told_by_hand(s.table, handlers, prompt); });
  add(row, "planb",
      [options = std::move(options)](int& prompt) { return planb::run_with_plan(s.plan, complete(prompt), options); });
}

}  // namespace

void add_growth_rows() {
  for (const int steps : {1, 4, 16, 64}) add_failing("steps: " + std::to_string(steps), steps, 1);
  for (const int attempts : {1, 10, 1'000, 1'000'000}) {
    add_failing("attempts: " + std::to_string(attempts), 1, attempts);
  }

  static int heard = 0;
  const auto hear = [](const Told& told) { heard += told.attempt; };
  const auto start = [](const planb::AttemptStart& event) { heard += event.attempt; };
  const auto success = [](const planb::AttemptSuccess& event) { heard += event.attempt; };
  const auto failure = [](const planb::AttemptFailure& event) { heard += event.attempt; };
  add_told("failure and success, told to nobody", {}, {});
  add_told("  starts are told", {.start = hear}, {.on_event = start});
  add_told("  successes are told", {.success = hear}, {.on_event = success});
  add_told("  failures are told", {.failure = hear}, {.on_event = failure});
  add_told("  starts and successes are told", {.start = hear, .success = hear},
           {.on_event = planb::overloaded{start, success}});
  add_told("  all three are told", {hear, hear, hear}, {.on_event = planb::overloaded{start, success, failure}});
}

}  // namespace bench
