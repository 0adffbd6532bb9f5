// Trace: runs as timelines, in text, as a picture and as JSON.
#include <planb/observe/trace.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "two_steps.hpp"

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#define HAS_READER 1
#else
#define HAS_READER 0
#endif

using namespace std::chrono_literals;
using planb::AttemptFailure;
using planb::AttemptStart;
using planb::AttemptSuccess;
using planb::Cause;
using planb::Duration;
using planb::Event;
using planb::StepSkipped;
using planb::TimePoint;
using planb::Trace;
using two::Client;

namespace {

TimePoint at(Duration since) { return TimePoint{since}; }

// The events that every run has, so that what a test expects does not depend on the others.
struct AttemptsOnly {
  Trace trace;

  void operator()(const AttemptStart& e) const { trace(Event(e)); }
  void operator()(const AttemptSuccess& e) const { trace(Event(e)); }
  void operator()(const AttemptFailure& e) const { trace(Event(e)); }
  void operator()(const StepSkipped& e) const { trace(Event(e)); }
};

// The chain of docs/observe.md: retries, a step whose breaker has opened, a fallback that answers.
Trace traced_chain() {
  planb::testing::VirtualClock clock;
  clock.advance(1h);
  Trace trace;
  const auto breaker = planb::circuit_breaker({.failure_threshold = 1, .open_for = 30s});
  const planb::ExecutionPlan<Client> plan =
      planb::ExecutionPlan<Client>{
          {.name = "openai", .provide = Client{1}, .attempts = 3, .schedule = planb::exponential(100ms)},
          {.name = "azure", .provide = Client{2}, .gate = breaker},
          {.name = "anthropic", .provide = Client{3}},
      }
          .with_classifier(planb::http_classifier(planb::ContentRefusal::abort));
  const auto call = [&](Client& client) {
    clock.advance(client.id == 3 ? 350ms : 80ms);
    if (client.id == 1) throw planb::ProviderError(503, "service unavailable");
    if (client.id == 2) throw planb::ProviderError(500, "internal error");
    return client.id;
  };
  for (const char* label : {"request-1", "request-2"}) {
    planb::run_with_plan(plan, call, {.on_event = AttemptsOnly{trace}, .clock = &clock, .label = label});
    clock.advance(1s);
  }
  return trace;
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Every element that is opened is closed, in order; attributes are quoted; entities are XML's own. Gives how many
// elements there are, or nothing where that is not so.
std::optional<std::size_t> well_formed(std::string_view xml) {
  std::vector<std::string> open;
  std::size_t elements = 0;
  while (!xml.empty()) {
    if (xml.front() == '&') {
      const std::string_view name = xml.substr(0, xml.find(';') + 1);
      if (name != "&amp;" && name != "&lt;" && name != "&gt;" && name != "&quot;") return std::nullopt;
    }
    if (static_cast<unsigned char>(xml.front()) < 0x20 && xml.front() != '\n') return std::nullopt;
    if (xml.front() != '<') {
      if (xml.front() == '>' && open.empty()) return std::nullopt;
      xml.remove_prefix(1);
      continue;
    }
    std::size_t end = 1;
    for (bool quoted = false; end != xml.size() && (quoted || xml[end] != '>'); ++end) {
      if (xml[end] == '"') quoted = !quoted;
      if (xml[end] == '<') return std::nullopt;
    }
    if (end == xml.size()) return std::nullopt;
    const std::string_view tag = xml.substr(1, end - 1);
    xml.remove_prefix(end + 1);
    const std::string name(tag.substr(0, tag.find_first_of(" /", 1)));
    if (tag.front() == '/') {
      if (open.empty() || "/" + open.back() != tag) return std::nullopt;
      open.pop_back();
      continue;
    }
    ++elements;
    if (tag.back() != '/') open.push_back(name);
  }
  if (!open.empty()) return std::nullopt;
  return elements;
}

void record_attempt(const Trace& trace, int number, const std::string& name, Duration from, Duration to,
                    const std::string& label = "") {
  trace(Event(AttemptStart{.attempt = number, .step_attempt = 1, .step_name = name, .at = at(from), .label = label}));
  trace(Event(AttemptSuccess{
      .attempt = number, .step_attempt = 1, .step_name = name, .at = at(to), .duration = to - from, .label = label}));
}

}  // namespace

TEST_CASE("a run is a timeline with a line for each attempt and each step passed over", "[trace]") {
  CHECK(lines_of(traced_chain().of("request-2").to_text(90)) ==
        std::vector<std::string>{
            "request-2: succeeded after 890 ms, 4 attempts, answered by anthropic",
            "  openai    #1 ▒▒▒                                  80 ms, 503 service unavailable (overl…",
            "  openai    #2    ····▒▒▒                           80 ms, 503 service unavailable (overl…",
            "  openai    #3           ········▒▒▒                80 ms, 503 service unavailable (overl…",
            "  azure                             ×               skipped, gate closed for 28.1 s",
            "  anthropic #4                      ███████████████ 350 ms, answered",
            "  █ answered  ▒ failed  ░ not over  · waiting"});
}

TEST_CASE("runs are told apart by their labels, also while they run at once", "[trace]") {
  const Trace trace;
  trace(Event(AttemptStart{.attempt = 1, .step_name = "a", .label = "x"}));
  trace(Event(AttemptStart{.attempt = 1, .step_name = "b", .at = at(1s), .label = "y"}));
  trace(Event(AttemptSuccess{.attempt = 1, .step_name = "b", .at = at(2s), .duration = 1s, .label = "y"}));
  trace(Event(AttemptSuccess{.attempt = 1, .step_name = "a", .at = at(3s), .duration = 3s, .label = "x"}));
  CHECK(trace.size() == 2);
  const std::vector<std::string> lines = lines_of(trace.to_text());
  CHECK(lines.at(0) == "x: succeeded after 3 s, 1 attempt, answered by a");
  CHECK(lines.at(2) == "y: succeeded after 1 s, 1 attempt, answered by b");
  CHECK(trace.of("y").size() == 1);
  CHECK(trace.of("z").to_text().empty());
}

TEST_CASE("one run after another is another run, whether its end was told or not", "[trace]") {
  const Trace trace;
  record_attempt(trace, 1, "a", 0s, 1s);
  record_attempt(trace, 1, "a", 2s, 3s);  // the one before has succeeded
  CHECK(trace.size() == 2);
  trace(Event(planb::RunFinish{.at = at(3s), .duration = 1s}));
  CHECK(trace.size() == 2);  // it is the second's
  trace(Event(StepSkipped{.step_index = 0, .at = at(4s)}));
  CHECK(trace.size() == 3);
  trace(Event(StepSkipped{.step_index = 1, .at = at(4s)}));
  CHECK(trace.size() == 3);
  trace(Event(StepSkipped{.step_index = 0, .at = at(5s)}));  // no step is passed over twice
  CHECK(trace.size() == 4);
  trace(Event(AttemptStart{.attempt = 1, .step_index = 1, .at = at(5s)}));
  trace(
      Event(AttemptFailure{.attempt = 1, .step_index = 1, .at = at(6s), .next = {.kind = planb::NextMove::next_step}}));
  CHECK(trace.size() == 4);
  trace(Event(AttemptStart{.attempt = 1, .at = at(7s)}));
  CHECK(trace.size() == 5);
  trace.clear();
  CHECK(trace.size() == 0);
}

TEST_CASE("what a run's end says goes into its title", "[trace]") {
  const Trace trace;
  trace(Event(AttemptStart{.attempt = 1, .step_name = "a", .at = at(1s), .gate_wait = 500ms}));
  CHECK(lines_of(trace.to_text()).at(0) == "not over since 500 ms, 1 attempt");
  trace(Event(AttemptFailure{.attempt = 1,
                             .step_name = "a",
                             .at = at(2s),
                             .duration = 1s,
                             .cause = Cause::timed_out(),
                             .verdict = planb::Verdict{planb::Action::retry, true},
                             .next = {.run_end = planb::RunEnd::deadline}}));
  CHECK(lines_of(trace.to_text()).at(0) == "deadline exceeded after 1.5 s, 1 attempt");
  CHECK(lines_of(trace.to_text()).at(1) == "  a #1 ·············▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ 1 s, timed out (alert)");
  trace(Event(planb::RunFinish{.end = planb::RunEnd::interrupted, .at = at(3s), .duration = 2500ms}));
  CHECK(lines_of(trace.to_text()).at(0) == "interrupted after 2.5 s, 1 attempt");
}

TEST_CASE("who answered is told of runs that succeeded, and of no other", "[trace]") {
  planb::RunReport report;
  report.answered_step = 0;
  report.steps.emplace_back(planb::StepReport{.name = "b"});
  const Trace told;
  told(Event(planb::RunFinish{.report = report, .at = at(2s), .duration = 2s}));
  CHECK(lines_of(told.to_text()).at(0) == "succeeded after 2 s, 0 attempts, answered by b");
  const Trace stopped;
  record_attempt(stopped, 1, "a", 0s, 1s);
  stopped(Event(planb::RunFinish{.end = planb::RunEnd::aborted, .at = at(2s), .duration = 2s}));
  CHECK(lines_of(stopped.to_text()).at(0) == "aborted after 2 s, 1 attempt");
}

TEST_CASE("a recording that begins in the middle of a run begins when its first event did", "[trace]") {
  struct Row {
    Event first;
    std::string title;
    std::string row;
  };
  const Row rows[] = {
      {Event(planb::FirstOutput{.attempt = 2, .step_name = "a", .at = at(5s), .after = 3s}),
       "not over since 3 s, 1 attempt", "  a #2 ░░░░░░░░░░░░░░░░"},
      {Event(AttemptSuccess{.attempt = 2, .step_name = "a", .at = at(5s), .duration = 2s}),
       "succeeded after 2 s, 1 attempt, answere…", "  a #2 ████████████████ 2 s, answered"},
      {Event(AttemptFailure{.attempt = 2,
                            .step_name = "a",
                            .at = at(5s),
                            .duration = 4s,
                            .cause = Cause::timed_out(),
                            .next = {.kind = planb::NextMove::next_step}}),
       "not over since 4 s, 1 attempt", "  a #2 ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ 4 s, timed out"},
      {Event(planb::RunFinish{.end = planb::RunEnd::deadline, .at = at(5s), .duration = 5s}),
       "deadline exceeded after 5 s, 0 attempts", ""},
  };
  for (const Row& row : rows) {
    const Trace trace;
    trace(row.first);
    const std::vector<std::string> lines = lines_of(trace.to_text(40));
    CHECK(lines.at(0) == row.title);
    if (!row.row.empty()) CHECK(lines.at(1) == row.row);
    CHECK(well_formed(trace.to_svg()));
  }
}

TEST_CASE("what is told of an attempt goes to its row, and where it has none to one of its own", "[trace]") {
  const Trace trace;
  trace(Event(AttemptStart{.attempt = 1, .step_name = "a"}));
  trace(Event(AttemptStart{.attempt = 2, .step_name = "b"}));
  const auto failed = [&](int attempt, Duration when, Cause cause) {
    trace(Event(AttemptFailure{.attempt = attempt,
                               .step_name = "x",
                               .at = at(when),
                               .duration = 1s,
                               .cause = std::move(cause),
                               .next = {.kind = planb::NextMove::retry}}));
  };
  failed(1, 1s, Cause::timed_out());
  failed(1, 2s, Cause::of(std::string("again")));
  failed(3, 3s, Cause::of(std::string("unknown")));
  const std::vector<std::string> lines = lines_of(trace.to_text(80));
  REQUIRE(lines.size() == 6);
  CHECK(lines[1].rfind("  a #1 ▒", 0) == 0);
  CHECK_THAT(lines[1], Catch::Matchers::EndsWith(" 1 s, timed out"));
  CHECK(lines[2].rfind("  b #2 ░", 0) == 0);
  CHECK(lines[3].rfind("  x #1  ", 0) == 0);
  CHECK_THAT(lines[3], Catch::Matchers::EndsWith("again"));
  CHECK(lines[4].rfind("  x #3  ", 0) == 0);
}

TEST_CASE("an interrupted attempt has a colour of its own", "[trace]") {
  Cause interrupted;
  planb::detail::CauseAccess::set_kind(interrupted, planb::CauseKind::interrupted);
  const Trace trace;
  trace(Event(AttemptStart{.attempt = 1, .step_name = "a"}));
  trace(Event(AttemptFailure{.attempt = 1,
                             .step_name = "a",
                             .at = at(1s),
                             .duration = 1s,
                             .cause = interrupted,
                             .next = {.run_end = planb::RunEnd::interrupted}}));
  CHECK(lines_of(trace.to_text()).at(0) == "interrupted after 1 s, 1 attempt");
  CHECK_THAT(trace.to_svg(), Catch::Matchers::ContainsSubstring("<rect class=\"interrupted\""));
}

TEST_CASE("a picture of several runs is called by the first, and says how many there are more", "[trace]") {
  const Trace trace;
  const auto title = [&trace] {
    const std::string svg = trace.to_svg();
    const std::size_t from = svg.find("<title>") + 7;
    return svg.substr(from, svg.find("</title>") - from);
  };
  for (int i = 1; i <= 3; ++i) {
    record_attempt(trace, 1, "a", i * 1s, i * 1s + 1s, "run " + std::to_string(i));
    const std::string first = "run 1: succeeded after 1 s, 1 attempt, answered by a";
    CHECK(title() == first + (i == 1 ? "" : i == 2 ? "; and 1 more run" : "; and 2 more runs"));
  }
}

TEST_CASE("a stream's first output is marked", "[trace]") {
  const Trace trace;
  trace(Event(AttemptStart{.attempt = 1, .step_name = "a"}));
  trace(Event(planb::FirstOutput{.attempt = 1, .step_name = "a", .at = at(1s), .after = 1s}));
  trace(Event(AttemptSuccess{.attempt = 1, .step_name = "a", .at = at(4s), .duration = 4s}));
  CHECK(lines_of(trace.to_text(40)).at(1) == "  a #1 ████┃███████████ 4 s, answered");
  CHECK_THAT(trace.to_svg(), Catch::Matchers::ContainsSubstring("<line class=\"output\""));
  const Trace at_once;  // where the bar begins, it would hide that
  at_once(Event(AttemptStart{.attempt = 1, .step_name = "a"}));
  at_once(Event(planb::FirstOutput{.attempt = 1, .step_name = "a"}));
  at_once(Event(AttemptSuccess{.attempt = 1, .step_name = "a", .at = at(4s), .duration = 4s}));
  CHECK(lines_of(at_once.to_text(40)).at(1) == "  a #1 ████████████████ 4 s, answered");
}

TEST_CASE("what has no length is drawn all the same", "[trace]") {
  const Trace trace;
  CHECK(trace.to_text().empty());
  CHECK_THAT(trace.to_svg(), Catch::Matchers::ContainsSubstring("nothing recorded"));
  CHECK(well_formed(trace.to_svg()));
  record_attempt(trace, 1, "", 5s, 5s);
  CHECK(lines_of(trace.to_text(40)).at(1) == "  step 0 #1 █                0 ns, answ…");
  CHECK(well_formed(trace.to_svg()));
  // Times from end to end, and backwards.
  const Trace odd;
  odd(Event(AttemptStart{.attempt = 1, .at = TimePoint::min(), .gate_wait = Duration::max()}));
  odd(Event(AttemptSuccess{.attempt = 1, .at = TimePoint::max(), .duration = Duration::min()}));
  odd(Event(StepSkipped{.at = TimePoint::min()}));
  CHECK(lines_of(odd.to_text()).size() >= 3);
  CHECK(well_formed(odd.to_svg()));
  CHECK(odd.to_svg().size() < 20000);
}

TEST_CASE("sixty attempts, long names and other scripts keep their columns", "[trace]") {
  const Trace trace;
  for (int i = 1; i <= 60; ++i) {
    const std::string name = i % 3 == 0   ? std::string(200, 'n')
                             : i % 3 == 1 ? "提供者名字很长很长很长很长很长很长很长"
                                          : "short";
    trace(Event(AttemptStart{.attempt = i, .step_attempt = i, .step_name = name, .at = at(i * 100ms)}));
    trace(Event(AttemptFailure{.attempt = i,
                               .step_name = name,
                               .at = at(i * 100ms + 80ms),
                               .duration = 80ms,
                               .cause = Cause::of(std::string(3000, 'e')),
                               .next = {.kind = planb::NextMove::next_step}}));
  }
  const std::vector<std::string> lines = lines_of(trace.to_text(80));
  REQUIRE(lines.size() == 62);
  for (std::size_t i = 1; i != 61; ++i) {
    INFO(lines[i]);
    const std::size_t hash = lines[i].find(" #");
    REQUIRE(hash != std::string::npos);
    std::size_t columns = 0;
    planb::detail::each_char(std::string_view(lines[i]).substr(0, hash), 1000,
                             [&](char32_t code) { columns += planb::detail::char_width(code); });
    CHECK(columns == 2 + 20);
    CHECK(planb::detail::fit_text(lines[i], 80).text == lines[i]);  // no more than 80 columns
  }
  const std::string svg = trace.to_svg();
  CHECK(well_formed(svg));
  CHECK_THAT(svg, Catch::Matchers::ContainsSubstring("height=\"1516\""));
  CHECK_THAT(svg, Catch::Matchers::ContainsSubstring("<title>" + std::string(200, 'n') + "</title>"));
}

TEST_CASE("in a picture letters have their width: what is long ends before what stands beside it", "[trace]") {
  const auto drawn = [](const std::string& letter) {
    const Trace trace;
    record_attempt(trace, 1, std::string(200, letter[0]), 0s, 1s);
    const std::string svg = trace.to_svg();
    const std::size_t from = svg.find(">" + letter) + 1;
    const std::size_t end = svg.find_first_not_of(letter, from);
    CHECK(svg.compare(end, 10, "\xE2\x80\xA6<title>") == 0);
    return end - from;
  };
  CHECK(drawn("W") == 12);
  CHECK(drawn("N") == 15);
  CHECK(drawn("n") == 20);
  CHECK(drawn("i") == 31);
}

TEST_CASE("in a picture what stands on another letter has no width, and other scripts have theirs", "[trace]") {
  using planb::detail::drawn_width;
  CHECK(drawn_width(U'\u0301') == 0);
  CHECK(drawn_width(U'\u200B') == 0);
  CHECK(drawn_width(U'\u00E9') == drawn_width(U'\u0434'));
  CHECK(drawn_width(U'\u0434') < drawn_width(U'\u540D'));
  CHECK(drawn_width(U'\u1100') == drawn_width(U'\u540D'));
  CHECK(drawn_width(U'\u2192') == drawn_width(U'\u540D'));
}

TEST_CASE("a text is fitted to its columns, whatever its characters are", "[trace]") {
  struct Row {
    std::string text;
    std::size_t columns;
    std::string fitted;
    std::size_t width;
  };
  const Row rows[] = {
      {"e\xCC\x81t\xCC\x81", 2, "e\xCC\x81t\xCC\x81", 2},  // accents of their own
      {"e\xCC\x81t\xCC\x81s", 2, "e\xCC\x81\xE2\x80\xA6", 2},
      {"a\tb\x1B", 9, "a b ", 4},
      {"x\xE2\x81\xA6y\xE2\x81\xA9z", 9, "xyz", 3},
      {"x\xE2\x80\xAAy\xE2\x80\xAEz", 9, "xyz", 3},
      {"a\xE2\x81\xA5", 9, "a\xE2\x81\xA5", 1},  // beside those that turn the direction
      {"abc", 0, "", 0},
      {"", 0, "", 0},
      {"\xE5\x90\x8D", 1, "\xE2\x80\xA6", 1},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text, row.columns);
    const planb::detail::FittedText fitted = planb::detail::fit_text(row.text, row.columns);
    CHECK(fitted.text == row.fitted);
    CHECK(fitted.width == row.width);
  }
}

TEST_CASE("where numbers leave no room for a note there is none", "[trace]") {
  const Trace trace;
  record_attempt(trace, 1'234'567'890, std::string(30, 'n'), 0s, 1s);
  CHECK(lines_of(trace.to_text(40)).at(1) == "  nnnnnnnnn… #1234567890 ████████████████");
}

TEST_CASE("a picture's names have no character that XML or a line has not", "[trace]") {
  const Trace trace;
  record_attempt(trace, 1, "x\xEF\xBF\xBEy\xEF\xBF\xBFz\nx\x7F", 0s, 1s);
  const std::string svg = trace.to_svg();
  CHECK(well_formed(svg));
  CHECK_THAT(svg, Catch::Matchers::ContainsSubstring("<title>x\xEF\xBF\xBDy\xEF\xBF\xBDz x </title>"));
  CHECK(svg.find("\xEF\xBF\xBF") == std::string::npos);
}

TEST_CASE("names and messages cannot break out of the picture, nor out of the line", "[trace]") {
  const Trace trace;
  trace(Event(AttemptStart{.attempt = 1, .step_name = "</text><script>x</script>", .label = "\" onload=\"x()\n&\x01"}));
  trace(Event(AttemptFailure{.attempt = 1,
                             .step_name = "</text><script>x</script>",
                             .at = at(1s),
                             .duration = 1s,
                             .cause = Cause::of(std::string("\xFF\xEF\xBF\xBE\x1B[31m]]>\n&lt;")),
                             .next = {.kind = planb::NextMove::next_step},
                             .label = "\" onload=\"x()\n&\x01"}));
  trace(Event(AttemptStart{
      .attempt = 2, .step_name = "\xE2\x80\xAEright to left", .at = at(1s), .label = "\" onload=\"x()\n&\x01"}));
  const std::string svg = trace.to_svg();
  CHECK(well_formed(svg));
  CHECK(svg.find("<script") == std::string::npos);
  CHECK(svg.find("onload=\"") == std::string::npos);
  CHECK(svg.find("\xEF\xBF\xBE") == std::string::npos);
  const std::string text = trace.to_text();
  CHECK(lines_of(text).size() == 4);
  CHECK(text.find('\x1B') == std::string::npos);
  CHECK(text.find("\xE2\x80\xAE") == std::string::npos);
}

TEST_CASE("a recording is bounded", "[trace]") {
  const Trace trace(planb::TraceOptions{.max_runs = 3, .max_events = 5});
  for (int i = 0; i != 10; ++i) record_attempt(trace, 1, "a", i * 1s, i * 1s + 1ms, "run " + std::to_string(i));
  CHECK(trace.size() == 3);
  CHECK(lines_of(trace.to_text()).at(0).rfind("run 7: ", 0) == 0);
  for (int i = 1; i != 100; ++i) trace(Event(AttemptStart{.attempt = i, .label = "long"}));
  CHECK_THAT(trace.to_text(), Catch::Matchers::ContainsSubstring("5 attempts (94 more events)"));
  CHECK_THAT(trace.to_json(), Catch::Matchers::ContainsSubstring("\"left_out\":94"));
  CHECK(trace.to_text().find("over after") == std::string::npos);
  trace(Event(planb::RunFinish{.end = planb::RunEnd::deadline, .at = at(9s), .label = "long"}));
  CHECK_THAT(trace.to_text(),
             Catch::Matchers::ContainsSubstring("long: over after at least 0 ns, 5 attempts (95 more events)"));
  const Trace counting(planb::TraceOptions{.max_events = 0});
  record_attempt(counting, 1, "a", 0s, 1s);
  CHECK(lines_of(counting.to_text()).at(0) == "over after at least 0 ns, 0 attempts (2 more events)");
  CHECK(well_formed(counting.to_svg()));
}

TEST_CASE("a recording as JSON has the runs and their events", "[trace]") {
  const Trace trace;
  record_attempt(trace, 1, "a", 0s, 1500ms, "x");
  CHECK(trace.to_json() ==
        R"({"runs":[{"label":"x","events":[{"event":"attempt_start","attempt":1,"step_attempt":1,"step_index":0,)"
        R"("step_name":"a","at":0,"gate_wait":0,"label":"x"},{"event":"attempt_success","attempt":1,"step_attempt":1,)"
        R"("step_index":0,"step_name":"a","at":1.5,"duration":1.5,"label":"x"}]}]})");
  CHECK(Trace().to_json() == R"({"runs":[]})");
#if HAS_READER
  const auto read = nlohmann::json::parse(trace.to_json({.wall = true}));
  const std::string first = read.at("runs").at(0).at("events").at(0).at("time");
  const std::string second = read.at("runs").at(0).at("events").at(1).at("time");
  const auto millis = [](const std::string& time) {
    return std::stoi(time.substr(17, 2)) * 1000 + std::stoi(time.substr(20, 3));
  };
  CHECK((millis(second) - millis(first) + 60000) % 60000 == 1500);  // of the events, not of the writing
#endif
}

TEST_CASE("the picture in the documentation is what the code draws", "[trace]") {
  const std::string svg = traced_chain().to_svg();
  CHECK(well_formed(svg) == 70U);
  CHECK_THAT(svg, Catch::Matchers::ContainsSubstring("prefers-color-scheme:dark"));
  const std::filesystem::path path =
      std::filesystem::path(__FILE__).parent_path() / ".." / ".." / "docs" / "pictures" / "trace.svg";
  // PLANB_WRITE_PICTURES=1 tests/run ... renews it.
  if (std::getenv("PLANB_WRITE_PICTURES") != nullptr) std::ofstream(path, std::ios::binary) << svg;
  CHECK(file_text(path) == svg);
}

TEST_CASE("threads may share a recorder", "[trace]") {
  const Trace trace;
  std::vector<std::thread> threads;
  for (int t = 0; t != 4; ++t) {
    threads.emplace_back([&trace, label = "thread " + std::to_string(t)] {
      record_attempt(trace, 1, "a", 0s, 1s, label);
      static_cast<void>(trace.to_text());
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(trace.size() == 4);
}
