// The engine through its drivers: a plan run by hand, by try_run_with_plan and by run_with_plan, or as a stream by
// hand, pushed and pulled, goes through the same events, and in each run holds what must hold in every run.
#include <planb/gate/circuit_breaker.hpp>
#include <planb/planb.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../by_hand.hpp"
#include "../next_range.hpp"
#include "../results.hpp"
#include "../watched.hpp"
#include "fuzz.hpp"
#include "plan_case.hpp"

#if PLANB_HAS_STOP_TOKEN
#include <stop_token>
#endif

namespace {

using fuzz::Call;
using fuzz::Case;
using fuzz::check;
using fuzz::Consumer;
using fuzz::Does;
using fuzz::StopAt;
using planb::Cause;
using planb::CauseKind;
using planb::CurrentMetadata;
using planb::Duration;
using planb::Metadata;
using planb::NextMove;
using planb::RunEnd;
using planb::TimePoint;

struct Fault {
  int status = 0;
  std::optional<Duration> retry_after;
};

// What a call returns, and an element of a stream: an expected-like.
class Answer {
 public:
  Answer(int value) : value_(value) {}           // NOLINT(google-explicit-constructor)
  Answer(const Fault& fault) : fault_(fault) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const { return value_.has_value(); }
  [[nodiscard]] const int& operator*() const { return *value_; }
  [[nodiscard]] const Fault& error() const { return fault_; }

 private:
  std::optional<int> value_;
  Fault fault_;
};

struct RuleError : std::runtime_error {
  RuleError() : std::runtime_error("rule") {}
};
struct SinkError {};

struct World;

using Client = WatchedContext<World>;

class ScriptedGate final : public planb::Gate {
 public:
  ScriptedGate(World& world, const fuzz::GateScript& script) : world_(world), script_(script) {}
  planb::Admission admit(const planb::GateRequest& request) override;
  [[nodiscard]] TimePoint opens_at(const planb::GateRequest& request) const override {
    TimePoint opens = (std::max)(request.now, tripped_until_);
    if (opens >= TimePoint(script_.a) && opens < TimePoint(script_.b)) opens = TimePoint(script_.b);
    return opens;
  }

 private:
  void on_outcome(std::uint64_t ticket, const planb::GateOutcome& outcome) override {
    told(ticket);
    if (outcome.cause != nullptr && script_.trips_after != 0 && ++failures_ % script_.trips_after == 0) {
      tripped_until_ = planb::detail::add(outcome.now, script_.trips_for);
    }
  }
  void on_dropped(std::uint64_t ticket, bool) noexcept override { told(ticket); }
  void told(std::uint64_t ticket) noexcept;

  World& world_;
  const fuzz::GateScript script_;
  TimePoint tripped_until_{};
  int failures_ = 0;
  std::uint64_t tickets_ = 0;
};

// One run: it plays the caller's part, writes down what it sees, and checks what holds in every run.
struct World {
  explicit World(const Case& c) : what(c), clock(*this) {
    clock.oversleeps = c.oversleeps;
#if PLANB_HAS_STOP_TOKEN
    if (c.stop == StopAt::before) stop.request_stop();
    if (c.stop == StopAt::time) {
      timer = clock.inner.call_at(TimePoint(c.stop_time), [this] { stop.request_stop(); });
    }
#endif
    for (const fuzz::GateScript& g : c.gates) {
      if (g.breaker) {
        gates.push_back(std::make_shared<planb::CircuitBreaker>(planb::CircuitBreakerOptions{
            .failure_threshold = g.trips_after + 1, .open_for = g.trips_for + Duration(1)}));
      } else {
        gates.push_back(std::make_shared<ScriptedGate>(*this, g));
      }
    }
  }

  // --- The plan ---

  [[nodiscard]] planb::detail::ErrorPredicate rule(const fuzz::Rule& rule, int guarded_step = -1) {
    if (rule.typed) {
      return [this, &rule, guarded_step](const planb::ProviderError& error) {
        return ask(rule.says_yes(error.status), guarded_step);
      };
    }
    return [this, &rule, guarded_step](const Cause& cause) { return ask(rule.says_yes(cause.status()), guarded_step); };
  }

  [[nodiscard]] planb::Schedule schedule(const fuzz::Step& s) {
    using fuzz::Waits;
    switch (s.waits) {
      case Waits::none: break;
      case Waits::list: return planb::delays({s.a, s.b});
      case Waits::spaced: return planb::spaced(s.a);
      case Waits::few: return planb::up_to(planb::spaced(s.b), s.times);
      case Waits::capped: return planb::capped(planb::exponential(s.a), s.b);
      case Waits::jittered: return planb::jittered(planb::spaced(s.a));
      case Waits::fixed: return planb::fixed(s.a);
      case Waits::windowed: return planb::windowed(s.a);
      case Waits::full: return planb::full_jitter(planb::capped(planb::fibonacci(s.a), s.b));
      case Waits::decorrelated: return planb::decorrelated_jitter(s.b, planb::detail::add(s.a, s.b));
      case Waits::mixed: return planb::concat(planb::once(), planb::both(planb::duration(s.a), planb::linear(s.b)));
      case Waits::own:
        return planb::Schedule::from("own", [this, &s](const planb::ScheduleInput& input) -> std::optional<Duration> {
          static_cast<void>(ask(true));
          if (input.attempt > s.times) return std::nullopt;
          return input.attempt % 2 != 0 ? s.a : s.b;
        });
    }
    return {};
  }

  [[nodiscard]] planb::Provide<Client, void> provide(const fuzz::Step& s, int index) {
    switch (s.provide) {
      case fuzz::Provide::value: break;
      case fuzz::Provide::factory:
        return [this, index](const planb::Attempt& attempt) {
          static_cast<void>(make(attempt, index));
          return Client(*this);
        };
      case fuzz::Provide::expected_factory:
        return [this, index](const planb::Attempt& attempt) -> results::Outcome<Client, Fault> {
          const Call call = make(attempt, index);
          if (call.does == Does::factory_returns) return Fault{call.status, call.hint};
          return Client(*this);
        };
    }
    return Client(*this);
  }

  [[nodiscard]] planb::ExecutionPlan<Client> plan() {
    std::vector<planb::Step<Client>> steps;
    for (std::size_t i = 0; i != what.steps.size(); ++i) {
      const fuzz::Step& s = what.steps[i];
      const int index = static_cast<int>(i);
      steps.push_back({.name = std::string(1, static_cast<char>('a' + index)),
                       .provide = provide(s, index),
                       .attempts = s.attempts,
                       .schedule = schedule(s),
                       .max_wait = s.max_wait,
                       .timeout = s.timeout,
                       .reserve = s.reserve});
      planb::Step<Client>& out = steps.back();
      if (out.schedule && !out.schedule.ends() && !s.attempts) out.attempts = planb::unlimited;
      most_attempts.push_back(out.attempts.value_or(out.schedule ? planb::unlimited : 1));
      if (s.retry_while) out.retry_while = rule(*s.retry_while);
      if (s.enter_when) out.enter_when = rule(*s.enter_when, index);
      if (s.classify) {
        out.classify = [this, &s](const Cause& cause) {
          static_cast<void>(ask(true));
          const std::optional<int> status = cause.status();
          return (*s.classify)[status ? static_cast<std::size_t>(*status % 4) : 4];
        };
      }
      if (s.gate >= 0) out.gate = gates[static_cast<std::size_t>(s.gate)];
    }
    planb::ExecutionPlan<Client> plan(std::move(steps));
    in_plan = live;
    return plan;
  }

  template <class Options>
  [[nodiscard]] Options options() {
    Options options;
    options.on_event = [this](const planb::Event& event) { see(event); };
    options.budget = what.endless_budget ? (Duration::max)() : what.budget;
#if PLANB_HAS_STOP_TOKEN
    options.stop = stop.get_token();
#endif
    options.clock = &clock;
    if (what.scheduled) options.entry = planb::StepEntry::scheduled;
    if (what.original) options.failure = planb::FailureStyle::original;
    options.seed = 7;
    if constexpr (std::is_same_v<Options, planb::StreamOptions>) options.partial = what.partial;
    return options;
  }

  // --- The caller's functions ---

  [[nodiscard]] bool stopped() const {
#if PLANB_HAS_STOP_TOKEN
    return stop.stop_requested();
#else
    return false;
#endif
  }
  void stop_if(StopAt place, int number) {
#if PLANB_HAS_STOP_TOKEN
    if (what.stop == place && what.stop_number == number) stop.request_stop();
#else
    static_cast<void>(place);
    static_cast<void>(number);
#endif
  }

  bool ask(bool yes, int guarded_step = -1) {
    note('?', {yes ? 1 : 0, guarded_step});
    stop_if(StopAt::rule, ++rules);
    if (rules == what.fault) {
      rule_threw = true;
      if (what.fault_is_defect) throw planb::Defect("rule");
      throw RuleError();
    }
    if (yes && guarded_step >= 0) accepted = guarded_step;
    return yes;
  }

  // The attempt is the one that was announced, and its time is what it says.
  void look_at(const planb::Attempt& attempt) {
    if (!has_handler) {
      check(CurrentMetadata::get() == Metadata{attempt.attempt, attempt.step_index},
            "metadata holds within an attempt");
      return;
    }
    check(running && attempt.attempt == attempts && attempt.step_attempt == tries && attempt.step_index == entered,
          "an Attempt is the one that was announced");
    check(CurrentMetadata::get() == Metadata{attempts, entered}, "metadata holds within an attempt");
    check((attempt.previous() != nullptr) == (failures != 0), "an attempt knows the failure before it");
    const std::optional<Duration>& timeout = what.steps[static_cast<std::size_t>(entered)].timeout;
    const std::optional<Duration> left = attempt.timeout();
    check(!left || timeout || what.budget, "an attempt has a limit only where it was given one");
    if (!left) return;
    check(*left >= Duration::zero() && (!timeout || *left <= *timeout), "an attempt's time is within its timeout");
    check(!what.budget || *attempt.deadline() <= budget_end(), "an attempt ends within the budget");
#if PLANB_HAS_STOP_TOKEN
    if (clock.now() >= *attempt.deadline()) check(attempt.stop_token().stop_requested(), "an attempt's time stops it");
    if (!what.stream) {
      const bool due = stopped() || clock.now() >= *attempt.deadline();
      check(attempt.stop_token().stop_requested() == due, "nothing else stops an attempt");
    }
#endif
  }

  Call make(const planb::Attempt& attempt, int index) {
    check(attempt.step_index == index, "the factory is the step's own");
    check(!stopped_at_start, "no factory is called after a stop at the start");
    look_at(attempt);
    note('f', {attempt.attempt});
    const Call call = what.call(attempt.attempt);
    clock.inner.advance(call.factory_takes);
    stop_if(StopAt::factory, attempt.attempt);
    if (call.does == Does::factory_throws) throw planb::ProviderError(call.status, "", "", call.hint);
    return call;
  }

  Call open(const Client& client, const planb::Attempt& attempt) {
    check(client.world == this && live == in_plan + 1, "a call has a context of its own");
    check(!stopped_at_start, "no call is made after a stop at the start");
    look_at(attempt);
    note('c', {attempt.attempt});
    stop_if(StopAt::call, attempt.attempt);
    return what.call(attempt.attempt);
  }

  Answer use(const Client& client, const planb::Attempt& attempt) {
    const Call call = open(client, attempt);
    clock.inner.advance(call.takes);
    look_at(attempt);
    return end_of(call, attempt.attempt);
  }

  Answer end_of(const Call& call, int value) {
    switch (call.does) {
      case Does::answers: break;
      case Does::factory_throws:  // of a step whose context is a value
      case Does::throws: throw planb::ProviderError(call.status, "", "", call.hint);
      case Does::throws_unknown: throw 42;
      case Does::defect: throw planb::Defect("call");
      case Does::factory_returns:
      case Does::returns: return Fault{call.status, call.hint};
    }
    return value;
  }

  // The source's next element, after `given`; none at its end.
  [[nodiscard]] std::optional<Answer> next_element(const Call& call, int attempt, int given) {
    clock.inner.advance(call.takes);
    if (given < call.elements) return Answer(attempt * 10 + given);
    Answer outcome = end_of(call, 0);
    if (outcome.has_value() || given > call.elements) return std::nullopt;
    return outcome;
  }

  // The consumer takes an element; false where it wants no more.
  bool consume(int element) {
    check(!over(), "nothing is delivered when the run is over");
    check(!what.budget || clock.now() < budget_end(), "nothing is delivered when the budget is gone");
    check(!stopped(), "nothing is delivered after a stop");
    note('e', {element});
    clock.inner.advance(what.call(attempts).consumer_takes);
    stop_if(StopAt::element, ++elements);
    if (elements != what.consumed) return true;
    if (what.consumer == Consumer::throws) throw SinkError();
    return false;
  }

  // --- Events ---

  void see(const planb::Event& event) {
    event.visit([this](const auto& e) { see(e); });
    const bool counts = event.get_if<planb::FirstOutput>() == nullptr && event.get_if<planb::RunFinish>() == nullptr;
    if (counts) stop_if(StopAt::event, ++events);
    if (what.handler_throws) throw RuleError();
  }

  void see(const planb::AttemptStart& e) {
    check(!running, "a start does not follow a start");
    check(e.attempt == attempts + 1, "attempts are counted one by one");
    const auto index = static_cast<std::size_t>(e.step_index);
    check(index < what.steps.size(), "a step is one of the plan");
    if (e.step_index == entered) {
      check(last && last->kind == NextMove::retry, "a step goes on only where a retry was announced");
      check(e.step_attempt == tries + 1, "attempts of a step are counted one by one");
      check(e.at >= planb::detail::add(ended, last->delay), "no retry is early");
    } else {
      check(e.step_index > entered && e.step_attempt == 1, "steps come in order, each once");
      check(!last || last->kind != NextMove::end, "nothing follows an end");
      check(!what.steps[index].enter_when || accepted == e.step_index, "a guard lets in what it accepted");
      check(!guarded || what.steps[index].enter_when, "after next_guarded only a guarded step is entered");
    }
    guarded = false;
    check(e.step_attempt <= most_attempts[index], "no more attempts than permitted");
    check(!stopped(), "no attempt after a stop");
    check(!what.budget || e.at < budget_end(), "no attempt after the budget");
    check(live == in_plan, "no context before the attempt");
    const int gate = what.steps[index].gate;
    check(permits == (gate >= 0 && !what.gates[static_cast<std::size_t>(gate)].breaker ? 1 : 0),
          "an attempt has its permit");
    running = true;
    attempts = e.attempt;
    entered = e.step_index;
    tries = e.step_attempt;
    started = e.at;
    told(e, 's', {});
    // As see(Event) does it afterwards: what follows has to know.
    stopped_at_start = what.stop == StopAt::event && what.stop_number == events + 1;
  }

  void see(const planb::AttemptSuccess& e) {
    terminal(e);
    check(!stopped_at_start, "a stop at the start is no success");
    told(e, '+', {});
    succeeded = true;
    last = NextMove{};
  }

  void see(const planb::AttemptFailure& e) {
    terminal(e);
    const fuzz::Step& step = what.steps[static_cast<std::size_t>(entered)];
    const CauseKind kind = e.cause.kind();
    const std::optional<Duration> hint = e.cause.retry_after();
    const planb::Action action = e.verdict ? e.verdict->action : planb::Action::retry;
    const bool alert = e.verdict && e.verdict->alert;
    if (e.next.kind == NextMove::retry) {
      check(e.step_attempt < most_attempts[static_cast<std::size_t>(entered)], "the last attempt is not retried");
      check(e.next.delay >= Duration::zero(), "no wait is negative");
      check(!hint || e.next.delay >= *hint, "no wait is shorter than the hint");
      check(!step.max_wait || e.next.delay <= *step.max_wait, "no wait is longer than max_wait");
      check(!what.budget || planb::detail::add(e.at, e.next.delay) < budget_end(), "no wait exceeds the budget");
      check(kind != CauseKind::defect && kind != CauseKind::interrupted, "what was stopped is not retried");
      check(action == planb::Action::retry, "a verdict against it stands before a retry");
    }
    if (action == planb::Action::abort) check(e.next.kind == NextMove::end, "abort ends the run");
    if (kind == CauseKind::interrupted) check(e.next.run_end == RunEnd::interrupted, "an interruption ends the run");
    if (kind == CauseKind::defect) check(e.next.run_end == RunEnd::defect, "a defect ends the run");
    if (stopped_at_start) check(kind == CauseKind::interrupted, "a stop at the start is an interruption");
    if (kind == CauseKind::error && step.timeout && !what.stream) {
      check(e.duration < *step.timeout, "an error at the timeout or after it is a timeout");
    }
    if (what.budget && e.at >= budget_end() && kind != CauseKind::defect && kind != CauseKind::interrupted) {
      check(e.next.kind == NextMove::end, "without a budget there is no next");
      check(e.next.run_end == RunEnd::deadline || rule_threw, "and the end is a deadline");
    }
    if (elements != 0 && what.partial == planb::PartialStream::prevent_retry) {
      check(e.next.kind == NextMove::end, "after output nothing is tried");
    }
    if (elements != 0 && what.partial == planb::PartialStream::prevent_fallback) {
      check(e.next.kind != NextMove::next_step, "after output no other step is tried");
    }
    told(e, '-',
         {static_cast<int>(kind), e.cause.status().value_or(-1), static_cast<int>(action), alert ? 1 : 0, e.next.kind, e.next.delay.count(), static_cast<int>(e.next.run_end),
          static_cast<int>(e.next.reason)});
    ++failures;
    guarded = action == planb::Action::next_guarded;
    alerts |= (alert ? 1U : 0U) << static_cast<unsigned>(entered);
    last = e.next;
    ended = e.at;
    stopped_at_start = false;
  }

  static void see(const planb::FirstOutput&) {}
  static void see(const planb::RunFinish&) {}
  void see(const planb::StepSkipped& e) {
    check(!running, "no step is skipped within an attempt");
    check(e.step_index > entered, "steps come in order, each once");
    check(!over(), "nothing follows an end");
    check(e.opens_at.has_value() == (e.reason == planb::SkipReason::gate_closed), "a closed gate says when it opens");
    check(CurrentMetadata::get() == outside, "no metadata outside an attempt");
    entered = e.step_index;
    tries = 0;
    skipped |= 1U << static_cast<unsigned>(entered);
    note('k', {e.step_index, e.at.time_since_epoch().count(), static_cast<int>(e.reason),
               e.opens_at ? e.opens_at->time_since_epoch().count() : -1});
  }

  template <class E>
  void terminal(const E& e) {
    check(running && e.attempt == attempts && e.step_index == entered && e.step_attempt == tries,
          "an end follows its start");
    check(e.duration == planb::detail::between(started, e.at), "a duration is the time since the start");
    check(permits == 0, "no permit is held after the attempt");
    running = false;
  }

  template <class E>
  void told(const E& e, char kind, std::initializer_list<std::int64_t> numbers) {
    check(CurrentMetadata::get() == Metadata{e.attempt, e.step_index}, "metadata holds in a handler");
    check(e.step_name.size() == 1 && e.step_name[0] == 'a' + e.step_index, "an event names its step");
    check(e.at == clock.now(), "an event is told at its time");
    note(kind, {e.attempt, e.step_attempt, e.step_index, e.at.time_since_epoch().count()});
    note(' ', numbers);
    check(!planb::to_string(e).empty(), "an event has a text");
  }

  void note(char kind, std::initializer_list<std::int64_t> numbers) {
    log += kind;
    for (const std::int64_t n : numbers) {
      log += ' ';
      log += std::to_string(n);
    }
    if (kind != 's' && kind != '+' && kind != '-') log += '\n';
  }

  // --- What holds in every run ---

  [[nodiscard]] TimePoint budget_end() const { return TimePoint((std::max)(*what.budget, Duration::zero())); }
  [[nodiscard]] bool over() const { return last && last->kind == NextMove::end; }

  void check(bool holds, const char* rule) const { fuzz::check(holds, rule, log); }

  void report_fits(const planb::RunReport& report, RunEnd end) {
    check(report.end == end, "a report tells the end");
    check(report.attempts == attempts, "a report counts the attempts");
    check(report.delivered == static_cast<std::size_t>(elements), "a report counts the elements");
    check(succeeded == (end == RunEnd::succeeded), "a success is told as one");
    check(report.answered_step.has_value() == succeeded && (!succeeded || *report.answered_step == entered),
          "a report tells who answered");
    int sum = 0;
    int before = -1;
    for (const planb::StepReport& step : report.steps) {
      check(step.index > before, "a report has each step once, in order");
      before = step.index;
      sum += step.attempts;
      const unsigned bit = 1U << static_cast<unsigned>(step.index);
      check(step.skipped.has_value() == ((skipped & bit) != 0), "a report tells what was skipped");
      check(step.skipped.has_value() == (step.attempts == 0), "a step was tried or skipped");
      check(step.alert == ((alerts & bit) != 0), "a report tells of alerts");
      check(step.attempts <= most_attempts[static_cast<std::size_t>(step.index)], "no more attempts than permitted");
      if (step.index != report.answered_step) {
        check(step.cause.has_value() == (step.attempts != 0), "a step that was tried in vain has its error");
      }
    }
    check(sum == attempts, "a report's steps add up");
    check((report.last_cause() != nullptr) == (failures != 0), "a report has the last error");
    check(!report.to_string().empty() || report.steps.empty(), "a report has a text");
  }

  void about_to_wait(TimePoint due, const planb::StopToken& token) {
    note('w', {due.time_since_epoch().count()});
    check(!running && live == in_plan && permits == 0, "nothing is held in a wait");
    check(due > clock.now(), "a wait of zero calls nothing");
    check(!what.budget || due < budget_end(), "the budget is not overslept");
    check(!token.stop_requested(), "no wait after a stop");
  }

  void all_is_over() {
    check(!running, "a start has its end");
    check(live == 0, "contexts are destroyed");
    check(permits == 0, "permits are told or dropped");
    check(CurrentMetadata::get() == outside, "metadata is restored");
    check(what.stop != StopAt::before || attempts == 0 || !PLANB_HAS_STOP_TOKEN, "no attempt after a stop");
  }

  const Case& what;
  WatchedClock<World> clock;
#if PLANB_HAS_STOP_TOKEN
  std::stop_source stop;
  planb::Timer timer;
#endif
  std::vector<std::shared_ptr<planb::Gate>> gates;
  std::vector<int> most_attempts;
  std::string log;
  int events = 0;
  int rules = 0;
  int attempts = 0;
  int failures = 0;
  int entered = -1;
  int tries = 0;
  int accepted = -1;  // the step whose guard said yes
  int live = 0;
  int in_plan = 0;  // contexts that are values of the plan
  int permits = 0;
  int elements = 0;
  unsigned skipped = 0;
  unsigned alerts = 0;
  bool has_handler = true;
  bool running = false;
  bool succeeded = false;
  bool guarded = false;
  bool rule_threw = false;
  bool stopped_at_start = false;
  std::optional<NextMove> last;
  TimePoint started;
  TimePoint ended;

  static constexpr Metadata outside{77, 7};
};

planb::Admission ScriptedGate::admit(const planb::GateRequest& request) {
  const TimePoint opens = opens_at(request.now);
  if (opens > request.now) return planb::GateRefusal{opens};
  ++world_.permits;
  return planb::Permit(*this, ++tickets_);
}

void ScriptedGate::told(std::uint64_t ticket) noexcept {
  world_.check(ticket == tickets_ && world_.permits == 1, "a permit is told once");
  --world_.permits;
}

// --- The drivers
// -------------------------------------------------------------------------------------------------------

// Of a log, what rules, factories and calls have written.
std::string calls_in(const std::string& log) {
  std::string out;
  for (std::size_t at = 0; at != log.size();) {
    const std::size_t next = log.find('\n', at) + 1;
    if (log[at] == '?' || log[at] == 'f' || log[at] == 'c') out.append(log, at, next - at);
    at = next;
  }
  return out;
}

// Gives the elements of an attempt to `emit`, until it wants no more.
template <class Emit>
void produce(World& world, const Client& client, const planb::Attempt& attempt, Emit&& emit) {
  const Call call = world.open(client, attempt);
  for (int given = 0;; ++given) {
    std::optional<Answer> element = world.next_element(call, attempt.attempt, given);
    if (!element || !emit(*element)) return;
  }
}

// An attempt of a stream, as PlanRun asks for it. Nothing: it succeeded.
std::optional<Cause> stream_by_hand(World& world, planb::PlanRun<Client>& run, const Client& client) {
  std::optional<Cause> failure;
  produce(world, client, run.attempt(), [&](Answer& element) {
    if (!element.has_value()) {
      failure = Cause::of(element.error());
    } else if (!run.deliver()) {
      failure = Cause::timed_out();
    } else if (!world.consume(*element)) {
      return false;
    } else if (!run.resume()) {
      failure = Cause::timed_out();
    }
    return !failure;
  });
  return failure;
}

// `abandoned`: the attempt in which the run is given up.
RunEnd by_hand(World& world, int abandoned = 0) {
  const planb::ExecutionPlan<Client> plan = world.plan();
  const auto options = world.options<planb::RunOptions>();
  planb::PlanRun<Client> run(plan, options, world.what.stream ? world.what.partial : planb::PartialStream::allow);
  try {
    run_by_hand(run, options, [&](const Client& client, const planb::Attempt& attempt) -> std::optional<Cause> {
      if (attempt.attempt == abandoned) throw OwnerLeaves();
      try {
        if (world.what.stream) return stream_by_hand(world, run, client);
        const Answer answer = world.use(client, attempt);
        return answer.has_value() ? std::nullopt : std::optional(Cause::of(answer.error()));
      } catch (const SinkError&) {
        throw OwnerLeaves();
      }
    });
  } catch (const OwnerLeaves&) {
    return RunEnd::interrupted;
  }
  world.report_fits(run.report(), run.end());
  return run.end();
}

// Runs `drive`, and says how the run ended. `original`: it throws the error itself.
template <class Drive>
RunEnd end_of(World& world, bool original, Drive drive) {
  try {
    drive();
    return RunEnd::succeeded;
  } catch (const planb::PlanExhausted& e) {
    check(!original || world.failures == 0, "the original style throws the error itself");
    world.report_fits(e.report(), RunEnd::exhausted);
    return RunEnd::exhausted;
  } catch (const planb::PlanAborted& e) {
    check(!original || world.failures == 0, "the original style throws the error itself");
    world.report_fits(e.report(), RunEnd::aborted);
    return RunEnd::aborted;
  } catch (const planb::DeadlineExceeded& e) {
    world.report_fits(e.report(), RunEnd::deadline);
    return RunEnd::deadline;
  } catch (const planb::PlanInterrupted& e) {
    world.report_fits(e.report(), RunEnd::interrupted);
    return RunEnd::interrupted;
  } catch (const planb::Defect&) {
    return RunEnd::defect;
  } catch (const SinkError&) {
    check(world.what.consumer == Consumer::throws, "a sink's exception is the sink's");
    return RunEnd::interrupted;
  } catch (...) {
    check(original, "the aggregate style throws a PlanError");
    return RunEnd::running;  // exhausted or aborted
  }
}

bool same_end(RunEnd a, RunEnd b) {
  const auto is = [](RunEnd end) { return end == RunEnd::exhausted || end == RunEnd::aborted ? RunEnd::running : end; };
  return a == b || ((a == RunEnd::running || b == RunEnd::running) && is(a) == is(b));
}

// Runs in a world of its own, with metadata of its own around it. The first to run says how the case ends.
template <class Drive>
std::string log_of(const Case& c, std::optional<RunEnd>& expected, Drive drive) {
  World world(c);
  {
    const CurrentMetadata::Scope scope(World::outside);
    const RunEnd end = drive(world);
    if (!expected) expected = end;
    check(same_end(end, *expected), "every driver comes to the same end", world.log);
    world.all_is_over();
  }
  return std::move(world.log);
}

void same(const std::string& a, const std::string& b, const char* rule) { check(a == b, rule, a + "---\n" + b); }

void run(const Case& c, const std::string& expected, std::optional<RunEnd> end) {
  const auto fn = [](Client& client, const planb::Attempt& attempt) { return client.world->use(client, attempt); };
  same(expected,
       log_of(c, end,
              [&](World& world) {
                return end_of(world, false, [&] {
                  const planb::ExecutionPlan<Client> plan = world.plan();
                  const auto result = planb::try_run_with_plan(plan, fn, world.options<planb::RunOptions>());
                  world.report_fits(result.report(), result.report().end);
                  check(result.has_value() == world.succeeded, "a result is there where the run succeeded");
                  if (result.has_value()) {
                    check(*result == world.attempts, "a result is that of the last attempt");
                  } else {
                    static_cast<void>(result.value());
                  }
                });
              }),
       "PlanRun and try_run_with_plan do the same");
  same(expected,
       log_of(c, end,
              [&](World& world) {
                bool returned = false;
                const RunEnd ended = end_of(world, c.original, [&] {
                  const planb::ExecutionPlan<Client> plan = world.plan();
                  Answer answer = planb::run_with_plan(plan, fn, world.options<planb::RunOptions>());
                  returned = !answer.has_value();
                });
                if (!returned) return ended;
                check(!world.succeeded, "an error is returned where the run failed");
                return *end;  // which one a returned error does not say
              }),
       "PlanRun and run_with_plan do the same");
}

// Takes the elements of a range as a sink would.
template <class Range>
void take(World& world, Range& stream) {
  for (auto it = stream.begin(); it != stream.end(); ++it) {
    check(CurrentMetadata::get() == World::outside, "the consumer has the metadata that it had");
    check((*it).has_value(), "no error is delivered");
    if (!world.consume(*(*it))) return;
  }
}

// Without options, where time plays no part: the run may be over before there is an engine.
void run_without_options(const Case& c, const std::string& expected, std::optional<RunEnd> end) {
  const auto fn = [](Client& client, const planb::Attempt& attempt) { return client.world->use(client, attempt); };
  World world(c);
  world.has_handler = false;
  {
    const CurrentMetadata::Scope scope(World::outside);
    RunEnd ended = RunEnd::succeeded;
    try {
      const Answer answer = planb::run_with_plan(world.plan(), fn);
      // Which end it was, a returned error does not say.
      if (!answer.has_value()) ended = *end == RunEnd::succeeded ? RunEnd::exhausted : *end;
    } catch (const planb::PlanError& e) {
      ended = e.end();
    } catch (const planb::Defect&) {
      ended = RunEnd::defect;
    }
    check(ended == *end, "a run without options comes to the same end", expected);
    world.all_is_over();
  }
  same(calls_in(expected), world.log, "a run without options makes the same calls");
}

// Pushed and pulled; `wrap` makes the producer or the source what it is to be.
template <class Wrap>
void streams(const Case& c, const std::optional<std::string>& by_hand_log, std::optional<RunEnd> end, Wrap wrap) {
  const std::string pushed = log_of(c, end, [&](World& world) {
    return end_of(world, c.original, [&] {
      const planb::ExecutionPlan<Client> plan = world.plan();
      const auto producer = [&](Client& client, const auto& emit, const planb::Attempt& attempt) {
        produce(world, client, attempt, emit);
      };
      const auto sink = [&](Answer& element) { return world.consume(*element); };
      planb::push_with_plan(plan, wrap(world, producer), sink, world.options<planb::StreamOptions>());
    });
  });
  if (by_hand_log) same(*by_hand_log, pushed, "PlanRun and a pushed stream do the same");
  if (c.consumer == Consumer::throws) return;  // in a pulled stream that is none of its business

  const std::string pulled = log_of(c, end, [&](World& world) {
    return end_of(world, c.original, [&] {
      const auto source = [](Client& client, const planb::Attempt& attempt) {
        World& w = *client.world;
        return NextRange([&w, call = w.open(client, attempt), number = attempt.attempt, given = 0]() mutable {
          return w.next_element(call, number, given++);
        });
      };
      auto stream = planb::stream_with_plan(world.plan(), wrap(world, source), world.options<planb::StreamOptions>());
      take(world, stream);
    });
  });
  same(pushed, pulled, "a pushed and a pulled stream do the same");
}

// What counts as output PlanRun leaves to its caller, so this has no run by hand to compare with.
void committed_streams(const Case& c) {
  streams(c, std::nullopt, std::nullopt, [](World& world, const auto& source) {
    const auto commits = [&world](const Answer& element) { return world.ask(*element % 10 >= world.what.prelude); };
    return planb::committing(source, commits, 2);
  });
}

// Its owner goes away within an attempt.
void abandon(const Case& c) {
  World world(c);
  {
    const CurrentMetadata::Scope scope(World::outside);
    static_cast<void>(by_hand(world, c.abandoned));
    world.all_is_over();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Case c = fuzz::make_case(fuzz::Bytes(data, size));
  if (c.stream && c.prelude >= 0) {
    committed_streams(c);
    return 0;
  }
  std::optional<RunEnd> end;
  const std::string expected = log_of(c, end, [](World& world) { return by_hand(world); });
  if (c.stream) {
    streams(c, expected, end, [](World&, const auto& source) { return source; });
  } else {
    run(c, expected, end);
    if (fuzz::timeless(c)) run_without_options(c, expected, end);
  }
  if (c.abandoned != 0) abandon(c);
  return 0;
}
