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

// One of the two, as one list.
class OptionsView {
 public:
  explicit OptionsView(const RunOptions& options) noexcept : run_(&options) {}
  explicit OptionsView(const StreamOptions& options) noexcept : stream_(&options) {}

  [[nodiscard]] const EventHandler& on_event() const noexcept { return run_ ? run_->on_event : stream_->on_event; }
  [[nodiscard]] std::optional<Duration> budget() const noexcept { return limit(run_ ? run_->budget : stream_->budget); }
  [[nodiscard]] const StopToken& stop() const noexcept { return run_ ? run_->stop : stream_->stop; }
  [[nodiscard]] Clock* clock() const noexcept { return run_ ? run_->clock : stream_->clock; }
  [[nodiscard]] StepEntry entry() const noexcept { return run_ ? run_->entry : stream_->entry; }
  [[nodiscard]] std::optional<FailureStyle> failure() const noexcept { return run_ ? run_->failure : stream_->failure; }
  [[nodiscard]] std::optional<std::uint64_t> seed() const noexcept { return run_ ? run_->seed : stream_->seed; }
  [[nodiscard]] const std::string& label() const noexcept { return run_ ? run_->label : stream_->label; }

 private:
  const RunOptions* run_ = nullptr;
  const StreamOptions* stream_ = nullptr;
};

}  // namespace planb::inline PLANB_ABI::detail
