// All of planb but the test kit (planb/testing.hpp).
#pragma once

#include <planb/accepting.hpp>
#include <planb/attempt.hpp>
#include <planb/cause.hpp>
#include <planb/checked.hpp>
#include <planb/circuit_breaker.hpp>
#include <planb/classify.hpp>
#include <planb/clock.hpp>
#include <planb/error_traits.hpp>
#include <planb/event.hpp>
#include <planb/gate.hpp>
#include <planb/metadata.hpp>
#include <planb/plan.hpp>
#include <planb/plan_error.hpp>
#include <planb/plan_result.hpp>
#include <planb/plan_run.hpp>
#include <planb/report.hpp>
#include <planb/result.hpp>
#include <planb/retry_after.hpp>
#include <planb/run.hpp>
#include <planb/run_options.hpp>
#include <planb/schedule.hpp>
#include <planb/schedule_text.hpp>
#include <planb/timer.hpp>
