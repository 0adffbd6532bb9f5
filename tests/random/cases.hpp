// Random cases for the model: made, told as text, and made smaller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "case.hpp"
#include "lines.hpp"

namespace model {

// The same numbers with every compiler and library (splitmix64).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  int between(int least, int most) {
    return least + static_cast<int>(next() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool percent(int chance) { return between(1, 100) <= chance; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[between(0, static_cast<int>(list.size()) - 1)];
  }

 private:
  std::uint64_t state_;
};

// More failures in a row than any case has.
inline constexpr int never = 99;

class CaseMaker {
 public:
  explicit CaseMaker(std::uint64_t seed) : dice_(seed) {}

  Case make(bool may_nest = true) {
    Case c;
    timeless_ = dice_.percent(20);
    const int gates = dice_.percent(40) ? dice_.between(1, 2) : 0;
    for (int i = 0; i != gates; ++i) c.gates.push_back(gate());
    const int steps = dice_.between(1, 5);
    for (int i = 0; i != steps; ++i) c.steps.push_back(step(i, gates));
    const int calls = dice_.between(0, 14);
    const int answers = dice_.one_of({5, 15, 40});
    for (int i = 0; i != calls; ++i) c.script.push_back(call(answers));
    c.original = dice_.percent(30);
    c.accepting = dice_.percent(25);
    c.scheduled = dice_.percent(25);
    stream(c.stream);
    if (may_nest && dice_.percent(8)) {
      c.nested.push_back(make(false));
      c.nested_in = dice_.between(1, 4);
    }
    if (dice_.percent(8)) {
      c.fault = dice_.between(1, 8);
      c.fault_is_defect = dice_.percent(30);
    }
    if (timeless_) return c;
    if (dice_.percent(50))
      c.budget = dice_.percent(8) ? dice_.one_of({forever, forever - ms(5)})
                                  : ms(dice_.one_of({0, -1, 1, 2, 5, 10, 20, 30, 50, 100, 200}));
    if (dice_.percent(25)) stop(c.stop);
    return c;
  }

 private:
  static Duration ms(int n) { return std::chrono::milliseconds(n); }
  // A few values only, so that times meet.
  Duration some_time() { return ms(dice_.one_of({0, 0, 1, 2, 5, 10, 20, 50})); }
  int status() { return dice_.one_of({400, 429, 500, 503}); }

  Rule rule(int yes) {
    Rule r;
    for (const int s : {400, 429, 500, 503}) {
      if (dice_.percent(yes)) r.statuses.push_back(s);
    }
    r.typed = dice_.percent(25);
    return r;
  }

  Verdict verdict() {
    const Action action = dice_.one_of(
        {Action::retry, Action::retry, Action::next_step, Action::next_guarded, Action::next_guarded, Action::abort});
    return {action, dice_.percent(30)};
  }

  GateScript gate() {
    GateScript script;
    script.breaker = dice_.percent(40);
    if (timeless_) {
      if (script.breaker) script = {{}, never, ms(1), true};
      return script;
    }
    if (script.breaker) {
      script.trips_after = dice_.between(1, 3);
      script.trips_for = some_time() + ms(1);
      return script;
    }
    Duration time = dice_.percent(30) ? ms(0) : some_time();
    for (int i = dice_.between(0, 3); i != 0; --i) {
      const Duration to = time + some_time();
      script.closed.push_back({time, to});
      time = to + some_time();
    }
    if (dice_.percent(30)) {
      script.trips_after = dice_.between(1, 3);
      script.trips_for = some_time();
    }
    return script;
  }

  Step step(int index, int gates) {
    Step s;
    if (!dice_.percent(10)) s.name = std::string(1, static_cast<char>('a' + index));
    s.provide = dice_.one_of({Provide::factory, Provide::factory, Provide::expected_factory, Provide::value});
    if (dice_.percent(60)) s.attempts = dice_.percent(10) ? unlimited : dice_.between(1, 4);
    if (dice_.percent(50)) {
      s.waits = dice_.one_of({Waits::custom, Waits::custom, Waits::list, Waits::endless, Waits::jittered});
      if (s.waits == Waits::endless && !s.attempts) s.attempts = unlimited;
      const int least = s.waits == Waits::endless ? 1 : 0;
      for (int i = dice_.between(least, 4); i != 0; --i) s.delays.push_back(timeless_ ? ms(0) : some_time());
      // A schedule's own delay may be as long as it likes.
      if (!timeless_ && !s.delays.empty() && dice_.percent(10)) s.delays.front() = ms(200'000);
    }
    if (dice_.percent(40)) s.retry_while = rule(75);
    if (dice_.percent(40)) {
      for (const int status : {400, 429, 500, 503}) {
        if (!dice_.percent(40)) continue;
        const Action action = dice_.one_of({Action::retry, Action::retry, Action::next_step, Action::next_guarded,
                                            Action::next_guarded, Action::abort});
        s.classify.emplace_back(status, Verdict{action, dice_.percent(30)});
      }
    }
    if (dice_.percent(index == 0 ? 5 : 35)) s.enter_when = rule(70);
    if (gates != 0 && dice_.percent(50)) s.gate = dice_.between(0, gates - 1);
    if (dice_.percent(20)) s.first_timeout = dice_.percent(10) ? forever : some_time() + ms(1);  // a call has none
    if (timeless_) return s;
    if (dice_.percent(25)) s.max_wait = dice_.percent(10) ? forever : dice_.percent(20) ? ms(100'000) : some_time();
    if (dice_.percent(25)) s.timeout = dice_.percent(10) ? forever : some_time() + ms(1);
    if (dice_.percent(25)) s.reserve = dice_.percent(5) ? forever : some_time();
    return s;
  }

  Call call(int answers) {
    Call c;
    c.status = status();
    if (!timeless_) {
      c.takes = some_time();
      if (dice_.percent(20)) c.factory_takes = some_time();
      if (dice_.percent(25)) c.hint = ms(dice_.one_of({-5, 0, 1, 5, 20, 60'000, 60'001, 150'000, 250'000}));
    }
    for (int i = dice_.percent(60) ? dice_.between(1, 4) : 0; i != 0; --i) {
      c.elements.push_back(timeless_ ? ms(0) : some_time());
    }
    if (dice_.percent(answers)) return c;
    c.does = dice_.one_of({Does::throws, Does::throws, Does::throws, Does::returns, Does::returns, Does::returns,
                           Does::factory_throws, Does::factory_returns, Does::throws_unknown, Does::rejected});
    if (c.does == Does::rejected && dice_.percent(60)) c.verdict = verdict();
    if (dice_.percent(2)) c.does = dice_.one_of({Does::defect, Does::factory_defect});
    return c;
  }

  void stream(Stream& s) {
    s.partial = dice_.one_of({PartialStream::allow, PartialStream::prevent_fallback, PartialStream::prevent_retry});
    if (dice_.percent(30)) {
      s.prelude = dice_.between(0, 4);
      s.prelude_limit = dice_.between(0, 4);
    }
    if (dice_.percent(25)) {
      s.wanted = dice_.between(1, 6);
      s.throws = dice_.percent(40);
    }
    if (!timeless_ && dice_.percent(30)) s.pace = some_time();
  }

  void stop(Stop& s) {
    s.at = dice_.one_of({StopAt::before, StopAt::time, StopAt::time, StopAt::time, StopAt::event, StopAt::event,
                         StopAt::event, StopAt::factory, StopAt::call, StopAt::rule, StopAt::element});
    s.number = dice_.between(1, 8);
    s.time = some_time() + some_time();
  }

  Dice dice_;
  bool timeless_ = false;  // nothing depends on the clock
};

// Whether the clock makes no difference: then the case may be run without options.
inline bool timeless(const Case& c) {
  for (const Step& s : c.steps) {
    if (s.timeout || s.max_wait || s.reserve != Duration::zero()) return false;
    for (const Duration d : s.delays) {
      if (d != Duration::zero()) return false;
    }
  }
  for (const GateScript& g : c.gates) {
    if (!g.closed.empty() || (g.trips_after != 0 && g.trips_after != never)) return false;
  }
  for (const Call& call : c.script) {
    if (call.takes != Duration::zero() || call.factory_takes != Duration::zero() || call.hint) return false;
  }
  return !c.budget && c.stop.at == StopAt::never && !c.scheduled;
}

inline bool jitters(const Case& c) {
  for (const Step& s : c.steps) {
    if (s.waits == Waits::jittered) return true;
  }
  return false;
}

// The case of its first step alone, as retry() knows it.
inline Case for_retry(Case c) {
  c.steps.resize(1);
  Step& step = c.steps.front();
  step.name.clear();
  step.provide = Provide::value;
  step.enter_when.reset();
  step.reserve = {};
  return c;
}

// The case as a stream, whose values are not checked.
inline Case as_stream(Case c, Form form) {
  c.form = form;
  c.accepting = false;
  return c;
}

// --- A case as text --------------------------------------------------------------------------------------------------

inline std::string describe(const Rule& rule) {
  std::string out = "{";
  for (const int status : rule.statuses) out += (out.size() > 1 ? " " : "") + std::to_string(status);
  return out + "}" + (rule.typed ? " of ProviderError" : "");
}

inline std::string describe(const Step& s) {
  static constexpr const char* provides[] = {"a factory", "a factory that returns an expected", "a value"};
  static constexpr const char* waits[] = {"none", "own", "delays", "spaced", "jittered"};
  std::string out = "\"" + s.name + "\", " + provides[static_cast<int>(s.provide)];
  if (s.attempts) out += ", attempts " + (*s.attempts == unlimited ? "unlimited" : std::to_string(*s.attempts));
  if (s.waits != Waits::none) {
    out += std::string(", schedule ") + waits[static_cast<int>(s.waits)] + "(";
    for (const Duration d : s.delays) out += (out.back() == '(' ? "" : " ") + text(d);
    out += ")";
  }
  if (s.retry_while) out += ", retry_while " + describe(*s.retry_while);
  for (const auto& [status, verdict] : s.classify)
    out += ", classify " + std::to_string(status) + " as " + text(verdict);
  if (s.enter_when) out += ", enter_when " + describe(*s.enter_when);
  if (s.max_wait) out += ", max_wait " + text(*s.max_wait);
  if (s.timeout) out += ", timeout " + text(*s.timeout);
  if (s.first_timeout) out += ", first_timeout " + text(*s.first_timeout);
  if (s.reserve != Duration::zero()) out += ", reserve " + text(s.reserve);
  if (s.gate >= 0) out += ", gate " + std::to_string(s.gate);
  return out;
}

inline std::string describe(const Call& c) {
  static constexpr const char* does[] = {"answers",
                                         "throws",
                                         "returns",
                                         "throws 42",
                                         "gives a value that is refused",
                                         "factory throws",
                                         "factory returns",
                                         "throws a Defect",
                                         "factory throws a Defect"};
  std::string out = does[static_cast<int>(c.does)];
  if (c.does != Does::answers && c.does != Does::throws_unknown && c.does != Does::rejected)
    out += " " + std::to_string(c.status);
  if (c.does == Does::rejected) out += " as " + text(c.verdict);
  if (c.hint) out += ", retry_after " + text(*c.hint);
  if (c.factory_takes != Duration::zero()) out += ", factory takes " + text(c.factory_takes);
  for (const Duration d : c.elements) out += ", an element after " + text(d);
  if (c.takes != Duration::zero()) out += ", takes " + text(c.takes);
  return out;
}

inline std::string describe(const Stream& s) {
  static constexpr const char* partial[] = {"allow", "prevent_fallback", "prevent_retry"};
  std::string out = std::string("  partial output: ") + partial[static_cast<int>(s.partial)] + "\n";
  if (s.prelude) {
    out += "  output begins after " + std::to_string(*s.prelude) + " elements, or " + std::to_string(s.prelude_limit) +
           "\n";
  }
  if (s.wanted != 0) {
    out += "  the consumer " + std::string(s.throws ? "throws" : "has enough") + " after " + std::to_string(s.wanted) +
           "\n";
  }
  if (s.pace != Duration::zero()) out += "  the consumer spends " + text(s.pace) + " on each\n";
  return out;
}

inline std::string describe(const Case& c) {
  static constexpr const char* stops[] = {"never", "before", "time", "event", "factory", "call", "rule", "element"};
  std::string out;
  for (std::size_t i = 0; i != c.steps.size(); ++i) {
    out += "  step " + std::to_string(i) + ": " + describe(c.steps[i]) + "\n";
  }
  for (std::size_t i = 0; i != c.gates.size(); ++i) {
    out += "  gate " + std::to_string(i) + (c.gates[i].breaker ? ", a breaker:" : ":");
    for (const Window& w : c.gates[i].closed) out += " closed from " + text(w.from) + " to " + text(w.to);
    if (c.gates[i].trips_after != 0) {
      out += " trips after " + std::to_string(c.gates[i].trips_after) + " for " + text(c.gates[i].trips_for);
    }
    out += "\n";
  }
  for (std::size_t i = 0; i != c.script.size(); ++i) {
    out += "  attempt " + std::to_string(i + 1) + " " + describe(c.script[i]) + "\n";
  }
  if (c.budget) out += "  budget " + text(*c.budget) + "\n";
  if (c.stop.at == StopAt::before) out += "  stopped before\n";
  if (c.stop.at == StopAt::time) out += "  stopped at " + text(c.stop.time) + "\n";
  if (c.stop.at > StopAt::time) {
    out +=
        std::string("  stopped in ") + stops[static_cast<int>(c.stop.at)] + " " + std::to_string(c.stop.number) + "\n";
  }
  if (c.fault != 0) {
    out += "  rule " + std::to_string(c.fault) + " throws" + (c.fault_is_defect ? " a Defect" : "") + "\n";
  }
  if (c.original) out += "  FailureStyle::original\n";
  if (c.accepting) out += "  values are checked\n";
  if (c.scheduled) out += "  StepEntry::scheduled\n";
  if (c.form != Form::call) out += describe(c.stream);
  if (!c.nested.empty()) {
    out += "  within the call of attempt " + std::to_string(c.nested_in) + ":\n" + describe(c.nested.front());
  }
  return out;
}

// --- A case made smaller ---------------------------------------------------------------------------------------------

// Cases with a little less in them.
inline std::vector<Case> smaller(const Case& c) {
  std::vector<Case> out;
  const auto with = [&](auto change) {
    Case copy = c;
    change(copy);
    out.push_back(std::move(copy));
  };
  const auto offset = [](std::size_t i) { return static_cast<std::ptrdiff_t>(i); };
  for (std::size_t i = 0; i != c.steps.size() && c.steps.size() != 1; ++i) {
    with([&](Case& x) { x.steps.erase(x.steps.begin() + offset(i)); });
  }
  for (std::size_t i = 0; i != c.script.size(); ++i) {
    with([&](Case& x) { x.script.erase(x.script.begin() + offset(i)); });
  }
  if (c.budget) with([](Case& x) { x.budget.reset(); });
  if (c.stop.at != StopAt::never) with([](Case& x) { x.stop = {}; });
  if (c.fault != 0) with([](Case& x) { x.fault = 0; });
  if (c.accepting) with([](Case& x) { x.accepting = false; });
  if (c.original) with([](Case& x) { x.original = false; });
  if (c.scheduled) with([](Case& x) { x.scheduled = false; });
  if (!c.nested.empty()) {
    with([](Case& x) { x.nested.clear(); });
    for (Case& nested : smaller(c.nested.front())) with([&](Case& x) { x.nested.front() = std::move(nested); });
  }
  if (c.stream.partial != PartialStream::allow) with([](Case& x) { x.stream.partial = PartialStream::allow; });
  if (c.stream.prelude) with([](Case& x) { x.stream.prelude.reset(); });
  if (c.stream.wanted != 0) with([](Case& x) { x.stream.wanted = 0; });
  if (c.stream.pace != Duration::zero()) with([](Case& x) { x.stream.pace = {}; });
  if (!c.gates.empty()) {
    with([](Case& x) {
      x.gates.pop_back();
      for (Step& s : x.steps) {
        if (s.gate == static_cast<int>(x.gates.size())) s.gate = -1;
      }
    });
  }
  for (std::size_t g = 0; g != c.gates.size(); ++g) {
    for (std::size_t w = 0; w != c.gates[g].closed.size(); ++w) {
      with([&](Case& x) { x.gates[g].closed.erase(x.gates[g].closed.begin() + offset(w)); });
    }
    if (c.gates[g].trips_after != 0 && !c.gates[g].breaker) with([&](Case& x) { x.gates[g].trips_after = 0; });
  }
  for (std::size_t i = 0; i != c.steps.size(); ++i) {
    const Step& s = c.steps[i];
    const auto step_with = [&](auto change) { with([&](Case& x) { change(x.steps[i]); }); };
    if (s.retry_while) step_with([](Step& x) { x.retry_while.reset(); });
    if (!s.classify.empty()) step_with([](Step& x) { x.classify.pop_back(); });
    if (s.enter_when) step_with([](Step& x) { x.enter_when.reset(); });
    if (s.max_wait) step_with([](Step& x) { x.max_wait.reset(); });
    if (s.timeout) step_with([](Step& x) { x.timeout.reset(); });
    if (s.first_timeout) step_with([](Step& x) { x.first_timeout.reset(); });
    if (s.reserve != Duration::zero()) step_with([](Step& x) { x.reserve = {}; });
    if (s.gate >= 0) step_with([](Step& x) { x.gate = -1; });
    if (s.provide != Provide::factory) step_with([](Step& x) { x.provide = Provide::factory; });
    if (s.attempts && *s.attempts > 1 && *s.attempts != unlimited) step_with([](Step& x) { --*x.attempts; });
    if (s.attempts == unlimited) step_with([](Step& x) { x.attempts = 2; });
    if (s.attempts && s.waits != Waits::endless) step_with([](Step& x) { x.attempts.reset(); });
    if (s.waits != Waits::none) step_with([](Step& x) { x.waits = Waits::none; });
    if (s.waits != Waits::endless && !s.delays.empty()) step_with([](Step& x) { x.delays.pop_back(); });
  }
  for (std::size_t i = 0; i != c.script.size(); ++i) {
    const Call& call = c.script[i];
    const auto call_with = [&](auto change) { with([&](Case& x) { change(x.script[i]); }); };
    if (call.verdict != Verdict()) call_with([](Call& x) { x.verdict = {}; });
    if (call.hint) call_with([](Call& x) { x.hint.reset(); });
    if (!call.elements.empty()) call_with([](Call& x) { x.elements.pop_back(); });
    if (call.takes != Duration::zero()) call_with([](Call& x) { x.takes = {}; });
    if (call.factory_takes != Duration::zero()) call_with([](Call& x) { x.factory_takes = {}; });
    if (call.does != Does::throws) {
      call_with([](Call& x) {
        x.does = Does::throws;
        x.verdict = {};
      });
    }
  }
  return out;
}

// The smallest case that can be reached while `wrong` says so of it.
template <class Wrong>
Case shrink(Case c, Wrong wrong) {
  for (bool smaller_found = true; smaller_found;) {
    smaller_found = false;
    for (Case& candidate : smaller(c)) {
      if (!wrong(candidate)) continue;
      c = std::move(candidate);
      smaller_found = true;
      break;
    }
  }
  return c;
}

}  // namespace model
