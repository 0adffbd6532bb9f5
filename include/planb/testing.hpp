// SPDX-License-Identifier: MIT
// The test kit: a clock that needs no time, providers that do as they are told, a log of attempts.
#pragma once

#include <planb/testing/attempt_log.hpp>
#include <planb/testing/fake_provider.hpp>
#include <planb/testing/virtual_clock.hpp>
