// The world that a described plan runs in: it builds the plan, plays the caller's part as the script says, writes down
// what it sees, and checks what holds in every run.
#pragma once

#include <planb/engine/run_options.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/gate/circuit_breaker.hpp>
#include <planb/plan/plan.hpp>
#include <planb/schedule/combinators.hpp>
#include <planb/schedule/jitter.hpp>
#include <planb/schedule/leaves.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "case.hpp"
#include "lines.hpp"
#include "results.hpp"
#include "watched.hpp"

#if PLANB_HAS_STOP_TOKEN
#include <stop_token>
#endif

namespace scene {

using model::Case;
using model::Does;
using model::Provide;
using model::Shape;
using model::StopAt;
using planb::Cause;
using planb::Duration;
using planb::ProviderError;
using planb::TimePoint;
using Lines = std::vector<std::string>;

// What a call returns where it does not throw. No PlanError can become one.
struct Fault {
  int status = 0;
  std::optional<Duration> retry_after;
};

using Outcome = results::Outcome<int, Fault>;  // and an element of a stream

struct RuleError : std::runtime_error {
  RuleError() : std::runtime_error("rule") {}
};
struct ConsumerError {};

inline std::string text(const Cause& cause) { return model::text(cause.kind(), cause.status()); }
inline std::string text(const std::optional<Cause>& cause) { return cause ? text(*cause) : "-"; }
inline std::string text(const Cause* cause) { return cause != nullptr ? text(*cause) : "-"; }
inline std::optional<Duration> since_start(const std::optional<TimePoint>& t) {
  if (!t) return std::nullopt;
  return t->time_since_epoch();
}

// --- The world that a plan runs in -----------------------------------------------------------------------------------

struct Scene;

using Client = WatchedContext<Scene>;

class ScriptedGate final : public planb::Gate {
 public:
  ScriptedGate(Scene& scene, int index, model::GateScript script)
      : state_{std::move(script)}, scene_(scene), index_(index) {}
  planb::Admission admit(const planb::GateRequest& request) override;
  [[nodiscard]] TimePoint opens_at(const planb::GateRequest& request) const override {
    return TimePoint(state_.opens_at(request.now.time_since_epoch()));
  }

 private:
  void on_outcome(std::uint64_t ticket, const planb::GateOutcome& outcome) override {
    told(outcome.cause == nullptr ? "told success" : "told failure", ticket, outcome.now);
    if (outcome.cause != nullptr) state_.failed(outcome.now.time_since_epoch());
  }
  void on_dropped(std::uint64_t ticket, bool) noexcept override;
  void told(const char* what, std::uint64_t ticket, TimePoint now);

  model::GateState state_;
  Scene& scene_;
  int index_;
  std::uint64_t tickets_ = 0;
};

// One run: it plays the caller's part, writes down what it sees, and checks what holds in every run.
struct Scene {
  // `draws` has what jitter has drawn in an earlier run of the case, and gets what it draws in this one.
  Scene(const Case& c, Shape shape, model::Draws& draws) : what(c), shape_(shape), draws_(draws), clock(*this) {
#if PLANB_HAS_STOP_TOKEN
    if (c.stop.at == StopAt::before) stop.request_stop();
    if (c.stop.at == StopAt::time) {
      timer = clock.inner.call_at(TimePoint(c.stop.time), [this] { stop.request_stop(); });
    }
#endif
    for (std::size_t i = 0; i != c.gates.size(); ++i) {
      if (c.gates[i].breaker) {
        gates.push_back(planb::circuit_breaker({.failure_threshold = c.gates[i].trips_after,
                                                .open_for = c.gates[i].trips_for,
                                                .honour_retry_after = false,
                                                .probe_timeout = (Duration::max)()}));
      } else {
        gates.push_back(std::make_shared<ScriptedGate>(*this, static_cast<int>(i), c.gates[i]));
      }
    }
  }

  // --- Building the plan ---

  [[nodiscard]] planb::detail::ErrorPredicate rule(const char* name, int step, const model::Rule& rule) {
    if (rule.typed) {
      return [this, name, step, &rule](const ProviderError& error) {
        ask(model::rule_line(name, step, std::to_string(error.status)));
        return model::says_yes(rule.statuses, error.status);
      };
    }
    return [this, name, step, &rule](const Cause& cause) {
      ask(model::rule_line(name, step, text(cause)));
      return model::says_yes(rule.statuses, cause.status());
    };
  }

  [[nodiscard]] planb::Schedule schedule(int index, const model::Step& step) {
    switch (step.waits) {
      case model::Waits::none: break;
      case model::Waits::list: return planb::delays(step.delays);
      case model::Waits::endless: return planb::spaced(step.delays.at(0));
      case model::Waits::jittered:
        return planb::modify_delay(planb::jittered(planb::delays(step.delays)),
                                   [this, index, &step](Duration delay, const planb::ScheduleInput& input) {
                                     drawn(index, input.attempt, step.delays, delay);
                                     return delay;
                                   });
      case model::Waits::custom:
        return planb::Schedule::from("own", [this, index, &step](const planb::ScheduleInput& input) {
          ask(model::schedule_line(index, input.attempt, text(input.cause)));
          const auto asked = static_cast<std::size_t>(input.attempt);
          return asked <= step.delays.size() ? std::optional<Duration>(step.delays[asked - 1]) : std::nullopt;
        });
    }
    return {};
  }

  [[nodiscard]] planb::Provide<Client, void> provide(int index, const model::Step& step) {
    switch (step.provide) {
      case Provide::value: break;
      case Provide::factory:
        return [this, index](const planb::Attempt& attempt) {
          make_context(index, attempt);
          return Client(*this);
        };
      case Provide::expected_factory:
        return [this, index](const planb::Attempt& attempt) -> results::Outcome<Client, Fault> {
          const model::Call call = make_context(index, attempt);
          if (call.does == Does::factory_returns) return Fault{call.status, call.hint};
          return Client(*this);
        };
    }
    return Client(*this);
  }

  [[nodiscard]] planb::ExecutionPlan<Client> plan() {
    std::vector<planb::Step<Client>> steps;
    for (std::size_t i = 0; i != what.steps.size(); ++i) {
      const model::Step& step = what.steps[i];
      const int index = static_cast<int>(i);
      planb::Step<Client>& out = steps.emplace_back(planb::Step<Client>{.name = step.name,
                                                                        .provide = provide(index, step),
                                                                        .attempts = step.attempts,
                                                                        .max_wait = step.max_wait,
                                                                        .timeout = step.timeout,
                                                                        .first_timeout = step.first_timeout,
                                                                        .reserve = step.reserve});
      out.schedule = schedule(index, step);
      if (step.retry_while) out.retry_while = rule("retry_while", index, *step.retry_while);
      if (step.enter_when) out.enter_when = rule("enter_when", index, *step.enter_when);
      if (!step.classify.empty()) {
        out.classify = [this, index, &step](const Cause& cause) {
          ask(model::rule_line("classify", index, text(cause)));
          for (const auto& [status, verdict] : step.classify) {
            if (cause.status() == status) return verdict;
          }
          return planb::Verdict();
        };
      }
      if (step.gate >= 0) out.gate = gates[static_cast<std::size_t>(step.gate)];
    }
    return planb::ExecutionPlan<Client>(std::move(steps));
  }

  template <class Options = planb::RunOptions>
  [[nodiscard]] Options options() {
    Options options;
    options.on_event = [this](const planb::Event& event) { see(event); };
    options.budget = what.budget;
#if PLANB_HAS_STOP_TOKEN
    options.stop = stop.get_token();
#endif
    options.clock = &clock;
    if (what.scheduled) options.entry = planb::StepEntry::scheduled;
    if (what.original) options.failure = planb::FailureStyle::original;
    options.seed = 7;
    if constexpr (std::is_same_v<Options, planb::StreamOptions>) options.partial = what.stream.partial;
    return options;
  }

  // --- The caller's functions ---

  void line(const std::string& text) { lines.push_back(model::at(clock.now().time_since_epoch(), text)); }
  void stop_if(StopAt place, int number) {
#if PLANB_HAS_STOP_TOKEN
    if (what.stop.at == place && what.stop.number == number) stop.request_stop();
#else
    static_cast<void>(place);
    static_cast<void>(number);
#endif
  }

  void ask(const std::string& question) {
    line(question);
    stop_if(StopAt::rule, ++rules);
    if (what.fault != rules) return;
    if (what.fault_is_defect) throw planb::Defect("rule");
    throw RuleError();
  }

  model::Call make_context(int index, const planb::Attempt& attempt) {
    check(attempt.step_index == index, "a factory of another step");
    look_at(attempt, "factory");
    line(model::factory_line(index, attempt.timeout(), text(attempt.previous())));
    const model::Call call = call_of(attempt.attempt, index);
    clock.inner.advance(call.factory_takes);
    stop_if(StopAt::factory, attempt.attempt);
    if (call.does == Does::factory_throws) throw ProviderError(call.status, "", "", call.hint);
    if (call.does == Does::factory_defect) throw planb::Defect("factory");
    return call;
  }

  Outcome use(const Client& client, const planb::Attempt& attempt) {
    look_at(client);
    return call(attempt);
  }
  void look_at(const Client& client) {
    check(client.world == this && live == in_plan + 1, "a call without a context of its own");
  }

  Outcome call(const planb::Attempt& attempt) {
    open(attempt);
    return outcome_of_call(attempt);
  }

  void open(const planb::Attempt& attempt) {
    look_at(attempt, "call");
    line(model::call_line(attempt.step_index, attempt.timeout(), text(attempt.previous())));
    if (what.nested.empty() || what.nested_in != attempt.attempt) return;
    const std::string difference = run_nested(what.nested.front());
    if (!difference.empty() && broken.empty()) broken = "a run within this one does the same as alone:\n" + difference;
    look_at(attempt, "metadata restored after a nested run");
  }

  Outcome outcome_of_call(const planb::Attempt& attempt) {
    const model::Call call = call_of(attempt.attempt, attempt.step_index);
    clock.inner.advance(call.takes);
    stop_if(StopAt::call, attempt.attempt);
    switch (call.does) {
      case Does::answers:
      case Does::rejected: break;
      case Does::throws: throw ProviderError(call.status, "", "", call.hint);
      case Does::throws_unknown: throw 42;
      case Does::defect: throw planb::Defect("call");
      case Does::returns: return Fault{call.status, call.hint};
      case Does::factory_throws:
      case Does::factory_returns:
      case Does::factory_defect: check(false, "a call after a factory that failed"); break;
    }
    return attempt.attempt;
  }

  // The next element of a stream's attempt that has given so many; none where it has given all, and its end is due.
  std::optional<int> next_element(const planb::Attempt& attempt, int given) {
    check(live == in_plan + 1, "a context for as long as the stream");
    look_at(attempt, "source");
    line(model::source_line(given, attempt.timeout(), attempt.delivered()));
    const model::Call call = call_of(attempt.attempt, attempt.step_index);
    if (static_cast<std::size_t>(given) == call.elements.size()) return std::nullopt;
    clock.inner.advance(call.elements[static_cast<std::size_t>(given)]);
    return model::element_of(attempt.attempt, given);
  }

  // What committing() asks.
  bool is_output(int element) {
    ask(model::commits_line(element));
    return element % 100 >= what.stream.prelude.value_or(0);
  }

  // False: the consumer wants no more.
  bool consume(int element) {
    check(running, "an element within an attempt");
    check(!what.budget || clock.now().time_since_epoch() < *what.budget, "no element after the budget");
    line(model::element_line(element));
    clock.inner.advance(what.stream.pace);
    stop_if(StopAt::element, ++delivered);
    if (delivered != what.stream.wanted) return true;
    if (what.stream.throws) throw ConsumerError();
    return false;
  }

  // `value` is the number of the attempt.
  std::optional<planb::Verdict> accept(int value) {
    ask(model::accept_line(value));
    const model::Call call = call_of(value, entered);
    if (call.does != Does::rejected) return std::nullopt;
    return call.verdict;
  }

  [[nodiscard]] model::Call call_of(int attempt, int step) const {
    return model::call_of(what, attempt, what.steps.at(static_cast<std::size_t>(step)).provide, shape_);
  }

  void drawn(int step, int asked, const std::vector<Duration>& delays, Duration delay) {
    const Duration base = delays[static_cast<std::size_t>(asked) - 1];
    check(delay >= base * 4 / 5 && delay <= base * 6 / 5, "jitter within its bounds");
    check(draws_.try_emplace({step, asked}, delay).first->second == delay, "the same seed draws the same numbers");
  }

  // The wait that is told may be a hint's, spread.
  void spread(const planb::AttemptFailure& e) {
    check(draws_.try_emplace({e.step_index, -e.attempt}, e.next.delay).first->second == e.next.delay,
          "the same seed spreads the same");
  }

  void look_at(const planb::Attempt& attempt, const char* where) {
    check(!has_handler || (running && attempt.attempt == attempts && attempt.step_attempt == tries &&
                           attempt.step_index == entered),
          "an Attempt that is not the one that was announced");
    check(planb::CurrentMetadata::get() == planb::Metadata{attempt.attempt, attempt.step_index}, where);
    entered = attempt.step_index;
  }

  // --- Events ---

  void see(const planb::Event& event) {
    event.visit([this](const auto& e) { see(e); });
    const bool counts = event.get_if<planb::FirstOutput>() == nullptr && event.get_if<planb::RunFinish>() == nullptr;
    if (counts) stop_if(StopAt::event, ++events);
  }

  void see(const planb::AttemptStart& e) {
    check(!running, "a start within an attempt");
    check(e.attempt == attempts + 1, "attempts counted one by one");
    check(e.step_index > entered ? e.step_attempt == 1 : e.step_index == entered && e.step_attempt == tries + 1,
          "steps in order, each entered once");
    if (static_cast<std::size_t>(e.step_index) < what.steps.size()) {
      const model::Step& described = what.steps[static_cast<std::size_t>(e.step_index)];
      check(e.step_attempt <= described.attempts.value_or(described.waits == model::Waits::none ? 1 : e.step_attempt),
            "no more attempts than permitted");
      const bool tells = described.gate >= 0 && !what.gates[static_cast<std::size_t>(described.gate)].breaker;
      check(permits == (tells ? 1 : 0), "one permit for an attempt");
    }
    check(live == in_plan, "no context before the attempt");
    if (std::exchange(waiting, false)) ++waits;
    running = true;
    attempts = e.attempt;
    entered = e.step_index;
    tries = e.step_attempt;
    started = e.at;
    told(e, e.at, model::start_line(e.attempt, e.step_index, e.step_attempt, e.step_name));
  }
  void see(const planb::AttemptSuccess& e) {
    terminal(e);
    told(e, e.at, model::success_line(e.attempt, e.step_index, e.step_attempt, e.step_name, e.duration));
  }
  void see(const planb::AttemptFailure& e) {
    terminal(e);
    std::string next;
    switch (e.next.kind) {
      case planb::NextMove::retry:
        next = model::retry_text(e.next.delay);
        if (what.steps[static_cast<std::size_t>(e.step_index)].waits == model::Waits::jittered) spread(e);
        break;
      case planb::NextMove::next_step: next = model::next_step_text(e.next.reason); break;
      case planb::NextMove::end: next = model::end_text(e.next.run_end, e.next.reason); break;
    }
    told(e, e.at,
         model::failure_line(e.attempt, e.step_index, e.step_attempt, e.step_name, e.duration, text(e.cause), e.verdict,
                             next));
  }
  static void see(const planb::FirstOutput&) {}
  static void see(const planb::RunFinish&) {}
  void see(const planb::StepSkipped& e) {
    check(!running, "a skipped step within an attempt");
    check(e.step_index > entered, "skipped steps in order");
    entered = e.step_index;
    lines.push_back(model::at(e.at.time_since_epoch(),
                              model::skipped_line(e.step_index, e.step_name, e.reason, since_start(e.opens_at))));
  }
  template <class E>
  void terminal(const E& e) {
    check(running && e.attempt == attempts && e.step_index == entered && e.step_attempt == tries,
          "an end without its start");
    check(e.at - started == e.duration, "a duration since the start");
    check(live == in_plan, "no context after the attempt");
    check(permits == 0, "no permit after the attempt");
    running = false;
  }
  template <class E>
  void told(const E& e, TimePoint at, const std::string& text) {
    check(planb::CurrentMetadata::get() == planb::Metadata{e.attempt, e.step_index}, "metadata in a handler");
    lines.push_back(model::at(at.time_since_epoch(), text));
  }

  // --- What holds in every run ---

  void check(bool holds, const char* rule) noexcept {
    if (!holds && broken.empty()) broken = rule;
  }
  void about_to_wait(TimePoint due, const planb::StopToken&) {
    check(!waiting, "one wait before an attempt");
    waiting = true;
    line(model::wait_line(due.time_since_epoch()));
    check(!running && live == in_plan && permits == 0, "nothing is held in a wait");
    check(due > clock.now(), "a wait of zero calls nothing");
    check(!what.budget || due.time_since_epoch() < *what.budget, "the budget is never overslept");
  }
  void check_over() {
    check(!running, "a start without its end");
    check(live == in_plan, "contexts destroyed");
    check(permits == 0, "permits told or dropped");
    check(!waiting || what.stop.at != StopAt::never, "an attempt, or a closed gate, after each wait");
    check(waits <= (attempts == 0 ? 0 : attempts - 1), "no more waits than attempts - 1");
    check(planb::CurrentMetadata::get() == outside, "metadata restored");
  }

  const Case& what;
  Shape shape_;
  model::Draws& draws_;
  WatchedClock<Scene> clock;
#if PLANB_HAS_STOP_TOKEN
  std::stop_source stop;
  planb::Timer timer;
#endif
  std::vector<std::shared_ptr<planb::Gate>> gates;
  Lines lines;
  Lines gate_lines;
  std::string broken;  // the first rule that did not hold
  int events = 0;
  int rules = 0;
  int attempts = 0;
  int entered = -1;
  int tries = 0;
  int live = 0;
  int in_plan = 0;  // the ready values
  int permits = 0;
  int waits = 0;         // those that an attempt followed
  bool waiting = false;  // it is due
  int delivered = 0;
  bool running = false;
  bool has_handler = true;
  TimePoint started;
  const planb::Metadata outside = planb::CurrentMetadata::get();
  std::function<std::string(const Case&)> run_nested;  // tells what differs from the model
};

inline planb::Admission ScriptedGate::admit(const planb::GateRequest& request) {
  const TimePoint opens = opens_at(request.now);
  scene_.gate_lines.push_back(
      model::at(request.now.time_since_epoch(), model::gate_line(index_, opens > request.now ? "refuses" : "admits")));
  if (opens > request.now) {
    scene_.waiting = false;
    return planb::GateRefusal{opens};
  }
  ++scene_.permits;
  return planb::Permit(*this, ++tickets_);
}

inline void ScriptedGate::told(const char* what, std::uint64_t ticket, TimePoint now) {
  --scene_.permits;
  scene_.check(ticket == tickets_, "the latest permit");
  scene_.gate_lines.push_back(model::at(now.time_since_epoch(), model::gate_line(index_, what)));
}

inline void ScriptedGate::on_dropped(std::uint64_t ticket, bool) noexcept {
  told("dropped", ticket, scene_.clock.now());
}

}  // namespace scene
