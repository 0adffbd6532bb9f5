// to_json and for_each_field: one line for each event, valid whatever a provider sent.
#include <planb/observe.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "two_steps.hpp"

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#define HAS_READER 1
#else
#define HAS_READER 0
#endif

using namespace std::chrono_literals;
using planb::Cause;
using planb::Duration;
using planb::JsonOptions;
using planb::TimePoint;
using planb::to_json;

namespace {

TimePoint at(Duration since) { return TimePoint{since}; }

planb::AttemptFailure failure_of(Cause cause) {
  return {.attempt = 2,
          .step_attempt = 1,
          .step_index = 1,
          .step_name = "openai",
          .at = at(1500ms),
          .duration = 20ms,
          .cause = std::move(cause),
          .label = "req-1"};
}

// A text as a step's name, as it comes out: what stands between the quotes.
std::string written(std::string name, JsonOptions options = {}) {
  const std::string line = to_json(planb::AttemptStart{.step_name = std::move(name)}, options);
  const std::string key = "\"step_name\":\"";
  const std::size_t from = line.find(key) + key.size();
  return line.substr(from, line.find("\",\"at\"") - from);
}

std::string seconds(Duration d) {
  const std::string line = to_json(planb::AttemptSuccess{.duration = d});
  const std::string key = "\"duration\":";
  const std::size_t from = line.find(key) + key.size();
  return line.substr(from, line.find(',', from) - from);
}

struct Final {
  [[nodiscard]] std::optional<bool> retryable() const { return false; }
};

struct Throws : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return nullptr; }
};

}  // namespace

TEST_CASE("each event begins with its word and has the names of its members", "[json]") {
  CHECK(
      to_json(planb::AttemptStart{
          .attempt = 1, .step_attempt = 1, .step_name = "openai", .at = at(12s), .gate_wait = 5ms, .label = "req-1"}) ==
      R"({"event":"attempt_start","attempt":1,"step_attempt":1,"step_index":0,"step_name":"openai","at":12,)"
      R"("gate_wait":0.005,"label":"req-1"})");
  CHECK(to_json(planb::FirstOutput{.attempt = 3, .step_attempt = 2, .step_index = 1, .at = at(1ns), .after = 1s}) ==
        R"({"event":"first_output","attempt":3,"step_attempt":2,"step_index":1,"step_name":"","at":0.000000001,)"
        R"("after":1,"label":""})");
  CHECK(to_json(planb::AttemptSuccess{.attempt = 1, .step_attempt = 1, .at = at(2s), .duration = 1500ms}) ==
        R"({"event":"attempt_success","attempt":1,"step_attempt":1,"step_index":0,"step_name":"","at":2,)"
        R"("duration":1.5,"label":""})");
  CHECK(
      to_json(planb::StepSkipped{
          .step_index = 1, .step_name = "b", .reason = planb::SkipReason::gate_closed, .opens_at = at(3s)}) ==
      R"({"event":"step_skipped","step_index":1,"step_name":"b","at":0,"reason":"gate_closed","opens_at":3,"label":""})");
}

TEST_CASE("a failure's line has its cause, its verdict and what comes next, as far as there are any", "[json]") {
  planb::AttemptFailure failure = failure_of(Cause::of(planb::ProviderError(503, "busy", "overloaded", 2s)));
  failure.verdict = planb::Verdict{planb::Action::retry, true, planb::FailureClass::overloaded};
  failure.next = {.kind = planb::NextMove::retry, .delay = 250ms};
  const std::string head =
      R"({"event":"attempt_failure","attempt":2,"step_attempt":1,"step_index":1,"step_name":"openai","at":1.5,)"
      R"("duration":0.02,"cause":{"kind":"error",)";
  CHECK(to_json(failure) == head + R"("status":503,"code":"overloaded","retry_after":2,"message":"busy"},)"
                                   R"("verdict":{"action":"retry","alert":true,"failure_class":"overloaded"},)"
                                   R"("next":{"kind":"retry","delay":0.25},"label":"req-1"})");

  failure = failure_of(Cause::of(std::string("gone")));
  failure.next = {.kind = planb::NextMove::next_step, .reason = planb::LeaveReason::attempts_spent};
  CHECK(to_json(failure) == head + R"("message":"gone"},"next":{"kind":"next_step","reason":"attempts_spent"},)"
                                   R"("label":"req-1"})");
  failure.next = {.run_end = planb::RunEnd::deadline, .reason = planb::LeaveReason::out_of_time};
  CHECK_THAT(to_json(failure), Catch::Matchers::ContainsSubstring(
                                   R"("next":{"kind":"end","run_end":"deadline","reason":"out_of_time"})"));
  CHECK(to_json(planb::Event(failure)) == to_json(failure));
}

TEST_CASE("what a gate says, and when it may open, is in every line that has it", "[json]") {
  const std::string gate = R"("gate_reason":"other","gate_text":"maintenance","gate":"eu")";
  CHECK(to_json(planb::StepSkipped{.step_name = "b",
                                   .reason = planb::SkipReason::gate_closed,
                                   .opens_at = at(3s),
                                   .gate_reason = planb::GateReason::other,
                                   .gate_text = "maintenance",
                                   .gate = "eu"}) ==
        R"({"event":"step_skipped","step_index":0,"step_name":"b","at":0,"reason":"gate_closed","opens_at":3,)" + gate +
            R"(,"label":""})");
  planb::AttemptFailure failure = failure_of(Cause::timed_out());
  failure.next.gate_reason = planb::GateReason::rate_limited;
  CHECK_THAT(to_json(failure), Catch::Matchers::ContainsSubstring(
                                   R"("run_end":"exhausted","reason":"none","gate_reason":"rate_limited"})"));
  planb::RunReport report;
  report.end = planb::RunEnd::exhausted;
  report.steps.emplace_back(planb::StepReport{.name = "a",
                                              .skipped = planb::SkipReason::gate_closed,
                                              .opens_at = at(3s),
                                              .opens_in = 1500ms,
                                              .gate_reason = planb::GateReason::other,
                                              .gate_text = "maintenance",
                                              .gate = "eu"});
  const std::string line = to_json(report);
  CHECK_THAT(line, Catch::Matchers::ContainsSubstring(R"("index":0,"opens_at":3,"opens_in":1.5,)" + gate + "}"));
  REQUIRE(report.retry_at() == at(3s));
  CHECK_THAT(line, Catch::Matchers::ContainsSubstring(R"(}],"retry_at":3,"label":"")"));
}

TEST_CASE("an error's own word on another try is in its line", "[json]") {
  CHECK_THAT(to_json(failure_of(Cause::of(Final{}))),
             Catch::Matchers::ContainsSubstring(R"("cause":{"kind":"error","retryable":false,"message":)"));
}

TEST_CASE("durations are decimal seconds, exact to the nanosecond, without an exponent; the longest is null",
          "[json]") {
  CHECK(seconds(0ns) == "0");
  CHECK(seconds(1ns) == "0.000000001");
  CHECK(seconds(20ms) == "0.02");
  CHECK(seconds(100s) == "100");
  CHECK(seconds(1'000'000'001ns) == "1.000000001");
  CHECK(seconds(-1ns) == "-0.000000001");
  CHECK(seconds(-1500ms) == "-1.5");
  CHECK(seconds(Duration::max() - 1ns) == "9223372036.854775806");
  CHECK(seconds(Duration::min()) == "-9223372036.854775808");
  CHECK(seconds(Duration::max()) == "null");
  CHECK_THAT(to_json(planb::StepSkipped{.opens_at = TimePoint::max()}),
             Catch::Matchers::ContainsSubstring(R"("opens_at":null)"));
}

TEST_CASE("texts are escaped, and what is no UTF-8 becomes U+FFFD", "[json]") {
  const std::string fffd = "\xEF\xBF\xBD";
  struct Row {
    std::string text;
    std::string expected;
  };
  const Row rows[] = {
      {"plain", "plain"},
      {"say \"hi\" \\ there", R"(say \"hi\" \\ there)"},
      {"a\nb\rc\td", R"(a\nb\rc\td)"},
      {std::string("\0\x01\x1F\x7F", 4), R"(\u0000\u0001\u001f\u007f)"},
      {"\xC2\x85|\xE2\x80\xA8|\xE2\x80\xA9", R"(\u0085|\u2028|\u2029)"},  // ends of lines for some readers
      {"\xE5\x90\x8D\xE5\xAD\x97", "\xE5\x90\x8D\xE5\xAD\x97"},
      {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
      {"a\xFF"
       "b",
       "a" + fffd + "b"},
      {"\x80\x80", fffd + fffd},
      {"\xC0\xAF", fffd + fffd},                        // overlong
      {"\xE0\x80\x80", fffd + fffd + fffd},             // overlong
      {"\xED\xA0\x80", fffd + fffd + fffd},             // a surrogate
      {"\xF4\x90\x80\x80", fffd + fffd + fffd + fffd},  // above U+10FFFF
      {"\xE5\x90", fffd},                               // cut off
      {"\xE5\x90x", fffd + "x"},
      {"\xF0\x9F\x98\xC2\xA0y", fffd + R"(\u00a0y)"},
  };
  for (const Row& row : rows) {
    INFO(row.expected);
    CHECK(written(row.text) == (row.expected == fffd + R"(\u00a0y)" ? fffd + "\xC2\xA0y" : row.expected));
  }
}

TEST_CASE("texts are cut at a character's border", "[json]") {
  CHECK(written(std::string(2000, 'x')) == std::string(1000, 'x'));
  CHECK(written(std::string(999, 'x') + "\xE5\x90\x8D") == std::string(999, 'x'));
  CHECK(written(std::string(997, 'x') + "\xE5\x90\x8Dy") == std::string(997, 'x') + "\xE5\x90\x8D");
  CHECK(written("abcdef", {.max_text = 3}) == "abc");
  CHECK(written("abcdef", {.max_text = 0}).empty());
  CHECK(written("\xFF\xFF", {.max_text = 5}) == "\xEF\xBF\xBD");  // counted as it is written
  CHECK(written(std::string(2000, '"')).size() == 2000);          // escapes do not count
}

TEST_CASE("what is cut are texts, and not the words that a program reads", "[json]") {
  planb::AttemptFailure failure = failure_of(Cause::of(planb::ProviderError(503, "busy", "overloaded")));
  failure.verdict = planb::Verdict{planb::Action::retry, true, planb::FailureClass::overloaded};
  CHECK(to_json(failure, {.max_text = 0}) ==
        R"({"event":"attempt_failure","attempt":2,"step_attempt":1,"step_index":1,"step_name":"","at":1.5,)"
        R"("duration":0.02,"cause":{"kind":"error","status":503,"code":"","message":""},)"
        R"("verdict":{"action":"retry","alert":true,"failure_class":"overloaded"},)"
        R"("next":{"kind":"end","run_end":"exhausted","reason":"none"},"label":""})");
}

TEST_CASE("an error that cannot say what it is has a line all the same", "[json]") {
  CHECK_THAT(to_json(failure_of(Cause::of(Throws()))), Catch::Matchers::ContainsSubstring(R"("message":"<no text>")"));
  CHECK(to_json(Cause::timed_out()) == R"({"kind":"timeout","message":"timed out"})");
}

TEST_CASE("the time of day is added where it is asked for", "[json]") {
  using std::chrono::sys_days;
  const auto time_of = [](auto wall) {
    const std::string line = to_json(planb::AttemptStart{}, {.wall = wall});
    const std::string begin = R"({"event":"attempt_start","time":")";
    REQUIRE(line.substr(0, begin.size()) == begin);
    return line.substr(begin.size(), line.find('"', begin.size()) - begin.size());
  };
  const auto day = sys_days(std::chrono::year(2026) / 2 / 3);
  CHECK(time_of(day + 4h + 5min + 6s + 789ms) == "2026-02-03T04:05:06.789Z");
  CHECK(time_of(day - 1ms) == "2026-02-02T23:59:59.999Z");
  CHECK(time_of(sys_days(std::chrono::year(1969) / 12 / 31) + 1ns) == "1969-12-31T00:00:00.000Z");
  CHECK(time_of(sys_days(std::chrono::year(2024) / 2 / 29)) == "2024-02-29T00:00:00.000Z");
  CHECK(time_of(std::chrono::sys_time<std::chrono::milliseconds>::max()) == "9999-12-31T23:59:59.999Z");
  CHECK(time_of(std::chrono::sys_time<std::chrono::milliseconds>::min()) == "0000-01-01T00:00:00.000Z");
  CHECK(time_of(std::chrono::sys_time<std::chrono::milliseconds>(sys_days(std::chrono::year(0) / 1 / 1)) - 1ms) ==
        "0000-01-01T00:00:00.000Z");

  const auto before = std::chrono::system_clock::now();
  const std::string now = time_of(true);
  CHECK(now.size() == 24);
  CHECK(now >= time_of(before));
  CHECK(now <= time_of(std::chrono::system_clock::now()));
  CHECK(to_json(planb::AttemptStart{}, {.wall = false}) == to_json(planb::AttemptStart{}));
  CHECK_THAT(to_json(planb::RunReport(), {.wall = true}), Catch::Matchers::StartsWith(R"({"time":")"));
}

TEST_CASE("a report's line has every step", "[json]") {
  planb::testing::VirtualClock clock;
  const auto result = planb::try_run_with_plan(two::two_steps(),
                                               [](two::Client& client) {
                                                 if (client.id == 1) throw planb::ProviderError(429, "slow down");
                                                 return client.id;
                                               },
                                               {.clock = &clock, .label = "req-9"});
  planb::RunReport report = result.report();
  report.started_at.reset();  // as where nobody asks for times
  report.duration.reset();
  for (planb::StepReport& step : report.steps) {
    step.attempt_time.reset();
    step.wait_time.reset();
    step.failed_at.reset();
  }
  report.label = "req-9";
  CHECK(to_json(report) ==
        R"({"end":"succeeded","attempts":2,"delivered":0,"answered_step":1,"answered_by":"two","fell_back":true,)"
        R"("steps":[{"name":"one","attempts":1,"cause":{"kind":"error","status":429,"message":"slow down"},)"
        R"("left":"attempts_spent","alert":false,"index":0},)"
        R"({"name":"two","attempts":1,"left":"none","alert":false,"index":1}],"last_failed":0,"label":"req-9"})");

  report.started_at = at(1s);
  report.duration = 2500ms;
  report.steps[0].attempt_time = 2s;
  report.steps[0].wait_time = 500ms;
  report.steps[0].failed_at = at(3s);
  report.steps[1].skipped = planb::SkipReason::out_of_time;
  report.rule_error = Cause::of(std::string("thrown"));
  const std::string line = to_json(planb::RunFinish{.report = report, .at = at(4s), .duration = 3s, .label = "req-9"});
  CHECK_THAT(line,
             Catch::Matchers::StartsWith(R"({"event":"run_finish","end":"succeeded","report":{"end":"succeeded",)"));
  CHECK_THAT(line, Catch::Matchers::ContainsSubstring(R"("attempt_time":2,"wait_time":0.5,"failed_at":3})"));
  CHECK_THAT(line, Catch::Matchers::ContainsSubstring(R"("skipped":"out_of_time")"));
  CHECK_THAT(line, Catch::Matchers::ContainsSubstring(R"("rule_error":{"kind":"error","message":"thrown"})"));
  CHECK_THAT(line, Catch::Matchers::ContainsSubstring(R"("started_at":1,"duration":2.5},"at":4,"duration":3,)"));
  CHECK(to_json(planb::RunReport()) ==
        R"({"end":"succeeded","attempts":0,"delivered":0,"fell_back":false,"steps":[],"label":""})");
}

TEST_CASE("plans and schedules have their text", "[json]") {
  CHECK(to_json(planb::capped(planb::exponential(20ms), 1s)) == "\"capped(exponential(20ms), 1s)\"");
  CHECK(to_json(planb::Schedule()) == R"("none")");
  const planb::ExecutionPlan<two::Client> plan{{.name = "one",
                                                .provide = two::Client{1},
                                                .attempts = planb::unlimited,
                                                .schedule = planb::spaced(10ms),
                                                .retry_while = [](const Cause&) { return true; },
                                                .classify = planb::http_classifier(planb::ContentRefusal::abort),
                                                .max_wait = 2s,
                                                .timeout = Duration::max(),
                                                .first_timeout = 2500ms,
                                                .gate = planb::circuit_breaker()},
                                               {.name = "two",
                                                .provide = two::Client{2},
                                                .attempts = 3,
                                                .enter_when = [](const Cause&) { return true; },
                                                .reserve = 1500ms},
                                               {.provide = two::Client{3}}};
  CHECK(to_json(plan) ==
        R"x({"steps":[{"name":"one","attempts":null,"schedule":"spaced(10ms)","retry_while":true,"classify":true,)x"
        R"("max_wait":2,"timeout":null,"first_timeout":2.5,"gate":true},)"
        R"({"name":"two","attempts":3,"enter_when":true,"reserve":1.5},{"name":""}]})");
}

TEST_CASE("an explanation's line has its steps and findings, and null for what has no bound", "[json]") {
  const planb::ExecutionPlan<int> plan{{.name = "a\"", .provide = 1, .timeout = 1500ms, .reserve = 1s}, {.provide = 2}};
  CHECK(
      to_json(planb::explain(plan, {})) ==
      R"({"text":"a call, no budget","worst":{"calls":2,"waits":0,"time":null},"steps":[)"
      R"({"index":0,"name":"a\"","text":"1 attempt; each at most 1.5 s","reachable":true,)"
      R"("worst":{"calls":1,"waits":0,"time":1.5}},)"
      R"({"index":1,"name":"","text":"1 attempt","reachable":true,"worst":{"calls":1,"waits":0,"time":null}}],)"
      R"("findings":[{"kind":"reserve_unused","step":0,"step_name":"a\"",)"
      R"("text":"its reserve keeps nothing back: no step comes before it; leave it out, or give it to a later step"}]})");
  const planb::ExecutionPlan<int> endless{{.provide = 1, .attempts = planb::unlimited}};
  CHECK_THAT(to_json(planb::explain(endless)),
             Catch::Matchers::ContainsSubstring(R"("worst":{"calls":null,"waits":null,"time":null},"steps")"));
  const std::string none = to_json(planb::explain(plan, {.budget = 0s}));
  CHECK(none.find(R"("findings":[{"kind":"no_budget","text":"the budget)") != std::string::npos);  // of no step
}

TEST_CASE("a gate's snapshot has a line with what its kind of gate shows", "[json]") {
  planb::testing::VirtualClock clock;
  planb::GateRegistry gates;
  const auto breaker = gates.circuit_breaker("openai \"eu\"", {.failure_threshold = 1, .open_for = 1500ms});
  const auto line = [&](std::size_t gate) { return to_json(gates.snapshots().at(gate)); };
  CHECK(line(0) == R"({"name":"openai \"eu\"","kind":"circuit_breaker","state":"closed"})");
  breaker->force_open(at(30s));
  CHECK(line(0) == R"({"name":"openai \"eu\"","kind":"circuit_breaker","state":"open","open_until":30})");
  breaker->force_open();
  CHECK(line(0) == R"({"name":"openai \"eu\"","kind":"circuit_breaker","state":"open","open_until":null})");
  breaker->reset();
  breaker->force_open(at(1s));
  CHECK(breaker->admit(at(2s)).permit);
  CHECK(line(0) == R"({"name":"openai \"eu\"","kind":"circuit_breaker","state":"half_open"})");

  CHECK(to_json(planb::concurrency_limit({.limit = 3})->snapshot()) ==
        R"({"name":"","kind":"concurrency_limit","available":3,"limit":3})");
  const std::chrono::sys_time<std::chrono::milliseconds> wall{1770177845006ms};
  CHECK(to_json(planb::retry_budget({.burst = 7, .name = "retries"})->snapshot(), {.wall = wall, .max_text = 3}) ==
        R"({"time":"2026-02-04T04:04:05.006Z","name":"ret","kind":"ret","available":7,"limit":7})");
}

TEST_CASE("a circuit breaker's own snapshot has its text", "[json][circuit_breaker]") {
  const auto breaker = planb::circuit_breaker({.failure_threshold = 2, .open_for = 30s, .name = "openai"});
  CHECK(to_json(breaker->snapshot()) ==
        R"({"name":"openai","state":"closed","counts":{"consecutive_failures":0,"calls":0,"failures":0,"slow":0},)"
        R"("openings":0,"probes_running":0,"probes_succeeded":0,"forced":false})");
  breaker->admit(at(1s)).permit->failed(planb::Cause::of(503), at(2s));
  breaker->admit(at(3s)).permit->failed(planb::Cause::of(503), at(4s));
  CHECK(to_json(breaker->snapshot()) ==
        R"({"name":"openai","state":"open","counts":{"consecutive_failures":0,"calls":0,"failures":0,"slow":0},)"
        R"("openings":1,"probes_running":0,"probes_succeeded":0,"open_until":34,"forced":false,"changed_at":4})");
}

TEST_CASE("for_each_field tells the members of a line one by one", "[json]") {
  std::vector<std::string> fields;
  const auto note = planb::overloaded{
      [&](std::string_view name, std::string_view value) {
        fields.push_back(std::string(name) + "=" + std::string(value));
      },
      [&](std::string_view name, bool value) { fields.push_back(std::string(name) + (value ? " yes" : " no")); },
      [&](std::string_view name, std::int64_t value) {
        fields.push_back(std::string(name) + "=" + std::to_string(value));
      },
      [&](std::string_view name, Duration value) {
        fields.push_back(std::string(name) + "=" + std::to_string(value.count()) + "ns");
      },
      [&](std::string_view name, TimePoint value) {
        fields.push_back(std::string(name) + "@" + std::to_string(value.time_since_epoch().count()));
      }};
  planb::AttemptFailure failure = failure_of(Cause::of(planb::ProviderError(503, "busy")));
  failure.verdict = planb::Verdict{};
  planb::for_each_field(planb::Event(failure), note);
  CHECK(fields == std::vector<std::string>{
                      "event=attempt_failure", "attempt=2", "step_attempt=1", "step_index=1", "step_name=openai",
                      "at@1500000000", "duration=20000000ns", "cause.kind=error", "cause.status=503",
                      "cause.message=busy", "verdict.action=retry", "verdict.alert no", "verdict.failure_class=unknown",
                      "next.kind=end", "next.run_end=exhausted", "next.reason=none", "label=req-1"});

  fields.clear();
  planb::RunReport report;
  report.steps.emplace_back(planb::StepReport{.name = "a", .attempts = 1, .verdict = planb::Verdict{}});
  report.steps.emplace_back(planb::StepReport{.name = "b", .index = 1});
  planb::for_each_field(planb::RunFinish{.report = report}, note);
  CHECK(fields == std::vector<std::string>{"event=run_finish",
                                           "end=succeeded",
                                           "report.end=succeeded",
                                           "report.attempts=0",
                                           "report.delivered=0",
                                           "report.fell_back no",
                                           "report.steps.0.name=a",
                                           "report.steps.0.attempts=1",
                                           "report.steps.0.left=none",
                                           "report.steps.0.alert no",
                                           "report.steps.0.index=0",
                                           "report.steps.0.verdict.action=retry",
                                           "report.steps.0.verdict.alert no",
                                           "report.steps.0.verdict.failure_class=unknown",
                                           "report.steps.1.name=b",
                                           "report.steps.1.attempts=0",
                                           "report.steps.1.left=none",
                                           "report.steps.1.alert no",
                                           "report.steps.1.index=1",
                                           "report.label=",
                                           "at@0",
                                           "duration=0ns",
                                           "label="});
}

#if HAS_READER
TEST_CASE("every line of a run is read back by another JSON library", "[json]") {
  std::vector<std::string> lines;
  planb::testing::VirtualClock clock;
  const planb::ExecutionPlan<two::Client> plan{
      {.name = "\xE5\x90\x8D \"one\"\n", .provide = two::Client{1}, .attempts = 3, .schedule = planb::spaced(1ns)},
      {.name = "\xFF\xFE", .provide = two::Client{2}, .enter_when = [](const Cause&) { return false; }},
      {.name = "three", .provide = two::Client{3}}};
  const auto result = planb::try_run_with_plan(
      plan,
      [&](two::Client& client) {
        clock.advance(3ms);
        if (client.id == 1) throw planb::ProviderError(500, "\x01\x80\"\\", "c\xC3");
        return client.id;
      },
      {.on_event = [&](const planb::Event& event) { lines.push_back(to_json(event, {.wall = true})); },
       .clock = &clock,
       .label = "id \xF0\x9F"});
  REQUIRE(lines.size() >= 9);
  for (const std::string& line : lines) {
    INFO(line);
    CHECK(line.find('\n') == std::string::npos);
    const auto read = nlohmann::json::parse(line, nullptr, false);
    REQUIRE_FALSE(read.is_discarded());
    CHECK(read.at("label") == "id \xEF\xBF\xBD");
    CHECK(read.at("event").is_string());
    CHECK(read.at("at").is_number());
  }
  CHECK(nlohmann::json::parse(lines[1]).at("cause").at("message") == "\x01\xEF\xBF\xBD\"\\");
  const auto report = nlohmann::json::parse(to_json(result.report()));
  CHECK(report.at("steps").size() == 3);
  CHECK(report.at("answered_by") == "three");
}
#endif
