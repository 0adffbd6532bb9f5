// An event handler that remembers.
#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using planb::ExecutionPlan;
using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using Strings = std::vector<std::string>;

const auto ask = [](const FakeProvider& provider) { return provider.complete(); };

ExecutionPlan<FakeProvider> alpha_beta_gamma() {
  return {{.name = "alpha", .provide = FakeProvider("alpha", {Behaviour::status(503)})},
          {.name = "beta", .provide = FakeProvider("beta", {Behaviour::status(429)})},
          {.name = "gamma", .provide = FakeProvider("gamma")}};
}

}  // namespace

TEST_CASE("names compares with a vector of strings of any kind", "[attempt_log]") {
  const AttemptLog log;
  planb::run_with_plan(alpha_beta_gamma(), ask, {.on_event = log});
  const auto names = log.names();

  CHECK(names == std::vector{"alpha", "beta", "gamma"});
  CHECK(names == std::vector<std::string>{"alpha", "beta", "gamma"});
  CHECK(names == std::vector<std::string_view>{"alpha", "beta", "gamma"});
  CHECK(std::vector{"alpha", "beta", "gamma"} == names);
  CHECK(std::vector<std::string>{"alpha", "beta", "gamma"} == names);
  CHECK(names == log.names());
}

TEST_CASE("names differ where one is another, is missing, is too many or is out of order", "[attempt_log]") {
  const AttemptLog log;
  planb::run_with_plan(alpha_beta_gamma(), ask, {.on_event = log});
  const auto names = log.names();

  CHECK(names != std::vector{"alpha", "beta", "delta"});
  CHECK(names != std::vector{"alpha", "beta"});
  CHECK(names != std::vector{"alpha", "beta", "gamma", "gamma"});
  CHECK(names != std::vector{"beta", "alpha", "gamma"});
  CHECK(names != std::vector<std::string>{"alpha", "beta"});
  CHECK(names != std::vector<const char*>{});
  CHECK(names != AttemptLog().names());
}

TEST_CASE("a log without a run is empty", "[attempt_log]") {
  const AttemptLog log;
  CHECK(log.names().empty());
  CHECK(log.names() == std::vector<const char*>{});
  CHECK(log.events().empty());
  CHECK(log.lines().empty());
  CHECK(log.of<planb::AttemptFailure>().empty());
}

TEST_CASE("names has one entry for each attempt, none for a step that was passed over", "[attempt_log]") {
  const AttemptLog log;
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha", .provide = FakeProvider("alpha", {Behaviour::status(503)}), .attempts = 2},
      {.name = "beta", .provide = FakeProvider("beta"), .enter_when = [](const planb::Cause&) { return false; }},
      {.name = "", .provide = FakeProvider("")}};
  planb::run_with_plan(plan, ask, {.on_event = log});
  CHECK(log.names() == std::vector{"alpha", "alpha", ""});
  REQUIRE(log.of<planb::StepSkipped>().size() == 1);
  CHECK(log.of<planb::StepSkipped>()[0].step_name == "beta");
}

TEST_CASE("events are kept in order and whole, by kind as well", "[attempt_log]") {
  const AttemptLog log;
  planb::run_with_plan(alpha_beta_gamma(), ask, {.on_event = log});

  CHECK(log.events().size() == 6);
  CHECK(log.events().front().get_if<planb::AttemptStart>() != nullptr);
  CHECK(log.events().back().get_if<planb::AttemptSuccess>() != nullptr);
  CHECK(log.of<planb::AttemptStart>().size() == 3);
  CHECK(log.of<planb::StepSkipped>().empty());

  const auto failures = log.of<planb::AttemptFailure>();
  REQUIRE(failures.size() == 2);
  CHECK(failures[0].cause.status() == 503);
  CHECK(failures[1].cause.status() == 429);
  CHECK(failures[1].cause.get_if<planb::ProviderError>()->message == "too many requests");
  const auto successes = log.of<planb::AttemptSuccess>();
  REQUIRE(successes.size() == 1);
  CHECK(successes[0].attempt == 3);
  CHECK(successes[0].step_index == 2);
}

TEST_CASE("lines tells each event as text", "[attempt_log]") {
  const AttemptLog log;
  planb::run_with_plan(alpha_beta_gamma(), ask, {.on_event = log});
  CHECK(log.lines() ==
        Strings{"AttemptStart #1 step=0 alpha", "AttemptFailure #1 step=0 alpha 503 service unavailable, next step",
                "AttemptStart #2 step=1 beta", "AttemptFailure #2 step=1 beta 429 too many requests, next step",
                "AttemptStart #3 step=2 gamma", "AttemptSuccess #3 step=2 gamma"});
}

TEST_CASE("copies of a log are the same log; another one is not", "[attempt_log]") {
  const AttemptLog log;
  const AttemptLog copy = log;  // NOLINT(performance-unnecessary-copy-initialization)
  const AttemptLog other;
  planb::run_with_plan(alpha_beta_gamma(), ask, {.on_event = log});
  CHECK(copy.names() == std::vector{"alpha", "beta", "gamma"});
  CHECK(other.names().empty());

  planb::run_with_plan(alpha_beta_gamma(), ask, {.on_event = std::ref(copy)});
  CHECK(log.names() == std::vector{"alpha", "beta", "gamma", "alpha", "beta", "gamma"});
  copy.clear();
  CHECK(log.names().empty());
}

TEST_CASE("clear forgets, and the log goes on", "[attempt_log]") {
  const AttemptLog log;
  planb::run_with_plan(alpha_beta_gamma(), ask, {.on_event = log});
  const auto before = log.events();
  log.clear();
  CHECK(log.events().empty());
  CHECK(log.names().empty());
  CHECK(before.size() == 6);  // what was read is the reader's own

  planb::run_with_plan(ExecutionPlan<FakeProvider>{{.name = "delta", .provide = FakeProvider("delta")}}, ask,
                       {.on_event = log});
  CHECK(log.names() == std::vector{"delta"});
}

TEST_CASE("a log outlives the plan and the run that it tells of", "[attempt_log]") {
  AttemptLog log;
  {
    const auto plan = alpha_beta_gamma();
    planb::RunOptions options{.on_event = log};
    planb::run_with_plan(plan, ask, options);
  }
  CHECK(log.of<planb::AttemptFailure>().at(0).cause.message() == "service unavailable");
  CHECK(log.of<planb::AttemptStart>().at(2).step_name == "gamma");
  AttemptLog moved = std::move(log);
  CHECK(moved.names().size() == 3);
}

TEST_CASE("a log may be one handler among others", "[attempt_log]") {
  const AttemptLog log;
  int failures = 0;
  const auto handler = [&](const planb::Event& event) {
    log(event);
    if (event.get_if<planb::AttemptFailure>() != nullptr) ++failures;
  };
  planb::run_with_plan(alpha_beta_gamma(), ask, {.on_event = handler});
  CHECK(failures == 2);
  CHECK(log.events().size() == 6);
}
