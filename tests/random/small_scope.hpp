// Every case of a small alphabet: plans of one to three steps, and what the attempts in them come to. Random cases are
// larger; these leave nothing out.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "case.hpp"

namespace model::small_scope {

// The letters, few and such that times meet: a gate opens when a wait is over, a budget ends with an attempt, or with the
// wait before one.
inline constexpr Duration call_takes = std::chrono::milliseconds(5);
inline constexpr Duration delay = std::chrono::milliseconds(10);
inline constexpr Duration gate_opens = std::chrono::milliseconds(15);
inline constexpr Duration budget = std::chrono::milliseconds(35);
inline constexpr int passing = 503;  // what rules by status say yes to
inline constexpr int lasting = 400;

enum class Predicate { yes, no, by_status };
enum class Door { none, open, closed };

inline constexpr int attempts_letters[] = {1, 2};
inline constexpr bool waits[] = {false, true};
inline constexpr Predicate predicates[] = {Predicate::yes, Predicate::no, Predicate::by_status};
inline constexpr bool guards[] = {false, true};
inline constexpr Door doors[] = {Door::none, Door::open, Door::closed};

// The kinds of step, counted from 0.
inline constexpr int step_kinds = 2 * 2 * 3 * 2 * 3;

// Plans of up to three steps, counted from 0: the shorter ones first.
inline constexpr int longest_plan = 3;
inline constexpr int plans_up_to(int steps) {
  int count = 0;
  for (int length = 1, of_length = step_kinds; length <= steps; ++length, of_length *= step_kinds) count += of_length;
  return count;
}

// Takes the letters of a number, one after the other.
class Letters {
 public:
  explicit Letters(int number) : left_(number) {}

  template <class T, std::size_t N>
  T next(const T (&of)[N]) {
    const int n = static_cast<int>(N);
    return of[std::exchange(left_, left_ / n) % n];
  }

 private:
  int left_;
};

// Adds a step of this kind, with its gate.
inline void add_step(Case& c, int kind) {
  Letters kinds(kind);
  Step step;
  step.name = std::string(1, static_cast<char>('a' + c.steps.size()));
  step.attempts = kinds.next(attempts_letters);
  if (kinds.next(waits)) {
    step.waits = Waits::list;
    step.delays.assign(2, delay);
  }
  switch (kinds.next(predicates)) {
    case Predicate::yes: break;
    case Predicate::no: step.retry_while = Rule(); break;
    case Predicate::by_status: step.retry_while = Rule{{passing}}; break;
  }
  if (kinds.next(guards)) step.enter_when = Rule{{passing}};
  const Door door = kinds.next(doors);
  if (door != Door::none) {
    step.gate = static_cast<int>(c.gates.size());
    GateScript& gate = c.gates.emplace_back();
    if (door == Door::closed) gate.closed.push_back({Duration{}, gate_opens});
  }
  c.steps.push_back(std::move(step));
}

inline Case plan(int number) {
  int length = 1;
  while (number >= plans_up_to(length)) ++length;
  int kinds = number - plans_up_to(length - 1);
  Case c;
  for (; length != 0; --length) add_step(c, std::exchange(kinds, kinds / step_kinds) % step_kinds);
  return c;
}

// What an attempt may come to, besides an answer. Only a stream has half of one.
enum class Fails { passingly, lastingly, half };

inline Call call_that(Fails fails) {
  Call call;
  call.does = Does::returns;  // or throws, as the driver has it
  call.status = fails == Fails::lastingly ? lasting : passing;
  call.takes = call_takes;
  if (fails == Fails::half) call.elements.push_back(call_takes);
  return call;
}

// Looks at the case with every script of so many failures at most that makes a difference: one is longer by a failure
// only where the run comes to an attempt behind it. `look(case)` gives the number of attempts.
template <class Look>
void for_each_script(Case& c, std::size_t longest, const std::vector<Fails>& failures, const Look& look) {
  const int attempts = look(std::as_const(c));
  if (c.script.size() == longest || attempts <= static_cast<int>(c.script.size())) return;
  for (const Fails fails : failures) {
    c.script.push_back(call_that(fails));
    for_each_script(c, longest, failures, look);
    c.script.pop_back();
  }
}

// The same where no clock has a say; only for a case without budgets and closed gates.
inline Case without_time(Case c) {
  for (Step& step : c.steps) step.delays.assign(step.delays.size(), Duration{});
  for (Call& call : c.script) call.takes = Duration{};
  return c;
}

}  // namespace model::small_scope
