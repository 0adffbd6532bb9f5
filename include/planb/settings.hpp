// SPDX-License-Identifier: MIT
// The door to settings: chains, gates and providers as data, read from text and documents, written, and made into
// plans.
#pragma once

#include <planb/settings/document.hpp>    // IWYU pragma: export
#include <planb/settings/fault.hpp>       // IWYU pragma: export
#include <planb/settings/make_plans.hpp>  // IWYU pragma: export
#include <planb/settings/read.hpp>        // IWYU pragma: export
#include <planb/settings/settings.hpp>    // IWYU pragma: export
#include <planb/settings/write.hpp>       // IWYU pragma: export
#include <planb/time/duration_text.hpp>   // IWYU pragma: export
