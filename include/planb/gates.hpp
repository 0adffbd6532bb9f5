// SPDX-License-Identifier: MIT
// The door to gates: circuit breakers, limits, several gates as one, and where they are kept.
#pragma once

#include <planb/gate/all_of.hpp>  // IWYU pragma: export
#include <planb/gate/circuit_breaker.hpp>  // IWYU pragma: export
#include <planb/gate/gate.hpp>  // IWYU pragma: export
#include <planb/gate/limits.hpp>  // IWYU pragma: export
#include <planb/gate/registry.hpp>  // IWYU pragma: export
#include <planb/gate/snapshot.hpp>  // IWYU pragma: export
