// FirstOutput: once for each attempt of a stream that has output, before the element reaches the consumer.
#include <planb/stream.hpp>

#include "catch.hpp"
#include "two_steps.hpp"

#include <planb/engine/plan_run.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::FirstOutput;
using planb::StreamOptions;
using planb::testing::AttemptLog;
using planb::testing::VirtualClock;
using two::Client;
using two::two_steps;
using Notes = std::vector<std::string>;

}  // namespace

TEST_CASE("each attempt with output tells of its first element, before the consumer has it") {
  Notes notes;
  VirtualClock clock;
  const StreamOptions options{
      .on_event = planb::overloaded{
          [&](const planb::AttemptStart& e) { notes.push_back("start " + std::to_string(e.attempt)); },
          [&](const FirstOutput& e) {
            notes.push_back("first of " + std::to_string(e.attempt) + " in " + e.step_name + " after " +
                            std::to_string(e.after / 1s));
          }},
      .clock = &clock,
      .label = "r"};
  const auto producer = [&](Client& client, auto& emit) {
    clock.advance(std::chrono::seconds(client.id));
    for (int i = 0; i != 3; ++i) emit(10 * client.id + i);
    if (client.id == 1) throw planb::ProviderError(503);
  };
  planb::push_with_plan(
      two_steps(), producer, [&](int item) { notes.push_back(std::to_string(item)); }, options);
  CHECK(notes == Notes{"start 1", "first of 1 in one after 1", "10", "11", "12", "start 2", "first of 2 in two after 2",
                       "20", "21", "22"});
}

TEST_CASE("an attempt without output has none") {
  const AttemptLog log;
  planb::push_with_plan(
      two_steps(),
      [](Client& client, auto& emit) {
        if (client.id == 1) throw planb::ProviderError(503);
        emit(1);
      },
      [](int) {}, {.on_event = log});
  REQUIRE(log.of<FirstOutput>().size() == 1);
  CHECK(log.of<FirstOutput>()[0].step_index == 1);
}

TEST_CASE("what is held back counts when it is let go") {
  Notes notes;
  const auto source = [](Client&) { return std::vector<int>{0, 0, 7, 8}; };
  const StreamOptions options{.on_event = [&](const FirstOutput&) { notes.push_back("first"); }};
  const auto commits = planb::committing(
      source, [](int item) { return item != 0; }, 10);
  for (const int item : planb::stream_with_plan(two_steps(), commits, options)) notes.push_back(std::to_string(item));
  CHECK(notes == Notes{"first", "0", "0", "7", "8"});
}

TEST_CASE("a run by hand tells of it in deliver()") {
  const AttemptLog log;
  planb::PlanRun<Client> run(two_steps(), {.on_event = log});
  static_cast<void>(run.next());
  CHECK(log.of<FirstOutput>().empty());
  CHECK(run.deliver());
  CHECK(run.resume());
  CHECK(run.deliver());
  run.succeed();
  CHECK(log.of<FirstOutput>().size() == 1);
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("a stop that its handler requests lets no element through") {
  std::stop_source stop;
  std::vector<int> items;
  const StreamOptions options{.on_event = [&](const FirstOutput&) { stop.request_stop(); }, .stop = stop.get_token()};
  CHECK_THROWS_AS(
      planb::push_with_plan(
          two_steps(), [](Client&, auto& emit) { emit(1); }, [&](int item) { items.push_back(item); }, options),
      planb::PlanInterrupted);
  CHECK(items.empty());
}
#endif

TEST_CASE("a call has no output, and so no FirstOutput") {
  const AttemptLog log;
  planb::run_with_plan(two_steps(), [](Client& client) { return client.id; }, {.on_event = log});
  CHECK(log.of<FirstOutput>().empty());
}
