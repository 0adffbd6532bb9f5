// SPDX-License-Identifier: MIT
// PLANB_VERSION and PLANB_VERSION_TEXT, which every header of planb defines too.
#pragma once

#include <planb/detail/version.hpp>  // IWYU pragma: export
