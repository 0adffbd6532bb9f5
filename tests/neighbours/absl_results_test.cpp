// absl::StatusOr and absl::Status: returned as they are, read by grpc_classifier, whose numbers Abseil's codes are.
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <string>
#include <type_traits>
#include <vector>

template <>
struct planb::error_traits<absl::Status> {
  static int code(const absl::Status& status) { return status.raw_code(); }
  static std::string message(const absl::Status& status) { return std::string(status.message()); }
};

namespace {

using namespace std::chrono_literals;
using planb::testing::AttemptLog;
using planb::testing::VirtualClock;

const planb::ExecutionPlan<int> plan = planb::ExecutionPlan<int>{
    {.name = "busy", .provide = 1, .attempts = 2, .schedule = planb::spaced(1s)},
    {.name = "no key", .provide = 2, .attempts = 2},
    {.name = "works", .provide = 3}}.with_classifier(planb::grpc_classifier<absl::Status>());

}  // namespace

TEST_CASE("absl::StatusOr comes back as itself, and its status is read") {
  const AttemptLog log;
  VirtualClock clock;
  const auto call = [](int step) -> absl::StatusOr<std::string> {
    if (step == 1) return absl::UnavailableError("try again");
    if (step == 2) return absl::UnauthenticatedError("no key");
    return std::string("answer");
  };
  const auto answer = planb::run_with_plan(plan, call, {.on_event = log, .clock = &clock});
  static_assert(std::is_same_v<decltype(answer), const absl::StatusOr<std::string>>);
  REQUIRE(answer.ok());
  CHECK(*answer == "answer");
  CHECK(log.names() == std::vector<std::string>{"busy", "busy", "no key", "works"});
  const std::vector<planb::AttemptFailure> failures = log.of<planb::AttemptFailure>();
  CHECK(failures[0].cause.code() == "14");
  CHECK(failures[0].cause.message() == "try again");
  CHECK(failures[0].verdict->failure_class == planb::FailureClass::overloaded);
  CHECK(failures[2].verdict->alert);
}

TEST_CASE("where all fail, the last absl::Status comes back in the original style") {
  VirtualClock clock;
  const auto call = [](int step) -> absl::StatusOr<std::string> {
    return absl::InternalError("step " + std::to_string(step));
  };
  const auto answer = planb::run_with_plan(plan, call, {.clock = &clock, .failure = planb::FailureStyle::original});
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.status().message() == "step 3");
}

TEST_CASE("an absl::Status alone is a result without a value") {
  const AttemptLog log;
  VirtualClock clock;
  const auto call = [](int step) { return step == 3 ? absl::OkStatus() : absl::DeadlineExceededError("late"); };
  const absl::Status status = planb::run_with_plan(plan, call, {.on_event = log, .clock = &clock});
  CHECK(status.ok());
  CHECK(log.names() == std::vector<std::string>{"busy", "busy", "no key", "no key", "works"});
}

TEST_CASE("a request that is at fault ends the run, and is not sent elsewhere") {
  const AttemptLog log;
  const auto call = [](int) -> absl::StatusOr<std::string> { return absl::InvalidArgumentError("bad"); };
  const auto result = planb::try_run_with_plan(plan, call, {.on_event = log});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().end() == planb::RunEnd::aborted);
  CHECK(log.names() == std::vector<std::string>{"busy"});
}
