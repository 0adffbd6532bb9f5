// Events and reports in the loggers that people have: spdlog with {fmt}, as text and as JSON lines; {fmt} compiled into
// a library, with its formats checked when this is compiled.
#include <fmt/format.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <planb/format.hpp>

#include "catch.hpp"
#include "two_steps.hpp"

#include <planb/observe.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <memory>
#include <sstream>
#include <string>

namespace {

using namespace std::chrono_literals;

struct Log {
  std::ostringstream out;
  std::shared_ptr<spdlog::logger> logger =
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(out));

  Log() { logger->set_pattern("%l %v"); }
};

int busy_at_first(two::Client& client) {
  if (client.id == 1) throw planb::ProviderError(503, "{} busy {0} %s");  // no format
  return client.id;
}

}  // namespace

TEST_CASE("spdlog takes events, causes, reports, durations and explanations as arguments", "[logging]") {
  Log log;
  planb::testing::VirtualClock clock;
  const auto plan = two::two_steps();
  const auto write = planb::overloaded{
      [&](const planb::AttemptFailure& e) { log.logger->warn("{} after {}", e.cause, planb::to_string(e.duration)); },
      [&](const planb::Event& e) { log.logger->info("{}", e); }};
  const auto result = planb::try_run_with_plan(plan, busy_at_first, {.on_event = write, .clock = &clock});
  log.logger->info("{} | {:>8}", result.report(), planb::OptionalDuration(20ms));
  log.logger->info("{}", planb::explain(planb::ExecutionPlan<int>{{.name = "a", .provide = 1, .timeout = 2s}}));
  CHECK(log.out.str() ==
        "info AttemptStart #1 step=0 one\n"
        "warning 503 {} busy {0} %s after 0s\n"
        "info AttemptStart #2 step=1 two\n"
        "info AttemptSuccess #2 step=1 two\n"
        "info RunFinish succeeded, one: 503 {} busy {0} %s; two: answered\n"
        "info one: 503 {} busy {0} %s; two: answered |     20ms\n"
        "info a call, no budget\nat worst 1 call, 2 s in all\n  a: 1 attempt; each at most 2 s\n"
        "     at worst 1 call, 2 s in all\n\n");
}

TEST_CASE("a JSON line is a message as it is, also where it has braces of its own", "[logging]") {
  Log log;
  planb::testing::VirtualClock clock;
  std::string expected;
  const auto write = [&](const planb::Event& e) {
    log.logger->info(to_json(e));
    expected += "info " + to_json(e) + "\n";
  };
  const auto result = planb::try_run_with_plan(two::two_steps(), busy_at_first, {.on_event = write, .clock = &clock});
  REQUIRE(result);
  CHECK(log.out.str() == expected);
  CHECK_THAT(expected, Catch::Matchers::ContainsSubstring(R"("message":"{} busy {0} %s")"));
}
