// SPDX-License-Identifier: MIT
// All that planb compiles once. One source file of a program, and only one, says
//   #include <planb/src.hpp>
// and all of its files are compiled with PLANB_SEPARATE_COMPILATION=1. With CMake, link planb::compiled instead.
#pragma once

#ifndef PLANB_SEPARATE_COMPILATION
#define PLANB_SEPARATE_COMPILATION 1
#endif

#include <planb/detail/config.hpp>

#if !PLANB_SEPARATE_COMPILATION
#error "planb: <planb/src.hpp> needs PLANB_SEPARATE_COMPILATION=1, in this file and in all that include planb"
#endif

#include <planb/detail/impl/decimal.hpp>
#include <planb/detail/impl/refuse.hpp>
#include <planb/drive/impl/drive.hpp>
#include <planb/drive/impl/outcome.hpp>
#include <planb/drive/impl/task_wait.hpp>
#include <planb/engine/impl/decide.hpp>
#include <planb/engine/impl/enter.hpp>
#include <planb/engine/impl/notify.hpp>
#include <planb/engine/impl/run_report.hpp>
#include <planb/engine/impl/states.hpp>
#include <planb/engine/impl/time_left.hpp>
#include <planb/error/impl/catch.hpp>
#include <planb/error/impl/cause.hpp>
#include <planb/error/impl/error_ops.hpp>
#include <planb/error/impl/error_traits.hpp>
#include <planb/error/impl/failure_room.hpp>
#include <planb/error/impl/hint_reader.hpp>
#include <planb/error/impl/http_classifier.hpp>
#include <planb/error/impl/http_rules.hpp>
#include <planb/error/impl/misuse.hpp>
#include <planb/error/impl/parsed.hpp>
#include <planb/error/impl/provider_error.hpp>
#include <planb/error/impl/rate_limit_field.hpp>
#include <planb/error/impl/retry_after.hpp>
#include <planb/gate/impl/all_of.hpp>
#include <planb/gate/impl/circuit_breaker.hpp>
#include <planb/gate/impl/circuit_breaker_options.hpp>
#include <planb/gate/impl/gate_changes.hpp>
#include <planb/gate/impl/limits.hpp>
#include <planb/gate/impl/registry.hpp>
#include <planb/gate/impl/snapshot.hpp>
#include <planb/observe/impl/explain.hpp>
#include <planb/observe/impl/explanation.hpp>
#include <planb/plan/impl/attempt.hpp>
#include <planb/plan/impl/plan_rules.hpp>
#include <planb/plan/impl/step_policy.hpp>
#include <planb/report/impl/event.hpp>
#include <planb/report/impl/plan_error.hpp>
#include <planb/report/impl/report.hpp>
#include <planb/report/impl/text.hpp>
#include <planb/schedule/impl/args.hpp>
#include <planb/schedule/impl/combinators.hpp>
#include <planb/schedule/impl/detail_combinators.hpp>
#include <planb/schedule/impl/detail_leaves.hpp>
#include <planb/schedule/impl/jitter.hpp>
#include <planb/schedule/impl/leaves.hpp>
#include <planb/schedule/impl/random.hpp>
#include <planb/schedule/impl/schedule.hpp>
#include <planb/schedule/impl/text.hpp>
#include <planb/settings/impl/chain_rules.hpp>
#include <planb/settings/impl/fault.hpp>
#include <planb/settings/impl/read.hpp>
#include <planb/settings/impl/write.hpp>
#include <planb/testing/impl/attempt_log.hpp>
#include <planb/testing/impl/fake_provider.hpp>
#include <planb/testing/impl/virtual_clock.hpp>
#include <planb/time/impl/clock.hpp>
#include <planb/time/impl/duration_text.hpp>
