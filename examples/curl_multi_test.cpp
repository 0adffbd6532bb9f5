// The runs of curl_multi, over real sockets on this machine.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "curl_multi/fetcher.hpp"
#include "curl_multi/loopback.hpp"

using namespace std::chrono_literals;
using fetch::Endpoint;
using fetch::Fetcher;
using fetch::HttpError;
using fetch::LoopbackProvider;
using fetch::Reply;
using planb::AttemptFailure;
using planb::CauseKind;
using planb::ExecutionPlan;
using planb::RunEnd;
using planb::testing::AttemptLog;

namespace {

const fetch::Library library;

const auto classifier = planb::http_classifier<HttpError>(planb::ContentRefusal::next_step);

// What became of a run.
struct Result {
  bool done = false;
  std::optional<std::string> body;
  planb::RunReport report;
  AttemptLog log;

  [[nodiscard]] Fetcher::Done receiver() {
    return [this](const std::optional<std::string>& b, const planb::RunReport& r) {
      CHECK_FALSE(done);
      done = true;
      body = b;
      report = r;
    };
  }
};

// How many transfers curl has in hand.
int in_hand(const Fetcher& fetcher) {
  int running = 0;
  curl_multi_perform(fetcher.multi(), &running);
  return running;
}

}  // namespace

TEST_CASE("a provider that fails and recovers is asked again, when it says so", "[curl]") {
  const LoopbackProvider provider({{"/",
                                    {{.status = 429, .headers = "Retry-After-Ms: 30\r\nRetry-After: 1\r\n"},
                                     {.status = 503, .body = "overloaded", .headers = "RETRY-AFTER: 0\r\n"},
                                     {.body = "an answer"}}}});
  const auto plan =
      ExecutionPlan<Endpoint>{
          {.name = "one", .provide = Endpoint{provider.url()}, .attempts = 3, .schedule = planb::spaced(5ms)}}
          .with_classifier(classifier);
  Fetcher fetcher;
  Result result;
  fetcher.start(plan, "/", result.receiver(), {.on_event = result.log});
  CHECK(result.log.events().empty());
  fetcher.run();
  CHECK(result.body == "an answer");
  CHECK(result.report.answered_by() == "one");
  CHECK(result.log.names() == std::vector{"one", "one", "one"});

  const std::vector<AttemptFailure> failures = result.log.of<AttemptFailure>();
  const std::vector<planb::AttemptStart> starts = result.log.of<planb::AttemptStart>();
  REQUIRE(failures.size() == 2);
  CHECK(failures[0].cause.status() == 429);
  CHECK(failures[0].next.delay == 30ms);
  CHECK(starts[1].at - failures[0].at >= 30ms);
  CHECK(failures[1].cause.status() == 503);
  CHECK(failures[1].cause.message() == "overloaded");
  CHECK(failures[1].next.delay == 5ms);
  CHECK(fetcher.runs() == 0);
  CHECK(in_hand(fetcher) == 0);
}

TEST_CASE("a wait hint of an hour leaves the step at once", "[curl]") {
  const LoopbackProvider down({{"/", {{.status = 503, .headers = "Retry-After: 3600\r\n"}}}});
  const LoopbackProvider well({{"/", {{.body = "an answer"}}}});
  const auto plan = ExecutionPlan<Endpoint>{{.name = "down", .provide = Endpoint{down.url()}, .attempts = 5},
                                            {.name = "well", .provide = Endpoint{well.url()}}}
                        .with_classifier(classifier);
  Fetcher fetcher;
  Result result;
  fetcher.start(plan, "/", result.receiver(), {.on_event = result.log});
  fetcher.run();
  CHECK(result.body == "an answer");
  CHECK(result.log.names() == std::vector{"down", "well"});
  CHECK(result.report.steps[0].left == planb::LeaveReason::wait_too_long);
}

TEST_CASE("a provider that stalls is given up when the attempt's time is over", "[curl][field-17]") {
  const LoopbackProvider silent({{"/", {{.kind = Reply::stall}}}});
  const LoopbackProvider well({{"/", {{.body = "an answer"}}}});
  Fetcher fetcher;
  Result result;
  SECTION("its own time moves on") {
    const auto plan = ExecutionPlan<Endpoint>{{.name = "silent", .provide = Endpoint{silent.url()}, .timeout = 60ms},
                                              {.name = "well", .provide = Endpoint{well.url()}}}
                          .with_classifier(classifier);
    fetcher.start(plan, "/", result.receiver(), {.on_event = result.log});
    fetcher.run();
    CHECK(result.body == "an answer");
    CHECK(result.log.names() == std::vector{"silent", "well"});
    const AttemptFailure failure = result.log.of<AttemptFailure>().at(0);
    CHECK(failure.cause.kind() == CauseKind::timeout);
    REQUIRE(failure.cause.get_if<HttpError>() != nullptr);
    CHECK(failure.cause.get_if<HttpError>()->curl == CURLE_OPERATION_TIMEDOUT);
    CHECK(failure.duration >= 60ms);
  }
  SECTION("the budget ends the run") {
    const ExecutionPlan<Endpoint> plan{{.name = "silent", .provide = Endpoint{silent.url()}, .attempts = 2},
                                       {.name = "well", .provide = Endpoint{well.url()}}};
    fetcher.start(plan, "/", result.receiver(), {.on_event = result.log, .budget = 60ms});
    fetcher.run();
    CHECK_FALSE(result.body.has_value());
    CHECK(result.report.end == RunEnd::deadline);
    CHECK(result.log.names() == std::vector{"silent"});
    CHECK(result.report.last_cause()->kind() == CauseKind::timeout);
  }
  CHECK(in_hand(fetcher) == 0);
}

TEST_CASE("where nobody listens, there is an error without a status", "[curl][field-22]") {
  const std::string nobody = LoopbackProvider({}).url();  // its port is closed again
  const LoopbackProvider well({{"/", {{.body = "an answer"}}}});
  const auto plan = ExecutionPlan<Endpoint>{{.name = "nobody", .provide = Endpoint{nobody}, .attempts = 2},
                                            {.name = "well", .provide = Endpoint{well.url()}}}
                        .with_classifier(classifier);
  Fetcher fetcher;
  Result result;
  fetcher.start(plan, "/", result.receiver(), {.on_event = result.log});
  fetcher.run();
  CHECK(result.body == "an answer");
  CHECK(result.log.names() == std::vector{"nobody", "nobody", "well"});
  const planb::Cause cause = result.log.of<AttemptFailure>().at(0).cause;
  CHECK_FALSE(cause.status().has_value());
  CHECK(cause.get_if<HttpError>()->curl == CURLE_COULDNT_CONNECT);
}

TEST_CASE("an error that is not worth retrying ends the run", "[curl]") {
  const LoopbackProvider provider({{"/", {{.status = 400, .body = "bad request"}}}});
  const auto plan = ExecutionPlan<Endpoint>{{.name = "one", .provide = Endpoint{provider.url()}, .attempts = 3},
                                            {.name = "two", .provide = Endpoint{provider.url()}}}
                        .with_classifier(classifier);
  Fetcher fetcher;
  Result result;
  fetcher.start(plan, "/", result.receiver(), {.on_event = result.log});
  fetcher.run();
  CHECK(result.report.end == RunEnd::aborted);
  CHECK(result.report.to_string() == "plan aborted: one: 400 bad request");
}

TEST_CASE("runs of all fates are in flight at once, on one thread", "[curl][field-28]") {
  // Those that gather are answered when three of them are there: one after the other, they would never be.
  const LoopbackProvider first({{"/gather", {{.body = "gathered", .kind = Reply::gather}}},
                                {"/stall", {{.kind = Reply::stall}}},
                                {"/flaky", {{.status = 503}, {.body = "recovered"}}},
                                {"/down", {{.status = 503}}}},
                               3);
  const LoopbackProvider second({{"/stall", {{.body = "second"}}}, {"/down", {{.body = "second"}}}});
  const auto plan_with = [&](planb::Duration timeout) {
    return ExecutionPlan<Endpoint>{{.name = "first",
                                    .provide = Endpoint{first.url()},
                                    .attempts = 2,
                                    .schedule = planb::spaced(10ms),
                                    .timeout = timeout},
                                   {.name = "second", .provide = Endpoint{second.url()}}}
        .with_classifier(classifier.on_timeout({planb::Action::next_step}));
  };
  const auto patient = plan_with(20s);
  const auto hasty = plan_with(80ms);
  struct Expected {
    std::string path;
    std::string body;
    std::vector<std::string> names;
  };
  const std::vector<Expected> expected{
      {"/gather", "gathered", {"first"}},
      {"/stall", "second", {"first", "second"}},
      {"/flaky", "recovered", {"first", "first"}},
      {"/gather", "gathered", {"first"}},
      {"/down", "second", {"first", "first", "second"}},
      {"/gather", "gathered", {"first"}},
  };
  Fetcher fetcher;
  std::vector<Result> results(expected.size());
  const std::thread::id here = std::this_thread::get_id();
  bool one_thread = true;
  for (std::size_t i = 0; i != expected.size(); ++i) {
    fetcher.start(expected[i].path == "/stall" ? hasty : patient, expected[i].path, results[i].receiver(),
                  {.on_event = [&, log = results[i].log](const planb::Event& event) mutable {
                    one_thread = one_thread && std::this_thread::get_id() == here;
                    log(event);
                  }});
  }
  fetcher.run();
  for (std::size_t i = 0; i != expected.size(); ++i) {
    INFO(expected[i].path);
    CHECK(results[i].body == expected[i].body);
    CHECK(results[i].log.names() == expected[i].names);
  }
  CHECK(one_thread);
}

TEST_CASE("a breaker is shared by the runs, and lets them through again", "[curl][field-43]") {
  const LoopbackProvider first({{"/", {{.status = 503}, {.status = 503}, {.body = "recovered"}}}});
  const LoopbackProvider second({{"/", {{.body = "second"}}}});
  const auto breaker =
      std::make_shared<planb::CircuitBreaker>(planb::CircuitBreakerOptions{.failure_threshold = 2, .open_for = 20ms});
  const auto plan = ExecutionPlan<Endpoint>{{.name = "first", .provide = Endpoint{first.url()}, .gate = breaker},
                                            {.name = "second", .provide = Endpoint{second.url()}}}
                        .with_classifier(classifier);
  Fetcher fetcher;
  Result one;
  Result other;
  fetcher.start(plan, "/", one.receiver(), {.on_event = one.log});
  fetcher.start(plan, "/", other.receiver(), {.on_event = other.log});
  fetcher.run();
  CHECK(one.log.names() == std::vector{"first", "second"});
  CHECK(other.log.names() == std::vector{"first", "second"});
  CHECK(breaker->state() == planb::CircuitState::open);

  SECTION("while it is open, no call is made") {
    breaker->force_open();  // for longer than this test may take
    Result late;
    fetcher.start(plan, "/", late.receiver(), {.on_event = late.log});
    fetcher.run();
    CHECK(late.body == "second");
    CHECK(late.log.names() == std::vector{"second"});
    CHECK(late.report.steps[0].skipped == planb::SkipReason::gate_closed);
  }
  SECTION("a wait that outlasts the open period ends in a probe") {
    const LoopbackProvider flaky({{"/", {{.status = 503}, {.body = "recovered"}}}});
    breaker->reset();
    const auto patient =
        ExecutionPlan<Endpoint>{{.name = "flaky",
                                 .provide = Endpoint{flaky.url()},
                                 .attempts = 2,
                                 .schedule = planb::spaced(40ms),
                                 .gate = std::make_shared<planb::CircuitBreaker>(
                                     planb::CircuitBreakerOptions{.failure_threshold = 1, .open_for = 20ms})}};
    Result result;
    fetcher.start(patient, "/", result.receiver(), {.on_event = result.log});
    fetcher.run();
    CHECK(result.body == "recovered");
    CHECK(result.log.names() == std::vector{"flaky", "flaky"});
  }
}

TEST_CASE("a run that is dropped in mid-flight ends its attempt as interrupted, and its transfer", "[curl]") {
  const LoopbackProvider provider({{"/stall", {{.kind = Reply::stall}}}, {"/", {{.body = "an answer"}}}});
  const auto breaker = std::make_shared<planb::CircuitBreaker>(planb::CircuitBreakerOptions{.failure_threshold = 1});
  const ExecutionPlan<Endpoint> plan{
      {.name = "one", .provide = Endpoint{provider.url()}, .attempts = 2, .gate = breaker}};
  Result dropped;
  Result other;
  SECTION("by its number, while another goes on") {
    Fetcher fetcher;
    const int number = fetcher.start(plan, "/stall", dropped.receiver(), {.on_event = dropped.log});
    fetcher.turn(1ms);
    REQUIRE(in_hand(fetcher) == 1);
    fetcher.start(plan, "/", other.receiver(), {.on_event = other.log});
    fetcher.cancel(number);
    CHECK(in_hand(fetcher) == 0);
    fetcher.run();
    CHECK(other.body == "an answer");
  }
  SECTION("with everything") {
    Fetcher fetcher;
    fetcher.start(plan, "/stall", dropped.receiver(), {.on_event = dropped.log});
    fetcher.turn(1ms);
    REQUIRE(in_hand(fetcher) == 1);
  }
  CHECK_FALSE(dropped.done);
  const std::vector<AttemptFailure> failures = dropped.log.of<AttemptFailure>();
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].cause.kind() == CauseKind::interrupted);
  CHECK(failures[0].next.run_end == RunEnd::interrupted);
  CHECK(dropped.log.events().size() == 2);
  CHECK(breaker->state() == planb::CircuitState::closed);
}

TEST_CASE("a run that is over may start another, and cancel one", "[curl]") {
  const LoopbackProvider provider({{"/stall", {{.kind = Reply::stall}}}, {"/", {{.body = "an answer"}}}});
  const ExecutionPlan<Endpoint> plan{{.name = "one", .provide = Endpoint{provider.url()}}};
  Fetcher fetcher;
  Result stalled;
  Result second;
  const int number = fetcher.start(plan, "/stall", stalled.receiver(), {.on_event = stalled.log});
  fetcher.start(plan, "/", [&](const std::optional<std::string>&, const planb::RunReport&) {
    fetcher.cancel(number);
    fetcher.start(plan, "/", second.receiver());
  });
  fetcher.run();
  CHECK(second.body == "an answer");
  CHECK_FALSE(stalled.done);
  CHECK(stalled.log.of<AttemptFailure>().at(0).cause.kind() == CauseKind::interrupted);
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("a stop from another thread ends a run at once", "[curl][field-11]") {
  const LoopbackProvider provider({{"/stall", {{.kind = Reply::stall}}}, {"/down", {{.status = 503}}}});
  const ExecutionPlan<Endpoint> plan{
      {.name = "one", .provide = Endpoint{provider.url()}, .attempts = 2, .schedule = planb::spaced(1h)},
      {.name = "two", .provide = Endpoint{provider.url()}}};
  std::stop_source stop;
  std::promise<void> moment;
  std::thread stopper([&] {
    moment.get_future().wait();
    stop.request_stop();
  });
  Fetcher fetcher;
  Result result;
  planb::RunOptions options{.stop = stop.get_token()};
  SECTION("inside an attempt") {
    options.on_event = [&, log = result.log](const planb::Event& event) mutable {
      log(event);
      if (event.get_if<planb::AttemptStart>() != nullptr) moment.set_value();
    };
    fetcher.start(plan, "/stall", result.receiver(), options);
    fetcher.run();
    CHECK(result.report.last_cause()->kind() == CauseKind::interrupted);
  }
  SECTION("in a wait") {
    options.on_event = [&, log = result.log](const planb::Event& event) mutable {
      log(event);
      if (event.get_if<AttemptFailure>() != nullptr) moment.set_value();
    };
    fetcher.start(plan, "/down", result.receiver(), options);
    fetcher.run();
  }
  stopper.join();
  CHECK(result.report.end == RunEnd::interrupted);
  CHECK(result.log.names() == std::vector{"one"});
  CHECK(in_hand(fetcher) == 0);
}
#endif
