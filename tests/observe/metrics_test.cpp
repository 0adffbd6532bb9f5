// Metrics: what is counted, within which bounds, and as text that Prometheus reads.
#include <planb/observe/metrics.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "two_steps.hpp"

using namespace std::chrono_literals;
using planb::Cause;
using planb::Duration;
using planb::Metrics;
using planb::MetricsHandler;

namespace {

// --- A strict reader of Prometheus' text format, version 0.0.4 -------------------------------------------------------

struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
  std::string value;
};

struct Exposition {
  std::map<std::string, std::string> types;
  std::vector<Sample> samples;

  [[nodiscard]] std::optional<std::string> value(const std::string& name,
                                                 const std::map<std::string, std::string>& labels) const {
    for (const Sample& sample : samples) {
      if (sample.name == name && sample.labels == labels) return sample.value;
    }
    return std::nullopt;
  }
};

// Throws what is wrong, and where.
class ExpositionReader {
 public:
  explicit ExpositionReader(const std::string& text) {
    need(text.empty() || text.back() == '\n', "the text ends with a line's end");
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      line_ = line;
      read(line);
    }
    check_histograms();
  }

  Exposition out;

 private:
  void need(bool holds, const std::string& what) const {
    if (!holds) throw std::runtime_error(what + ": " + line_);
  }

  static bool is_name(std::string_view name) {
    return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
  }

  void read(const std::string& line) {
    if (line.rfind("# HELP ", 0) == 0) {
      family_ = line.substr(7, line.find(' ', 7) - 7);
      need(is_name(family_), "a family's name");
      need(helped_.insert(family_).second, "a family is helped once");
      return;
    }
    if (line.rfind("# TYPE ", 0) == 0) {
      std::istringstream words(line.substr(7));
      std::string name;
      std::string type;
      std::string more;
      words >> name >> type;
      need(name == family_ && !(words >> more), "the type follows the help");
      need(type == "counter" || type == "histogram", "a type that there is");
      need(out.types.emplace(name, type).second, "a family comes once");
      return;
    }
    sample(line);
  }

  void sample(const std::string& line) {
    Sample s;
    std::size_t at = line.find_first_of("{ ");
    need(at != std::string::npos, "a sample has a value");
    s.name = line.substr(0, at);
    need(is_name(s.name), "a sample's name");
    if (line[at] == '{') {
      ++at;
      for (;;) {
        const std::size_t equals = line.find("=\"", at);
        need(equals != std::string::npos, "a label has a value in quotes");
        const std::string name = line.substr(at, equals - at);
        need(is_name(name), "a label's name");
        std::string value;
        at = equals + 2;
        for (; at < line.size() && line[at] != '"'; ++at) {
          if (line[at] != '\\') {
            need(static_cast<unsigned char>(line[at]) >= 0x20, "no control character");
            value += line[at];
            continue;
          }
          ++at;
          need(at < line.size() && std::string_view("\\\"n").find(line[at]) != std::string_view::npos, "an escape");
          value += line[at] == 'n' ? '\n' : line[at];
        }
        need(at < line.size(), "the quote is closed");
        need(s.labels.emplace(name, value).second, "a label comes once");
        ++at;
        need(at < line.size() && (line[at] == ',' || line[at] == '}'), "labels are separated");
        if (line[at++] == '}') break;
      }
      need(at < line.size() && line[at] == ' ', "a space before the value");
    }
    s.value = line.substr(at + 1);
    need(!s.value.empty() && s.value.find_first_not_of("0123456789.") == std::string::npos, "a plain number");
    const std::string type = out.types.count(family_) != 0 ? out.types[family_] : "";
    if (type == "counter") {
      need(s.name == family_ && s.name.size() > 6 && s.name.substr(s.name.size() - 6) == "_total", "a counter's name");
      need(s.value.find('.') == std::string::npos, "a counter is whole");
    } else {
      need(type == "histogram" &&
               (s.name == family_ + "_bucket" || s.name == family_ + "_sum" || s.name == family_ + "_count"),
           "a histogram's sample");
      need((s.labels.count("le") == 1) == (s.name == family_ + "_bucket"), "le belongs to buckets");
    }
    std::string key = s.name;
    for (const auto& [name, value] : s.labels) key += '\0' + name + '\0' + value;
    need(seen_.insert(key).second, "a series comes once");
    out.samples.push_back(std::move(s));
  }

  // Buckets ascend, in bounds and in counts; the last is +Inf, and equals _count.
  void check_histograms() {
    for (std::size_t i = 0; i != out.samples.size(); ++i) {
      const Sample& first = out.samples[i];
      if (first.labels.count("le") == 0) continue;
      double bound = 0;
      std::uint64_t count = 0;
      for (;; ++i) {
        const Sample& s = out.samples.at(i);
        line_ = s.name;
        need(s.labels.count("le") == 1, "a histogram ends with +Inf");
        const std::uint64_t here = std::stoull(s.value);
        need(here >= count, "buckets' counts ascend");
        count = here;
        if (s.labels.at("le") == "+Inf") break;
        need(std::stod(s.labels.at("le")) > bound, "buckets' bounds ascend");
        bound = std::stod(s.labels.at("le"));
      }
      const Sample& sum = out.samples.at(i + 1);
      const Sample& all = out.samples.at(i + 2);
      need(sum.name.substr(sum.name.size() - 4) == "_sum", "then the sum");
      need(all.name.substr(all.name.size() - 6) == "_count" && std::stoull(all.value) == count, "then the count");
    }
  }

  std::string line_;
  std::string family_;
  std::set<std::string> helped_;
  std::set<std::string> seen_;
};

Exposition read(const std::string& text) { return ExpositionReader(text).out; }

planb::AttemptSuccess success(std::string step, Duration took = 1ms) {
  return {.attempt = 1, .step_attempt = 1, .step_name = std::move(step), .duration = took};
}

planb::AttemptFailure failure(Cause cause, std::optional<planb::Verdict> verdict = {}) {
  return {.attempt = 1,
          .step_attempt = 1,
          .step_name = "a",
          .duration = 1ms,
          .cause = std::move(cause),
          .verdict = verdict};
}

Cause cause_of_kind(planb::CauseKind kind) {
  Cause cause;
  planb::detail::CauseAccess::set_kind(cause, kind);
  return cause;
}
Cause interrupted_cause() { return cause_of_kind(planb::CauseKind::interrupted); }

std::size_t series_of(const planb::MetricsSnapshot& snapshot, std::string_view family) {
  for (const planb::MetricFamily& f : snapshot.families) {
    if (f.name == family) return f.series.size();
  }
  return 0;
}

}  // namespace

TEST_CASE("a run's attempts, skips and durations are counted by chain and step", "[metrics]") {
  planb::testing::VirtualClock clock;
  const Metrics metrics;
  const planb::ExecutionPlan<two::Client> plan{
      {.name = "one",
       .provide = two::Client{1},
       .attempts = 2,
       .classify = planb::http_classifier(planb::ContentRefusal::abort)},
      {.name = "guarded", .provide = two::Client{2}, .enter_when = [](const Cause&) { return false; }},
      {.name = "three", .provide = two::Client{3}}};
  const planb::RunOptions options{.on_event = metrics.handler("chat"), .clock = &clock};
  for (int i = 0; i != 3; ++i) {
    planb::run_with_plan(
        plan,
        [&](two::Client& client) {
          clock.advance(20ms);
          if (client.id == 1) throw planb::ProviderError(429, "slow down");
          return client.id;
        },
        options);
  }
  const Exposition text = read(metrics.to_prometheus());
  CHECK(text.value("planb_attempts_total",
                   {{"chain", "chat"}, {"step", "one"}, {"outcome", "failure"}, {"class", "rate_limited"}}) == "6");
  CHECK(text.value("planb_attempts_total",
                   {{"chain", "chat"}, {"step", "three"}, {"outcome", "success"}, {"class", ""}}) == "3");
  CHECK(text.value("planb_skips_total", {{"chain", "chat"}, {"step", "guarded"}, {"reason", "declined"}}) == "3");
  const auto duration = [&](const char* suffix, std::map<std::string, std::string> labels) {
    labels.insert({{"chain", "chat"}, {"step", "one"}, {"outcome", "failure"}});
    return text.value(std::string("planb_attempt_duration_seconds_") + suffix, labels);
  };
  CHECK(duration("bucket", {{"le", "0.01"}}) == "0");
  CHECK(duration("bucket", {{"le", "0.025"}}) == "6");
  CHECK(duration("bucket", {{"le", "120"}}) == "6");
  CHECK(duration("sum", {}) == "0.12");
  CHECK(duration("count", {}) == "6");

  const planb::MetricsSnapshot snapshot = metrics.snapshot();
  CHECK(snapshot.count("planb_attempts_total") == 9);
  CHECK(snapshot.count("planb_attempts_total", {{"outcome", "failure"}}) == 6);
  CHECK(snapshot.count("planb_attempts_total", {{"outcome", "failure"}, {"step", "three"}}) == 0);
  CHECK(snapshot.count("no_such_family") == 0);
}

TEST_CASE("runs are counted by their end, and fallbacks by who answered", "[metrics]") {
  const Metrics metrics({.buckets = {1s, 2s}});
  const MetricsHandler handler = metrics.handler("chat");
  planb::RunFinish finish{.duration = 1500ms};
  finish.report.answered_step = 0;
  handler(finish);
  finish.report.answered_step = 1;
  handler(finish);
  handler(planb::RunFinish{.end = planb::RunEnd::deadline, .duration = 3s});
  const Exposition text = read(metrics.to_prometheus());
  CHECK(text.value("planb_runs_total", {{"chain", "chat"}, {"end", "succeeded"}}) == "2");
  CHECK(text.value("planb_runs_total", {{"chain", "chat"}, {"end", "deadline"}}) == "1");
  CHECK_FALSE(text.value("planb_runs_total", {{"chain", "chat"}, {"end", "aborted"}}));
  CHECK(text.value("planb_fallbacks_total", {{"chain", "chat"}}) == "1");
  CHECK(text.value("planb_run_duration_seconds_bucket", {{"chain", "chat"}, {"le", "1"}}) == "0");
  CHECK(text.value("planb_run_duration_seconds_bucket", {{"chain", "chat"}, {"le", "2"}}) == "2");
  CHECK(text.value("planb_run_duration_seconds_bucket", {{"chain", "chat"}, {"le", "+Inf"}}) == "3");
  CHECK(text.value("planb_run_duration_seconds_sum", {{"chain", "chat"}}) == "6");
}

TEST_CASE("the time to a stream's first output is a histogram of its own", "[metrics]") {
  const Metrics metrics;
  metrics.handler("chat")(planb::FirstOutput{.attempt = 1, .step_name = "a", .after = 5ms});  // on the bound: within
  const Exposition text = read(metrics.to_prometheus());
  CHECK(text.value("planb_time_to_first_output_seconds_bucket", {{"chain", "chat"}, {"step", "a"}, {"le", "0.005"}}) ==
        "1");
  CHECK(text.samples.size() == 17);
}

TEST_CASE("a failure's class is the verdict's, or what its kind tells; an interrupted attempt is no failure",
          "[metrics]") {
  struct Row {
    planb::AttemptFailure event;
    const char* outcome;
    const char* name;
  };
  const Cause error = Cause::of(planb::ProviderError(503, "busy"));
  const Row rows[] = {
      {failure(error, planb::Verdict{planb::Action::retry, false, planb::FailureClass::overloaded}), "failure",
       "overloaded"},
      {failure(error), "failure", "unknown"},
      {failure(Cause::timed_out()), "failure", "timeout"},
      {failure(Cause::timed_out(), planb::Verdict{}), "failure", "timeout"},
      {failure(interrupted_cause()), "interrupted", ""},
      {failure(cause_of_kind(planb::CauseKind::rejected)), "failure", "rejected_value"},
  };
  for (const Row& row : rows) {
    const Metrics metrics;
    metrics.handler("chat")(row.event);
    CHECK(read(metrics.to_prometheus())
              .value("planb_attempts_total",
                     {{"chain", "chat"}, {"step", "a"}, {"outcome", row.outcome}, {"class", row.name}}) == "1");
  }
}

TEST_CASE("handlers of one chain count together, and outlive their metrics", "[metrics]") {
  std::optional<Metrics> metrics(std::in_place);
  const MetricsHandler first = metrics->handler("chat");
  const MetricsHandler second = metrics->handler("chat");
  const Metrics same = *metrics;
  first(success("a"));
  second(success("a"));
  metrics->handler("other")(success("a"));
  metrics.reset();
  first(success("a"));
  CHECK(same.snapshot().count("planb_attempts_total", {{"chain", "chat"}}) == 3);
  CHECK(same.snapshot().count("planb_attempts_total", {{"chain", "other"}}) == 1);
}

TEST_CASE("a family has a bounded number of series, and nothing goes uncounted", "[metrics]") {
  for (const std::size_t most : {std::size_t(1), std::size_t(2), std::size_t(10), std::size_t(1000)}) {
    INFO(most);
    const Metrics metrics({.max_series = most});
    const MetricsHandler handler = metrics.handler("chat");
    for (int round = 0; round != 2; ++round) {
      for (int i = 0; i != 3000; ++i) handler(success("step-" + std::to_string(i)));
    }
    const planb::MetricsSnapshot snapshot = metrics.snapshot();
    CHECK(snapshot.count("planb_attempts_total") == 6000);
    CHECK(series_of(snapshot, "planb_attempts_total") <= most);
    CHECK(series_of(snapshot, "planb_attempts_total") >= most / 2);
    CHECK(series_of(snapshot, "planb_attempt_duration_seconds") <= most);
    const std::uint64_t others = snapshot.count("planb_attempts_total", {{"step", "_other"}});
    CHECK(others >= 6000 - 2 * most);
    CHECK(snapshot.count("planb_attempts_total", {{"step", "step-0"}}) == (most == 1 ? 0U : 2U));
    static_cast<void>(read(metrics.to_prometheus()));
  }
}

TEST_CASE("chains without end are bounded too", "[metrics]") {
  const Metrics metrics({.max_series = 5});
  for (int i = 0; i != 200; ++i) {
    const MetricsHandler handler = metrics.handler("chain-" + std::to_string(i));
    handler(success("a"));
    handler(planb::RunFinish{});
  }
  const planb::MetricsSnapshot snapshot = metrics.snapshot();
  CHECK(snapshot.count("planb_attempts_total") == 200);
  CHECK(snapshot.count("planb_runs_total") == 200);
  CHECK(series_of(snapshot, "planb_attempts_total") <= 6);  // and the one that has what nothing else has room for
  CHECK(series_of(snapshot, "planb_runs_total") <= 6);
  CHECK(snapshot.count("planb_runs_total", {{"chain", "_other"}}) > 0);
}

TEST_CASE("any name is a label", "[metrics]") {
  const Metrics metrics;
  const MetricsHandler handler = metrics.handler("a \"quoted\" \\ chain\n");
  const std::string names[] = {
      "",       "\xE5\x90\x8D", "\xFF", "line\nend", "quote\"", "back\\slash", std::string(5000, 'x'),
      "_other", "delete\x7F it"};
  for (const std::string& name : names) handler(success(name));
  handler(success("\xFE"));  // the same label as \xFF
  const Exposition text = read(metrics.to_prometheus());
  std::set<std::string> steps;
  for (const Sample& sample : text.samples) {
    CHECK(sample.labels.at("chain") == "a \"quoted\" \\ chain ");
    steps.insert(sample.labels.at("step"));
  }
  CHECK(steps == std::set<std::string>{"step 0", "\xE5\x90\x8D", "\xEF\xBF\xBD", "line end", "quote\"", "back\\slash",
                                       std::string(200, 'x'), "_other", "delete  it"});
  CHECK(metrics.snapshot().count("planb_attempts_total", {{"step", "\xEF\xBF\xBD"}}) == 2);
}

TEST_CASE("a chain that is called _other counts with what has no room", "[metrics]") {
  const Metrics metrics({.max_series = 3});
  metrics.handler("_other")(planb::RunFinish{});
  for (int i = 0; i != 9; ++i) metrics.handler("chain-" + std::to_string(i))(planb::RunFinish{});
  const planb::MetricsSnapshot snapshot = metrics.snapshot();
  CHECK(snapshot.count("planb_runs_total") == 10);
  CHECK(series_of(snapshot, "planb_runs_total") <= 3);
  read(metrics.to_prometheus());  // no series stands twice
}

TEST_CASE("a snapshot of one's own is written as Prometheus reads it", "[metrics]") {
  const planb::MetricsSnapshot snapshot{
      .buckets = {},
      .families = {{.name = "own_total", .help = "Own.", .series = {{.labels = {}, .count = 3}}},
                   {.name = "lines_total", .help = "Lines.", .series = {{.labels = {{"x", "a\nb\\\""}}, .count = 4}}}}};
  CHECK(to_prometheus(snapshot) ==
        "# HELP own_total Own.\n"
        "# TYPE own_total counter\n"
        "own_total 3\n"
        "# HELP lines_total Lines.\n"
        "# TYPE lines_total counter\n"
        "lines_total{x=\"a\\nb\\\\\\\"\"} 4\n");
}

TEST_CASE("durations of any length stay within their sums", "[metrics]") {
  const Metrics metrics({.buckets = {1ns}});
  const MetricsHandler handler = metrics.handler("chat");
  handler(success("a", Duration::min()));
  handler(success("a", Duration::max()));
  handler(success("a", 2ns));
  const Exposition text = read(metrics.to_prometheus());
  const auto value = [&](std::string suffix, std::map<std::string, std::string> labels) {
    labels.insert({{"chain", "chat"}, {"step", "a"}, {"outcome", "success"}});
    return text.value("planb_attempt_duration_seconds_" + suffix, labels);
  };
  CHECK(value("bucket", {{"le", "0.000000001"}}) == "1");
  CHECK(value("sum", {}) == "31536000.000000002");
}

TEST_CASE("what cannot be counted in is refused", "[metrics]") {
  CHECK_THROWS_WITH(Metrics({.buckets = {}}), "planb: Metrics: at least one bucket is needed, such as 1s");
  CHECK_THROWS_WITH(Metrics({.buckets = {0s}}),
                    "planb: Metrics: the buckets' bounds ascend, and the first is above zero");
  CHECK_THROWS_AS(Metrics({.buckets = {2s, 2s}}), std::invalid_argument);
  CHECK_THROWS_WITH(Metrics({.max_series = 0}),
                    "planb: Metrics: max_series is how many series a family may have, so it must be 1 or more");
}

TEST_CASE("nothing counted is an empty text", "[metrics]") {
  const Metrics metrics;
  static_cast<void>(metrics.handler("chat"));
  CHECK(metrics.to_prometheus().empty());
}

TEST_CASE("a handler does not ask for the starts of attempts", "[metrics]") {
  const planb::EventHandler handler = Metrics().handler("chat");
  CHECK_FALSE(handler.wants<planb::AttemptStart>());
  CHECK(handler.wants<planb::AttemptSuccess>());
  CHECK(handler.wants<planb::RunFinish>());
}

TEST_CASE("eight threads count as one would", "[metrics]") {
  constexpr int threads = 8;
  constexpr int rounds = 400;
  for (const std::size_t most : {std::size_t(1000), std::size_t(20)}) {
    const Metrics metrics({.max_series = most});
    std::vector<std::thread> all;
    for (int t = 0; t != threads; ++t) {
      all.emplace_back([&metrics] {
        const MetricsHandler handler = metrics.handler("chat");
        for (int i = 0; i != rounds; ++i) {
          handler(success("step-" + std::to_string(i % 40), std::chrono::milliseconds(i)));
          handler(failure(Cause::timed_out()));
          handler(planb::RunFinish{.duration = 1ms});
          if (i % 100 == 0) static_cast<void>(metrics.snapshot());
        }
      });
    }
    for (std::thread& thread : all) thread.join();
    const planb::MetricsSnapshot snapshot = metrics.snapshot();
    CHECK(snapshot.count("planb_attempts_total", {{"outcome", "success"}}) == threads * rounds);
    CHECK(snapshot.count("planb_attempts_total", {{"outcome", "failure"}}) == threads * rounds);
    CHECK(snapshot.count("planb_attempt_duration_seconds") == 2 * threads * rounds);
    CHECK(snapshot.count("planb_runs_total") == threads * rounds);
    CHECK(series_of(snapshot, "planb_attempts_total") <= (std::min)(most, std::size_t(42)));
    if (most == 1000) CHECK(snapshot.count("planb_attempts_total", {{"step", "step-7"}}) == threads * rounds / 40);
    static_cast<void>(read(metrics.to_prometheus()));
  }
}
