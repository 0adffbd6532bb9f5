// SPDX-License-Identifier: MIT
// The door to streams: stream_with_plan, which gives a range, and push_with_plan, which fills a sink.
#pragma once

#include <planb/drive/committing.hpp>  // IWYU pragma: export
#include <planb/drive/emit.hpp>  // IWYU pragma: export
#include <planb/drive/plan_stream.hpp>  // IWYU pragma: export
#include <planb/drive/pull.hpp>  // IWYU pragma: export
#include <planb/drive/push.hpp>  // IWYU pragma: export
#include <planb/engine/stream_options.hpp>  // IWYU pragma: export
#include <planb/run.hpp>  // IWYU pragma: export
