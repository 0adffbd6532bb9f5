// Events with any bytes in their names, labels, codes and messages, and any numbers: JSON that another library reads
// back, on one line, of bounded length.
#include <planb/error/cause.hpp>
#include <planb/error/provider_error.hpp>
#include <planb/gate/snapshot.hpp>
#include <planb/observe/json.hpp>
#include <planb/observe/metrics.hpp>
#include <planb/observe/trace.hpp>
#include <planb/report/event.hpp>
#include <planb/report/report.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz.hpp"

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#define HAS_READER 1
#else
#define HAS_READER 0
#endif

using fuzz::check;
using planb::Duration;
using planb::TimePoint;

namespace {

planb::Cause cause_of(fuzz::Bytes& in) {
  if (in.rarely()) return planb::Cause::timed_out();
  const int status = static_cast<int>(in.number());
  const std::optional<Duration> hint = in.flag() ? std::optional<Duration>(Duration(in.number())) : std::nullopt;
  std::string code = in.line();
  return planb::Cause::of(planb::ProviderError(status, in.line(), std::move(code), hint));
}

planb::Event event_of(fuzz::Bytes& in) {
  const int kind = in.upto(5);
  const int attempt = static_cast<int>(in.number());
  const TimePoint at{Duration(in.number())};
  const Duration took(in.number());
  std::string name = in.line();
  std::string label = in.line();
  switch (kind) {
    case 0:
      return planb::Event(
          planb::AttemptStart{.attempt = attempt, .step_name = name, .at = at, .gate_wait = took, .label = label});
    case 1:
      return planb::Event(
          planb::FirstOutput{.attempt = attempt, .step_name = name, .at = at, .after = took, .label = label});
    case 2:
      return planb::Event(
          planb::AttemptSuccess{.attempt = attempt, .step_name = name, .at = at, .duration = took, .label = label});
    case 3: {
      planb::AttemptFailure failure{
          .attempt = attempt, .step_name = name, .at = at, .duration = took, .cause = cause_of(in), .label = label};
      failure.next.kind = in.flag() ? planb::NextMove::retry : planb::NextMove::end;
      failure.next.delay = Duration(in.number());
      if (in.flag()) failure.verdict = planb::Verdict{};
      return planb::Event(std::move(failure));
    }
    case 4:
      return planb::Event(
          planb::StepSkipped{.step_index = attempt, .step_name = name, .at = at, .opens_at = at, .label = label});
    default: break;
  }
  planb::RunFinish finish{.at = at, .duration = took, .label = label};
  finish.end = finish.report.end = planb::RunEnd::exhausted;
  const int steps = in.upto(4);
  for (int i = 0; i != steps; ++i) {
    finish.report.steps.emplace_back(planb::StepReport{
        .name = in.line(), .attempts = attempt, .cause = cause_of(in), .failed_at = TimePoint(Duration(in.number()))});
  }
  if (steps != 0 && in.flag()) finish.report.answered_step = attempt;
  return planb::Event(std::move(finish));
}

void json(const planb::Event& event, const planb::JsonOptions& options) {
  const std::string line = to_json(event, options);
  for (const char c : line) check(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F, "no control character", line);
  check(line.rfind("{\"event\":\"", 0) == 0, "an event's word comes first", line);
  // Escapes make six bytes of one.
  check(line.size() < 3000 + 6 * 24 * options.max_text, "a line is bounded", line);
#if HAS_READER
  const nlohmann::json read = nlohmann::json::parse(line, nullptr, false);
  check(!read.is_discarded(), "another library reads the line", line);
  check(read.at("label").get_ref<const std::string&>().size() <= options.max_text, "texts are cut", line);
  // Each name once.
  std::size_t fields = 0;
  planb::for_each_field(event, [&](std::string_view, const auto&) { ++fields; });
  std::size_t leaves = 0;
  const nlohmann::json flat = read.flatten();
  for (const auto& item : flat.items()) leaves += item.value().is_array() || item.value().is_object() ? 0 : 1;
  if (read.contains("report") && read["report"]["steps"].empty()) --leaves;  // which flatten() makes a null of
  check(leaves == fields, "the line has each field once", line);
#endif
}

void metrics(const planb::MetricsHandler& handler, const planb::Event& event) {
  event.visit(planb::overloaded{[](const planb::AttemptStart&) {}, [&](const auto& e) { handler(e); }});
}

// A gate of the user's own may show anything.
void gate(fuzz::Bytes& in, const planb::JsonOptions& options) {
  planb::GateSnapshot snapshot{.name = in.line(), .kind = in.line(), .state = in.line()};
  if (in.flag()) snapshot.available = in.number();
  if (in.flag()) snapshot.open_until = TimePoint(Duration(in.number()));
  const std::string line = to_json(snapshot, options);
  check(line.find('\n') == std::string::npos, "a gate's line is one", line);
#if HAS_READER
  check(nlohmann::json::accept(line), "another library reads a gate's line", line);
#endif
}

// Lines of bounded length without control characters; the picture has no element that is not ours.
void looked_at(const planb::Trace& trace, const planb::Metrics& counted) {
  const std::string text = trace.to_text(60);
  for (const char c : text) check(static_cast<unsigned char>(c) >= 0x20 || c == '\n', "no control character", text);
  const std::string svg = trace.to_svg();
  int open = 0;
  for (const char c : svg) {
    check(static_cast<unsigned char>(c) >= 0x20 || c == '\n', "no control character in a picture", svg);
    open += c == '<' ? 1 : c == '>' ? -1 : 0;
    check(open == 0 || open == 1, "texts are escaped in a picture", svg);
  }
  const std::string samples = counted.to_prometheus();
  for (const char c : samples) check(static_cast<unsigned char>(c) >= 0x20 || c == '\n', "a label is escaped", samples);
#if HAS_READER
  check(nlohmann::json::accept(trace.to_json()), "another library reads a recording", trace.to_json());
#endif
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes in(data, size);
  planb::JsonOptions options;
  if (in.flag()) options.max_text = static_cast<std::size_t>(in.upto(40));
  const planb::Trace trace(planb::TraceOptions{.max_runs = 3, .max_events = 10});
  const planb::Metrics counted({.max_series = 4});
  while (!in.empty()) {
    const planb::Event event = event_of(in);
    json(event, options);
    trace(event);
    metrics(counted.handler(in.line()), event);
    if (in.rarely()) gate(in, options);
  }
  looked_at(trace, counted);
  return 0;
}
