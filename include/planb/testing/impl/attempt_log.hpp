// SPDX-License-Identifier: MIT
// The definitions of attempt_log.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/testing/attempt_log.hpp>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::testing {

PLANB_DECL void AttemptLog::operator()(const Event& event) const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->events.push_back(event);
}

PLANB_DECL AttemptLog::Names AttemptLog::names() const {
  Names names;
  for (const AttemptStart& start : of<AttemptStart>()) names.push_back(start.step_name);
  return names;
}

PLANB_DECL std::vector<Event> AttemptLog::events() const {
  std::vector<Event> events;
  for (Event& event : all()) {
    const bool of_the_run = event.get_if<FirstOutput>() != nullptr || event.get_if<RunFinish>() != nullptr;
    if (!of_the_run) events.push_back(std::move(event));
  }
  return events;
}

PLANB_DECL std::vector<Event> AttemptLog::all() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->events;
}

PLANB_DECL std::vector<std::string> AttemptLog::lines() const {
  std::vector<std::string> lines;
  for (const Event& event : events()) lines.push_back(to_string(event));
  return lines;
}

PLANB_DECL void AttemptLog::clear() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->events.clear();
}

}  // namespace planb::inline PLANB_ABI::testing
