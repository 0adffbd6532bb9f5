// SPDX-License-Identifier: MIT
// Metrics: counts and durations of what runs do, for Prometheus or whatever else collects them.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/observe/detail/decimal_seconds.hpp>
#include <planb/observe/detail/metrics_state.hpp>
#include <planb/report/event.hpp>
#include <planb/time/clock.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI {

enum class MetricType : unsigned char { counter, histogram };

[[nodiscard]] constexpr std::string_view to_label(MetricType value) noexcept {
  switch (value) {
    case MetricType::counter: return "counter";
    case MetricType::histogram: return "histogram";
  }
  return {};
}

struct MetricsOptions {
  // The upper bounds of the histograms' buckets, ascending and above zero.
  std::vector<Duration> buckets = {std::begin(detail::default_buckets), std::end(detail::default_buckets)};
  // So many series a family at most. Names come from plans, which somebody may make for each request: what has no room
  // is counted as step="_other".
  std::size_t max_series = 1000;
};

// One line of a family, told from the others by its labels.
struct MetricSeries {
  std::vector<std::pair<std::string, std::string>> labels;
  std::uint64_t count = 0;
  // Of a histogram: what the `count` durations come to, and how many were at most as long as each bound.
  Duration sum{};
  std::vector<std::uint64_t> buckets = {};
};

struct MetricFamily {
  std::string_view name;
  std::string_view help;
  MetricType type = MetricType::counter;
  std::vector<MetricSeries> series;  // by their labels
};

// What has been counted so far, as plain data.
struct MetricsSnapshot {
  std::vector<Duration> buckets;  // the bounds
  std::vector<MetricFamily> families;

  // The count of all series of a family that have these labels, such as
  //   count("planb_attempts_total", {{"step", "openai"}, {"outcome", "failure"}})
  [[nodiscard]] std::uint64_t count(
      std::string_view family,
      std::initializer_list<std::pair<std::string_view, std::string_view>> labels = {}) const noexcept;
};

// As Prometheus reads it: its text format, version 0.0.4.
[[nodiscard]] std::string to_prometheus(const MetricsSnapshot& snapshot);

// What Metrics::handler() gives, for RunOptions::on_event. Copies count into the same series, and keep them alive.
class MetricsHandler {
 public:
  void operator()(const FirstOutput& event) const;
  void operator()(const AttemptSuccess& event) const;
  void operator()(const AttemptFailure& event) const;
  void operator()(const StepSkipped& event) const;
  void operator()(const RunFinish& event) const;

 private:
  friend class Metrics;
  MetricsHandler(std::shared_ptr<detail::MetricsState> state, detail::ChainMetrics& chain) noexcept
      : state_(std::move(state)), chain_(&chain) {}

  std::shared_ptr<detail::MetricsState> state_;
  detail::ChainMetrics* chain_;  // the state's
};

// Shared by threads: nothing on the path of an attempt takes a lock, once a step is known. Copies share what is
// counted.
//
//   planb_attempts_total{chain,step,outcome,class}         success, failure, interrupted; of a failure its FailureClass
//   planb_skips_total{chain,step,reason}                   steps passed over, by SkipReason
//   planb_runs_total{chain,end}                            by RunEnd
//   planb_fallbacks_total{chain}                           runs that a step after the first has answered
//   planb_attempt_duration_seconds{chain,step,outcome}     histogram
//   planb_time_to_first_output_seconds{chain,step}         histogram, of streams
//   planb_run_duration_seconds{chain}                      histogram
//
// A run's label is none of theirs: there are as many as there are requests.
class Metrics {
 public:
  Metrics() : Metrics(MetricsOptions{}) {}
  // Refused with std::invalid_argument: no bucket, bounds that do not ascend from above zero, no series at all.
  explicit Metrics(MetricsOptions options)
      : state_(std::make_shared<detail::MetricsState>(std::move(options.buckets), options.max_series)) {}

  Metrics(const Metrics&) noexcept = default;  // and no move: a moved-from one could not count
  Metrics& operator=(const Metrics&) noexcept = default;
  ~Metrics() = default;

  // Counts what it is told with the label chain="...". Ask once for each chain, not for each run: this takes a lock.
  [[nodiscard]] MetricsHandler handler(std::string_view chain) const {
    detail::ChainMetrics& counted = state_->chain(chain);
    return MetricsHandler(state_, counted);
  }

  [[nodiscard]] MetricsSnapshot snapshot() const;
  [[nodiscard]] std::string to_prometheus() const { return planb::to_prometheus(snapshot()); }

 private:
  std::shared_ptr<detail::MetricsState> state_;
};

// --- What they do ----------------------------------------------------------------------------------------------------

inline void MetricsHandler::operator()(const FirstOutput& event) const {
  state_->count_output(*chain_, event.step_name, event.step_index, event.after);
}

inline void MetricsHandler::operator()(const AttemptSuccess& event) const {
  state_->count_attempt(*chain_, event.step_name, event.step_index, detail::AttemptOutcome::success,
                        FailureClass::unknown, event.duration);
}

inline void MetricsHandler::operator()(const AttemptFailure& event) const {
  const bool interrupted = event.cause.kind() == CauseKind::interrupted;
  state_->count_attempt(*chain_, event.step_name, event.step_index,
                        interrupted ? detail::AttemptOutcome::interrupted : detail::AttemptOutcome::failure,
                        detail::class_of(event), event.duration);
}

inline void MetricsHandler::operator()(const StepSkipped& event) const {
  state_->count_skip(*chain_, event.step_name, event.step_index, event.reason);
}

inline void MetricsHandler::operator()(const RunFinish& event) const {
  state_->count_run(*chain_, event.end, event.report.fell_back(), event.duration);
}

inline std::uint64_t MetricsSnapshot::count(
    std::string_view family,
    std::initializer_list<std::pair<std::string_view, std::string_view>> labels) const noexcept {
  std::uint64_t total = 0;
  for (const MetricFamily& candidate : families) {
    if (candidate.name != family) continue;
    for (const MetricSeries& series : candidate.series) {
      bool has_all = true;
      for (const auto& [name, value] : labels) {
        bool has = false;
        for (const auto& label : series.labels) has = has || (label.first == name && label.second == value);
        has_all = has_all && has;
      }
      if (has_all) total += series.count;
    }
  }
  return total;
}

namespace detail {

// Gathers the series of all families.
class MetricsReader {
 public:
  explicit MetricsReader(const MetricsState& state) {
    out_.buckets = state.bounds();
    const auto family = [&](std::string_view name, std::string_view help, MetricType type = MetricType::counter) {
      out_.families.push_back({name, help, type, {}});
    };
    family("planb_attempts_total", "Attempts, by outcome and by what a failure was.");
    family("planb_skips_total", "Steps passed over without an attempt.");
    family("planb_runs_total", "Runs that are over, by how they ended.");
    family("planb_fallbacks_total", "Runs that a step after the first has answered.");
    family("planb_attempt_duration_seconds", "How long attempts took.", MetricType::histogram);
    family("planb_time_to_first_output_seconds", "From a streamed attempt's start to its first output.",
           MetricType::histogram);
    family("planb_run_duration_seconds", "How long runs took.", MetricType::histogram);
    state.each_chain([&](const ChainMetrics& chain) { read(chain); });
    for (MetricFamily& f : out_.families) {
      std::sort(f.series.begin(), f.series.end(),
                [](const MetricSeries& a, const MetricSeries& b) { return a.labels < b.labels; });
    }
  }

  [[nodiscard]] MetricsSnapshot take() { return std::move(out_); }

 private:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  void read(const ChainMetrics& chain) {
    const std::string& name = chain.name;
    for (std::size_t i = 0; i != ChainMetrics::ends; ++i) {
      add(2, chain.runs[i], {{"chain", name}, {"end", std::string(to_label(static_cast<RunEnd>(i)))}});
    }
    add(3, chain.fallbacks, {{"chain", name}});
    add(6, chain.duration, {{"chain", name}});
    chain.each_step([&](const StepMetrics& step) { read(name, step); });
  }

  void read(const std::string& chain, const StepMetrics& step) {
    constexpr const char* outcomes[] = {"success", "failure", "interrupted"};
    for (std::size_t i = 0; i != StepMetrics::attempt_cells; ++i) {
      const auto outcome = static_cast<std::size_t>(StepMetrics::outcome_of(i));
      const bool failed = StepMetrics::outcome_of(i) == AttemptOutcome::failure;
      add(0, step.attempts[i],
          {{"chain", chain},
           {"step", step.name},
           {"outcome", outcomes[outcome]},
           {"class", failed ? std::string(to_label(static_cast<FailureClass>(i - 2))) : std::string()}});
    }
    for (std::size_t i = 0; i != StepMetrics::reasons; ++i) {
      add(1, step.skips[i],
          {{"chain", chain}, {"step", step.name}, {"reason", std::string(to_label(static_cast<SkipReason>(i)))}});
    }
    for (std::size_t i = 0; i != 3; ++i) {
      add(4, step.times[i], {{"chain", chain}, {"step", step.name}, {"outcome", outcomes[i]}});
    }
    add(5, step.times[StepMetrics::first_output], {{"chain", chain}, {"step", step.name}});
  }

  void add(std::size_t family, const MetricCell& cell, Labels labels) {
    if (!cell.listed.load(std::memory_order_acquire)) return;
    MetricSeries series{.labels = std::move(labels)};
    series.count = cell.count.load(std::memory_order_relaxed);
    out_.families[family].series.push_back(std::move(series));
  }

  void add(std::size_t family, const MetricTimes& times, Labels labels) {
    if (!times.cell.listed.load(std::memory_order_acquire)) return;
    MetricSeries series{.labels = std::move(labels)};
    // The count is that of the buckets read, so that the two agree whatever is counted meanwhile.
    for (std::size_t i = 0; i != out_.buckets.size() + 1; ++i) {
      series.count += times.buckets[i].load(std::memory_order_relaxed);
      if (i != out_.buckets.size()) series.buckets.push_back(series.count);
    }
    constexpr auto most = static_cast<std::uint64_t>((Duration::max)().count());
    series.sum = Duration(static_cast<Duration::rep>((std::min)(times.sum.load(std::memory_order_relaxed), most)));
    out_.families[family].series.push_back(std::move(series));
  }

  MetricsSnapshot out_;
};

inline void append_label_value(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
}

inline void append_sample(std::string& out, const MetricFamily& family, const char* suffix, const MetricSeries& series,
                          std::string_view le) {
  out += family.name;
  out += suffix;
  char separator = '{';
  const auto label = [&](std::string_view name, std::string_view value) {
    out += separator;
    out += name;
    out += "=\"";
    append_label_value(out, value);
    out += '"';
    separator = ',';
  };
  for (const auto& [name, value] : series.labels) label(name, value);
  if (!le.empty()) label("le", le);
  if (separator == ',') out += '}';
  out += ' ';
}

}  // namespace detail

inline MetricsSnapshot Metrics::snapshot() const { return detail::MetricsReader(*state_).take(); }

inline std::string to_prometheus(const MetricsSnapshot& snapshot) {
  std::string out;
  for (const MetricFamily& family : snapshot.families) {
    if (family.series.empty()) continue;
    out.append("# HELP ").append(family.name).append(" ").append(family.help) += '\n';
    out.append("# TYPE ").append(family.name).append(" ").append(to_label(family.type)) += '\n';
    for (const MetricSeries& series : family.series) {
      if (family.type == MetricType::counter) {
        detail::append_sample(out, family, "", series, {});
        out += std::to_string(series.count) + '\n';
        continue;
      }
      for (std::size_t i = 0; i != series.buckets.size(); ++i) {
        std::string bound;
        detail::append_seconds(bound, snapshot.buckets[i]);
        detail::append_sample(out, family, "_bucket", series, bound);
        out += std::to_string(series.buckets[i]) + '\n';
      }
      detail::append_sample(out, family, "_bucket", series, "+Inf");
      out += std::to_string(series.count) + '\n';
      detail::append_sample(out, family, "_sum", series, {});
      detail::append_seconds(out, series.sum);
      out += '\n';
      detail::append_sample(out, family, "_count", series, {});
      out += std::to_string(series.count) + '\n';
    }
  }
  return out;
}

}  // namespace planb::inline PLANB_ABI
