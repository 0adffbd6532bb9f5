// SPDX-License-Identifier: MIT
// What explain() says of a plan that is known by its rules alone.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/engine/run_options.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/observe/detail/explain_text.hpp>
#include <planb/observe/detail/findings.hpp>
#include <planb/observe/detail/worst_case.hpp>
#include <planb/observe/explain.hpp>
#include <planb/observe/explanation.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/time/clock.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

class PlanExplainer {
 public:
  PlanExplainer(const PlanView& plan, const std::vector<Duration>& reserves, const RunTerms& terms)
      : plan_(plan), reserves_(reserves), terms_(terms) {}

  [[nodiscard]] Explanation explain() {
    out_.text = detail::words_of(terms_);
    detail::find_in_run(terms_, plan_, out_.findings);
    for (int i = 0; i != plan_.size; ++i) look_at(i);
    const Duration spent = terms_.budget ? (std::max)(longest_share_ - Duration(1), Duration()) : boundless;
    out_.worst = bounded(calls_, (std::min)(waits_, spent), time_);
    return std::move(out_);
  }

 private:
  // Whether a failure has come before a step: none can have, one may have, one has.
  enum class Before : unsigned char { none, maybe, surely };

  [[nodiscard]] static WorstCase bounded(long long calls, Duration waits, Duration time) {
    WorstCase worst;
    worst.calls = calls == countless ? std::nullopt : std::optional(calls);
    worst.waits = waits == boundless ? std::nullopt : std::optional(waits);
    worst.time = time == boundless ? std::nullopt : std::optional(time);
    return worst;
  }

  void look_at(int index) {
    const StepPolicy& step = plan_.steps[index];
    const ExplainedStep facts{step, index, reserves_[static_cast<std::size_t>(index)], share_of(terms_, step)};
    StepExplanation& told = out_.steps.emplace_back();
    told.index = index;
    told.name = step.name;
    told.text = detail::words_of(facts, terms_);

    const bool guarded_first = step.enter_when != nullptr && before_ == Before::none;
    StepWorst worst;
    if (!guarded_first) worst = worst_of(facts);
    told.reachable = worst.calls != 0;
    detail::find_in_step(facts, terms_, worst, guarded_first, out_.findings);
    if (!told.reachable) return;

    Duration longest = facts.share;
    if (terms_.stream() && *terms_.partial != PartialStream::allow && terms_.budget) {
      longest = worst.time = *terms_.budget;  // after output, what others reserve is its own
    }
    told.worst = bounded(worst.calls, worst.waits, worst.time);
    calls_ = plus(calls_, worst.calls);
    waits_ = add(waits_, worst.waits);
    time_ = (std::max)(time_, (std::min)(add(time_, worst.time), longest));
    longest_share_ = (std::max)(longest_share_, facts.share);
    come_past(step);
  }

  [[nodiscard]] StepWorst worst_of(const ExplainedStep& facts) const {
    StepRoom room{.time_left = facts.share, .attempt_time = facts.share};
    if (!terms_.stream() && facts.step.timeout) room.attempt_time = (std::min)(facts.share, *facts.step.timeout);
    const bool asks = terms_.entry == StepEntry::scheduled && facts.step.schedule != nullptr;
    if (!asks || before_ == Before::none) return StepWalk(facts.step, room).walk();
    room.asked_at_entry = true;
    const StepWorst asked = StepWalk(facts.step, room).walk();
    if (before_ == Before::surely || facts.step.enter_when != nullptr) return asked;
    room.asked_at_entry = false;
    return detail::worse(asked, StepWalk(facts.step, room).walk());
  }

  // A step that nobody declines and no gate closes is tried.
  void come_past(const StepPolicy& step) noexcept {
    const bool tried = step.enter_when == nullptr && step.gate == nullptr && !(waited_ && terms_.budget);
    if (before_ != Before::surely) before_ = tried ? Before::surely : Before::maybe;
    if (detail::longest_admission(step) > Duration()) waited_ = true;
  }

  const PlanView& plan_;
  const std::vector<Duration>& reserves_;
  const RunTerms& terms_;
  Explanation out_;
  Before before_ = Before::none;
  bool waited_ = false;  // for a gate, it may be, without an attempt
  long long calls_ = 0;
  Duration waits_{};
  Duration time_{};
  Duration longest_share_{};
};

PLANB_DECL Explanation explain_plan(const PlanView& plan, const std::vector<Duration>& reserves,
                                    const RunTerms& terms) {
  return PlanExplainer(plan, reserves, terms).explain();
}

}  // namespace planb::inline PLANB_ABI::detail
