// SPDX-License-Identifier: MIT
// A run and its steps in words.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/observe/detail/counted.hpp>
#include <planb/observe/detail/terms.hpp>
#include <planb/observe/detail/worst_case.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/report/detail/text.hpp>
#include <planb/schedule/text.hpp>
#include <planb/time/clock.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

[[nodiscard]] inline std::string schedule_words(const Schedule& schedule) {
  std::string text;
  detail::append_clipped(text, planb::to_string(schedule));
  return text;
}

[[nodiscard]] inline std::string words_of(const RunTerms& terms) {
  std::string text = terms.stream() ? "a stream" : "a call";
  text += terms.budget ? ", budget " + detail::duration_text(*terms.budget) : std::string(", no budget");
  if (terms.entry == StepEntry::scheduled) {
    text += ", scheduled entry: a later step's schedule delays its first attempt";
  }
  if (terms.partial == PartialStream::prevent_fallback) text += ", after output no other step is tried";
  if (terms.partial == PartialStream::prevent_retry) text += ", after output nothing is tried again";
  return text;
}

[[nodiscard]] inline std::string attempts_words(const StepPolicy& step) {
  if (step.max_attempts != unlimited) {
    return (step.max_attempts == 1 ? "" : "up to ") + detail::counted(step.max_attempts, "attempt");
  }
  return step.schedule != nullptr && step.schedule->ends() ? "attempts until its schedule ends"
                                                           : "attempts without limit";
}

// A step's rules.
[[nodiscard]] inline std::string words_of(const ExplainedStep& facts, const RunTerms& terms) {
  const StepPolicy& step = facts.step;
  std::string text = detail::attempts_words(step);
  const auto also = [&text](const std::string& words) { text += "; " + words; };
  if (step.first_timeout && (terms.stream() || !terms.known)) {
    also((terms.stream() ? "the first output within " : "of a stream, the first output within ") +
         detail::duration_text(*step.first_timeout));
  }
  if (step.timeout) {
    const char* const silence =
        step.first_timeout ? "after it no silence of its source longer than " : "no silence of its source longer than ";
    also((terms.stream() ? silence : "each at most ") + detail::duration_text(*step.timeout));
  }
  if (terms.budget && step.reserved_after > Duration()) {
    also("all of it at most " + detail::duration_text(facts.share) + ", for the rest of the budget is reserved");
  }
  if (step.schedule != nullptr) also("waits " + detail::schedule_words(*step.schedule));
  if (step.max_wait) {
    also("a wait above " + detail::duration_text(*step.max_wait) + " leaves it");
  } else if (step.max_attempts != 1) {
    also("a wait hint above " + detail::duration_text(longest_heeded_hint) + " leaves it");
  }
  if (step.enter_when != nullptr) also("entered only where enter_when accepts the failure before it");
  if (step.gate != nullptr) {
    const Duration admission = detail::longest_admission(step);
    also("its gate is asked before each attempt" +
         (admission > Duration() ? ", which waits up to " + detail::duration_text(admission) + " for it" : ""));
  }
  if (step.classify != nullptr) also("its classifier may send an error on, or end the run");
  if (step.retry_while != nullptr) also("retry_while may leave it earlier");
  if (facts.reserve > Duration() && facts.index != 0) {
    also(detail::duration_text(facts.reserve) + " of the budget are kept for it");
  }
  return text;
}

}  // namespace planb::inline PLANB_ABI::detail
