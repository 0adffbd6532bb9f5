// SPDX-License-Identifier: MIT
// What a plan's steps say of themselves.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/observe/detail/tell.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/plan/step.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/schedule/text.hpp>
#include <planb/time/clock.hpp>

#include <memory>
#include <optional>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

// A step without its types.
struct StepFacts {
  std::string_view name;
  std::optional<int> attempts;
  const Schedule* schedule;
  bool retry_while;
  bool classify;
  bool enter_when;
  std::optional<Duration> max_wait;
  std::optional<Duration> timeout;
  std::optional<Duration> first_timeout;
  Duration reserve;
  bool gate;
};

// Taken apart: a member that is new does not compile until it is told.
template <class Ctx, class Env>
[[nodiscard]] StepFacts step_facts(const Step<Ctx, Env>& step) {
  const auto& [name, provide, attempts, schedule, retry_while, classify, enter_when, max_wait, timeout, first_timeout,
               reserve, gate] = step;
  return {.name = name,
          .attempts = attempts,
          .schedule = std::addressof(schedule),
          .retry_while = static_cast<bool>(retry_while),
          .classify = static_cast<bool>(classify),
          .enter_when = static_cast<bool>(enter_when),
          .max_wait = max_wait,
          .timeout = timeout,
          .first_timeout = first_timeout,
          .reserve = reserve,
          .gate = gate != nullptr};
}

inline void tell_step(FieldSink& sink, const StepFacts& step) {
  sink.begin_element(0);
  sink.text("name", step.name);
  if (step.attempts == unlimited) {
    sink.nothing("attempts");
  } else if (step.attempts) {
    sink.number("attempts", *step.attempts);
  }
  if (*step.schedule) sink.text("schedule", planb::to_string(*step.schedule));
  if (step.retry_while) sink.flag("retry_while", true);
  if (step.classify) sink.flag("classify", true);
  if (step.enter_when) sink.flag("enter_when", true);
  if (step.max_wait) sink.duration("max_wait", *step.max_wait);
  if (step.timeout) sink.duration("timeout", *step.timeout);
  if (step.first_timeout) sink.duration("first_timeout", *step.first_timeout);
  if (step.reserve != Duration::zero()) sink.duration("reserve", step.reserve);
  if (step.gate) sink.flag("gate", true);
  sink.end();
}

}  // namespace planb::inline PLANB_ABI::detail
