// SPDX-License-Identifier: MIT
// Which planb this is. A test looks that CMake's project has the same version.
#pragma once

// 10000 × major + 100 × minor + patch, for #if.
#define PLANB_VERSION 10000
#define PLANB_VERSION_TEXT "1.0.0"
