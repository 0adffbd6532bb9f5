// SPDX-License-Identifier: MIT
// The door to what people and their tools look at: explanations, JSON, metrics, traces.
#pragma once

#include <planb/observe/explain.hpp>  // IWYU pragma: export
#include <planb/observe/json.hpp>     // IWYU pragma: export
#include <planb/observe/metrics.hpp>  // IWYU pragma: export
#include <planb/observe/trace.hpp>    // IWYU pragma: export
