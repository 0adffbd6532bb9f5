// SPDX-License-Identifier: MIT
// What an explanation says, member by member.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/observe/detail/tell.hpp>
#include <planb/observe/explanation.hpp>
#include <planb/time/clock.hpp>

#include <cstddef>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

// What has no bound is there, and null.
inline void tell(FieldSink& sink, std::string_view name, const WorstCase& worst) {
  const auto& [calls, waits, time] = worst;
  sink.begin(name);
  calls ? sink.number("calls", *calls) : sink.nothing("calls");
  waits ? sink.duration("waits", *waits) : sink.nothing("waits");
  time ? sink.duration("time", *time) : sink.nothing("time");
  sink.end();
}

inline void tell(FieldSink& sink, const StepExplanation& step) {
  const auto& [index, name, text, reachable, worst] = step;
  sink.number("index", index);
  sink.text("name", name);
  sink.text("text", text);
  sink.flag("reachable", reachable);
  detail::tell(sink, "worst", worst);
}

inline void tell(FieldSink& sink, const Finding& finding) {
  const auto& [kind, step, step_name, text] = finding;
  sink.text("kind", to_label(kind));
  if (step) {
    sink.number("step", *step);
    sink.text("step_name", step_name);
  }
  sink.text("text", text);
}

inline void tell(FieldSink& sink, const Explanation& explanation) {
  const auto& [text, worst, steps, findings] = explanation;
  const auto list = [&sink](std::string_view name, const auto& elements) {
    sink.begin_list(name);
    for (std::size_t i = 0; i != elements.size(); ++i) {
      sink.begin_element(i);
      detail::tell(sink, elements[i]);
      sink.end();
    }
    sink.end_list();
  };
  sink.text("text", text);
  detail::tell(sink, "worst", worst);
  list("steps", steps);
  list("findings", findings);
}

}  // namespace planb::inline PLANB_ABI::detail
