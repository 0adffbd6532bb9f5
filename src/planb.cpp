// SPDX-License-Identifier: MIT
// planb::compiled: what planb has that is no template, compiled once.
#include <planb/src.hpp>
