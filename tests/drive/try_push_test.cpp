// try_push_with_plan: a pushed stream as a PlanResult, with a report in every case.
#include <planb/stream.hpp>

#include "catch.hpp"
#include "results.hpp"
#include "two_steps.hpp"

#include <planb/testing.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::PlanResult;
using planb::RunEnd;
using planb::try_push_with_plan;
using results::Fault;
using results::Outcome;
using two::Client;
using two::two_steps;
using Items = std::vector<int>;

// Gives one element and fails in the first step; gives two in the second.
const auto breaks_off = [](Client& client, auto& emit) {
  emit(client.id);
  if (client.id == 1) throw planb::ProviderError(503, "broke off");
  emit(20);
};

}  // namespace

TEST_CASE("a stream that falls back gives nothing, and a report of both steps") {
  Items items;
  const PlanResult<void> result = try_push_with_plan(two_steps(), breaks_off, [&](int item) { items.push_back(item); });
  REQUIRE(result.has_value());
  CHECK(items == Items{1, 2, 20});
  CHECK(result.report().end == RunEnd::succeeded);
  CHECK(result.report().answered_by() == "two");
  CHECK(result.report().fell_back());
  CHECK(result.report().delivered == 3);
  CHECK(result.report().steps[0].cause->status() == 503);
}

TEST_CASE("the value is what the producer returns, or the value in its result") {
  const auto counts = [](Client& client, auto& emit) {
    emit(client.id);
    return std::string("done");
  };
  const auto result = try_push_with_plan(two_steps(), counts, [](int) {});
  CHECK(result.value() == "done");

  const auto gives = [](Client& client, auto& emit) -> Outcome<int, Fault> {
    if (client.id == 1) return Fault{503};
    emit(client.id);
    return 7;
  };
  Items items;
  const PlanResult<int> inner = try_push_with_plan(two_steps(), gives, [&](int item) { items.push_back(item); });
  CHECK(inner.value() == 7);
  CHECK(items == Items{2});
  CHECK(inner.report().attempts == 2);
}

TEST_CASE("a stream that fails is a PlanError with the report; it does not throw") {
  const auto fails = [](Client& client, auto& emit) {
    emit(client.id);
    throw planb::ProviderError(500 + client.id);
  };
  Items items;
  const auto result = try_push_with_plan(two_steps(), fails, [&](int item) { items.push_back(item); },
                                         {.partial = planb::PartialStream::prevent_fallback});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().end() == RunEnd::exhausted);
  CHECK(result.report().delivered == 1);
  CHECK(result.report().steps.size() == 1);
  CHECK(items == Items{1});
  CHECK_THROWS_AS(result.value(), planb::PlanExhausted);
}

TEST_CASE("a sink that stops early makes a success, and says how many elements it had") {
  const auto result = try_push_with_plan(two_steps(), breaks_off, [](int) { return false; });
  REQUIRE(result.has_value());  // what the producer throws afterwards is dropped: it would have returned nothing
  CHECK(result.report().delivered == 1);
  CHECK(result.report().answered_by() == "one");

  const auto throws = [](Client&, auto& emit) -> int {
    emit(1);
    throw planb::ProviderError(503);
  };
  CHECK_THROWS_AS(try_push_with_plan(two_steps(), throws, [](int) { return false; }), planb::ProviderError);
  const auto refuses = [](Client&, auto& emit) -> Outcome<int, Fault> {
    emit(1);
    return Fault{503};
  };
  CHECK_THROWS_AS(try_push_with_plan(two_steps(), refuses, [](int) { return false; }), Fault);
}

TEST_CASE("a Defect and what the sink throws pass through") {
  const auto defect = [](Client&, auto&) { throw planb::Defect("bug"); };
  CHECK_THROWS_AS(try_push_with_plan(two_steps(), defect, [](int) {}), planb::Defect);
  CHECK_THROWS_AS(try_push_with_plan(two_steps(), breaks_off, [](int) { throw std::length_error("full"); }),
                  std::length_error);
}

TEST_CASE("its report has times, also without a handler") {
  planb::testing::VirtualClock clock;
  const planb::ExecutionPlan<Client> plan{
      {.name = "one", .provide = Client{1}, .attempts = 2, .schedule = planb::spaced(5s)},
      {.name = "two", .provide = Client{2}}};
  const auto slow = [&](Client& client, auto& emit) {
    clock.advance(2s);
    emit(client.id);
    if (client.id == 1) throw planb::ProviderError(503);
  };
  const auto result = try_push_with_plan(plan, slow, [](int) {}, {.clock = &clock});
  REQUIRE(result.has_value());
  CHECK(result.report().duration == 11s);
  CHECK(result.report().steps[0].attempt_time == 4s);
  CHECK(result.report().steps[0].wait_time == 5s);
  CHECK(result.report().steps[1].attempt_time == 2s);
}
