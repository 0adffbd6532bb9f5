// JSON, metrics, traces and texts without exceptions and RTTI. Built with -fno-exceptions -fno-rtti.
#include <planb/format.hpp>
#include <planb/observe.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <sstream>
#include <string>

#include "check.hpp"

#if PLANB_HAS_EXCEPTIONS || PLANB_HAS_RTTI
#error "build this with -fno-exceptions -fno-rtti"
#endif

namespace {

struct Client {
  int id = 0;
};

// What std::expected looks like.
class Answer {
 public:
  explicit Answer(int value) : value_(value), has_value_(value != 0) {}
  [[nodiscard]] bool has_value() const { return has_value_; }
  [[nodiscard]] const int& operator*() const { return value_; }
  [[nodiscard]] const planb::ProviderError& error() const { return error_; }

 private:
  planb::ProviderError error_{503, "busy \xFF"};
  int value_;
  bool has_value_;
};

}  // namespace

int main() {
  planb::testing::VirtualClock clock;
  const planb::Trace trace;
  const planb::Metrics metrics;
  const planb::MetricsHandler count = metrics.handler("chat");
  std::ostringstream log;
  const auto handler = [&](const planb::Event& event) {
    trace(event);
    log << event << '\n' << to_json(event) << '\n';
    event.visit(planb::overloaded{[](const planb::AttemptStart&) {}, [&](const auto& e) { count(e); }});
  };
  const planb::ExecutionPlan<Client> plan{{.name = "one", .provide = Client{0}, .attempts = 2},
                                          {.name = "two", .provide = Client{2}}};
  const auto result = planb::try_run_with_plan(plan, [](Client& client) { return Answer(client.id); },
                                               {.on_event = handler, .clock = &clock});
  EXPECT(result.has_value() && result.report().fell_back());
  EXPECT(trace.size() == 1 && !trace.to_svg().empty() && !trace.to_json().empty());
  EXPECT(metrics.snapshot().count("planb_attempts_total", {{"outcome", "failure"}}) == 2);
  EXPECT(log.str().find("\"status\":503,\"message\":\"busy \xEF\xBF\xBD\"") != std::string::npos);
  EXPECT(!to_json(plan).empty() && !to_json(result.report()).empty());
  return check::result();
}
