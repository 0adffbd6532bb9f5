// The circuit breaker against a model that keeps a list of everything and counts anew each time.
#include <planb/gate/circuit_breaker.hpp>

#include "catch.hpp"

#include <planb/error/cause.hpp>
#include <planb/error/provider_error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using planb::Admission;
using planb::Cause;
using planb::CircuitBreakerOptions;
using planb::CircuitState;
using planb::Duration;
using planb::GateReason;
using planb::Permit;
using planb::ProviderError;
using planb::TimePoint;

constexpr std::int64_t never = (Duration::max)().count();
constexpr std::int64_t window = 20;  // of 20 ns: a slice is one, so the window is exact

struct Random {
  std::uint64_t state;
  std::int64_t operator()(std::int64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((state >> 33U) % static_cast<std::uint64_t>(below));
  }
};

// The options, as numbers.
struct Rules {
  std::int64_t threshold = 0;  // 0: none
  double ratio = 0;            // 0: none
  std::int64_t minimum = 1;
  std::int64_t open_for = 1;  // times the number of openings, where `grows`
  bool grows = false;
  std::int64_t probes = 1;
  bool hints = true;
  std::int64_t longest_hint = 0;
  std::int64_t slow_call = 0;  // 0: none
  double slow_ratio = 0.5;
  std::int64_t probe_timeout = 0;  // 0: the open period
  std::int64_t memory = -1;        // -1: none
};

struct Model {
  struct Call {
    std::int64_t generation;
    bool probe;
    std::int64_t started;
    std::int64_t ends;  // of a probe
    std::int64_t first_output = -1;
    bool over = false;
  };
  enum class End { success, failure, uncounted };
  struct Outcome {
    std::int64_t at;
    enum { good, slow, bad } what;
  };

  explicit Model(const Rules& r) : rules(r), period(r.grows ? never : r.open_for) {}

  Rules rules;
  CircuitState state = CircuitState::closed;
  std::int64_t generation = 0;
  std::int64_t open_until = 0;
  std::int64_t openings = 0;
  std::int64_t period;  // the last one; before the first, where it is not known, as long as can be
  std::int64_t succeeded = 0;
  std::vector<std::int64_t> row;
  std::vector<Outcome> outcomes;
  std::map<int, Call> calls;
  std::vector<std::string> changes;

  void change(CircuitState to, std::int64_t now) {
    if (to != state)
      changes.push_back(std::string(to_string(state)) + " to " + to_string(to) + " " + std::to_string(now));
    state = to;
    ++generation;
    succeeded = 0;
    row.clear();
    outcomes.clear();
    if (to == CircuitState::closed) openings = 0;
  }
  std::vector<const Call*> running(std::int64_t now) const {
    std::vector<const Call*> out;
    for (const auto& [id, call] : calls) {
      if (call.probe && !call.over && call.generation == generation && now < call.ends) out.push_back(&call);
    }
    return out;
  }
  // When it opens; now: at once.
  std::int64_t opens_at(std::int64_t now) const {
    if (state == CircuitState::open) return now >= open_until ? now : open_until;
    if (state == CircuitState::closed) return now;
    const auto out = running(now);
    if (static_cast<std::int64_t>(out.size()) + succeeded < rules.probes) return now;
    std::int64_t earliest = never;
    for (const Call* call : out) earliest = (std::min)(earliest, call->ends);
    return earliest;
  }
  void admit(int id, std::int64_t now) {
    if (state == CircuitState::open) change(CircuitState::half_open, now);
    const bool probe = state == CircuitState::half_open;
    const std::int64_t lasts = rules.probe_timeout != 0 ? rules.probe_timeout : period;
    calls[id] = {generation, probe, now, lasts == never ? never : now + lasts};
  }
  std::int64_t count(int what) const {
    std::int64_t last = -1;
    for (const Outcome& o : outcomes) last = (std::max)(last, o.at);
    return std::count_if(outcomes.begin(), outcomes.end(),
                         [&](const Outcome& o) { return last - o.at < window && (what < 0 || o.what == what); });
  }
  bool share(int what, double ratio) const {
    return count(-1) >= rules.minimum && static_cast<double>(count(what)) / static_cast<double>(count(-1)) >= ratio;
  }
  void open(std::int64_t now, std::int64_t hint) {
    const std::int64_t before = openings;
    change(CircuitState::open, now);
    openings = before + 1;
    period = rules.grows ? rules.open_for * openings : rules.open_for;
    open_until = now + (std::max)(period, hint);
  }
  void force_open(std::int64_t until, std::int64_t now) {
    if (state == CircuitState::open) {
      open_until = (std::max)(open_until, until);
    } else {
      change(CircuitState::open, now);
      open_until = until;
    }
  }
  void good_probe(Call& call, std::int64_t now) {
    call.over = true;
    if (++succeeded == rules.probes) change(CircuitState::closed, now);
  }
  void first_output(int id, std::int64_t now) {
    Call& call = calls[id];
    if (call.first_output < 0) call.first_output = now;
    if (call.probe && !call.over && call.generation == generation && now < call.ends) good_probe(call, now);
  }
  void drop(int id) { calls[id].over = true; }
  void end(int id, End how, std::int64_t hint, std::int64_t now) {
    Call& call = calls[id];
    const bool was_over = std::exchange(call.over, true);
    if (how == End::uncounted) return;
    hint = rules.hints ? (std::min)(hint, rules.longest_hint) : 0;
    if (call.generation != generation) {
      if (how == End::failure && state == CircuitState::open && hint > 0)
        open_until = (std::max)(open_until, now + hint);
      return;
    }
    if (call.probe) {
      if (was_over || now >= call.ends) return;
      if (how == End::success) return good_probe(call, now);
      return open(now, hint);
    }
    const bool windowed = rules.ratio > 0 || rules.slow_call > 0;
    if (how == End::success) {
      row.clear();
      const std::int64_t took = (call.first_output >= 0 ? call.first_output : now) - call.started;
      const bool slow = rules.slow_call > 0 && took >= rules.slow_call;
      if (windowed) outcomes.push_back({now, slow ? Outcome::slow : Outcome::good});
      if (slow && share(Outcome::slow, rules.slow_ratio)) open(now, 0);
      return;
    }
    row.push_back(now);
    if (rules.memory >= 0) std::erase_if(row, [&](std::int64_t t) { return now - t > rules.memory; });
    if (windowed) outcomes.push_back({now, Outcome::bad});
    if ((rules.threshold != 0 && static_cast<std::int64_t>(row.size()) >= rules.threshold) ||
        (rules.ratio > 0 && share(Outcome::bad, rules.ratio))) {
      open(now, hint);
    }
  }
};

CircuitBreakerOptions options_of(const Rules& rules) {
  CircuitBreakerOptions options{.minimum_calls = static_cast<int>(rules.minimum),
                                .window = Duration(window),
                                .open_for = Duration(rules.open_for),
                                .half_open_probes = static_cast<int>(rules.probes),
                                .counts_as_failure = [](const ProviderError& error) { return error.status != 400; },
                                .honour_retry_after = rules.hints,
                                .longest_hint = Duration(rules.longest_hint),
                                .slow_ratio = rules.slow_ratio};
  if (rules.threshold != 0) options.failure_threshold = static_cast<int>(rules.threshold);
  if (rules.ratio > 0) options.failure_ratio = rules.ratio;
  if (rules.grows) options.open_for = [n = rules.open_for](int openings) { return Duration(n * openings); };
  if (rules.slow_call > 0) options.slow_call = Duration(rules.slow_call);
  if (rules.probe_timeout != 0) options.probe_timeout = Duration(rules.probe_timeout);
  if (rules.memory >= 0) options.failure_memory = Duration(rules.memory);
  return options;
}

}  // namespace

TEST_CASE("a breaker does what its model does, over random histories") {
  std::size_t openings = 0;
  std::size_t closings = 0;
  std::size_t late = 0;
  std::size_t slow = 0;
  std::size_t forced = 0;
  for (std::uint64_t seed = 1; seed <= 4'000; ++seed) {
    CAPTURE(seed);
    Random draw{seed};
    Rules rules{.threshold = draw(3) == 0 ? 0 : 1 + draw(4),
                .ratio = draw(2) == 0 ? 0 : 0.25 * static_cast<double>(1 + draw(4)),
                .minimum = 1 + draw(5),
                .open_for = 1 + draw(12),
                .grows = draw(3) == 0,
                .probes = 1 + draw(3),
                .hints = draw(3) != 0,
                .longest_hint = draw(40),
                .slow_call = draw(2) == 0 ? 0 : 1 + draw(8),
                .slow_ratio = 0.25 * static_cast<double>(1 + draw(4)),
                .probe_timeout = draw(2) == 0 ? 0 : 1 + draw(10),
                .memory = draw(2) == 0 ? -1 : draw(12)};
    if (rules.threshold == 0 && rules.ratio <= 0) rules.threshold = 5;  // as without options
    CircuitBreakerOptions options = options_of(rules);
    std::vector<std::string> changes;
    options.on_change = [&](const planb::CircuitChange& c) {
      changes.push_back(std::string(to_string(c.from)) + " to " + to_string(c.to) + " " +
                        std::to_string(c.at.time_since_epoch().count()));
    };
    planb::CircuitBreaker breaker(options);
    Model model(rules);
    std::map<int, Permit> out;
    std::int64_t now = 100;
    int ids = 0;
    for (int i = 0; i != 120; ++i) {
      now += draw(3) == 0 ? draw(10) : draw(2);
      const TimePoint at{Duration(now)};
      const std::int64_t action = draw(100);
      if (action < 45 || out.empty()) {
        const std::int64_t opens = model.opens_at(now);
        REQUIRE(breaker.opens_at(at) == TimePoint{Duration(opens)});
        Admission admission = breaker.admit(at);
        REQUIRE(admission.permit.has_value() == (opens == now));
        if (opens == now) {
          model.admit(++ids, now);
          out.emplace(ids, std::move(*admission.permit));
        } else {
          REQUIRE(admission.refusal->opens_at == TimePoint{Duration(opens)});
          REQUIRE(admission.refusal->reason ==
                  (model.state == CircuitState::open ? GateReason::circuit_open : GateReason::probe_running));
        }
      } else if (action == 45) {
        breaker.reset(at);
        model.change(CircuitState::closed, now);
      } else if (action == 46) {
        const std::int64_t until = draw(8) == 0 ? never : now + draw(15);
        breaker.force_open(until == never ? std::nullopt : std::optional<TimePoint>(TimePoint{Duration(until)}), at);
        model.force_open(until, now);
        ++forced;
      } else {
        const auto chosen = std::next(out.begin(), draw(static_cast<std::int64_t>(out.size())));
        const int id = chosen->first;
        if (action < 55) {
          chosen->second.first_output(at);
          model.first_output(id, now);
          continue;
        }
        Permit permit = std::move(chosen->second);
        out.erase(chosen);
        const Model::Call& call = model.calls[id];
        late += call.probe && !call.over && call.generation == model.generation && now >= call.ends ? 1 : 0;
        if (action < 70) {
          permit.succeeded(at);
          model.end(id, Model::End::success, 0, now);
        } else if (action < 93) {
          const std::int64_t hint = draw(3) == 0 ? draw(50) : 0;
          const ProviderError error(503, "busy", "",
                                    hint != 0 ? std::optional<Duration>(Duration(hint)) : std::nullopt);
          permit.failed(Cause::of(error), at);
          model.end(id, Model::End::failure, hint, now);
        } else if (action < 96) {
          permit.failed(Cause::of(ProviderError(400, "asked badly")), at);
          model.end(id, Model::End::uncounted, 0, now);
        } else {
          { const Permit dropped = std::move(permit); }
          model.drop(id);
        }
      }
      const planb::CircuitSnapshot seen = breaker.snapshot();
      REQUIRE(seen.state == model.state);
      if (model.state == CircuitState::open) REQUIRE(seen.open_until == TimePoint{Duration(model.open_until)});
      if (model.state == CircuitState::closed) {
        if (rules.threshold != 0) REQUIRE(seen.counts.consecutive_failures == static_cast<int>(model.row.size()));
        REQUIRE(static_cast<std::int64_t>(seen.counts.calls) == model.count(-1));
        REQUIRE(static_cast<std::int64_t>(seen.counts.failures) == model.count(Model::Outcome::bad));
        REQUIRE(static_cast<std::int64_t>(seen.counts.slow) == model.count(Model::Outcome::slow));
        slow += seen.counts.slow != 0 ? 1 : 0;
      }
    }
    REQUIRE(changes == model.changes);
    for (const std::string& c : changes) {
      openings += c.find("closed to open") == 0 ? 1 : 0;
      closings += c.find("to closed") != std::string::npos ? 1 : 0;
    }
  }
  CHECK(openings > 4'000);
  CHECK(closings > 4'000);
  CHECK(late > 1'000);
  CHECK(slow > 1'000);
  CHECK(forced > 1'000);
}
