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

struct OptionsView {
  template <class Options>
  explicit OptionsView(const Options& options) noexcept
      : on_event(options.on_event),
        budget(limit(options.budget)),
        stop(options.stop),
        clock(options.clock),
        entry(options.entry),
        failure(options.failure),
        seed(options.seed),
        label(options.label) {}

  const EventHandler& on_event;
  std::optional<Duration> budget;
  const StopToken& stop;
  Clock* clock;
  StepEntry entry;
  const std::optional<FailureStyle>& failure;
  const std::optional<std::uint64_t>& seed;
  const std::string& label;
};

}  // namespace planb::inline PLANB_ABI::detail
