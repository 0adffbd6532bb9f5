// The door to streams: stream_with_plan, pushed into a sink and pulled as a range.
#pragma once

#include <planb/drive/committing.hpp>  // IWYU pragma: export
#include <planb/drive/emit.hpp>  // IWYU pragma: export
#include <planb/drive/plan_stream.hpp>  // IWYU pragma: export
#include <planb/drive/pull.hpp>  // IWYU pragma: export
#include <planb/drive/push.hpp>  // IWYU pragma: export
#include <planb/engine/stream_options.hpp>  // IWYU pragma: export
#include <planb/run.hpp>  // IWYU pragma: export
