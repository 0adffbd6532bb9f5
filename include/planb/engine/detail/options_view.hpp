// SPDX-License-Identifier: MIT
// The options of a run as the engine sees them: borrowed, from RunOptions or StreamOptions.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/report/event.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/optional_duration.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace planb::inline PLANB_ABI::detail {

// Name every member of the two lists: one that is added must be seen to here, and in the other list.
inline void every_member(const RunOptions& options) {
  [[maybe_unused]] const auto& [on_event, budget, stop, clock, entry, failure, seed, label] = options;
}
inline void every_member(const StreamOptions& options) {
  [[maybe_unused]] const auto& [on_event, budget, stop, clock, entry, failure, seed, label, partial] = options;
}

// One of the two, as one list. (Of two pointers, one of them null, GCC 12 at -O3 warns of both being null.)
class OptionsView {
 public:
  explicit OptionsView(const RunOptions& options) noexcept : run_(&options), is_stream_(false) {}
  explicit OptionsView(const StreamOptions& options) noexcept : stream_(&options), is_stream_(true) {}

  [[nodiscard]] const EventHandler& on_event() const noexcept {
    return is_stream_ ? stream_->on_event : run_->on_event;
  }
  [[nodiscard]] std::optional<Duration> budget() const noexcept {
    return limit(is_stream_ ? stream_->budget : run_->budget);
  }
  [[nodiscard]] const StopToken& stop() const noexcept { return is_stream_ ? stream_->stop : run_->stop; }
  [[nodiscard]] Clock* clock() const noexcept { return is_stream_ ? stream_->clock : run_->clock; }
  [[nodiscard]] StepEntry entry() const noexcept { return is_stream_ ? stream_->entry : run_->entry; }
  [[nodiscard]] std::optional<FailureStyle> failure() const noexcept {
    return is_stream_ ? stream_->failure : run_->failure;
  }
  [[nodiscard]] std::optional<std::uint64_t> seed() const noexcept { return is_stream_ ? stream_->seed : run_->seed; }
  [[nodiscard]] const std::string& label() const noexcept { return is_stream_ ? stream_->label : run_->label; }

 private:
  union {
    const RunOptions* run_;
    const StreamOptions* stream_;
  };
  bool is_stream_;
};

}  // namespace planb::inline PLANB_ABI::detail
