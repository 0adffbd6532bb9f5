// The words and lines in which both sides, the model and the world that the library runs in, tell what happened.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "case.hpp"

namespace model {

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

inline std::string text(const std::optional<Verdict>& verdict) { return verdict ? text(*verdict) : "-"; }

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
                                const std::string& cause, const std::optional<Verdict>& verdict, const std::string& next) {
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
inline std::string source_line(int number, const std::optional<Duration>& left, std::size_t delivered) {
  return "source of element " + std::to_string(number) + ", has " + text(left) + ", delivered " +
         std::to_string(delivered);
}
inline std::string commits_line(int element) { return "commits " + std::to_string(element); }
inline std::string element_line(int element) { return "consumer has " + std::to_string(element); }
inline std::string wait_line(Duration due) { return "wait until " + text(due); }
inline std::string gate_line(int gate, const char* what) { return "gate " + std::to_string(gate) + " " + what; }
inline std::string run_line(RunEnd end, int attempts, const std::optional<int>& answered, const std::string& last,
                            std::size_t delivered, bool rule_error) {
  return text(end) + " after " + std::to_string(attempts) + ", answered by " + text(answered) + ", last " + last +
         ", delivered " + std::to_string(delivered) + (rule_error ? ", a rule threw" : "");
}
inline std::string step_line(int step, const std::string& name, int attempts, const std::string& cause,
                             const std::optional<SkipReason>& skipped, LeaveReason left, bool alert,
                             const std::optional<Duration>& opens_at, const std::optional<Duration>& opens_in) {
  return "step " + std::to_string(step) + " " + name + ": " + std::to_string(attempts) + " attempts, cause " + cause +
         ", skipped " + (skipped ? text(*skipped) : "-") + ", left " + text(left) + (alert ? ", alert" : "") +
         ", opens " + text(opens_at) + " in " + text(opens_in);
}

}  // namespace model
