// A plan, its options and what its providers do, as data made of bytes. Any bytes make a case, and any case ends:
// attempts beyond the script answer.
#pragma once

#include <planb/engine/run_options.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/error/cause.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/time/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "fuzz.hpp"

namespace fuzz {

using planb::Duration;

inline constexpr Duration forever = (Duration::max)();

// A few values only, so that times meet.
inline Duration some_time(Bytes& in) {
  static constexpr int ms[] = {0, 0, 1, 2, 5, 10, 20, 50};
  return std::chrono::milliseconds(ms[in.upto(7)]);
}
inline Duration any_time(Bytes& in) {
  switch (in.upto(15)) {
    case 12: return Duration(1);
    case 13: return std::chrono::milliseconds(60'000);
    case 14: return std::chrono::milliseconds(60'001);
    case 15: return forever;
    default: return some_time(in);
  }
}
inline std::optional<Duration> maybe_time(Bytes& in) {
  if (!in.rarely(64)) return std::nullopt;
  return any_time(in);
}

// Which errors a rule says yes to: one bit for each of four statuses, one for errors that have none.
struct Rule {
  unsigned yes = 0;
  bool typed = false;  // takes a ProviderError, and says no to all others

  [[nodiscard]] bool says_yes(std::optional<int> status) const {
    return ((yes >> (status ? static_cast<unsigned>(*status % 4) : 4U)) & 1U) != 0;
  }
};

enum class Waits { none, list, spaced, few, capped, jittered, own, fixed, windowed, full, decorrelated, mixed };
enum class Provide { factory, expected_factory, value };

struct Step {
  Provide provide = Provide::factory;
  std::optional<int> attempts;
  Waits waits = Waits::none;
  Duration a{}, b{};  // what its schedule is made of
  int times = 0;
  std::optional<Rule> retry_while;
  std::optional<Rule> enter_when;
  std::optional<std::vector<planb::Verdict>> classify;  // by status % 4, then those without one
  std::optional<Duration> max_wait;
  std::optional<Duration> timeout;
  Duration reserve{};
  int gate = -1;
};

// Closed from a to b, and for `trips_for` after every `trips_after` failures that it is told.
struct GateScript {
  Duration a{}, b{};
  int trips_after = 0;
  Duration trips_for{};
  bool breaker = false;  // a CircuitBreaker instead
};

enum class Does {
  answers,
  throws,          // a ProviderError
  throws_unknown,  // something that no rule can read
  returns,         // an error; in a stream, as an element
  factory_throws,
  factory_returns,
  defect,
};

struct Call {
  Does does = Does::answers;
  int status = 500;
  std::optional<Duration> hint;
  Duration factory_takes{};
  Duration takes{};  // before it ends, and before each element
  Duration consumer_takes{};
  int elements = 0;
};

enum class StopAt { never, before, time, event, factory, call, rule, element };
enum class Consumer { takes_all, stops, throws };

struct Case {
  bool stream = false;
  bool scheduled = false;
  bool original = false;
  bool handler_throws = false;
  Duration oversleeps{};  // how much longer than asked for each wait takes
  planb::PartialStream partial = planb::PartialStream::allow;
  std::optional<Duration> budget;
  bool endless_budget = false;  // the longest one, which is none
  StopAt stop = StopAt::never;
  int stop_number = 0;  // the event, attempt, rule or element, from 1
  Duration stop_time{};
  int fault = 0;  // the rule that throws, from 1
  bool fault_is_defect = false;
  int abandoned = 0;  // the attempt in which its owner goes away, from 1
  Consumer consumer = Consumer::takes_all;
  int consumed = 0;  // the element at which it stops or throws, from 1
  int prelude = -1;  // committing: so many elements of each attempt are no output
  std::vector<GateScript> gates;
  std::vector<Step> steps;
  std::vector<Call> script;

  // What an attempt does, from 1.
  [[nodiscard]] Call call(int attempt) const {
    const auto at = static_cast<std::size_t>(attempt) - 1;
    return at < script.size() ? script[at] : Call{};
  }
};

// Whether neither the clock nor an option makes a difference.
inline bool timeless(const Case& c) {
  const auto plain = [](const Step& s) {
    return s.waits == Waits::none && !s.timeout && !s.max_wait && s.reserve == Duration::zero() && s.gate < 0;
  };
  const auto in_no_hurry = [](const Call& call) { return !call.hint; };
  return !c.budget && c.stop == StopAt::never && !c.scheduled && !c.original &&
         std::all_of(c.steps.begin(), c.steps.end(), plain) &&
         std::all_of(c.script.begin(), c.script.end(), in_no_hurry);
}

inline Rule rule(Bytes& in) {
  const auto bits = static_cast<unsigned>(in.byte());
  return {(bits & 31U) ^ 31U, bits >= 128U};
}

inline planb::Verdict verdict(Bytes& in) {
  const int byte = in.byte();
  return {static_cast<planb::Action>(byte % 4), byte >= 128};
}

inline Step step(Bytes& in, int gates) {
  Step s;
  s.provide = static_cast<Provide>(in.upto(2));
  const int attempts = in.upto(7);
  if (attempts != 0) s.attempts = attempts == 7 ? planb::unlimited : attempts;
  s.waits = static_cast<Waits>(in.upto(11));
  if (s.waits != Waits::none) {
    s.a = any_time(in);
    s.b = some_time(in);
    s.times = in.upto(3);
  }
  const unsigned has = static_cast<unsigned>(in.byte());
  if ((has & 1U) != 0) s.retry_while = rule(in);
  if ((has & 2U) != 0) s.enter_when = rule(in);
  if ((has & 4U) != 0) {
    s.classify.emplace();
    for (int i = 0; i != 5; ++i) s.classify->push_back(verdict(in));
  }
  if ((has & 8U) != 0) s.max_wait = any_time(in);
  if ((has & 16U) != 0) s.timeout = planb::detail::add(any_time(in), Duration(1));
  if ((has & 32U) != 0) s.reserve = any_time(in);
  if ((has & 64U) != 0 && gates != 0) s.gate = in.upto(gates - 1);
  return s;
}

inline Call call(Bytes& in) {
  static constexpr Does does[] = {Does::throws,         Does::throws,          Does::returns, Does::returns,
                                  Does::factory_throws, Does::factory_returns, Does::answers, Does::throws_unknown};
  Call c;
  const int first = in.byte();
  c.does = first == 255 ? Does::defect : does[first % 8];
  c.status = 500 + first / 8 % 4;
  c.hint = maybe_time(in);
  c.factory_takes = some_time(in);
  c.takes = some_time(in);
  c.consumer_takes = some_time(in);
  c.elements = in.upto(3);
  return c;
}

inline Case make_case(Bytes in) {
  Case c;
  const auto flags = static_cast<unsigned>(in.byte());
  c.stream = (flags & 1U) != 0;
  c.scheduled = (flags & 2U) != 0;
  c.original = (flags & 4U) != 0;
  c.handler_throws = (flags & 8U) != 0;
  if ((flags & 48U) == 48U) c.oversleeps = std::chrono::milliseconds(15);
  c.partial = static_cast<planb::PartialStream>(in.upto(2));
  c.budget = maybe_time(in);
  c.endless_budget = c.budget == (Duration::max)();
  if (c.endless_budget) c.budget.reset();
  if (in.rarely(96)) {
    c.stop = static_cast<StopAt>(in.upto(7));
    c.stop_number = 1 + in.upto(7);
    c.stop_time = some_time(in);
  }
  if (in.rarely()) {
    c.fault = 1 + in.upto(7);
    c.fault_is_defect = in.flag();
  }
  if (in.rarely()) c.abandoned = 1 + in.upto(3);
  if (in.rarely(64)) {
    c.consumer = in.flag() ? Consumer::stops : Consumer::throws;
    c.consumed = 1 + in.upto(3);
  }
  if (in.rarely(64)) c.prelude = in.upto(3);
  const int gates = in.upto(2);
  for (int i = 0; i != gates; ++i) {
    const int trips = in.upto(3);
    const Duration from = some_time(in);
    c.gates.push_back({from, from + some_time(in), trips, some_time(in), in.rarely(64)});
  }
  const int steps = 1 + in.upto(3);
  for (int i = 0; i != steps; ++i) c.steps.push_back(step(in, gates));
  while (!in.empty() && c.script.size() != 16) c.script.push_back(call(in));
  return c;
}

}  // namespace fuzz
