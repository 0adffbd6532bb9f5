// Runs of fake providers on a virtual clock, and rules of a plan that note when they are asked.
#pragma once

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rules {

using namespace std::chrono_literals;
using planb::Action;
using planb::AttemptFailure;
using planb::Cause;
using planb::Duration;
using planb::ExecutionPlan;
using planb::NextMove;
using planb::Schedule;
using planb::ScheduleInput;
using planb::Verdict;
using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;

using Names = std::vector<std::string>;
using Plan = ExecutionPlan<FakeProvider>;
using Step = planb::Step<FakeProvider>;
using Hint = std::optional<Duration>;
using Result = planb::PlanResult<std::string>;

// One run on a virtual clock, and everything that is to be seen of it.
struct Run {
  AttemptLog log;
  VirtualClock clock;

  Result of(const Plan& plan, planb::RunOptions options = {}) {
    options.on_event = log;
    options.clock = &clock;
    return try_run_with_plan(
        plan, [](FakeProvider& provider) { return provider(); }, options);
  }

  [[nodiscard]] Names names() const { return log.names(); }
  [[nodiscard]] std::vector<AttemptFailure> failures() const { return log.of<AttemptFailure>(); }
  [[nodiscard]] std::vector<Duration> delays() const {
    std::vector<Duration> delays;
    for (const AttemptFailure& failure : failures()) {
      if (failure.next.kind == NextMove::retry) delays.push_back(failure.next.delay);
    }
    return delays;
  }
  // The times at which attempts started.
  [[nodiscard]] std::vector<Duration> starts() const {
    std::vector<Duration> starts;
    for (const planb::AttemptStart& start : log.of<planb::AttemptStart>())
      starts.push_back(start.at.time_since_epoch());
    return starts;
  }
};

[[nodiscard]] inline Behaviour failing(int status, Hint hint = {}) {
  const Behaviour behaviour = Behaviour::status(status);
  return hint ? behaviour.retry_after(*hint) : behaviour;
}

[[nodiscard]] inline FakeProvider fails(std::vector<Behaviour> behaviours = {Behaviour::status(503)}) {
  return FakeProvider("fails", std::move(behaviours));
}

[[nodiscard]] inline planb::Classifier always(Action action, bool alert = false) {
  return [verdict = Verdict{action, alert}](const Cause&) { return verdict; };
}

// Open or closed, and told nothing that it would remember.
class FixedGate final : public planb::Gate {
 public:
  explicit FixedGate(std::optional<planb::TimePoint> closed_until) : closed_until_(closed_until) {}
  planb::Admission admit(const planb::GateRequest& request) override {
    if (closed_until_ && request.now < *closed_until_) return planb::GateRefusal{*closed_until_};
    return planb::Permit(*this, 0);
  }
  [[nodiscard]] planb::TimePoint opens_at(const planb::GateRequest& request) const override {
    return closed_until_ ? (std::max)(request.now, *closed_until_) : request.now;
  }

 private:
  void on_outcome(std::uint64_t, const planb::GateOutcome&) override {}
  void on_dropped(std::uint64_t, bool) noexcept override {}

  std::optional<planb::TimePoint> closed_until_;
};

// A step whose every rule notes that it was asked, and with which status.
struct Questions {
  std::shared_ptr<Names> asked = std::make_shared<Names>();

  void note(const char* who, const Cause& cause) const {
    asked->push_back(std::string(who) + (cause.status() ? " " + std::to_string(*cause.status()) : ""));
  }

  [[nodiscard]] Step step(std::vector<Behaviour> behaviours, Verdict verdict, bool retry, int attempts,
                          int delays) const {
    return {.name = "alpha",
            .provide = fails(std::move(behaviours)),
            .attempts = attempts,
            .schedule = Schedule::from("noting",
                                       [self = *this, delays](const ScheduleInput& input) -> std::optional<Duration> {
                                         self.note("schedule", input.cause);
                                         if (input.attempt > delays) return std::nullopt;
                                         return 1s;
                                       }),
            .retry_while =
                [self = *this, retry](const Cause& cause) {
                  self.note("retry_while", cause);
                  return retry;
                },
            .classify =
                [self = *this, verdict](const Cause& cause) {
                  self.note("classify", cause);
                  return verdict;
                }};
  }
};

}  // namespace rules
