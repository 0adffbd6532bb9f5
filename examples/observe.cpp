// Watching a run: events as they come, the running attempt's number anywhere below, and the report at the end.
#include <planb/planb.hpp>

#include <iostream>
#include <map>
#include <string>

namespace {

// A log function somewhere deep in a client library. It is not told which attempt it runs in, and knows.
std::string tagged(const std::string& text) {
  const planb::Metadata now = planb::CurrentMetadata::get();
  return "[attempt " + std::to_string(now.attempt) + ", step " + std::to_string(now.step_index) + "] " + text;
}

}  // namespace

int main() {
  const planb::ExecutionPlan<std::string> plan{{.name = "mirror", .provide = "mirror.example", .attempts = 2},
                                               {.name = "origin", .provide = "origin.example"}};
  std::map<std::string, int> failures;  // a counter for each step, as metrics want it
  std::string answered;

  // A handler takes the events that it names. One that throws changes nothing about the run.
  const planb::RunOptions options{
      .on_event = planb::overloaded{[&](const planb::AttemptFailure& failure) {
                                      ++failures[failure.step_name];
                                      std::cout << tagged("failed: " + failure.cause.message()) << '\n';
                                    },
                                    [&](const planb::AttemptSuccess& success) { answered = success.step_name; }}};

  const planb::PlanResult<std::string> result = planb::try_run_with_plan(
      plan,
      [](const std::string& host, const planb::Attempt& attempt) {
        std::cout << tagged("asking " + host) << '\n';
        if (attempt.step_index == 0) throw planb::ProviderError(503, "no disk space");
        return "a file from " + host;
      },
      options);

  // The report is there for a success too: the failures before it are listed.
  const planb::RunReport& report = result.report();
  std::cout << report.to_string() << '\n';
  const bool good = result && *result == "a file from origin.example" && answered == "origin" &&
                    failures == std::map<std::string, int>{{"mirror", 2}} && report.attempts == 3 &&
                    report.answered_by() == "origin" && report.steps[0].cause->status() == 503 &&
                    planb::CurrentMetadata::get() == planb::Metadata{0, 0};
  return good ? 0 : 1;
}
