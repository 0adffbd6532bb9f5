// planb without exceptions and RTTI: plans over callables that return their errors. Built with -fno-exceptions
// -fno-rtti.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../results.hpp"
#include "check.hpp"

#if __has_include(<tl/expected.hpp>)
#include <tl/expected.hpp>
#endif

#if defined(__unix__)
#include "last_words.hpp"
#endif

#if PLANB_HAS_EXCEPTIONS || PLANB_HAS_RTTI
#error "build this with -fno-exceptions -fno-rtti"
#endif

using namespace std::chrono_literals;
using planb::Cause;
using planb::CauseKind;
using planb::ExecutionPlan;
using planb::run_with_plan;
using planb::RunEnd;
using planb::try_run_with_plan;
using results::Fault;

namespace {

struct Client {
  int id = 0;
};

// An error that can be made from PlanError, as run_with_plan asks for here.
struct ApiError {
  explicit ApiError(int s, std::string text = "down") : status(s), message(std::move(text)) {}
  explicit ApiError(const planb::PlanError& error) : end(error.end()), message(error.what()) {}

  int status = 0;
  std::optional<RunEnd> end = std::nullopt;
  std::string message;
};

using Result = results::Outcome<int, ApiError>;

// The client's number says in which step it answers; the others give 500 + their number.
auto answers_at(int step) {
  return [step](Client& client) -> Result {
    if (client.id != step) return ApiError(500 + client.id);
    return client.id;
  };
}

ExecutionPlan<Client> three_steps() {
  return {{.name = "one", .provide = Client{1}, .attempts = 2, .schedule = planb::exponential(100ms)},
          {.name = "two", .provide = [] { return Client{2}; }},
          {.name = "three", .provide = [](const planb::Attempt& a) { return Client{a.step_index + 1}; }}};
}

void a_chain_of_returned_errors() {
  planb::testing::VirtualClock clock;
  const planb::testing::AttemptLog log;
  Result result = run_with_plan(three_steps(), answers_at(3), {.on_event = log, .clock = &clock});
  EXPECT(result.has_value() && *result == 3);
  EXPECT(log.names() == std::vector{"one", "one", "two", "three"});
  EXPECT(log.lines() == std::vector<std::string>{
                            "AttemptStart #1 step=0 one", "AttemptFailure #1 step=0 one 501 down, retry in 100 ms",
                            "AttemptStart #2 step=0 one", "AttemptFailure #2 step=0 one 501 down, next step",
                            "AttemptStart #3 step=1 two", "AttemptFailure #3 step=1 two 502 down, next step",
                            "AttemptStart #4 step=2 three", "AttemptSuccess #4 step=2 three"});
  EXPECT(clock.elapsed() == 100ms);
  for (const planb::AttemptFailure& failure : log.of<planb::AttemptFailure>()) {
    EXPECT(failure.cause.get_if<ApiError>() != nullptr);
    EXPECT(failure.cause.get_if<Fault>() == nullptr);
    EXPECT(failure.cause.exception() == nullptr);
  }
  EXPECT(run_with_plan(three_steps(), answers_at(1)).has_value());
}

void ends_of_a_run() {
  planb::testing::VirtualClock clock;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}}, {.name = "two", .provide = Client{2}}};
  Result exhausted = run_with_plan(plan, answers_at(0));
  EXPECT(exhausted.error().end == RunEnd::exhausted);
  EXPECT(exhausted.error().message == "plan exhausted: one: 501 down; two: 502 down");

  Result original = run_with_plan(plan, answers_at(0), {.failure = planb::FailureStyle::original});
  EXPECT(!original.error().end && original.error().status == 502);

  const auto slow = [&](Client&) -> Result {
    clock.advance(1h);
    return ApiError(504);
  };
  EXPECT(run_with_plan(plan, slow, {.budget = 1s, .clock = &clock}).error().end == RunEnd::deadline);

  const ExecutionPlan<Client> aborting{
      {.name = "one",
       .provide = Client{1},
       .classify =
           [](const ApiError& e) {
             return planb::Verdict{e.status == 501 ? planb::Action::abort : planb::Action::retry};
           }},
      {.name = "two", .provide = Client{2}}};
  EXPECT(run_with_plan(aborting, answers_at(2)).error().end == RunEnd::aborted);

#if PLANB_HAS_STOP_TOKEN
  std::stop_source stop;
  const auto stopping = [&](Client&) -> Result {
    stop.request_stop();
    return ApiError(500);
  };
  EXPECT(run_with_plan(plan, stopping, {.stop = stop.get_token()}).error().end == RunEnd::interrupted);
  EXPECT(run_with_plan(plan, answers_at(1), {.stop = stop.get_token()}).error().end == RunEnd::interrupted);
#endif
}

void results_and_reports() {
  const auto good = try_run_with_plan(three_steps(), answers_at(2));
  EXPECT(good.has_value() && good.value() == 2);
  EXPECT(good.report().answered_by() == "two");
  EXPECT(good.report().steps.size() == 2);
  EXPECT(good.report().steps[0].cause->status() == 501);

  // Errors that know nothing of plans are fine here.
  const auto statuses = try_run_with_plan(
      three_steps(), [](Client& c) -> results::StatusOr<std::string> { return results::Status(500 + c.id, "no"); });
  EXPECT(!statuses.has_value());
  EXPECT(statuses.error().end() == RunEnd::exhausted);
  EXPECT(statuses.report().last_cause()->get_if<results::Status>()->status() == 503);

  const auto plain = try_run_with_plan(three_steps(), [](Client& c) { return std::to_string(c.id); });
  EXPECT(plain.value() == "1");
  const auto nothing = try_run_with_plan(three_steps(), [](Client&) {});
  EXPECT(nothing.has_value());
  EXPECT(run_with_plan(three_steps(), [](Client& c) { return c.id; }) == 1);
}

void predicates_and_factories() {
  std::vector<int> asked;
  const ExecutionPlan<Client> plan{
      {.name = "broken", .provide = []() -> results::Outcome<Client, ApiError> { return ApiError(503, "no client"); }},
      {.name = "one",
       .provide = Client{1},
       .attempts = 5,
       .retry_while =
           [&](const ApiError& e) {
             asked.push_back(e.status);
             return asked.size() < 3;
           }},
      {.name = "other", .provide = Client{2}, .enter_when = [](const Fault&) { return true; }},
      {.name = "three", .provide = Client{3}, .enter_when = [](const Cause& c) { return c.status() == 501; }}};
  const planb::testing::AttemptLog log;
  EXPECT(run_with_plan(plan, answers_at(3), {.on_event = log}).has_value());
  EXPECT(log.names() == std::vector{"broken", "one", "one", "one", "three"});
  EXPECT(asked == std::vector<int>{501, 501, 501});
  EXPECT(log.of<planb::StepSkipped>().size() == 1);
  EXPECT(log.of<planb::AttemptFailure>()[0].cause.message() == "no client");
}

void refused_values() {
  const planb::testing::AttemptLog log;
  const auto fn = planb::accepting(answers_at(1), [](int) { return false; });
  const ExecutionPlan<Client> plan{{.provide = Client{1}}};
  EXPECT(run_with_plan(plan, fn, {.on_event = log}).error().end == RunEnd::exhausted);
  EXPECT(log.of<planb::AttemptFailure>()[0].cause.kind() == CauseKind::rejected);
}

void one_resource() {
  int calls = 0;
  const auto fn = [&]() -> Result {
    if (++calls < 3) return ApiError(503);
    return calls;
  };
  EXPECT(*planb::retry({.attempts = 3}, fn) == 3);
  calls = 0;
  EXPECT(planb::retry({.attempts = 2}, fn).error().status == 503);
}

void a_run_by_hand() {
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}}, {.name = "two", .provide = Client{2}}};
  planb::PlanRun<Client> run(plan);
  planb::ContextSlot<Client> context;
  EXPECT(run.next() == planb::RunPhase::attempt);
  EXPECT(run.provide(context) && context->id == 1);
  run.fail(Cause::of(ApiError(503)));
  EXPECT(run.next() == planb::RunPhase::attempt);
  EXPECT(run.provide(context) && context->id == 2);
  run.succeed();
  EXPECT(run.next() == planb::RunPhase::over);
  EXPECT(run.report().answered_by() == "two");
}

void metadata() {
  std::vector<planb::Metadata> seen;
  const ExecutionPlan<Client> plan{{.provide = Client{1}}, {.provide = Client{2}}};
  const auto fn = [&](Client& client) {
    seen.push_back(planb::CurrentMetadata::get());
    return answers_at(2)(client);
  };
  EXPECT(run_with_plan(plan, fn).has_value());
  EXPECT(seen == std::vector<planb::Metadata>{{1, 0}, {2, 1}});
  EXPECT(planb::CurrentMetadata::get() == planb::Metadata{});
}

void refused_plans() {
  EXPECT(!ExecutionPlan<Client>::make({}).has_value());
  const auto refused = ExecutionPlan<Client>::make({{.name = "one", .provide = Client{1}, .attempts = 0}});
  EXPECT(!refused.has_value());
  EXPECT(refused.error().message().find("step \"one\"") != std::string::npos);
  const auto made = ExecutionPlan<Client>::make({{.name = "one", .provide = Client{1}}});
  EXPECT(made.has_value() && run_with_plan(*made, answers_at(1)).has_value());
  EXPECT(planb::parse_schedule("exponential(20ms)").has_value());
  EXPECT(!planb::parse_schedule("exponential(").has_value());
}

void the_test_kit() {
  using planb::testing::Behaviour;
  const planb::testing::FakeProvider fake("fake", {Behaviour::status(503), Behaviour::value("text")});
  const ExecutionPlan<planb::testing::FakeProvider> plan{{.name = "fake", .provide = fake, .attempts = 2}};
  const auto result =
      try_run_with_plan(plan, [](planb::testing::FakeProvider& p) -> results::Outcome<std::string, ApiError> {
        planb::testing::FakeProvider::Reply reply = p.reply("hello");
        if (!reply.value) return ApiError(reply.status, reply.message);
        return *reply.value;
      });
  EXPECT(result.has_value() && *result == "text");
  EXPECT(fake.calls() == 2);
}

#if __has_include(<tl/expected.hpp>)
void with_tl_expected() {
  using R = tl::expected<std::string, ApiError>;
  const auto fn = [](Client& c) -> R {
    if (c.id == 1) return tl::unexpected(ApiError(503));
    return std::to_string(c.id);
  };
  const ExecutionPlan<Client> one{{.provide = Client{1}}};
  EXPECT(run_with_plan(three_steps(), fn).value_or("") == "2");
  EXPECT(run_with_plan(one, fn).error().end == RunEnd::exhausted);
  EXPECT(try_run_with_plan(one, fn).error().end() == RunEnd::exhausted);
}
#else
void with_tl_expected() {}
#endif

#if defined(__unix__)
// What `fn` writes to stderr before it ends the program by abort().
template <class Fn>
std::string last_words(Fn fn) {
  const check::LastWords words = check::last_words(fn);
  return words.aborted ? words.text : "did not abort: " + words.text;
}

void what_cannot_be_told_ends_the_program() {
  // The constructor says what make() says.
  const std::string refusal = ExecutionPlan<Client>::make({}).error().message();
  EXPECT(last_words([] { const ExecutionPlan<Client> plan(std::vector<planb::Step<Client>>{}); }) ==
         "planb: " + refusal + "\n");

  // A callable without an error of its own can fail by its factory only.
  const ExecutionPlan<Client> broken{
      {.name = "broken", .provide = []() -> results::Outcome<Client, ApiError> { return ApiError(503); }}};
  EXPECT(last_words([&] { run_with_plan(broken, [](Client&) {}); }) == "planb: plan exhausted: broken: 503 down\n");
  const auto failed = try_run_with_plan(broken, [](Client&) {});
  EXPECT(last_words([&] { failed.value(); }) == "planb: plan exhausted: broken: 503 down\n");

  // Misuse of a run by hand.
  planb::PlanRun<Client> run(broken);
  EXPECT(last_words([&] { run.succeed(); }).find("planb: succeed() was called") == 0);
}
#else
void what_cannot_be_told_ends_the_program() {}
#endif

}  // namespace

int main() {
  a_chain_of_returned_errors();
  ends_of_a_run();
  results_and_reports();
  predicates_and_factories();
  refused_values();
  one_resource();
  a_run_by_hand();
  metadata();
  refused_plans();
  the_test_kit();
  with_tl_expected();
  what_cannot_be_told_ends_the_program();
  return check::result();
}
