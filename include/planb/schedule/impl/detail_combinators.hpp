// SPDX-License-Identifier: MIT
// The definitions of combinators.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/schedule/detail/combinators.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL NodePtr inner_node(std::string_view outer, const Schedule& schedule, int others) {
  if (!schedule) refuse(std::string(outer) + ": there is no schedule to work on; give one, such as spaced(10ms)");
  const NodePtr& node = ScheduleAccess::node(schedule);
  if (node->depth() >= max_schedule_depth || node->parts() > max_schedule_parts - others) {
    refuse(std::string(outer) + ": schedules nest at most " + std::to_string(max_schedule_depth) +
           " deep and have at most " + std::to_string(max_schedule_parts) +
           " parts; write this one with Schedule::from or delays");
  }
  return node;
}

PLANB_DECL Duration within(Duration cap, const Wait& wait, Random& random) {
  if (wait.delay <= cap) return (std::max)(wait.delay, Duration::zero());
  if (wait.spread >= 1) return cap;
  return random.between(Duration{static_cast<Duration::rep>(static_cast<double>(cap.count()) * wait.spread)}, cap);
}

PLANB_DECL Wait lengthen(Wait wait, Duration extra, const ScheduleAsk& ask) {
  extra = (std::max)(extra, Duration::zero());
  if (extra < ask.cap) {
    wait.delay = extra + within(ask.cap - extra, wait, ask.random);
  } else {
    wait.delay = extra;
    wait.delay = within(ask.cap, wait, ask.random);
  }
  wait.cap = add(wait.cap, extra);
  return wait;
}

}  // namespace planb::inline PLANB_ABI::detail
