// What a random run is made of, as data: a plan, a provider's script, gates and options; and what is expected of it. It
// shares plain data types with the library, and no code.
#pragma once

#include <planb/engine/stream_options.hpp>
#include <planb/error/cause.hpp>
#include <planb/report/event.hpp>
#include <planb/time/clock.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace model {

using planb::Action;
using planb::CauseKind;
using planb::Duration;
using planb::LeaveReason;
using planb::PartialStream;
using planb::RunEnd;
using planb::SkipReason;
using planb::Verdict;

inline constexpr int unlimited = (std::numeric_limits<int>::max)();
inline constexpr Duration forever = (Duration::max)();

// --- A case, as data -------------------------------------------------------------------------------------------------

enum class Provide { factory, expected_factory, value };
enum class Waits { none, custom, list, endless, jittered };  // custom: Schedule::from, whose calls are told

// Which errors a rule says yes to. A typed one takes `const ProviderError&`: it says no to any other error, unasked.
struct Rule {
  std::vector<int> statuses;
  bool typed = false;
};

struct Step {
  std::string name;
  Provide provide = Provide::factory;
  std::optional<int> attempts;
  Waits waits = Waits::none;
  std::vector<Duration> delays;  // of an endless schedule, the first
  std::optional<Rule> retry_while;
  std::vector<std::pair<int, Verdict>> classify;  // no objection to other statuses; empty: no classifier
  std::optional<Rule> enter_when;
  std::optional<Duration> max_wait;
  std::optional<Duration> timeout;
  std::optional<Duration> first_timeout;
  Duration reserve{};
  int gate = -1;  // an index into Case::gates
};

struct Window {
  Duration from{};
  Duration to{};
};

// Closed in its windows, and for `trips_for` after every `trips_after` failures that it is told. A breaker is the
// library's own: it has no windows, counts failures in a row, and lets one call through when its time is over.
struct GateScript {
  std::vector<Window> closed;
  int trips_after = 0;
  Duration trips_for{};
  bool breaker = false;
};

enum class Does {
  answers,
  throws,
  returns,
  throws_unknown,
  rejected,
  factory_throws,
  factory_returns,
  defect,
  factory_defect
};

// What an attempt does. A step without such a factory does it in its call.
struct Call {
  Does does = Does::answers;
  int status = 0;
  std::optional<Duration> hint;
  Verdict verdict;  // of a value that is refused
  Duration factory_takes{};
  std::vector<Duration> elements;  // of a stream, each after a while
  Duration takes{};                // after them
};

enum class StopAt { never, before, time, event, factory, call, rule, element };

struct Stop {
  StopAt at = StopAt::never;
  int number = 0;  // the event, attempt, rule or element that is delivered, from 1
  Duration time{};
};

// What is run: a call, or a stream that is pulled, or pushed by a producer that gives its outcome, or that gives it as
// its last element.
enum class Form { call, pull, push, push_void };

// Of a stream.
struct Stream {
  PartialStream partial = PartialStream::allow;
  std::optional<int> prelude;  // so many elements of each attempt are no output: committing()
  int prelude_limit = 0;
  int wanted = 0;       // the consumer has enough after so many elements; 0: never
  bool throws = false;  // and throws then
  Duration pace{};      // what it spends on each
};

struct Case {
  std::vector<Step> steps;
  std::vector<GateScript> gates;
  std::vector<Call> script;  // by attempt; those beyond it answer
  std::optional<Duration> budget;
  Stop stop;
  int fault = 0;  // the rule that throws, from 1: predicates, classifiers, guards and own schedules, as they are asked
  bool fault_is_defect = false;
  bool original = false;   // FailureStyle
  bool accepting = false;  // values are checked; a rule, too
  bool scheduled = false;  // StepEntry
  Form form = Form::call;
  bool by_hand = false;  // a PlanRun, which may be a stream: its first output is waited for
  Stream stream;
  std::vector<Case> nested;  // one, or none: run within the call of attempt `nested_in`
  int nested_in = 0;
};

// What jitter made of a delay is nothing that a model can know: it is told, by step and by how often the step's
// schedule has been asked. So is what it made of a wait hint: by step and by the attempt's number, below zero.
using Draws = std::map<std::pair<int, int>, Duration>;

// --- What is expected ------------------------------------------------------------------------------------------------

// How the callable fails: by exceptions alone, or as the script says.
enum class Shape { throwing, returning };

struct Failure {
  CauseKind kind = CauseKind::error;
  std::optional<int> status;
  std::optional<Duration> hint;
  bool returned = false;        // by the callable or by a factory
  bool provider_error = false;  // what a typed rule takes
  bool own_error = true;        // or it has a kind only
  bool value = false;           // a refused one
  std::optional<Verdict> verdict;
  bool check_threw = false;
  bool check_threw_defect = false;
  bool by_budget = false;  // the budget's share was over before the step's timeout
};

struct Expected {
  std::vector<std::string> lines;   // events and calls of the caller's functions, in order, with their times
  std::vector<std::string> gates;   // what gates are asked and told
  std::vector<std::string> report;  // a line for the run, and one for each step
  std::string outcome;              // what comes out of run_with_plan
  std::string plan_error;           // of a run that failed: the PlanError, with what it nests
  RunEnd end = RunEnd::running;
  Duration finished{};
};

// --- Gates and the script, which the tests play to the library as well ----------------------------------------------

struct GateState {
  GateScript script;
  int failures = 0;
  Duration tripped_until{};
  bool open = false;     // a breaker
  bool probing = false;  // a breaker that is half-open

  // When it lets somebody in, at `now` or later.
  [[nodiscard]] Duration opens_at(Duration now) const {
    Duration opens = (std::max)(now, tripped_until);
    for (bool moved = true; moved;) {
      moved = false;
      for (const Window& window : script.closed) {
        if (opens >= window.from && opens < window.to) {
          opens = window.to;
          moved = true;
        }
      }
    }
    return opens;
  }

  void admitted() {
    if (open) probing = true;
  }
  void succeeded() {
    if (!script.breaker) return;
    failures = 0;
    open = probing = false;
  }
  void failed(Duration now) {
    if (script.trips_after == 0) return;
    ++failures;
    if (!probing && failures < script.trips_after) return;
    failures = 0;
    tripped_until = now + script.trips_for;
    open = script.breaker;
    probing = false;
  }
};

// What this attempt does in this step.
inline Call call_of(const Case& c, int attempt, Provide provide, Shape shape) {
  Call call;
  if (static_cast<std::size_t>(attempt) <= c.script.size()) call = c.script[static_cast<std::size_t>(attempt) - 1];
  if (provide != Provide::expected_factory && call.does == Does::factory_returns) call.does = Does::factory_throws;
  if (provide == Provide::value) {
    if (call.does == Does::factory_throws) call.does = Does::throws;
    if (call.does == Does::factory_defect) call.does = Does::defect;
    call.factory_takes = Duration{};
  }
  if (shape == Shape::throwing && call.does == Does::returns) call.does = Does::throws;
  if ((!c.accepting || c.form != Form::call) && call.does == Does::rejected) call.does = Does::answers;
  return call;
}

// The kth element that an attempt gives.
inline int element_of(int attempt, int k) { return attempt * 100 + k; }

inline bool says_yes(const std::vector<int>& statuses, const std::optional<int>& status) {
  return status && std::find(statuses.begin(), statuses.end(), *status) != statuses.end();
}

}  // namespace model
