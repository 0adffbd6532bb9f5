// Merged plans run as one plan with all their steps.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include "catch.hpp"
#include "chains.hpp"

#include <chrono>

namespace {

using namespace std::chrono_literals;
using chains::Strings;
using chains::ask;
using chains::failing;
using chains::story;
using planb::ExecutionPlan;
using planb::testing::AttemptLog;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;

}  // namespace

TEST_CASE("merged plans behave as the one plan with all their steps") {
  const auto remote_step = [] {
    return planb::Step<FakeProvider>{
        .name = "remote", .provide = failing("remote", 503), .attempts = 2, .schedule = planb::spaced(5ms)};
  };
  const auto local_step = [] { return planb::Step<FakeProvider>{.name = "local", .provide = FakeProvider("local")}; };
  const auto run = [](const ExecutionPlan<FakeProvider>& plan) {
    VirtualClock clock;
    const AttemptLog log;
    const auto result = planb::try_run_with_plan(plan, ask, {.on_event = log, .clock = &clock});
    Strings told = story(log);
    told.push_back(result.has_value() ? *result : result.error().what());
    return told;
  };
  const ExecutionPlan<FakeProvider> remote{remote_step()};
  const ExecutionPlan<FakeProvider> local{local_step()};
  const ExecutionPlan<FakeProvider> both{remote_step(), local_step()};

  const ExecutionPlan<FakeProvider> merged = planb::merge(remote, local);
  CHECK(merged.size() == 2);
  CHECK(run(merged) == run(both));
  CHECK(run(merged) == Strings{"0ms start 1/0", "0ms failure 1/0 503", "5ms start 2/0", "5ms failure 2/0 503",
                               "5ms start 3/1", "5ms success 3/1", "local"});

  SECTION("in the order of the arguments") {
    CHECK(run(planb::merge(local, remote)) == Strings{"0ms start 1/0", "0ms success 1/0", "local"});
    CHECK(run(planb::merge(remote, remote, local)) ==
          Strings{"0ms start 1/0", "0ms failure 1/0 503", "5ms start 2/0", "5ms failure 2/0 503", "5ms start 3/1",
                  "5ms failure 3/1 503", "10ms start 4/1", "10ms failure 4/1 503", "10ms start 5/2", "10ms success 5/2",
                  "local"});
  }
  SECTION("and the parts stay what they were") {
    CHECK(remote.size() == 1);
    CHECK(local.size() == 1);
    CHECK(run(local) == Strings{"0ms start 1/0", "0ms success 1/0", "local"});
  }
}
