// SPDX-License-Identifier: MIT
// The door to retry: one resource, without a plan.
#pragma once

#include <planb/drive/retry.hpp>  // IWYU pragma: export
#include <planb/engine/run_options.hpp>  // IWYU pragma: export
#include <planb/error/cause.hpp>  // IWYU pragma: export
#include <planb/error/provider_error.hpp>  // IWYU pragma: export
#include <planb/report/event.hpp>  // IWYU pragma: export
#include <planb/report/plan_error.hpp>  // IWYU pragma: export
#include <planb/schedule/combinators.hpp>  // IWYU pragma: export
#include <planb/schedule/jitter.hpp>  // IWYU pragma: export
#include <planb/schedule/leaves.hpp>  // IWYU pragma: export
