// SPDX-License-Identifier: MIT
// StreamOptions: what one streamed run is given besides its plan.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/report/event.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/optional_duration.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI {

// What may follow a failure after the consumer has got elements.
enum class PartialStream : unsigned char {
  allow,             // everything: the next attempt starts afresh, and the consumer sees both
  prevent_fallback,  // the same step still retries from its start, but no other step is tried (as Effect's
                     // preventFallbackOnPartialStream)
  prevent_retry,     // nothing
};

[[nodiscard]] constexpr std::string_view to_label(PartialStream value) noexcept {
  switch (value) {
    case PartialStream::allow: return "allow";
    case PartialStream::prevent_fallback: return "prevent_fallback";
    case PartialStream::prevent_retry: return "prevent_retry";
  }
  return {};
}

// The members of RunOptions, with the same meaning, and what may follow partial output.
struct StreamOptions {
  EventHandler on_event = {};
  OptionalDuration budget = std::nullopt;  // a run that is out of it hands out no further element
  StopToken stop = {};                     // the same
  Clock* clock = nullptr;
  StepEntry entry = StepEntry::immediate;
  std::optional<FailureStyle> failure = std::nullopt;
  std::optional<std::uint64_t> seed = std::nullopt;
  std::string label = {};
  PartialStream partial = PartialStream::allow;
};

}  // namespace planb::inline PLANB_ABI
