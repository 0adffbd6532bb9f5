// SPDX-License-Identifier: MIT
// The door to calls: plans, run_with_plan, try_run_with_plan and retry, with all schedules.
#pragma once

#include <planb/drive/call.hpp>  // IWYU pragma: export
#include <planb/drive/retry.hpp>  // IWYU pragma: export
#include <planb/engine/run_options.hpp>  // IWYU pragma: export
#include <planb/error/accepting.hpp>  // IWYU pragma: export
#include <planb/error/cause.hpp>  // IWYU pragma: export
#include <planb/error/provider_error.hpp>  // IWYU pragma: export
#include <planb/plan/metadata.hpp>  // IWYU pragma: export
#include <planb/plan/plan.hpp>  // IWYU pragma: export
#include <planb/report/event.hpp>  // IWYU pragma: export
#include <planb/report/plan_error.hpp>  // IWYU pragma: export
#include <planb/report/plan_result.hpp>  // IWYU pragma: export
#include <planb/report/report.hpp>  // IWYU pragma: export
#include <planb/schedule/combinators.hpp>  // IWYU pragma: export
#include <planb/schedule/jitter.hpp>  // IWYU pragma: export
#include <planb/schedule/leaves.hpp>  // IWYU pragma: export
#include <planb/schedule/schedule.hpp>  // IWYU pragma: export
