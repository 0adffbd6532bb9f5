// The loop that a user writes around a PlanRun.
#pragma once

#include <planb/engine/plan_run.hpp>
#include <planb/error/cause.hpp>
#include <planb/plan/metadata.hpp>

#include <optional>
#include <utility>

// Thrown within an attempt: the owner of the run goes away, and this is not the attempt's error.
struct OwnerLeaves {};

// `use(context, attempt)` gives why the attempt failed, or nothing. What it throws is a failure too.
template <class Ctx, class Use>
void run_by_hand(planb::PlanRun<Ctx>& run, const planb::RunOptions& options, const Use& use) {
  for (;;) {
    const planb::RunPhase phase = run.next();
    if (phase == planb::RunPhase::over) return;
    if (phase == planb::RunPhase::wait) {
      options.clock->sleep_until(run.due(), options.stop);
      continue;
    }
    planb::ContextSlot<Ctx> context;
    if (!run.provide(context)) continue;
    std::optional<planb::Cause> failure;
    {
      const planb::CurrentMetadata::Scope scope(run.metadata());
      try {
        failure = use(*context, run.attempt());
      } catch (const OwnerLeaves&) {
        throw;
      } catch (...) {
        failure = planb::Cause::current();
      }
    }
    context.reset();
    if (failure) {
      run.fail(*std::move(failure));
    } else {
      run.succeed();
    }
  }
}
