// SPDX-License-Identifier: MIT
// Trace: an event handler that records runs, to be looked at as a timeline.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/observe/detail/json_writer.hpp>
#include <planb/observe/detail/trace_svg.hpp>
#include <planb/observe/detail/trace_text.hpp>
#include <planb/observe/detail/trace_view.hpp>
#include <planb/observe/json.hpp>
#include <planb/report/event.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI {

struct TraceOptions {
  std::size_t max_runs = 100;     // the oldest are forgotten
  std::size_t max_events = 1000;  // of one run; later ones are only counted
};

// Hand it to RunOptions::on_event. A handle: copies share what was recorded. May be shared by threads. Runs are told
// apart by their label (RunOptions::label): those that run at once under the same label, or without one, are mixed up.
class Trace {
 public:
  Trace() : Trace(TraceOptions{}) {}
  explicit Trace(const TraceOptions& options) : state_(std::make_shared<State>(options)) {}

  Trace(const Trace&) noexcept = default;  // and no move: a moved-from one could not record
  Trace& operator=(const Trace&) noexcept = default;
  ~Trace() = default;

  void operator()(const Event& event) const {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->record(event);
  }

  // How many runs there are.
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    return state_->runs.size();
  }

  // A recording of those runs that have this label.
  [[nodiscard]] Trace of(std::string_view label) const;

  void clear() const {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->runs.clear();
  }

  // A timeline for a terminal of so many columns (at least 40), in UTF-8: a title for each run, a line for each
  // attempt.
  [[nodiscard]] std::string to_text(std::size_t columns = 100) const;

  // The same as a picture, an SVG document that follows the reader's choice of light or dark.
  [[nodiscard]] std::string to_svg() const;

  // {"runs":[{"label":"...","events":[...]}]}, with each event as to_json(event) has it. With JsonOptions::wall that is
  // the time of day when the event was.
  [[nodiscard]] std::string to_json(const JsonOptions& options = {}) const;

 private:
  struct State {
    explicit State(const TraceOptions& o) : options(o) {}

    // Whether the event is the first of another run, though nobody has told of the last one's end.
    template <class E>
    [[nodiscard]] static bool begins(const detail::TracedRun& run, const E& e) noexcept {
      if constexpr (std::same_as<E, AttemptStart>) return run.ended || (run.attempted && e.attempt == 1);
      if constexpr (std::same_as<E, StepSkipped>) return run.ended || e.step_index <= run.last_step;
      return false;
    }

    template <class E>
    [[nodiscard]] detail::TracedRun& run_of(const E& e) {
      detail::TracedRun* run = nullptr;
      for (auto known = runs.rbegin(); known != runs.rend() && run == nullptr; ++known) {
        if (!known->finished && known->label == e.label) run = &*known;
      }
      if (run == nullptr || begins(*run, e)) {
        runs.push_back({.label = e.label, .first_at = e.at, .wall = std::chrono::system_clock::now()});
        if (runs.size() > (std::max)(options.max_runs, std::size_t{1})) runs.pop_front();
        run = &runs.back();
      }
      if constexpr (std::same_as<E, RunFinish>) {
        run->finished = true;
      } else {
        run->last_step = e.step_index;
        if constexpr (std::same_as<E, AttemptStart>) run->attempted = true;
        if constexpr (std::same_as<E, AttemptSuccess>) run->ended = true;
        if constexpr (std::same_as<E, AttemptFailure>) run->ended = e.next.kind == NextMove::end;
      }
      return *run;
    }

    void record(const Event& event) {
      detail::TracedRun& run = event.visit([this](const auto& e) -> detail::TracedRun& { return run_of(e); });
      if (run.events.size() < options.max_events) {
        run.events.push_back(event);
      } else {
        ++run.left_out;
      }
    }

    TraceOptions options;
    std::mutex mutex;
    std::deque<detail::TracedRun> runs;
  };

  [[nodiscard]] std::deque<detail::TracedRun> runs() const {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    return state_->runs;
  }

  std::shared_ptr<State> state_;
};

inline Trace Trace::of(std::string_view label) const {
  Trace found(state_->options);
  for (detail::TracedRun& run : runs()) {
    if (run.label == label) found.state_->runs.push_back(std::move(run));
  }
  return found;
}

inline std::string Trace::to_text(std::size_t columns) const {
  std::string out;
  detail::TraceTextWriter writer(out, columns);
  for (const detail::TracedRun& run : runs()) writer.write(detail::TraceReader::read(run));
  if (!out.empty()) writer.legend();
  return out;
}

inline std::string Trace::to_svg() const {
  detail::TraceSvgWriter writer;
  std::string title;
  std::size_t more = 0;
  for (const detail::TracedRun& run : runs()) {
    const detail::TraceView view = detail::TraceReader::read(run);
    if (title.empty()) {
      title = view.title;
    } else {
      ++more;
    }
    writer.write(view);
  }
  if (more != 0) title += "; and " + std::to_string(more) + (more == 1 ? " more run" : " more runs");
  return writer.take(title.empty() ? "nothing recorded" : title);
}

inline std::string Trace::to_json(const JsonOptions& options) const {
  detail::JsonWriter writer(options.max_text);
  writer.begin({});
  writer.begin_list("runs");
  for (const detail::TracedRun& run : runs()) {
    writer.begin_element(0);
    writer.text("label", run.label);
    writer.begin_list("events");
    for (const Event& event : run.events) {
      JsonOptions own = options;
      if (options.wall.get()) {
        const TimePoint at = event.visit([](const auto& e) { return e.at; });
        own.wall = std::chrono::floor<std::chrono::milliseconds>(run.wall) +
                   std::chrono::floor<std::chrono::milliseconds>(detail::between(run.first_at, at));
      }
      writer.element(planb::to_json(event, own));
    }
    writer.end_list();
    if (run.left_out != 0) writer.number("left_out", static_cast<std::int64_t>(run.left_out));
    writer.end();
  }
  writer.end_list();
  writer.end();
  return writer.take();
}

}  // namespace planb::inline PLANB_ABI
