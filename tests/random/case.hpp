// What a random run is made of, as data: a plan, a provider's script, gates and options; what is expected of it; and
// the lines in which both sides tell what happened. It shares plain data types with the library, and no code.
#pragma once

#include <planb/cause.hpp>
#include <planb/clock.hpp>
#include <planb/event.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace model {

using planb::Action;
using planb::CauseKind;
using planb::Duration;
using planb::LeaveReason;
using planb::RunEnd;
using planb::SkipReason;
using planb::Verdict;

inline constexpr int unlimited = (std::numeric_limits<int>::max)();
inline constexpr Duration forever = (Duration::max)();

// --- A case, as data -------------------------------------------------------------------------------------------------

enum class Provide { factory, expected_factory, value };
enum class Waits { none, custom, list, endless };  // custom: Schedule::from, whose calls are told

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
  Duration takes{};
};

enum class StopAt { never, before, time, event, factory, call, rule };

struct Stop {
  StopAt at = StopAt::never;
  int number = 0;  // the event, attempt or rule, from 1
  Duration time{};
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
};

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

// --- Text ------------------------------------------------------------------------------------------------------------

inline std::string text(Duration d) {
  if (d == forever) return "forever";
  if (d.count() % 1'000'000 == 0) return std::to_string(d.count() / 1'000'000) + "ms";
  return std::to_string(d.count()) + "ns";
}
inline std::string text(const std::optional<Duration>& d) { return d ? text(*d) : "-"; }
inline std::string text(const std::optional<int>& n) { return n ? std::to_string(*n) : "-"; }

inline std::string text(CauseKind kind) {
  switch (kind) {
    case CauseKind::error: return "error";
    case CauseKind::timeout: return "timeout";
    case CauseKind::interrupted: return "interrupted";
    case CauseKind::rejected: return "rejected";
    case CauseKind::defect: return "defect";
  }
  return "?";
}
inline std::string text(CauseKind kind, const std::optional<int>& status) { return text(kind) + " " + text(status); }

inline std::string text(RunEnd end) {
  switch (end) {
    case RunEnd::running: return "running";
    case RunEnd::succeeded: return "succeeded";
    case RunEnd::exhausted: return "exhausted";
    case RunEnd::aborted: return "aborted";
    case RunEnd::deadline: return "deadline";
    case RunEnd::interrupted: return "interrupted";
    case RunEnd::defect: return "defect";
  }
  return "?";
}

inline std::string text(LeaveReason reason) {
  switch (reason) {
    case LeaveReason::none: return "none";
    case LeaveReason::classified: return "classified";
    case LeaveReason::not_retryable: return "not_retryable";
    case LeaveReason::attempts_spent: return "attempts_spent";
    case LeaveReason::schedule_ended: return "schedule_ended";
    case LeaveReason::wait_too_long: return "wait_too_long";
    case LeaveReason::out_of_time: return "out_of_time";
    case LeaveReason::gate_closed: return "gate_closed";
    case LeaveReason::partial_output: return "partial_output";
  }
  return "?";
}

inline std::string text(SkipReason reason) {
  switch (reason) {
    case SkipReason::declined: return "declined";
    case SkipReason::gate_closed: return "gate_closed";
    case SkipReason::out_of_time: return "out_of_time";
  }
  return "?";
}

inline std::string text(Verdict verdict) {
  const char* name = "?";
  switch (verdict.action) {
    case Action::retry: name = "retry"; break;
    case Action::next_step: name = "next_step"; break;
    case Action::next_guarded: name = "next_guarded"; break;
    case Action::abort: name = "abort"; break;
  }
  return std::string(name) + (verdict.alert ? "!" : "");
}

// The lines of both sides. A time stands before each.
inline std::string at(Duration now, const std::string& what) { return text(now) + " " + what; }
inline std::string start_line(int attempt, int step, int try_number, const std::string& name) {
  return "start #" + std::to_string(attempt) + " step " + std::to_string(step) + " try " + std::to_string(try_number) +
         " " + name;
}
inline std::string success_line(int attempt, int step, int try_number, const std::string& name, Duration took) {
  return "success #" + std::to_string(attempt) + " step " + std::to_string(step) + " try " +
         std::to_string(try_number) + " " + name + " after " + text(took);
}
inline std::string failure_line(int attempt, int step, int try_number, const std::string& name, Duration took,
                                const std::string& cause, Verdict verdict, const std::string& next) {
  return "failure #" + std::to_string(attempt) + " step " + std::to_string(step) + " try " +
         std::to_string(try_number) + " " + name + " after " + text(took) + ": " + cause + ", verdict " +
         text(verdict) + ", next " + next;
}
inline std::string skipped_line(int step, const std::string& name, SkipReason reason,
                                const std::optional<Duration>& opens_at) {
  return "skipped step " + std::to_string(step) + " " + name + ": " + text(reason) + " opens " + text(opens_at);
}
inline std::string retry_text(Duration delay) { return "retry in " + text(delay); }
inline std::string next_step_text(LeaveReason reason) { return "step, " + text(reason); }
inline std::string end_text(RunEnd end, LeaveReason reason) { return "end " + text(end) + ", " + text(reason); }
inline std::string rule_line(const char* rule, int step, const std::string& cause) {
  return std::string(rule) + " of step " + std::to_string(step) + ": " + cause;
}
inline std::string schedule_line(int step, int asked, const std::string& cause) {
  return rule_line("schedule", step, cause) + ", time " + std::to_string(asked);
}
inline std::string factory_line(int step, const std::optional<Duration>& left, const std::string& previous) {
  return "factory of step " + std::to_string(step) + ", has " + text(left) + ", after " + previous;
}
inline std::string call_line(int step, const std::optional<Duration>& left, const std::string& previous) {
  return "call in step " + std::to_string(step) + ", has " + text(left) + ", after " + previous;
}
inline std::string accept_line(int value) { return "accept " + std::to_string(value); }
inline std::string wait_line(Duration due) { return "wait until " + text(due); }
inline std::string gate_line(int gate, const char* what) { return "gate " + std::to_string(gate) + " " + what; }
inline std::string run_line(RunEnd end, int attempts, const std::optional<int>& answered, const std::string& last,
                            bool rule_error) {
  return text(end) + " after " + std::to_string(attempts) + ", answered by " + text(answered) + ", last " + last +
         (rule_error ? ", a rule threw" : "");
}
inline std::string step_line(int step, const std::string& name, int attempts, const std::string& cause,
                             const std::optional<SkipReason>& skipped, LeaveReason left, bool alert,
                             const std::optional<Duration>& opens_at, const std::optional<Duration>& opens_in) {
  return "step " + std::to_string(step) + " " + name + ": " + std::to_string(attempts) + " attempts, cause " + cause +
         ", skipped " + (skipped ? text(*skipped) : "-") + ", left " + text(left) + (alert ? ", alert" : "") +
         ", opens " + text(opens_at) + " in " + text(opens_in);
}

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
  if (!c.accepting && call.does == Does::rejected) call.does = Does::answers;
  return call;
}

inline bool says_yes(const std::vector<int>& statuses, const std::optional<int>& status) {
  return status && std::find(statuses.begin(), statuses.end(), *status) != statuses.end();
}

}  // namespace model
