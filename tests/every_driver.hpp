// One callable through every driver that calls it, so that a rule can be checked in all of them.
#pragma once

#include <planb/coro.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace drivers {

// What a driver made of it.
struct Made {
  const char* driver;
  std::string thrown = {};  // the text of what left the driver
  std::string nested = {};  // and of what that nests
  std::vector<std::string> events = {};
};

inline std::string nested_text(const std::exception& error) {
  try {
    std::rethrow_if_nested(error);
  } catch (const std::exception& nested) {
    return nested.what();
  } catch (...) {
    return "something else";
  }
  return "nothing";
}

template <class Run>
Made observed(const char* driver, Run run) {
  Made made{driver};
  const planb::testing::AttemptLog log;
  try {
    run(planb::RunOptions{.on_event = log});
  } catch (const planb::PlanError& error) {
    made.thrown = std::string(to_string(error.end())) + ": " + nested_text(error);
  } catch (const std::exception& error) {
    made.thrown = error.what();
    made.nested = nested_text(error);
  }
  made.events = log.lines();
  return made;
}

// Runs `fn(int&)` through a plan over int by each driver, with `on_result` for what comes back.
template <class Fn, class OnResult>
std::vector<Made> every(const planb::ExecutionPlan<int>& plan, Fn fn, OnResult on_result) {
  using R = decltype(fn(std::declval<int&>()));
  std::vector<Made> all;
  all.push_back(
      observed("run", [&](const planb::RunOptions& options) { on_result(planb::run_with_plan(plan, fn, options)); }));
  all.push_back(
      observed("run without options", [&](const planb::RunOptions&) { on_result(planb::run_with_plan(plan, fn)); }));
  all.push_back(observed("push", [&](const planb::RunOptions& options) {
    const auto producer = [&](int& ctx, auto& emit) -> R {
      static_cast<void>(emit(ctx));
      return fn(ctx);
    };
    on_result(planb::push_with_plan(plan, producer, [](int) {}, {.on_event = options.on_event}));
  }));
  all.push_back(observed("coroutine", [&](const planb::RunOptions& options) {
    const auto sleep = [](planb::Duration) -> planb::Task<> { co_return; };
    struct Ready {
      Fn& fn;
      int& ctx;
      static bool await_ready() noexcept { return true; }
      static void await_suspend(std::coroutine_handle<>) noexcept {}
      R await_resume() { return fn(ctx); }
    };
    on_result(planb::sync_wait(planb::co_run_with_plan<planb::Task<R>>(
        plan,
        [&fn](int& ctx) {
          return Ready{fn, ctx};
        },
        sleep, options)));
  }));
  return all;
}

}  // namespace drivers
