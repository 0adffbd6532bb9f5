// SPDX-License-Identifier: MIT
// What cannot work as it is written. Only what is certain: whatever providers, gates and predicates may say.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/observe/detail/counted.hpp>
#include <planb/observe/detail/terms.hpp>
#include <planb/observe/detail/worst_case.hpp>
#include <planb/observe/explanation.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/report/detail/text.hpp>
#include <planb/time/clock.hpp>

#include <string>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

inline void find_in_run(const RunTerms& terms, const PlanView& plan, std::vector<Finding>& findings) {
  if (!terms.budget) return;
  if (*terms.budget <= Duration()) {
    findings.push_back({.kind = FindingKind::no_budget,
                        .text = "the budget is zero or less, so that no step gets any time; give one above zero, or "
                                "none for no limit"});
  } else if (const Duration reserved = plan.steps[0].reserved_after; reserved > *terms.budget) {
    findings.push_back({.kind = FindingKind::reserves_above_budget,
                        .text = "the steps after the first reserve " + detail::duration_text(reserved) +
                                " in all, more than the budget of " + detail::duration_text(*terms.budget) +
                                "; reserve less, or give a larger budget"});
  }
}

class StepFindings {
 public:
  StepFindings(const ExplainedStep& facts, const RunTerms& terms, const StepWorst& worst,
               std::vector<Finding>& findings)
      : facts_(facts), step_(facts.step), terms_(terms), worst_(worst), findings_(findings) {}

  void find(bool guarded_first) {
    if (worst_.calls == 0) {
      say(FindingKind::never_entered, "is never entered: " + why_never(guarded_first));
    }
    find_timeouts();
    find_reserve();
    if (worst_.calls == 0) return;
    find_waits();
    find_unused();
  }

 private:
  void say(FindingKind kind, std::string text) {
    findings_.push_back(
        {.kind = kind, .step = facts_.index, .step_name = std::string(step_.name), .text = std::move(text)});
  }

  [[nodiscard]] std::string why_never(bool guarded_first) const {
    if (guarded_first) {
      return "enter_when is asked with the failure before it, and none can come before; put a step without enter_when "
             "first";
    }
    if (facts_.share <= Duration()) {
      if (*terms_.budget <= Duration()) return "the run has no budget; give one above zero, or none for no limit";
      return "the steps after it reserve " + detail::duration_text(step_.reserved_after) + " of the budget of " +
             detail::duration_text(*terms_.budget) + ", which leaves it nothing; reserve less, or give a larger budget";
    }
    const std::string wait = "its schedule delays its entry by " + detail::duration_text(worst_.wait) + " or more, ";
    switch (worst_.end) {
      case WorstEnd::wait_too_long:
        return wait + "above its max_wait of " + detail::duration_text(*step_.max_wait) +
               "; raise max_wait, or use StepEntry::immediate";
      case WorstEnd::out_of_time:
        return wait + "which is all the time that it may have; wait less, or use StepEntry::immediate";
      case WorstEnd::attempts_spent:
      case WorstEnd::schedule_ended:
      case WorstEnd::unknown: break;
    }
    return "its schedule is asked before its first attempt and has ended by then; give one that recurs, or use "
           "StepEntry::immediate";
  }

  void find_timeouts() {
    const bool bounded = terms_.budget && *terms_.budget > Duration();
    if (step_.timeout && bounded) {
      const bool all_of_it = terms_.stream() && *terms_.partial != PartialStream::allow;  // after output
      find_timeout("timeout", FindingKind::timeout_above_budget, *step_.timeout,
                   all_of_it ? *terms_.budget : facts_.share);
    }
    if (!step_.first_timeout) return;
    if (terms_.known && !terms_.stream()) {
      say(FindingKind::first_timeout_unused,
          "its first_timeout bounds nothing: a call has no output before its end; give `timeout`, or leave it out");
    } else if (bounded) {  // a stream's
      find_timeout("first_timeout", FindingKind::first_timeout_above_budget, *step_.first_timeout, facts_.share);
    }
  }

  // `share`: what the budget leaves of it to what the timeout bounds.
  void find_timeout(const char* name, FindingKind kind, Duration timeout, Duration share) {
    const std::string what =
        std::string("its ") + name + " of " + detail::duration_text(timeout) + " never ends an attempt: ";
    if (timeout > *terms_.budget) {
      say(kind, what + "the budget of " + detail::duration_text(*terms_.budget) + " is over before; give a shorter " +
                    name + ", or a larger budget");
    } else if (worst_.calls != 0 && timeout > share) {
      say(kind, what + "the " + detail::duration_text(share) +
                    " that the reserves of later steps leave of the budget are over before; give a shorter " + name +
                    ", reserve less, or give a larger budget");
    }
  }

  void find_reserve() {
    if (facts_.reserve <= Duration()) return;
    if (facts_.index == 0) {
      say(FindingKind::reserve_unused,
          "its reserve keeps nothing back: no step comes before it; leave it out, or give it to a later step");
    } else if (terms_.known && !terms_.budget) {
      say(FindingKind::reserve_unused,
          "its reserve keeps nothing back: the run has no budget; give RunOptions::budget, or leave it out");
    }
  }

  // Attempts that are never made.
  void find_waits() {
    const bool counted = step_.max_attempts != unlimited;
    if (step_.schedule == nullptr || (counted && worst_.calls >= step_.max_attempts)) return;
    const std::string so_many = detail::counted(worst_.calls, "attempt");
    const std::string wait =
        "the wait after " + so_many + ", of " + detail::duration_text(worst_.wait) + " at least, is ";
    switch (worst_.end) {
      case WorstEnd::schedule_ended:
        if (counted) {
          say(FindingKind::schedule_ends_early,
              "its schedule ends after " + so_many + ", so that `attempts = " + std::to_string(step_.max_attempts) +
                  "` are never made; give a schedule that goes on, or fewer attempts");
        } else if (worst_.calls == 1) {
          say(FindingKind::schedule_ends_early,
              "its schedule ends before any retry; give one that recurs, or leave it out");
        }
        break;
      case WorstEnd::wait_too_long:
        say(FindingKind::wait_above_max_wait,
            wait + "above max_wait, " + detail::duration_text(*step_.max_wait) +
                ", and leaves the step: there is no further attempt; cap the schedule with capped(), raise max_wait, "
                "or give fewer attempts");
        break;
      case WorstEnd::out_of_time:
        if (counted || worst_.calls == 1) {
          say(FindingKind::wait_above_budget,
              wait + "more than may be left of the " + detail::duration_text(facts_.share) +
                  " that it has of the budget: there is no further attempt; wait less, give fewer attempts, or a "
                  "larger budget");
        }
        break;
      case WorstEnd::attempts_spent:
      case WorstEnd::unknown: break;
    }
  }

  // What only a retry would ask.
  void find_unused() {
    if (step_.max_attempts != 1 || facts_.asked_at_entry(terms_)) return;
    const std::string why = ": the step has one attempt; give more attempts, or leave it out";
    if (step_.schedule != nullptr) say(FindingKind::schedule_unused, "its schedule is never asked" + why);
    if (step_.retry_while != nullptr) say(FindingKind::retry_while_unused, "its retry_while changes nothing" + why);
    if (step_.max_wait) say(FindingKind::max_wait_unused, "its max_wait is never compared with a wait" + why);
  }

  const ExplainedStep& facts_;
  const StepPolicy& step_;
  const RunTerms& terms_;
  const StepWorst& worst_;
  std::vector<Finding>& findings_;
};

inline void find_in_step(const ExplainedStep& facts, const RunTerms& terms, const StepWorst& worst, bool guarded_first,
                         std::vector<Finding>& findings) {
  StepFindings(facts, terms, worst, findings).find(guarded_first);
}

}  // namespace planb::inline PLANB_ABI::detail
