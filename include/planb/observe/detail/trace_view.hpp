// SPDX-License-Identifier: MIT
// A recorded run, and its attempts as rows of a timeline.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/cause.hpp>
#include <planb/report/detail/text.hpp>
#include <planb/report/event.hpp>
#include <planb/report/report.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/duration.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

struct TracedRun {
  std::string label = {};
  std::vector<Event> events = {};
  TimePoint first_at{};  // of the first event, and the time of day when it was told
  std::chrono::system_clock::time_point wall{};
  std::size_t left_out = 0;  // events for which there was no room
  int last_step = -1;
  bool attempted = false;
  bool ended = false;     // the last attempt said so
  bool finished = false;  // RunFinish has been told
};

enum class RowKind : unsigned char { answered, failed, interrupted, open, skipped };

struct TraceRow {
  RowKind kind = RowKind::open;
  std::string name;
  int attempt = 0;
  // Since the run's start: when the wait before it began, when it did, and when it was over.
  Duration wait_from{};
  Duration from{};
  Duration to{};
  std::optional<Duration> first_output = std::nullopt;
  std::string note = {};  // what became of it
};

struct TraceView {
  std::string title;
  std::vector<TraceRow> rows;
  Duration length{};
};

// Reads a run's events in order.
class TraceReader {
 public:
  [[nodiscard]] static TraceView read(const TracedRun& run) {
    TraceReader reader;
    if (!run.events.empty()) reader.start_ = run.events.front().visit([](const auto& e) { return begin_of(e); });
    for (const Event& event : run.events) event.visit([&](const auto& e) { reader.add(e); });
    // What is still going on goes on until the last thing that is known.
    for (TraceRow& row : reader.view_.rows) {
      if (row.kind == RowKind::open) row.to = reader.view_.length;
    }
    reader.view_.title = reader.title(run);
    return std::move(reader.view_);
  }

 private:
  [[nodiscard]] static TimePoint begin_of(const AttemptStart& e) { return add_time(e.at, e.gate_wait); }
  [[nodiscard]] static TimePoint begin_of(const FirstOutput& e) { return add_time(e.at, e.after); }
  [[nodiscard]] static TimePoint begin_of(const AttemptSuccess& e) { return add_time(e.at, e.duration); }
  [[nodiscard]] static TimePoint begin_of(const AttemptFailure& e) { return add_time(e.at, e.duration); }
  [[nodiscard]] static TimePoint begin_of(const StepSkipped& e) { return e.at; }
  [[nodiscard]] static TimePoint begin_of(const RunFinish& e) { return add_time(e.at, e.duration); }

  [[nodiscard]] static std::string name_of(const std::string& name, int index) {
    return name.empty() ? step_label(name, index) : name;  // whole: what has no room is cut where it is drawn
  }

  // Before `at`; a negative time is none.
  [[nodiscard]] static TimePoint add_time(TimePoint at, Duration before) {
    return detail::add(at, -(std::max)(before, Duration::zero()));
  }

  [[nodiscard]] Duration since_start(TimePoint at) {
    const Duration since = (std::max)(between(start_, at), Duration::zero());
    view_.length = (std::max)(view_.length, since);
    return since;
  }

  void add(const AttemptStart& e) {
    const Duration from = since_start(e.at);
    const Duration gate = std::clamp(e.gate_wait, Duration::zero(), from);
    TraceRow row{.name = name_of(e.step_name, e.step_index), .attempt = e.attempt, .wait_from = from - gate};
    row.from = from;
    if (waits_since_) row.wait_from = (std::min)(row.wait_from, *waits_since_);
    waits_since_.reset();
    view_.rows.push_back(std::move(row));
  }

  void add(const FirstOutput& e) { row_of(e, e.after).first_output = since_start(e.at); }

  void add(const AttemptSuccess& e) {
    TraceRow& row = row_of(e, e.duration);
    row.kind = RowKind::answered;
    row.to = since_start(e.at);
    row.note = duration_text(e.duration) + ", answered";
    end_ = RunEnd::succeeded;
    answered_by_ = row.name;
  }

  void add(const AttemptFailure& e) {
    TraceRow& row = row_of(e, e.duration);
    row.kind = e.cause.kind() == CauseKind::interrupted ? RowKind::interrupted : RowKind::failed;
    row.to = since_start(e.at);
    row.note = duration_text(e.duration) + ", ";
    append_clipped(row.note, describe(e.cause), 80);
    if (e.verdict && e.verdict->failure_class != FailureClass::unknown) {
      row.note += std::string(" (") + planb::to_string(e.verdict->failure_class) + ")";
    }
    if (e.verdict && e.verdict->alert) row.note += " (alert)";
    if (e.next.kind == NextMove::retry) waits_since_ = row.to;
    if (e.next.kind == NextMove::end) end_ = e.next.run_end;
  }

  void add(const StepSkipped& e) {
    TraceRow row{.kind = RowKind::skipped, .name = name_of(e.step_name, e.step_index)};
    row.wait_from = row.from = row.to = since_start(e.at);
    row.note = std::string("skipped, ") + planb::to_string(e.reason);
    if (e.opens_at) row.note += open_text(between(e.at, *e.opens_at), *e.opens_at);
    view_.rows.push_back(std::move(row));
  }

  void add(const RunFinish& e) {
    static_cast<void>(since_start(e.at));
    end_ = e.end;
    if (e.report.answered_step) answered_by_ = e.report.answered_by();
  }

  // The row of that attempt, or a new one where its start was not told.
  template <class E>
  [[nodiscard]] TraceRow& row_of(const E& e, Duration took) {
    for (auto row = view_.rows.rbegin(); row != view_.rows.rend(); ++row) {
      if (row->attempt == e.attempt && row->kind == RowKind::open) return *row;
    }
    TraceRow row{.name = name_of(e.step_name, e.step_index), .attempt = e.attempt};
    row.wait_from = row.from = since_start(add_time(e.at, took));
    view_.rows.push_back(std::move(row));
    return view_.rows.back();
  }

  [[nodiscard]] std::string title(const TracedRun& run) const {
    std::string text;
    append_clipped(text, run.label, 64);
    if (!text.empty()) text += ": ";
    if (end_) {
      text += std::string(planb::to_string(*end_)) + " after ";
    } else {  // what it ended as may be among the events for which there was no room
      text += run.finished || run.ended ? "over after at least " : "not over since ";
    }
    text += duration_text(view_.length);
    const auto attempts = std::count_if(view_.rows.begin(), view_.rows.end(),
                                        [](const TraceRow& r) { return r.kind != RowKind::skipped; });
    text += ", " + std::to_string(attempts) + (attempts == 1 ? " attempt" : " attempts");
    if (!answered_by_.empty() && end_ == RunEnd::succeeded) text += ", answered by " + answered_by_;
    if (run.left_out != 0) text += " (" + std::to_string(run.left_out) + " more events)";
    return text;
  }

  TimePoint start_{};
  TraceView view_;
  std::optional<Duration> waits_since_;
  std::optional<RunEnd> end_;
  std::string answered_by_;
};

}  // namespace planb::inline PLANB_ABI::detail
