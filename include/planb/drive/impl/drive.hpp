// SPDX-License-Identifier: MIT
// The definitions of drive.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/drive/detail/drive.hpp>

namespace planb::inline PLANB_ABI::detail {

PLANB_COLD PLANB_DECL void PassTeller::drop() noexcept {
  armed_ = false;
  const Permit neutral(gate_, ticket_);
}

PLANB_COLD PLANB_DECL void PassTeller::notify() {
  Permit permit(gate_, ticket_);
  const auto caught = [] {
#if PLANB_HAS_EXCEPTIONS
    if (Cause::current().kind() == CauseKind::defect) throw;
#endif
  };
  detail::call_user([&] { permit.succeeded(SteadyClock::instance().now()); }, caught);
}

PLANB_COLD PLANB_DECL const RunOptions& no_run_options() {
  static const RunOptions& options = *new RunOptions;
  return options;
}

PLANB_COLD PLANB_DECL const StreamOptions& no_stream_options() {
  static const StreamOptions& options = *new StreamOptions;
  return options;
}

PLANB_NOINLINE PLANB_DECL bool goes_on(Engine& run, FailureRoom* left) {
  return (left != nullptr && run.fail_and_go_on(*left)) || detail::await_attempt(run);
}

}  // namespace planb::inline PLANB_ABI::detail
