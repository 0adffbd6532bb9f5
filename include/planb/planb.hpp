// SPDX-License-Identifier: MIT
// All of planb but the test kit (planb/testing.hpp), coroutines (planb/coro.hpp), settings (planb/settings.hpp) and what
// people look at (planb/observe.hpp).
#pragma once

#include <planb/drive/committing.hpp>
#include <planb/drive/emit.hpp>
#include <planb/drive/plan_stream.hpp>
#include <planb/engine/plan_run.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/error/accepting.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/checked.hpp>
#include <planb/error/error_traits.hpp>
#include <planb/error/grpc_classifier.hpp>
#include <planb/error/http_classifier.hpp>
#include <planb/error/labels.hpp>
#include <planb/error/result_traits.hpp>
#include <planb/error/retry_after.hpp>
#include <planb/gates.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/metadata.hpp>
#include <planb/plan/plan.hpp>
#include <planb/report/event.hpp>
#include <planb/report/plan_error.hpp>
#include <planb/report/plan_result.hpp>
#include <planb/report/report.hpp>
#include <planb/run.hpp>
#include <planb/schedule/combinators.hpp>
#include <planb/schedule/jitter.hpp>
#include <planb/schedule/leaves.hpp>
#include <planb/schedule/text.hpp>
#include <planb/stream.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/duration_text.hpp>
#include <planb/time/timer.hpp>
