#include <planb/error/accepting.hpp>

#include "catch.hpp"
#include "results.hpp"

#include <planb/run.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::accepting;
using planb::Action;
using planb::AttemptFailure;
using planb::AttemptStart;
using planb::AttemptSuccess;
using planb::Cause;
using planb::CauseKind;
using planb::ExecutionPlan;
using planb::FailureStyle;
using planb::PlanAborted;
using planb::PlanExhausted;
using planb::ProviderError;
using planb::RejectedValue;
using planb::RunEnd;
using planb::Verdict;
using planb::testing::AttemptLog;
using planb::testing::VirtualClock;
using results::Fault;
using results::Outcome;
using results::Status;
using results::StatusOr;
using Names = std::vector<std::string>;

// What a model gives back.
struct Completion {
  std::string text;
  std::string finish = "stop";

  [[nodiscard]] bool has_text() const { return !text.empty(); }
};

// A plan whose contexts are the answers themselves.
template <class T>
ExecutionPlan<T> answers(std::vector<T> list) {
  std::vector<planb::Step<T>> steps;
  for (T& answer : list) {
    steps.push_back({.name = "step" + std::to_string(steps.size()), .provide = std::move(answer)});
  }
  return ExecutionPlan<T>(std::move(steps));
}

const auto give = [](auto& answer) { return answer; };
const auto not_empty = [](const std::string& text) { return !text.empty(); };

}  // namespace

// --- Values
// -----------------------------------------------------------------------------------------------------------

TEST_CASE("without a check an empty answer is a success", "[field-23]") {
  const AttemptLog log;
  CHECK(run_with_plan(answers<std::string>({"", "full"}), give, {.on_event = log}).empty());
  CHECK(log.names() == Names{"step0"});
}

TEST_CASE("with a check an empty answer fails the attempt, and the next step is tried", "[field-23]") {
  const auto plan = answers<std::string>({"", "full"});
  const AttemptLog log;
  CHECK(run_with_plan(plan, accepting(give, not_empty)) == "full");
  CHECK(run_with_plan(plan, accepting(give, not_empty), {.on_event = log}) == "full");
  CHECK(log.names() == Names{"step0", "step1"});
  const auto result = try_run_with_plan(plan, accepting(give, not_empty));
  CHECK(*result == "full");
  CHECK(result.report().to_string() == "step0: value rejected; step1: answered");
}

TEST_CASE("a finish reason, or a body that says error, fails the attempt where the check says so", "[field-23]") {
  const auto plan = answers<Completion>({{"I cannot help", "refusal"}, {"{\"error\":1}", "error"}, {"4", "stop"}});
  const auto finished = [](const Completion& completion) { return completion.finish == "stop"; };
  const AttemptLog log;
  CHECK(run_with_plan(plan, accepting(give, finished), {.on_event = log}).text == "4");
  CHECK(log.names() == Names{"step0", "step1", "step2"});
}

TEST_CASE("the refused value is in the cause", "[field-23]") {
  const AttemptLog log;
  const auto plan = answers<Completion>({{"half an answer", "length"}});
  const auto result =
      try_run_with_plan(plan, accepting(give, [](const Completion& completion) { return completion.finish == "stop"; }),
                        {.on_event = log});
  REQUIRE_FALSE(result.has_value());
  const Cause* const cause = result.report().last_cause();
  REQUIRE(cause != nullptr);
  CHECK(cause->kind() == CauseKind::rejected);
  REQUIRE(cause->get_if<Completion>() != nullptr);
  CHECK(cause->get_if<Completion>()->text == "half an answer");
  CHECK(cause->get_if<ProviderError>() == nullptr);
  const std::vector<AttemptFailure> failures = log.of<AttemptFailure>();
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].cause.kind() == CauseKind::rejected);
  REQUIRE(failures[0].cause.get_if<Completion>() != nullptr);
  CHECK(failures[0].cause.get_if<Completion>()->finish == "length");
}

TEST_CASE("predicates of the plan are asked about a refused value as about an error", "[field-23]") {
  std::vector<std::string> asked;
  const ExecutionPlan<std::string> plan{
      {.name = "alpha",
       .provide = std::string("no"),
       .attempts = 2,
       .schedule = planb::spaced(3s),
       .retry_while =
           [&asked](const std::string& value) {
             asked.push_back("retry after " + value);
             return true;
           },
       .classify =
           [&asked](const Cause& cause) {
             asked.push_back("classify " + cause.message());
             return Verdict{};
           }},
      {.name = "beta",
       .provide = std::string("yes"),
       .enter_when = [](const std::string& value) { return value == "no"; }},
  };
  VirtualClock clock;
  const auto check = [](const std::string& value) { return value == "yes"; };
  CHECK(run_with_plan(plan, accepting(give, check), {.clock = &clock}) == "yes");
  CHECK(asked ==
        Names{"classify value rejected: no", "retry after no", "classify value rejected: no", "retry after no"});
  CHECK(clock.elapsed() == 3s);
}

TEST_CASE("a check may take the value by any type that it converts to, or be a member of it") {
  const auto plan = answers<Completion>({{""}, {"full"}});
  CHECK(run_with_plan(plan, accepting(give, &Completion::has_text)).text == "full");
  const auto texts = answers<std::string>({"", "full"});
  CHECK(run_with_plan(texts, accepting(give, [](std::string_view text) { return !text.empty(); })) == "full");
  CHECK(run_with_plan(texts, accepting(give, [](const auto& text) { return text.size(); })) == "full");  // as a bool
}

TEST_CASE("a check may keep state, and is asked once for each value") {
  int asked = 0;
  const auto third = [&asked](int) { return ++asked == 3; };
  CHECK(run_with_plan(answers<int>({1, 2, 3}), accepting(give, third)) == 3);
  CHECK(asked == 3);
  auto counting = [n = 0](int) mutable { return ++n == 2; };
  CHECK(run_with_plan(answers<int>({1, 2, 3}), accepting(give, counting)) == 2);
}

TEST_CASE("a check is not asked about errors") {
  int asked = 0;
  const auto check = [&asked](int) { return ++asked != 0; };
  const auto call = [](int& i) {
    if (i == 1) throw ProviderError(503, "busy");
    return i;
  };
  CHECK(run_with_plan(answers<int>({1, 2}), accepting(call, check)) == 2);
  CHECK(asked == 1);
}

TEST_CASE("a checked callable may take its Attempt, and run under retry()") {
  const auto by_attempt = [](int&, const planb::Attempt& attempt) { return attempt.attempt; };
  CHECK(run_with_plan(answers<int>({0, 0, 0}), accepting(by_attempt, [](int n) { return n == 3; })) == 3);
  int calls = 0;
  const auto count = [&calls] { return ++calls; };
  CHECK(planb::retry({.attempts = 5}, accepting(count, [](int n) { return n == 4; })) == 4);
  CHECK(calls == 4);
}

TEST_CASE("a checked callable may be kept, copied and used again") {
  const auto checked = accepting(give, not_empty);
  auto copy = checked;
  const auto plan = answers<std::string>({"", "full"});
  CHECK(run_with_plan(plan, checked) == "full");
  CHECK(run_with_plan(plan, copy) == "full");
  CHECK(run_with_plan(plan, std::as_const(copy)) == "full");
}

TEST_CASE("the context is still there while the value is checked, and gone before the failure is told", "[field-31]") {
  int alive = 0;
  struct Client {
    int* alive;
    explicit Client(int* counter) : alive(counter) { ++*alive; }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client() { --*alive; }
  };
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = [&alive] { return Client(&alive); }}};
  int at_check = -1;
  int at_failure = -1;
  const auto check = [&](int) {
    at_check = alive;
    return false;
  };
  const auto on_failure = [&](const AttemptFailure&) { at_failure = alive; };
  CHECK_THROWS_AS(run_with_plan(plan, accepting([](Client&) { return 1; }, check), {.on_event = on_failure}),
                  PlanExhausted);
  CHECK(at_check == 1);
  CHECK(at_failure == 0);
}

// --- Failure styles
// ---------------------------------------------------------------------------------------------------

TEST_CASE("all values refused: exhausted, with the last one nested") {
  try {
    run_with_plan(answers<std::string>({"a", "b"}), accepting(give, [](const std::string&) { return false; }));
    FAIL_CHECK("no exception");
  } catch (const PlanExhausted& error) {
    CHECK(std::string(error.what()) == "plan exhausted: step0: value rejected: a; step1: value rejected: b");
    try {
      std::rethrow_if_nested(error);
      FAIL_CHECK("nothing nested");
    } catch (const RejectedValue& rejected) {
      REQUIRE(rejected.cause().get_if<std::string>() != nullptr);
      CHECK(*rejected.cause().get_if<std::string>() == "b");
    }
  }
}

TEST_CASE("in the original style a refused value is thrown as RejectedValue") {
  try {
    run_with_plan(answers<std::string>({"a", "b"}), accepting(give, [](const std::string&) { return false; }),
                  {.failure = FailureStyle::original});
    FAIL_CHECK("no exception");
  } catch (const RejectedValue& rejected) {
    CHECK(rejected.cause().kind() == CauseKind::rejected);
    CHECK(*rejected.cause().get_if<std::string>() == "b");
    CHECK(std::string(rejected.what()) == "value rejected: b");
  }
  CHECK_THROWS_AS(planb::retry({.attempts = 2}, accepting([] { return 1; }, [](int) { return false; })), RejectedValue);
}

TEST_CASE("what was refused does not change how a value is described", "[field-27]") {
  const auto rejected = [](auto value) {
    const auto result =
        try_run_with_plan(answers<decltype(value)>({value}), accepting(give, [](const auto&) { return false; }));
    return result.report().last_cause()->message();
  };
  CHECK(rejected(std::string("500 timeout")) == "value rejected: 500 timeout");
  CHECK(rejected(std::string()) == "value rejected");
  CHECK(rejected(7) == "value rejected: 7");
  CHECK(rejected(Completion{"text"}) == "value rejected");
}

// --- Verdicts
// ---------------------------------------------------------------------------------------------------------

TEST_CASE("a check may answer with a verdict, which stands before the classifier's") {
  struct Case {
    std::optional<Verdict> verdict;
    Names names;
    RunEnd end;
  };
  const Case cases[] = {
      {std::nullopt, {"alpha"}, RunEnd::succeeded},
      {Verdict{Action::retry}, {"alpha", "alpha", "beta"}, RunEnd::succeeded},
      {Verdict{Action::next_step}, {"alpha", "beta"}, RunEnd::succeeded},
      {Verdict{Action::next_step, true}, {"alpha", "beta"}, RunEnd::succeeded},
      {Verdict{Action::next_guarded}, {"alpha", "gamma"}, RunEnd::succeeded},
      {Verdict{Action::abort}, {"alpha"}, RunEnd::aborted},
      {Verdict{Action::abort, true}, {"alpha"}, RunEnd::aborted},
  };
  for (const Case& c : cases) {
    CAPTURE(c.verdict ? static_cast<int>(c.verdict->action) : -1);
    int classified = 0;
    const ExecutionPlan<std::string> plan{
        {.name = "alpha",
         .provide = std::string("refusal"),
         .attempts = 2,
         .classify =
             [&classified](const Cause&) {
               ++classified;
               return Verdict{Action::next_step};
             }},
        {.name = "beta", .provide = std::string("beta")},
        {.name = "gamma", .provide = std::string("gamma"), .enter_when = [](const Cause& cause) {
           return cause.kind() == CauseKind::rejected;
         }}};
    const auto check = [&c](const std::string& text) {
      return text == "refusal" ? c.verdict : std::optional<Verdict>();
    };
    const AttemptLog log;
    const auto result = try_run_with_plan(plan, accepting(give, check), {.on_event = log});
    CHECK(log.names() == c.names);
    CHECK(result.report().end == c.end);
    CHECK(classified == 0);
    if (c.verdict) {
      const auto failures = log.of<AttemptFailure>();
      REQUIRE_FALSE(failures.empty());
      CHECK(failures[0].verdict == *c.verdict);
      CHECK(result.report().steps[0].alert == c.verdict->alert);
    }
  }
}

TEST_CASE("a check that gives a plain Verdict accepts nothing") {
  const auto check = [](const std::string&) { return Verdict{Action::next_step}; };
  const AttemptLog log;
  CHECK_THROWS_AS(run_with_plan(answers<std::string>({"a", "b"}), accepting(give, check), {.on_event = log}),
                  PlanExhausted);
  CHECK(log.names() == Names{"step0", "step1"});
}

TEST_CASE("a check that says only no leaves the verdict to the classifier") {
  std::vector<CauseKind> kinds;
  const ExecutionPlan<std::string> plan{{.name = "alpha",
                                         .provide = std::string(),
                                         .attempts = 3,
                                         .classify =
                                             [&kinds](const Cause& cause) {
                                               kinds.push_back(cause.kind());
                                               return Verdict{Action::abort, true};
                                             }},
                                        {.name = "beta", .provide = std::string("full")}};
  CHECK_THROWS_AS(run_with_plan(plan, accepting(give, not_empty)), PlanAborted);
  CHECK(kinds == std::vector{CauseKind::rejected});
}

// --- Expected-likes
// ---------------------------------------------------------------------------------------------------

TEST_CASE("the value inside an expected-like is what is checked, and the callable's type comes back") {
  using R = Outcome<std::string, Fault>;
  const auto plan = answers<int>({0, 1, 2});
  int asked = 0;
  const auto check = [&asked](const std::string& text) {
    ++asked;
    return !text.empty();
  };
  const auto call = [](int& i) -> R {
    if (i == 0) return Fault{7};
    return std::string(i == 1 ? "" : "a text that is too long for the room inside a string");
  };
  const AttemptLog log;
  R result = run_with_plan(plan, accepting(call, check), {.on_event = log});
  REQUIRE(result.has_value());
  CHECK(*result == "a text that is too long for the room inside a string");
  CHECK(asked == 2);
  const auto failures = log.of<AttemptFailure>();
  REQUIRE(failures.size() == 2);
  CHECK(failures[0].cause.kind() == CauseKind::error);
  CHECK(failures[0].cause.get_if<Fault>() != nullptr);
  CHECK(failures[1].cause.kind() == CauseKind::rejected);
  CHECK(failures[1].cause.get_if<std::string>() != nullptr);
}

TEST_CASE("a StatusOr-like is checked in the same way") {
  using R = StatusOr<std::string>;
  const auto call = [](int& i) -> R {
    if (i == 0) return Status(503, "busy");
    return std::string(i == 1 ? "" : "full");
  };
  R result = run_with_plan(answers<int>({0, 1, 2}), accepting(call, not_empty));
  REQUIRE(result.ok());
  CHECK(*result == "full");
  const auto tried = try_run_with_plan(answers<int>({1, 2}), accepting(call, not_empty));
  CHECK(*tried == "full");
}

namespace {

// A result type of the user's own, whose traits give value and error by value.
struct Parcel {
  std::string content;
  int fault = 0;
};

}  // namespace

template <>
struct planb::result_traits<Parcel> {
  static bool has_value(const Parcel& parcel) { return parcel.fault == 0; }
  template <class P>
  static int error(P&& parcel) {
    return parcel.fault;
  }
  template <class P>
  static std::string value(P&& parcel) {
    return std::forward<P>(parcel).content;
  }
};

TEST_CASE("traits that give the value by value: what was checked is what comes back, whole") {
  const auto call = [](int& i) {
    return Parcel{i == 0 ? "" : "a text that is too long for the room inside a string", 0};
  };
  const AttemptLog log;
  const Parcel parcel = run_with_plan(answers<int>({0, 1}), accepting(call, not_empty), {.on_event = log});
  CHECK(parcel.content == "a text that is too long for the room inside a string");
  CHECK(log.names() == Names{"step0", "step1"});
}

// --- Move-only values and references
// ----------------------------------------------------------------------------------

namespace {

// A text, whether it is a value or an error.
struct Note {
  std::string text;
  bool failed = false;
};

}  // namespace

template <>
struct planb::result_traits<Note> {
  static bool has_value(const Note& note) { return !note.failed; }
  static std::string error(const Note& note) { return note.text; }
  static std::string value(const Note& note) { return note.text; }
  static Note from_error(std::string text) { return {std::move(text), true}; }
};

TEST_CASE("a refused value is not given back as the error, where errors are of its type") {
  const auto empty = [](const std::string& text) { return text.empty(); };
  const Note error = run_with_plan(answers<Note>({{"down", true}, {"refused"}}), accepting(give, empty));
  CHECK(error.failed);
  CHECK(error.text == "down");
  CHECK_THROWS_AS(run_with_plan(answers<Note>({{"refused"}}), accepting(give, empty)), PlanExhausted);
  CHECK_THROWS_AS(run_with_plan(answers<Note>({{"refused"}}), accepting(give, empty),
                                {.failure = FailureStyle::original}),
                  RejectedValue);

  using Pointed = Outcome<int, std::exception_ptr>;
  const Pointed down(std::make_exception_ptr(Fault{7}));
  const auto positive = [](int i) { return i > 0; };
  Pointed pointed = run_with_plan(answers<Pointed>({down, Pointed(-1)}), accepting(give, positive));
  REQUIRE_FALSE(pointed.has_value());
  CHECK_THROWS_AS(std::rethrow_exception(pointed.error()), Fault);
}

TEST_CASE("a text that was thrown by pointer is not given back as a returned one") {
  const auto call = [](int& step) -> Note {
    if (step == 1) return {"returned", true};
    throw "thrown";
  };
  CHECK(run_with_plan(answers<int>({1, 2}), call).text == "returned");
  CHECK_THROWS_AS(run_with_plan(answers<int>({2}), call), PlanExhausted);
  const planb::RunOptions original{.failure = FailureStyle::original};
  CHECK(run_with_plan(answers<int>({1, 2}), call, original).text == "returned");
  CHECK_THROWS_AS(run_with_plan(answers<int>({2}), call, original), const char*);
}

TEST_CASE("a move-only value is checked in place, and moved out whole") {
  const auto call = [](int& i) { return std::make_unique<int>(i); };
  const auto check = [](const std::unique_ptr<int>& value) { return *value == 2; };
  const auto plan = answers<int>({1, 2});
  const std::unique_ptr<int> value = run_with_plan(plan, accepting(call, check));
  REQUIRE(value != nullptr);
  CHECK(*value == 2);
}

TEST_CASE("a refused move-only value is in the cause") {
  const auto call = [](int& i) { return std::make_unique<int>(i); };
  const auto never = [](const std::unique_ptr<int>&) { return false; };
  const auto result = try_run_with_plan(answers<int>({5}), accepting(call, never));
  REQUIRE_FALSE(result.has_value());
  const Cause* const cause = result.report().last_cause();
  REQUIRE(cause != nullptr);
  REQUIRE(cause->get_if<std::unique_ptr<int>>() != nullptr);
  CHECK(**cause->get_if<std::unique_ptr<int>>() == 5);
  CHECK_THROWS_AS(run_with_plan(answers<int>({5}), accepting(call, never), {.failure = FailureStyle::original}),
                  RejectedValue);
}

TEST_CASE("a reference comes back as the same object, and a refused one is copied into the cause") {
  std::string first = "first";
  std::string second = "second";
  const auto call = [&](int& i) -> std::string& { return i == 1 ? first : second; };
  const auto check = [&](const std::string& text) {
    CHECK((&text == &first || &text == &second));  // the object itself, not a copy
    return text == "second";
  };
  const AttemptLog log;
  std::string& got = run_with_plan(answers<int>({1, 2}), accepting(call, check), {.on_event = log});
  CHECK(&got == &second);
  CHECK(first == "first");  // not moved from
  REQUIRE(log.of<AttemptFailure>().size() == 1);
  const Cause cause = log.of<AttemptFailure>()[0].cause;
  REQUIRE(cause.get_if<std::string>() != nullptr);
  CHECK(*cause.get_if<std::string>() == "first");
  CHECK(cause.get_if<std::string>() != &first);
}

TEST_CASE("a value that cannot be moved is checked too, and a refused one leaves its kind") {
  struct Pinned {
    int id;
    explicit Pinned(int i) : id(i) {}
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;
  };
  Pinned one(1);
  Pinned two(2);
  const auto call = [&](int& i) -> Pinned& { return i == 1 ? one : two; };
  const AttemptLog log;
  const auto is_two = [](const Pinned& pinned) { return pinned.id == 2; };
  CHECK(&run_with_plan(answers<int>({1, 2}), accepting(call, is_two), {.on_event = log}) == &two);
  REQUIRE(log.of<AttemptFailure>().size() == 1);
  CHECK(log.of<AttemptFailure>()[0].cause.kind() == CauseKind::rejected);
  CHECK(log.of<AttemptFailure>()[0].cause.message() == "value rejected");
}

// --- Events
// -----------------------------------------------------------------------------------------------------------

TEST_CASE("a refused value gives the same events as an error", "[field-54]") {
  const ExecutionPlan<int> plan{{.name = "alpha", .provide = 1, .attempts = 2, .schedule = planb::spaced(2s)},
                                {.name = "beta", .provide = 2}};
  const auto shape = [&](const auto& fn) {
    VirtualClock clock;
    const AttemptLog log;
    run_with_plan(plan, fn, {.on_event = log, .clock = &clock});
    std::vector<std::string> shapes;
    const auto common = [](const char* kind, const auto& e) {
      return std::string(kind) + " " + std::to_string(e.attempt) + "/" + std::to_string(e.step_attempt) + "/" +
             std::to_string(e.step_index) + " " + e.step_name + " at " + std::to_string(e.at.time_since_epoch() / 1ms);
    };
    for (const planb::Event& event : log.events()) {
      event.visit(
          planb::overloaded{[&](const AttemptStart& e) { shapes.push_back(common("start", e)); },
                            [&](const AttemptSuccess& e) {
                              shapes.push_back(common("success", e) + " took " + std::to_string(e.duration / 1ms));
                            },
                            [&](const AttemptFailure& e) {
                              shapes.push_back(common("failure", e) + " took " + std::to_string(e.duration / 1ms) +
                                               " next " + std::to_string(static_cast<int>(e.next.kind)) + " " +
                                               std::to_string(static_cast<int>(e.next.reason)) + " " +
                                               std::to_string(e.next.delay / 1ms));
                            },
                            [&](const planb::StepSkipped&) { shapes.emplace_back("skipped"); }, [](const auto&) {}});
    }
    return shapes;
  };
  const auto throwing = [](int& i) {
    if (i == 1) throw ProviderError(503, "busy");
    return i;
  };
  const auto refused = shape(accepting([](int& i) { return i; }, [](int i) { return i == 2; }));
  CHECK(refused.size() == 6);
  CHECK(refused == shape(throwing));
}

// --- A check that throws
// ----------------------------------------------------------------------------------------------

TEST_CASE("a check that throws ends the run as aborted; what it threw is nested") {
  const auto check = [](const std::string&) -> bool { throw std::runtime_error("check"); };
  const AttemptLog log;
  const auto plan = answers<std::string>({"a", "b"});
  try {
    run_with_plan(plan, accepting(give, check), {.on_event = log});
    FAIL_CHECK("no exception");
  } catch (const PlanAborted& error) {
    try {
      std::rethrow_if_nested(error);
      FAIL_CHECK("nothing nested");
    } catch (const std::runtime_error& nested) {
      CHECK(std::string(nested.what()) == "check");
    }
  }
  CHECK(log.names() == Names{"step0"});
  REQUIRE(log.of<AttemptFailure>().size() == 1);
  CHECK(log.of<AttemptFailure>()[0].next.run_end == RunEnd::aborted);
  CHECK_THROWS_AS(run_with_plan(plan, accepting(give, check)), PlanAborted);
  CHECK_THROWS_AS(run_with_plan(plan, accepting(give, check), {.failure = FailureStyle::original}), std::runtime_error);
  CHECK(try_run_with_plan(plan, accepting(give, check)).error().end() == RunEnd::aborted);
}

TEST_CASE("a check's defect leaves unchanged, with its failure told") {
  const auto check = [](const std::string&) -> bool { throw planb::Defect("a bug"); };
  const AttemptLog log;
  const auto plan = answers<std::string>({"a", "b"});
  CHECK_THROWS_AS(run_with_plan(plan, accepting(give, check), {.on_event = log}), planb::Defect);
  REQUIRE(log.of<AttemptFailure>().size() == 1);
  CHECK(log.of<AttemptFailure>()[0].cause.kind() == CauseKind::defect);
  CHECK_THROWS_AS(try_run_with_plan(plan, accepting(give, check)), planb::Defect);
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("a stop during the check: the value that it accepts is a success, one that it refuses interrupted") {
  const bool accepted = GENERATE(true, false);
  std::stop_source stop;
  const auto check = [&](const std::string&) {
    stop.request_stop();
    return accepted;
  };
  const auto result =
      try_run_with_plan(answers<std::string>({"a", "b"}), accepting(give, check), {.stop = stop.get_token()});
  CHECK(result.has_value() == accepted);
  CHECK(result.report().end == (accepted ? RunEnd::succeeded : RunEnd::interrupted));
}
#endif
