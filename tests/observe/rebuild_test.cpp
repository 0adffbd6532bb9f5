// The lines of a thousand runs at once, written in whatever order they came, tell of each run all that its report does,
// and which calls were made in which order.
#include <planb/observe.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>

using namespace std::chrono_literals;

namespace {

struct Client {
  int id = 0;
};

// A step as its report has it, and as it is rebuilt.
struct Step {
  int attempts = 0;
  std::string message;
  int status = 0;
  std::string code;
  std::string action;
  std::string failure_class;
  bool alert = false;
  planb::Duration took{};
  planb::Duration failed_at{};
  std::string skipped;
  std::string left = "none";

  friend bool operator==(const Step&, const Step&) = default;
};

struct Run {
  std::string end;
  std::string answered_by;
  std::string last_failed;
  int attempts = 0;
  std::vector<std::string> calls;  // in their order: who was called when, in nanoseconds, and how that ended
  std::map<std::string, Step> steps;

  friend bool operator==(const Run&, const Run&) = default;
};

Run of_report(const planb::RunReport& report) {
  Run run{.end = std::string(to_label(report.end)),
          .answered_by = report.answered_by(),
          .last_failed = report.last_failed ? report.steps[static_cast<std::size_t>(*report.last_failed)].name : "",
          .attempts = report.attempts,
          .calls = {},
          .steps = {}};
  for (const planb::StepReport& step : report.steps) {
    Step& rebuilt = run.steps[step.name];
    rebuilt.attempts = step.attempts;
    rebuilt.alert = step.alert;
    rebuilt.took = step.attempt_time.value_or(planb::Duration());
    if (step.failed_at) rebuilt.failed_at = step.failed_at->time_since_epoch();
    if (step.cause) {
      rebuilt.message = step.cause->message();
      rebuilt.status = step.cause->status().value_or(0);
      rebuilt.code = step.cause->code();
    }
    if (step.verdict) {
      rebuilt.action = std::string(to_label(step.verdict->action));
      rebuilt.failure_class = std::string(to_label(step.verdict->failure_class));
    }
    if (step.skipped) rebuilt.skipped = std::string(to_label(*step.skipped));
    rebuilt.left = std::string(to_label(step.left));
  }
  return run;
}

// Decimal seconds, read as they are written: exactly.
planb::Duration nanos(const nlohmann::json& seconds) {
  return planb::Duration(std::llround(seconds.get<double>() * 1e9));
}

std::string call_text(const std::string& step, planb::Duration at, const std::string& said) {
  return step + " at " + std::to_string(at.count()) + ": " + said;
}

std::map<std::string, Run> of_lines(const std::vector<std::string>& lines) {
  std::map<std::string, Run> runs;
  for (const std::string& line : lines) {
    const auto event = nlohmann::json::parse(line);
    const std::string kind = event.at("event");
    if (kind == "run_finish" || kind == "first_output") continue;
    Run& run = runs[event.at("label")];
    Step& step = run.steps[event.at("step_name")];
    const auto end_call = [&](const std::string& said) {
      step.took += nanos(event.at("duration"));
      run.calls.push_back(call_text(event.at("step_name"), nanos(event.at("at")) - nanos(event.at("duration")), said));
    };
    if (kind == "attempt_start") {
      ++step.attempts;
      ++run.attempts;
      run.end = "exhausted";  // unless something else is told
    } else if (kind == "attempt_success") {
      run.end = "succeeded";
      run.answered_by = event.at("step_name");
      end_call("200");
    } else if (kind == "step_skipped") {
      step.skipped = event.at("reason");
    } else {
      const auto& cause = event.at("cause");
      step.message = cause.at("message");
      step.status = cause.at("status");
      step.code = cause.value("code", "");
      step.failed_at = nanos(event.at("at"));
      run.last_failed = event.at("step_name");
      const auto& verdict = event.at("verdict");
      step.action = verdict.at("action");
      step.failure_class = verdict.at("failure_class");
      step.alert = step.alert || verdict.at("alert");
      end_call(std::to_string(step.status));
      const auto& next = event.at("next");
      if (next.contains("reason")) step.left = next.at("reason");
      if (next.at("kind") == "end") run.end = next.at("run_end");
    }
  }
  return runs;
}

}  // namespace

TEST_CASE("every report of a thousand runs at once, and every call, can be rebuilt from their lines", "[json]") {
  constexpr int threads = 8;
  constexpr int runs_each = 125;
  const planb::ExecutionPlan<Client> plan = planb::ExecutionPlan<Client>{
      {.name = "one", .provide = Client{1}, .attempts = 3, .schedule = planb::spaced(10ms)},
      {.name = "two",
       .provide = Client{2},
       .enter_when = [](const planb::Cause& cause) { return cause.status() == 503; }},
      {.name = "three", .provide = Client{3}}}.with_classifier(planb::http_classifier(planb::ContentRefusal::abort));
  std::mutex mutex;
  std::vector<std::string> lines;
  std::map<std::string, Run> reports;
  const auto work = [&](int first) {
    for (int n = first; n != first + runs_each; ++n) {
      planb::testing::VirtualClock clock;
      int call = 0;
      std::vector<std::string> calls;
      const auto ask = [&](Client& client) {
        // Another mixture of answers for each run.
        constexpr int statuses[] = {503, 429, 200, 401, 400, 500, 503};
        const int status = statuses[static_cast<std::size_t>(n * 5 + client.id * 3 + call++ * (n % 7)) % 7];
        constexpr const char* names[] = {"one", "two", "three"};
        calls.push_back(call_text(names[client.id - 1], clock.now().time_since_epoch(), std::to_string(status)));
        clock.advance(std::chrono::microseconds(n * 7 + call));
        if (status != 200) {
          throw planb::ProviderError(status, "call " + std::to_string(n) + "/" + std::to_string(call),
                                     status == 429 && n % 2 == 0 ? "insufficient_quota" : "");
        }
        return client.id;
      };
      const std::string label = "run " + std::to_string(n);
      const auto write = [&](const planb::Event& event) {
        const std::string line = to_json(event);
        const std::lock_guard<std::mutex> lock(mutex);
        lines.push_back(line);
      };
      const auto result = planb::try_run_with_plan(plan, ask, {.on_event = write, .clock = &clock, .label = label});
      const std::lock_guard<std::mutex> lock(mutex);
      Run run = of_report(result.report());
      run.calls = std::move(calls);
      reports.emplace(label, std::move(run));
    }
  };
  std::vector<std::thread> all;
  for (int t = 0; t != threads; ++t) all.emplace_back(work, t * runs_each);
  for (std::thread& thread : all) thread.join();

  REQUIRE(reports.size() == threads * runs_each);
  const std::map<std::string, Run> rebuilt = of_lines(lines);
  REQUIRE(rebuilt.size() == reports.size());
  for (const auto& [label, run] : reports) {
    INFO(label);
    CHECK((rebuilt.at(label) == run));
  }
  std::map<std::string, int> ends;
  for (const auto& [label, run] : reports) ++ends[run.end];
  CHECK(ends.size() >= 3);  // succeeded, aborted, exhausted: the mixture has some of each
}

#endif
