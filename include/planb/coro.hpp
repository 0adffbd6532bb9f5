// SPDX-License-Identifier: MIT
// The door to coroutines: co_run_with_plan and co_push_with_plan over any task type, and planb::Task.
#pragma once

#include <planb/drive/co_push.hpp>  // IWYU pragma: export
#include <planb/drive/coroutine.hpp>  // IWYU pragma: export
#include <planb/drive/task.hpp>  // IWYU pragma: export
#include <planb/run.hpp>  // IWYU pragma: export
