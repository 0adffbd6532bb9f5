// What is printed: with operator<<, with {fmt} and with std::format.
#if __has_include(<fmt/format.h>)
#define FMT_HEADER_ONLY
#include <fmt/format.h>
#define HAS_FMT 1
#else
#define HAS_FMT 0
#endif

#include <planb/format.hpp>
#include <planb/observe.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <iomanip>
#include <iterator>
#include <sstream>
#include <string>

#include "catch.hpp"
#include "two_steps.hpp"

#if defined(__cpp_lib_format)
#include <format>
#endif

using namespace std::chrono_literals;
using planb::Cause;
using planb::Duration;
using planb::Event;
using planb::OptionalDuration;

namespace {

template <class T>
std::string streamed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

planb::AttemptFailure failure() {
  return {.attempt = 2,
          .step_name = "openai",
          .cause = Cause::of(planb::ProviderError(503, "service unavailable")),
          .next = {.kind = planb::NextMove::next_step}};
}

planb::Explanation explanation() {
  return planb::explain(planb::ExecutionPlan<int>{{.name = "a", .provide = 1, .timeout = 2s}}, {.budget = 5s});
}

constexpr const char* explanation_text =
    "a call, budget 5 s\nat worst 1 call, 2 s in all\n  a: 1 attempt; each at most 2 s\n     at worst 1 call, 2 s in "
    "all\n";

constexpr const char* failure_line = "AttemptFailure #2 step=0 openai 503 service unavailable, next step";

}  // namespace

TEST_CASE("events, causes, reports and explanations go into streams as their text", "[format]") {
  CHECK(streamed(failure()) == failure_line);
  CHECK(streamed(Event(failure())) == failure_line);
  CHECK(streamed(planb::AttemptStart{.attempt = 1}) == "AttemptStart #1 step=0");
  CHECK(streamed(planb::StepSkipped{.step_name = "b"}) == "StepSkipped step=0 b declined");
  CHECK(streamed(planb::RunFinish{}) == "RunFinish succeeded");
  CHECK(streamed(failure().cause) == "503 service unavailable");
  CHECK(streamed(Cause::of(std::string("two\nlines"))) == "two lines");
  CHECK(streamed(Cause::of(std::string(1000, 'x'))).size() < 250);
  const auto result = planb::try_run_with_plan(two::two_steps(), [](two::Client& client) {
    if (client.id == 1) throw planb::ProviderError(503, "busy");
    return client.id;
  });
  CHECK(streamed(result.report()) == "one: 503 busy; two: answered");
  CHECK(streamed(explanation()) == explanation_text);
  std::ostringstream out;
  out << std::setw(12) << std::setfill('.') << Cause::timed_out();
  CHECK(out.str() == "...timed out");
}

TEST_CASE("durations are printed exactly", "[format]") {
  CHECK(to_string(OptionalDuration(20ms)) == "20ms");
  CHECK(planb::to_string(Duration(4200ms)) == "4200ms");
  CHECK(streamed(OptionalDuration(90min)) == "90min");
  CHECK(streamed(OptionalDuration()) == "none");
  CHECK(streamed(planb::SaturatedDuration(1500us)) == "1500us");
  using namespace planb;
  std::ostringstream out;
  out << Duration(20ms);
  CHECK(out.str() == "20ms");
}

#if HAS_FMT
TEST_CASE("{fmt} formats them as texts", "[format]") {
  CHECK(fmt::format("{}", failure()) == failure_line);
  CHECK(fmt::format("{}", Event(failure())) == failure_line);
  CHECK(fmt::format("[{:>12}]", Cause::timed_out()) == "[   timed out]");
  CHECK(fmt::format("{}", planb::RunReport{.end = planb::RunEnd::exhausted}) == "plan exhausted");
  CHECK(fmt::format("{}", explanation()) == explanation_text);
  CHECK(fmt::format("{} {}", OptionalDuration(20ms), OptionalDuration()) == "20ms none");
}
#endif

#if defined(__cpp_lib_format)
TEST_CASE("std::format formats them as texts", "[format]") {
  CHECK(std::format("{}", failure()) == failure_line);
  CHECK(std::format("{}", Event(failure())) == failure_line);
  CHECK(std::format("[{:>12}]", Cause::timed_out()) == "[   timed out]");
  CHECK(std::format("{}", planb::RunReport{.end = planb::RunEnd::exhausted}) == "plan exhausted");
  CHECK(std::format("{}", explanation()) == explanation_text);
  CHECK(std::format("{} {}", OptionalDuration(20ms), OptionalDuration()) == "20ms none");
}

TEST_CASE("std::format writes events, reports and durations where it is told to", "[format]") {
  std::string lines;
  planb::testing::VirtualClock clock;
  const auto write = [&](const planb::Event& event) { std::format_to(std::back_inserter(lines), "[{:.22}]\n", event); };
  const auto result = planb::try_run_with_plan(two::two_steps(),
                                               [](two::Client& client) {
                                                 if (client.id == 1) throw planb::ProviderError(503, "busy {}");
                                                 return client.id;
                                               },
                                               {.on_event = write, .clock = &clock});
  CHECK(lines ==
        "[AttemptStart #1 step=0]\n[AttemptFailure #1 step]\n[AttemptStart #2 step=1]\n[AttemptSuccess #2 step]\n"
        "[RunFinish succeeded, o]\n");
  CHECK(std::format("{:*>{}}", result.report(), 36) == "*****one: 503 busy {}; two: answered");
}
#endif
