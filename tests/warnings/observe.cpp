// A broad use of what is observed, for the warnings that its compilation must not bring out. It says `ok`.
#include <planb/format.hpp>
#include <planb/observe.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <cstddef>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

using namespace std::chrono_literals;

namespace {

struct Client {
  int id = 0;
};

int call(Client& client) {
  if (client.id == 1) throw planb::ProviderError(503, "busy");
  return client.id;
}

}  // namespace

int main() {
  planb::testing::VirtualClock clock;
  const auto classify = planb::http_classifier(planb::ContentRefusal::abort);
  const planb::ExecutionPlan<Client> plan{
      {.name = "one", .provide = Client{1}, .attempts = 2, .schedule = planb::spaced(10ms), .classify = classify},
      {.name = "two", .provide = Client{2}}};
  const planb::Trace trace(planb::TraceOptions{.max_runs = 2});
  const planb::Metrics metrics({.buckets = {5ms, 1s}, .max_series = 10});
  const planb::MetricsHandler count = metrics.handler("chat");
  std::ostringstream out;
  std::size_t fields = 0;
  const auto handler = [&](const planb::Event& event) {
    event.visit(planb::overloaded{[](const planb::AttemptStart&) {}, [&](const auto& e) { count(e); }});
    out << event << to_json(event, {.wall = true}) << '\n';
    planb::for_each_field(event, [&](std::string_view, const auto&) { ++fields; });
  };
  const auto result =
      planb::try_run_with_plan(plan, call, {.on_event = {handler, trace}, .clock = &clock, .label = "id"});
  out << result.report() << to_json(result.report()) << to_json(plan) << to_json(planb::spaced(1s));
  out << planb::explain(plan) << to_json(planb::explain(plan, planb::StreamOptions{.budget = 1s}));
  out << to_json(planb::GateSnapshot{.name = "gate"});
  out << trace.to_text() << trace.to_svg() << trace.to_json() << metrics.to_prometheus();
  out << to_string(classify.explain(planb::Cause::of(planb::ProviderError(503, "busy"))));
  const bool read = planb::parse_label<planb::FailureClass>("overloaded") == planb::FailureClass::overloaded;
  const bool good = read && fields > 20 && trace.size() == 1 && !out.str().empty() &&
                    metrics.snapshot().count("planb_attempts_total", {{"step", "one"}}) == 2;
  std::puts(good ? "ok" : "wrong");
  return good ? 0 : 1;
}
