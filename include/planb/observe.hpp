// SPDX-License-Identifier: MIT
// What people and their tools look at: JSON, metrics, traces.
#pragma once

#include <planb/observe/json.hpp>
#include <planb/observe/metrics.hpp>
#include <planb/observe/trace.hpp>
