// The options of a run as the engine sees them: borrowed, from RunOptions or StreamOptions.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/report/event.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/optional_duration.hpp>

#include <cstdint>
#include <optional>

namespace planb::inline PLANB_ABI::detail {

struct OptionsView {
  template <class Options>
  explicit OptionsView(const Options& options) noexcept
      : on_event(options.on_event),
        budget(limit(options.budget)),
        stop(options.stop),
        clock(options.clock),
        entry(options.entry),
        failure(options.failure),
        seed(options.seed) {}

  const EventHandler& on_event;
  std::optional<Duration> budget;
  const StopToken& stop;
  Clock* clock;
  StepEntry entry;
  const std::optional<FailureStyle>& failure;
  const std::optional<std::uint64_t>& seed;
};

}  // namespace planb::inline PLANB_ABI::detail
