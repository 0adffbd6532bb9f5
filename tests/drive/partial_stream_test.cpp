// What holds for a stream in any form: output and failure, time, stops, gates.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <vector>

#include "catch.hpp"
#include "streams.hpp"

using namespace std::chrono_literals;
using planb::ExecutionPlan;
using planb::PartialStream;
using streams::Client;
using streams::Form;
using streams::run;
using streams::Script;
using streams::Seen;
using Items = std::vector<int>;

namespace {

struct Fixture {
  explicit Fixture(Form f) : form(f) {}

  planb::testing::VirtualClock clock;
  planb::testing::AttemptLog log;
  Form form;

  [[nodiscard]] planb::StreamOptions options(PartialStream partial = PartialStream::allow) {
    return {.on_event = log, .clock = &clock, .partial = partial};
  }
};

ExecutionPlan<Client> two_steps(int attempts = 1) {
  return {{.name = "alpha", .provide = Client{1}, .attempts = attempts}, {.name = "beta", .provide = Client{2}}};
}

// Counts what a gate is told.
class CountingGate final : public planb::Gate {
 public:
  int admitted = 0;
  int succeeded = 0;
  int failed = 0;
  int dropped = 0;

  [[nodiscard]] planb::Admission admit(const planb::GateRequest&) override {
    ++admitted;
    return planb::Permit(*this, 1);
  }
  [[nodiscard]] planb::TimePoint opens_at(const planb::GateRequest& request) const override { return request.now; }

 private:
  void on_outcome(std::uint64_t, const planb::GateOutcome& outcome) override {
    ++(outcome.cause == nullptr ? succeeded : failed);
  }
  void on_dropped(std::uint64_t, bool) noexcept override { ++dropped; }
};

// A gate that admits until it is closed.
class Door final : public planb::Gate {
 public:
  bool open = true;

  [[nodiscard]] planb::Admission admit(const planb::GateRequest& request) override {
    if (open) return planb::Permit(*this, 1);
    return planb::GateRefusal{request.now + 1h};
  }
  [[nodiscard]] planb::TimePoint opens_at(const planb::GateRequest& request) const override { return request.now; }

 private:
  void on_outcome(std::uint64_t, const planb::GateOutcome& outcome) override {
    if (outcome.cause != nullptr) open = false;
  }
  void on_dropped(std::uint64_t, bool) noexcept override {}
};

}  // namespace

#define BOTH_FORMS Fixture f(GENERATE(Form::push, Form::pull))
#define ALL_FORMS Fixture f(GENERATE(Form::push, Form::pull, Form::co_push))

TEST_CASE("by default the next step starts afresh after output, and the consumer sees both", "[stream][field-33]") {
  ALL_FORMS;
  Script script({{.elements = {1, 2, 3}, .status = 503}, {.elements = {1, 2, 3}}});
  const Seen seen = run(f.form, two_steps(), script, f.options());
  CHECK(seen.items == Items{1, 2, 3, 1, 2, 3});
  CHECK(seen.end == "ok");
  CHECK(f.log.lines() == std::vector<std::string>{"AttemptStart #1 step=0 alpha",
                                                  "AttemptFailure #1 step=0 alpha 503 as the test says, next step",
                                                  "AttemptStart #2 step=1 beta", "AttemptSuccess #2 step=1 beta"});
}

TEST_CASE("prevent_fallback: after output no other step is tried", "[stream][field-33]") {
  ALL_FORMS;
  Script script({{.elements = {1, 2, 3}, .status = 503}});
  const Seen seen = run(f.form, two_steps(), script, f.options(PartialStream::prevent_fallback));
  CHECK(seen.items == Items{1, 2, 3});
  CHECK(seen.end == "plan exhausted after partial output (3 elements): alpha: 503 as the test says");
  CHECK(seen.delivered == 3);
  CHECK(f.log.names() == std::vector{"alpha"});
  CHECK(f.log.lines().back() ==
        "AttemptFailure #1 step=0 alpha 503 as the test says, end: exhausted after partial output");
}

TEST_CASE("prevent_fallback: the report keeps why the step was left", "[stream][field-53]") {
  ALL_FORMS;
  const ExecutionPlan<Client> plan{{.name = "alpha",
                                    .provide = Client{1},
                                    .attempts = 2,
                                    .retry_while = [](const planb::ProviderError&) { return false; }},
                                   {.name = "beta", .provide = Client{2}}};
  Script script({{.elements = {1}, .status = 400}});
  const Seen seen = run(f.form, plan, script, f.options(PartialStream::prevent_fallback));
  CHECK(seen.end == "plan exhausted after partial output (1 element): alpha: 400 as the test says, not worth retrying");
  CHECK(f.log.of<planb::AttemptFailure>().at(0).next.reason == planb::LeaveReason::partial_output);
}

TEST_CASE("prevent_fallback: without output other steps are tried", "[stream]") {
  ALL_FORMS;
  Script script({{.status = 503}, {.elements = {1, 2}}});
  const Seen seen = run(f.form, two_steps(), script, f.options(PartialStream::prevent_fallback));
  CHECK(seen.items == Items{1, 2});
  CHECK(seen.end == "ok");
  CHECK(f.log.names() == std::vector{"alpha", "beta"});
}

TEST_CASE("prevent_fallback: the same step still retries from its start", "[stream][field-33]") {
  ALL_FORMS;
  Script script({{.elements = {1, 2}, .status = 503}, {.elements = {1, 2, 3}}});
  const Seen seen = run(f.form, two_steps(2), script, f.options(PartialStream::prevent_fallback));
  CHECK(seen.items == Items{1, 2, 1, 2, 3});
  CHECK(seen.end == "ok");
  CHECK(f.log.names() == std::vector{"alpha", "alpha"});
}

TEST_CASE("prevent_fallback: output of an earlier attempt of the step counts", "[stream]") {
  ALL_FORMS;
  Script script({{.elements = {1}, .status = 503}, {.status = 500}});
  const Seen seen = run(f.form, two_steps(2), script, f.options(PartialStream::prevent_fallback));
  CHECK(seen.items == Items{1});
  CHECK(seen.end == "plan exhausted after partial output (1 element): alpha: 2 attempts, last 500 as the test says");
  CHECK(f.log.names() == std::vector{"alpha", "alpha"});
}

TEST_CASE("prevent_fallback: a gate that closes after output does not open the way to another step", "[stream]") {
  ALL_FORMS;
  auto door = std::make_shared<Door>();
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1}, .attempts = 2, .gate = door},
                                   {.name = "beta", .provide = Client{2}}};
  Script script({{.elements = {1}, .status = 503}});
  const Seen seen = run(f.form, plan, script, f.options(PartialStream::prevent_fallback));
  CHECK(seen.items == Items{1});
  CHECK(seen.end.starts_with("plan exhausted after partial output (1 element): alpha: 503"));
  CHECK(f.log.names() == std::vector{"alpha"});

  door->open = true;
  Script afresh({{.elements = {1}, .status = 503}, {.elements = {2}}});
  CHECK(run(f.form, plan, afresh, f.options()).items == Items{1, 2});
}

TEST_CASE("prevent_fallback: a last step that has no time left does not say that output was in the way", "[stream]") {
  ALL_FORMS;
  const ExecutionPlan<Client> plan{
      {.name = "alpha", .provide = Client{1}, .attempts = 2, .schedule = planb::spaced(1min)},
      {.name = "beta", .provide = Client{2}}};
  planb::StreamOptions options = f.options(PartialStream::prevent_fallback);
  options.budget = 10s;
  Script script({{.elements = {1}, .status = 503}});
  const Seen seen = run(f.form, plan, script, options);
  CHECK(seen.end ==
        "plan deadline exceeded after partial output (1 element): alpha: 503 as the test says, out of time");
}

TEST_CASE("prevent_retry: after output nothing is tried again", "[stream][field-33]") {
  ALL_FORMS;
  Script script({{.elements = {1, 2}, .status = 503}});
  const Seen seen = run(f.form, two_steps(3), script, f.options(PartialStream::prevent_retry));
  CHECK(seen.items == Items{1, 2});
  CHECK(seen.end ==
        "plan exhausted after partial output (2 elements): alpha: 503 as the test says, after partial output");
  CHECK(f.log.names() == std::vector{"alpha"});
}

TEST_CASE("prevent_retry: without output everything is as ever", "[stream]") {
  ALL_FORMS;
  Script script({{.status = 503}, {.status = 503}, {.elements = {7}}});
  const Seen seen = run(f.form, two_steps(2), script, f.options(PartialStream::prevent_retry));
  CHECK(seen.items == Items{7});
  CHECK(f.log.names() == std::vector{"alpha", "alpha", "beta"});
}

TEST_CASE("prevent_retry: the classifier is asked all the same, for its alert and its abort", "[stream]") {
  ALL_FORMS;
  const planb::Action action = GENERATE(planb::Action::retry, planb::Action::next_step, planb::Action::abort);
  const ExecutionPlan<Client> plan = two_steps(2).with_classifier(
      [action](const planb::Cause&) { return planb::Verdict{.action = action, .alert = true}; });
  Script script({{.elements = {1}, .status = 401}});
  const Seen seen = run(f.form, plan, script, f.options(PartialStream::prevent_retry));
  CHECK(seen.end.starts_with(action == planb::Action::abort ? "plan aborted after partial output (1 element)"
                                                            : "plan exhausted after partial output (1 element)"));
  CHECK(seen.end.find("(alert)") != std::string::npos);
  CHECK(f.log.names() == std::vector{"alpha"});
}

TEST_CASE("attempts is absolute: output does not refill it", "[stream][field-34]") {
  ALL_FORMS;
  Script script({{.elements = {1}, .status = 503},
                 {.elements = {1, 2}, .status = 503},
                 {.elements = {1, 2, 3}, .status = 503},
                 {.elements = {9}}});
  const Seen seen = run(f.form, two_steps(3), script, f.options());
  CHECK(seen.items == Items{1, 1, 2, 1, 2, 3, 9});
  CHECK(f.log.names() == std::vector{"alpha", "alpha", "alpha", "beta"});
}

TEST_CASE("a failure without output says nothing of output", "[stream]") {
  ALL_FORMS;
  Script script({{.status = 503}, {.status = 500}});
  const Seen seen = run(f.form, two_steps(), script, f.options(PartialStream::prevent_retry));
  CHECK(seen.end == "plan exhausted: alpha: 503 as the test says; beta: 500 as the test says");
  CHECK(seen.delivered == 0);
}

TEST_CASE("the original style gives the last error unchanged, whatever was delivered", "[stream]") {
  ALL_FORMS;
  planb::StreamOptions options = f.options(PartialStream::prevent_fallback);
  options.failure = planb::FailureStyle::original;
  Script script({{.elements = {1}, .status = 503}});
  const Seen seen = run(f.form, two_steps(), script, options);
  CHECK(seen.end == "as the test says");
}

TEST_CASE("an empty stream is a success", "[stream][field-39]") {
  ALL_FORMS;
  Script script(std::vector<streams::Call>(1));
  const Seen seen = run(f.form, two_steps(), script, f.options());
  CHECK(seen.items.empty());
  CHECK(seen.end == "ok");
  CHECK(f.log.lines().back() == "AttemptSuccess #1 step=0 alpha");
}

TEST_CASE("a source that fails before its first element falls back", "[stream][field-36]") {
  ALL_FORMS;
  Script script({{.status = 503}, {.elements = {4}}});
  CHECK(run(f.form, two_steps(), script, f.options()).items == Items{4});
  CHECK(f.log.names() == std::vector{"alpha", "beta"});
}

TEST_CASE("a consumer that stops early ends the attempt as a success", "[stream][field-38]") {
  ALL_FORMS;
  const std::size_t take = GENERATE(1U, 2U, 3U);
  Script script({{.elements = {1, 2, 3, 4}, .status = 503}});
  const Seen seen = run(f.form, two_steps(2), script, f.options(), {.take = take});
  CHECK(seen.items.size() == take);
  CHECK(seen.end == "ok");
  CHECK(f.log.lines() == std::vector<std::string>{"AttemptStart #1 step=0 alpha", "AttemptSuccess #1 step=0 alpha"});
}

TEST_CASE("waits between the attempts of a stream are those of its schedule", "[stream]") {
  ALL_FORMS;
  const ExecutionPlan<Client> plan{
      {.name = "alpha", .provide = Client{1}, .attempts = 3, .schedule = planb::exponential(100ms)}};
  Script script({{.elements = {1}, .status = 503}, {.elements = {2}, .status = 503}, {.elements = {3}}});
  CHECK(run(f.form, plan, script, f.options()).items == Items{1, 2, 3});
  CHECK(f.clock.elapsed() == 300ms);
}

TEST_CASE("a timeout bounds the silence before the first element", "[stream][field-40]") {
  ALL_FORMS;
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1}, .timeout = 30s},
                                   {.name = "beta", .provide = Client{2}}};
  Script script({{.elements = {1}, .before_each = 1h}, {.elements = {2}}}, &f.clock);
  CHECK(run(f.form, plan, script, f.options()).items == Items{2});
  CHECK(f.clock.elapsed() == 30s);
  CHECK(f.log.lines()[1] == "AttemptFailure #1 step=0 alpha timed out: gave up waiting, next step");
}

TEST_CASE("a timeout bounds the silence between elements, not the stream", "[stream]") {
  ALL_FORMS;
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1}, .timeout = 30s},
                                   {.name = "beta", .provide = Client{2}}};
  Script script({{.elements = {1, 2, 3}, .before_each = 20s, .before_end = 31s}, {.elements = {4}}}, &f.clock);
  CHECK(run(f.form, plan, script, f.options()).items == Items{1, 2, 3, 4});
  CHECK(f.clock.elapsed() == 90s);
  CHECK(f.log.of<planb::AttemptFailure>().at(0).cause.kind() == planb::CauseKind::timeout);
}

TEST_CASE("a timeout does not count the consumer's time", "[stream]") {
  ALL_FORMS;
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1}, .timeout = 30s}};
  Script script({{.elements = {1, 2, 3}, .before_each = 29s}}, &f.clock);
  const Seen seen = run(f.form, plan, script, f.options(), {.clock = &f.clock, .pace = 1h});
  CHECK(seen.items == Items{1, 2, 3});
  CHECK(seen.end == "ok");
}

TEST_CASE("a failure after the consumer's time is not taken for a timeout", "[stream]") {
  ALL_FORMS;
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1}, .timeout = 30s}};
  Script script({{.elements = {1}, .status = 503}}, &f.clock);
  run(f.form, plan, script, f.options(), {.clock = &f.clock, .pace = 1h});
  CHECK(f.log.of<planb::AttemptFailure>().at(0).cause.kind() == planb::CauseKind::error);
}

TEST_CASE("the budget bounds the whole stream, the consumer's time included", "[stream]") {
  ALL_FORMS;
  planb::StreamOptions options = f.options();
  options.budget = 25s;
  Script script({{.elements = {1, 2, 3, 4, 5}}}, &f.clock);
  const Seen seen = run(f.form, two_steps(3), script, options, {.clock = &f.clock, .pace = 10s});
  CHECK(seen.items == Items{1, 2, 3});
  CHECK(seen.end == "plan deadline exceeded after partial output (3 elements): alpha: timed out");
  CHECK(f.log.names() == std::vector{"alpha"});
}

TEST_CASE("an element that comes when the budget is gone does not reach the consumer", "[stream]") {
  BOTH_FORMS;
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1}}};
  planb::StreamOptions options = f.options();
  options.budget = 25s;
  Script script({{.elements = {1, 2, 3}}}, &f.clock);
  SECTION("from a source that gives up in time") {
    script = Script({{.elements = {1, 2, 3}, .before_each = 10s}}, &f.clock);
    const Seen seen = run(f.form, plan, script, options);
    CHECK(seen.items == Items{1, 2});
    CHECK(seen.end.starts_with("plan deadline exceeded after partial output (2 elements): alpha: timed out"));
  }
  SECTION("from a source that does not look at the time") {
    std::vector<int> items;
    const auto clock = &f.clock;
    planb::StreamOptions quiet{.budget = 25s, .clock = clock};
    CHECK_THROWS_AS(planb::push_with_plan(
                        plan,
                        [clock](const Client&, auto& emit) {
                          for (int i = 1; i != 10; ++i) {
                            clock->advance(10s);
                            if (!emit(i)) return;
                          }
                        },
                        [&](int item) { items.push_back(item); }, quiet),
                    planb::DeadlineExceeded);
    CHECK(items == Items{1, 2});
  }
}

TEST_CASE("after output the time that is reserved for steps that cannot come is the stream's", "[stream]") {
  ALL_FORMS;
  const bool prevented = GENERATE(false, true);
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1}},
                                   {.name = "beta", .provide = Client{2}, .reserve = 3s}};
  planb::StreamOptions options = f.options(prevented ? PartialStream::prevent_fallback : PartialStream::allow);
  options.budget = 10s;
  Script script({{.elements = {1, 2, 3}, .before_each = 3s}, {.elements = {9}}}, &f.clock);
  const Seen seen = run(f.form, plan, script, options);
  CHECK(seen.items == (prevented ? Items{1, 2, 3} : Items{1, 2, 9}));
}

TEST_CASE("an element later than the timeout is an element all the same", "[stream]") {
  planb::testing::VirtualClock clock;
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1}, .timeout = 30s}};
  std::vector<int> items;
  planb::push_with_plan(
      plan,
      [&](const Client&, auto& emit, const planb::Attempt& attempt) {
        clock.advance(45s);
        CHECK(attempt.timeout() == 0s);
        emit(1);
        CHECK(attempt.timeout() == 30s);  // the silence is over, and a new one begins
        emit(2);
      },
      [&](int item) { items.push_back(item); }, {.clock = &clock});
  CHECK(items == Items{1, 2});
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("a source that heeds its token after a late element has run out of time", "[stream]") {
  planb::testing::VirtualClock clock;
  planb::testing::AttemptLog log;
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1}, .timeout = 30s}};
  CHECK_THROWS_AS(planb::push_with_plan(
                      plan,
                      [&](const Client&, auto& emit, const planb::Attempt& attempt) {
                        const planb::StopToken token = attempt.stop_token();
                        clock.advance(45s);
                        emit(1);
                        if (token.stop_requested()) throw planb::ProviderError("gave up");
                      },
                      [](int) {}, {.on_event = log, .clock = &clock}),
                  planb::PlanExhausted);
  CHECK(log.of<planb::AttemptFailure>().at(0).cause.kind() == planb::CauseKind::timeout);
}

TEST_CASE("a stop between two elements ends the stream: no further element, no further attempt", "[stream]") {
  BOTH_FORMS;
  std::stop_source stop;
  planb::StreamOptions options = f.options();
  options.stop = stop.get_token();
  auto gate = std::make_shared<CountingGate>();
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1}, .attempts = 3, .gate = gate},
                                   {.name = "beta", .provide = Client{2}}};
  Script script({{.elements = {1, 2, 3}}});
  std::string end;
  Items items;
  const auto consume = [&](int item) {
    items.push_back(item);
    if (item == 2) stop.request_stop();
  };
  try {
    if (f.form == Form::push) {
      planb::push_with_plan(plan, streams::Producer{script}, consume, options);
    } else {
      for (const int item : planb::stream_with_plan(plan, streams::Source{script}, options)) consume(item);
    }
  } catch (const planb::PlanInterrupted& error) {
    end = error.what();
  }
  CHECK(items == Items{1, 2});
  CHECK(end == "plan interrupted after partial output (2 elements): alpha: interrupted");
  CHECK(f.log.lines().back() == "AttemptFailure #1 step=0 alpha interrupted, end: interrupted");
  CHECK(gate->dropped == 1);
  CHECK(gate->failed == 0);
}

TEST_CASE("a stream's stop token fires at the end of a silence, and not while the consumer is busy", "[stream]") {
  BOTH_FORMS;
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1}, .timeout = 30s}};
  std::vector<std::string> seen;
  const auto wait = [&](planb::Duration time, const planb::StopToken& token) {
    f.clock.sleep_until(f.clock.now() + time, token);
    seen.push_back(token.stop_requested() ? "stopped" : "in time");
  };
  const auto consume = [&](int) { f.clock.advance(1h); };
  if (f.form == Form::push) {
    planb::push_with_plan(plan,
                          [&](const Client&, auto& emit, const planb::Attempt& attempt) {
                            const planb::StopToken token = attempt.stop_token();
                            for (int i = 0; i != 3; ++i) {
                              wait(29s, token);
                              emit(i);
                            }
                            wait(31s, token);
                          },
                          consume, {.clock = &f.clock});
  } else {
    auto stream = planb::stream_with_plan(plan,
                                          [&](const Client&, const planb::Attempt& attempt) {
                                            return std::views::iota(0, 4) |
                                                   std::views::transform([&wait, token = attempt.stop_token()](int i) {
                                                     wait(i == 3 ? 31s : 29s, token);
                                                     return i;
                                                   });
                                          },
                                          {.clock = &f.clock});
    for (const int i : stream) consume(i);
  }
  CHECK(seen == std::vector<std::string>{"in time", "in time", "in time", "stopped"});
}
#endif

TEST_CASE("each attempt of a stream feeds its gate once", "[stream]") {
  ALL_FORMS;
  auto gate = std::make_shared<CountingGate>();
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1}, .attempts = 2, .gate = gate}};
  SECTION("failed, then succeeded") {
    Script script({{.elements = {1}, .status = 503}, {.elements = {1}}});
    run(f.form, plan, script, f.options());
    CHECK(gate->admitted == 2);
    CHECK(gate->failed == 1);
    CHECK(gate->succeeded == 1);
  }
  SECTION("the consumer stopped early") {
    Script script({{.elements = {1, 2}}});
    run(f.form, plan, script, f.options(), {.take = 1});
    CHECK(gate->admitted == 1);
    CHECK(gate->succeeded == 1);
  }
  CHECK(gate->dropped == 0);
}

TEST_CASE("an attempt knows how many elements the consumer has", "[stream]") {
  BOTH_FORMS;
  std::vector<std::size_t> known;
  Items items;
  const ExecutionPlan<Client> plan = two_steps();
  // Resumes where the one before it broke off.
  if (f.form == Form::push) {
    planb::push_with_plan(
        plan,
        [&](const Client& client, auto& emit, const planb::Attempt& attempt) {
          known.push_back(attempt.delivered());
          for (int i = static_cast<int>(attempt.delivered()); i != 5; ++i) {
            if (client.id == 1 && i == 3) throw planb::ProviderError(503, "broke off");
            emit(i);
          }
          known.push_back(attempt.delivered());
        },
        [&](int item) { items.push_back(item); });
  } else {
    auto stream = planb::stream_with_plan(plan, [&](const Client& client, const planb::Attempt& attempt) {
      known.push_back(attempt.delivered());
      return std::views::iota(static_cast<int>(attempt.delivered()), 5) | std::views::transform([&client](int i) {
               if (client.id == 1 && i == 3) throw planb::ProviderError(503, "broke off");
               return i;
             });
    });
    for (const int item : stream) items.push_back(item);
    known.push_back(stream.report().delivered);
  }
  CHECK(items == Items{0, 1, 2, 3, 4});
  CHECK(known == std::vector<std::size_t>{0, 3, 5});
}

TEST_CASE("outside a stream nothing is delivered", "[stream]") {
  planb::run_with_plan(two_steps(),
                       [](const Client&, const planb::Attempt& attempt) { CHECK(attempt.delivered() == 0); });
}

TEST_CASE("scheduled entry holds for streams too", "[stream]") {
  ALL_FORMS;
  const ExecutionPlan<Client> plan{
      {.name = "alpha", .provide = Client{1}},
      {.name = "beta", .provide = Client{2}, .attempts = 2, .schedule = planb::spaced(1s)}};
  planb::StreamOptions options = f.options();
  options.entry = planb::StepEntry::scheduled;
  Script script({{.elements = {1}, .status = 503}, {.elements = {2}}});
  CHECK(run(f.form, plan, script, options).items == Items{1, 2});
  CHECK(f.clock.elapsed() == 1s);
}

TEST_CASE("a defect in an open stream leaves unchanged", "[stream]") {
  ALL_FORMS;
  Script script(std::vector<streams::Call>{});
  const Seen seen = run(f.form, two_steps(3), script, f.options());
  CHECK(seen.end == "defect: more calls than the test has");
  CHECK(f.log.of<planb::AttemptFailure>().at(0).next.run_end == planb::RunEnd::defect);
}

TEST_CASE("a million elements", "[stream]") {
  BOTH_FORMS;
  static constexpr int count = 1'000'000;
  const ExecutionPlan<Client> plan = two_steps();
  long long sum = 0;
  if (f.form == Form::push) {
    planb::push_with_plan(
        plan,
        [](const Client&, auto& emit) {
          for (int i = 0; i != count; ++i) emit(i);
        },
        [&](int i) { sum += i; });
  } else {
    for (const int i : planb::stream_with_plan(plan, [](const Client&) { return std::views::iota(0, count); }))
      sum += i;
  }
  CHECK(sum == 499'999'500'000);
}
