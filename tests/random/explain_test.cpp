// Random plans, options and providers under the virtual clock: no run exceeds the worst case that explain() gives, and
// the worst script reaches it where neither a jitter nor the clock has a say.
//   PLANB_RANDOM_SEED=n   one more seed
//   PLANB_RANDOM_CASES=n  cases for each seed
#include <planb/gates.hpp>
#include <planb/observe.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cases.hpp"
#include "catch.hpp"
#include "next_range.hpp"

namespace {

using namespace std::chrono_literals;
using model::Dice;
using planb::Attempt;
using planb::Cause;
using planb::Duration;
using planb::PartialStream;
using planb::ProviderError;
using planb::Schedule;
using planb::TimePoint;

int number_from(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}

constexpr int enough = 200;  // attempts: then it answers

enum class Form { call, call_as_value, pushed, pulled };
enum class Script { random, slow, quick };

// Lets each attempt pass when it has waited for so long: as long as a step may have to wait that is not refused.
class LateGate final : public planb::Gate {
 public:
  LateGate(Duration patience, Duration delay) : patience_(patience), delay_(delay) {}

  planb::Admission admit(const planb::GateRequest& request) override {
    if (!since_) since_ = request.now;
    if (request.now < *since_ + delay_) return planb::GateRefusal{.opens_at = *since_ + delay_};
    since_.reset();
    return planb::Permit(*this, 1);
  }
  [[nodiscard]] TimePoint opens_at(const planb::GateRequest& request) const override { return request.now; }
  [[nodiscard]] Duration patience() const override { return patience_; }
  void reset(std::optional<TimePoint> /*now*/) override { since_.reset(); }

 private:
  void on_outcome(std::uint64_t, const planb::GateOutcome&) override {}
  void on_dropped(std::uint64_t, bool) noexcept override {}

  Duration patience_;
  Duration delay_;
  std::optional<TimePoint> since_;
};

// Refuses every other time or so, until some time or until nobody knows when.
class MoodyGate final : public planb::Gate {
 public:
  MoodyGate(Duration patience, std::uint64_t seed) : patience_(patience), dice_(seed) {}

  planb::Admission admit(const planb::GateRequest& request) override {
    if (dice_.percent(50)) return planb::Permit(*this, 1);
    return planb::GateRefusal{.opens_at = some_time_after(request.now)};
  }
  [[nodiscard]] TimePoint opens_at(const planb::GateRequest& request) const override {
    return dice_.percent(50) ? request.now : some_time_after(request.now);
  }
  [[nodiscard]] Duration patience() const override { return patience_; }

 private:
  [[nodiscard]] TimePoint some_time_after(TimePoint now) const {
    if (dice_.percent(30)) return TimePoint::max();
    return now + std::chrono::milliseconds(dice_.one_of({1, 3, 10, 40, 100}));
  }
  void on_outcome(std::uint64_t, const planb::GateOutcome&) override {}
  void on_dropped(std::uint64_t, bool) noexcept override {}

  Duration patience_;
  mutable Dice dice_;
};

// A plan, its options, and what explain() is to be exact about.
struct Setting {
  std::vector<planb::Step<int>> steps;
  std::optional<Duration> budget;
  planb::StepEntry entry = planb::StepEntry::immediate;
  PartialStream partial = PartialStream::allow;
  Form form = Form::call;
  bool plain = true;      // no chance, no time and no function in its schedules
  bool steadfast = true;  // no rule and no gate leaves a step early
  bool gated = false;     // by one that may refuse
  bool late = false;      // by one that lets an attempt wait
};

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : dice(seed) {}

  Setting make() {
    timed_ = dice.percent(40);
    ruled_ = dice.percent(40);
    late_ = dice.percent(25);
    const int count = dice.between(1, 4);
    for (int i = 0; i != count; ++i) setting_.steps.push_back(step(i));
    if (dice.percent(50)) setting_.budget = ms(dice.one_of({1, 5, 20, 50, 100, 500, 2'000, 100'000}));
    if (dice.percent(30)) setting_.entry = planb::StepEntry::scheduled;
    setting_.form = dice.one_of({Form::call, Form::call_as_value, Form::pushed, Form::pulled});
    setting_.partial =
        dice.one_of({PartialStream::allow, PartialStream::prevent_fallback, PartialStream::prevent_retry});
    return std::move(setting_);
  }

  Dice dice;

 private:
  static Duration ms(int n) { return std::chrono::milliseconds(n); }
  Duration some_time() { return ms(dice.one_of({0, 1, 2, 3, 5, 10, 20, 50, 100})); }
  Schedule list() {
    std::vector<Duration> delays;
    for (int i = dice.between(0, 4); i != 0; --i) delays.push_back(some_time());
    return planb::delays(delays);
  }

  Schedule leaf() {
    if (timed_ && dice.percent(40)) {
      setting_.plain = false;
      switch (dice.between(0, 4)) {
        case 0: return planb::fixed(some_time());
        case 1: return planb::windowed(some_time());
        case 2: return planb::during(some_time());
        case 3: {
          const Duration base = some_time();
          return planb::decorrelated_jitter(base, base + some_time());
        }
        default:
          return planb::Schedule::from("own", [](const planb::ScheduleInput& in) -> std::optional<Duration> {
            if (in.attempt > 4) return std::nullopt;
            return in.elapsed / 2 + 1ms;
          });
      }
    }
    switch (dice.between(0, 7)) {
      case 0: return planb::spaced(some_time());
      case 1: return planb::exponential(some_time(), dice.one_of({0.5, 1.0, 1.5, 2.0}));
      case 2: return planb::fibonacci(some_time());
      case 3: return planb::linear(some_time());
      case 4: return planb::recurs(dice.between(0, 4));
      case 5: return planb::once();
      case 6: return planb::duration(some_time());
      default: return list();
    }
  }

  Schedule schedule(int depth) {
    if (depth == 0 || dice.percent(25)) return leaf();
    if (timed_ && dice.percent(40)) {
      setting_.plain = false;
      const Schedule inner = schedule(depth - 1);
      switch (dice.between(0, 7)) {
        case 0: return planb::up_to(inner, some_time());
        case 1: return planb::full_jitter(inner);
        case 2: return planb::equal_jitter(inner);
        case 3: return planb::modify_delay(inner, [](Duration d) { return 20ms - d; });
        case 4: return planb::add_delay(inner, [](const planb::ScheduleInput& in) { return Duration(in.elapsed) / 3; });
        case 5: return planb::while_input(inner, [](const Cause& cause) { return cause.status() != 400; });
        case 6: return planb::tap(inner, [](Duration) {});
        default: return planb::jittered(inner);
      }
    }
    switch (dice.between(0, 5)) {
      case 0: return planb::concat(schedule(depth - 1), schedule(depth - 1));
      case 1: return planb::both(schedule(depth - 1), schedule(depth - 1));
      case 2: return planb::either(schedule(depth - 1), schedule(depth - 1));
      case 3: return planb::up_to(schedule(depth - 1), dice.between(0, 5));
      case 4: return planb::capped(schedule(depth - 1), some_time());
      default: return planb::add_delay(schedule(depth - 1), some_time());
    }
  }

  planb::Step<int> step(int index) {
    planb::Step<int> s{.provide = index};
    if (dice.percent(70)) s.attempts = dice.percent(10) ? planb::unlimited : dice.between(1, 6);
    if (dice.percent(70)) s.schedule = schedule(3);
    if (!s.attempts && !s.schedule.ends()) s.attempts = dice.between(1, 6);
    if (dice.percent(40)) s.max_wait = some_time();
    if (dice.percent(60)) s.timeout = some_time() + ms(1);
    if (dice.percent(25)) s.reserve = some_time();
    if (dice.percent(25)) s.first_timeout = some_time() + ms(1);
    if (dice.percent(20)) s.enter_when = [](const Cause&) { return true; };
    if (late_ && dice.percent(50)) {
      setting_.late = true;
      const Duration patience = some_time();
      s.gate =
          std::make_shared<LateGate>(patience, s.max_wait ? (std::min)(patience, Duration(*s.max_wait)) : patience);
    }
    if (!ruled_) return s;
    setting_.steadfast = false;
    if (dice.percent(30)) s.retry_while = [](const Cause& cause) { return cause.status() != 400; };
    if (dice.percent(30)) {
      s.classify = [](const Cause& cause) -> planb::Verdict {
        if (cause.status() == 500) return {planb::Action::next_step};
        if (cause.status() == 501) return {planb::Action::next_guarded};
        return {planb::Action::retry};
      };
    }
    if (dice.percent(25)) {
      setting_.gated = true;
      const Duration patience = dice.percent(50) ? Duration() : some_time();
      if (dice.percent(50)) {
        s.gate = std::make_shared<MoodyGate>(patience, static_cast<std::uint64_t>(dice.between(1, 1'000'000)));
      } else {
        s.gate = planb::circuit_breaker(
            {.failure_threshold = dice.between(1, 3), .open_for = some_time() + ms(1), .patience = patience});
      }
    }
    return s;
  }

  Setting setting_;
  bool timed_ = false;
  bool ruled_ = false;
  bool late_ = false;
};

struct Cost {
  long long calls = 0;
  Duration waits{};
  Duration time{};
};

struct Seen {
  Cost all;
  std::vector<Cost> steps;
  std::vector<Cost> reported;  // the same, as the run's report has it
  int first_tried = -1;
};

// Plays the providers and takes the time.
class Player {
 public:
  Player(const Setting& setting, Script script, Dice& dice) : setting_(setting), script_(script), dice_(dice) {
    seen_.steps.resize(setting.steps.size());
  }

  Seen play() {
    for (const planb::Step<int>& step : setting_.steps) {
      if (step.gate != nullptr) step.gate->reset();
    }
    const planb::ExecutionPlan<int> plan(setting_.steps);
    const auto call = [this](int&, const Attempt& attempt) {
      spend(attempt);
      fail_or_answer(attempt);
      return 1;
    };
    try {
      switch (setting_.form) {
        case Form::call: static_cast<void>(planb::run_with_plan(plan, call, options<planb::RunOptions>())); break;
        case Form::call_as_value:
          static_cast<void>(planb::try_run_with_plan(plan, call, options<planb::RunOptions>()));
          break;
        case Form::pushed:
          planb::push_with_plan(
              plan,
              [this](int&, const auto& emit, const Attempt& attempt) {
                for (int i = elements(); i != 0; --i) {
                  spend(attempt);
                  if (!emit(i)) return;
                }
                spend(attempt);
                fail_or_answer(attempt);
              },
              [](int) {}, stream_options());
          break;
        case Form::pulled: {
          auto stream = planb::stream_with_plan(
              plan,
              [this](int&, const Attempt& attempt) {
                return NextRange([this, attempt, left = elements()]() mutable -> std::optional<int> {
                  spend(attempt);
                  if (left-- > 0) return left;
                  fail_or_answer(attempt);
                  return std::nullopt;
                });
              },
              stream_options());
          for (const int element : stream) static_cast<void>(element);
          break;
        }
      }
    } catch (const planb::PlanError&) {  // the usual end
    }
    seen_.all.time = clock_.elapsed();
    return seen_;
  }

 private:
  template <class Options>
  Options options() {
    Options options;
    options.on_event = [this](const planb::Event& event) { see(event); };
    options.budget = setting_.budget;
    options.clock = &clock_;
    options.entry = setting_.entry;
    options.seed = dice_.next();  // so that a jitter, too, is the same when a case is run again
    return options;
  }
  planb::StreamOptions stream_options() {
    auto given = options<planb::StreamOptions>();
    given.partial = setting_.partial;
    return given;
  }

  int elements() { return script_ == Script::random && dice_.percent(30) ? dice_.between(1, 3) : 0; }

  // As long as it likes, but for its deadline.
  void spend(const Attempt& attempt) {
    if (script_ == Script::quick) return;
    const std::optional<Duration> left = attempt.timeout();
    if (script_ == Script::slow || dice_.percent(40)) {
      clock_.advance(left.value_or(7ms));
    } else if (dice_.percent(60)) {
      const Duration time = std::chrono::milliseconds(dice_.one_of({1, 2, 5, 30, 200}));
      clock_.advance(left ? (std::min)(time, *left) : time);
    }
  }

  void fail_or_answer(const Attempt& attempt) {
    if (attempt.attempt >= enough) return;
    const planb::Step<int>& step = setting_.steps[static_cast<std::size_t>(attempt.step_index)];
    switch (script_) {
      case Script::quick: throw ProviderError(503, "");
      case Script::slow: throw ProviderError(503, "", "", step.max_wait.value_or(1min));
      case Script::random: break;
    }
    if (dice_.percent(4)) return;
    std::optional<Duration> hint;
    if (dice_.percent(30)) hint = std::chrono::milliseconds(dice_.one_of({0, 1, 5, 20, 50, 100, 60'000, 60'001}));
    if (dice_.percent(10)) hint = step.max_wait.value_or(1min);
    throw ProviderError(dice_.one_of({503, 503, 503, 400, 500, 501}), "", "", hint);
  }

  void see(const planb::Event& event) {
    event.visit(planb::overloaded{
        [this](const planb::AttemptStart& e) {
          if (seen_.first_tried < 0) seen_.first_tried = e.step_index;
          Cost& step = cost(e.step_index);
          ++step.calls;
          ++seen_.all.calls;
          waited(step, e.at);
        },
        [this](const planb::AttemptSuccess& e) { spent(cost(e.step_index), e.at); },
        [this](const planb::AttemptFailure& e) { spent(cost(e.step_index), e.at); },
        [this](const planb::StepSkipped& e) { waited(cost(e.step_index), e.at); },
        [this](const planb::RunFinish& e) {
          for (const planb::StepReport& step : e.report.steps) {
            const Duration waits = step.wait_time.value_or(Duration());
            seen_.reported.push_back({step.attempts, waits, waits + step.attempt_time.value_or(Duration())});
          }
        },
        [](const planb::FirstOutput&) {},
    });
  }
  Cost& cost(int step) { return seen_.steps[static_cast<std::size_t>(step)]; }
  void waited(Cost& step, TimePoint at) {
    step.waits += at - last_;
    seen_.all.waits += at - last_;
    spent(step, at);
  }
  void spent(Cost& step, TimePoint at) {
    step.time += at - last_;
    last_ = at;
  }

  const Setting& setting_;
  Script script_;
  Dice& dice_;
  planb::testing::VirtualClock clock_;
  Seen seen_;
  TimePoint last_{};
};

planb::Explanation explanation_of(const Setting& setting) {
  const planb::ExecutionPlan<int> plan(setting.steps);
  if (setting.form == Form::call || setting.form == Form::call_as_value) {
    return planb::explain(plan, planb::RunOptions{.budget = setting.budget, .entry = setting.entry});
  }
  return planb::explain(
      plan, planb::StreamOptions{.budget = setting.budget, .entry = setting.entry, .partial = setting.partial});
}

std::string text(const Cost& cost) {
  return std::to_string(cost.calls) + " calls, waits " + model::text(cost.waits) + ", time " + model::text(cost.time);
}
std::string text(const planb::WorstCase& worst) {
  return (worst.calls ? std::to_string(*worst.calls) : "-") + " calls, waits " + model::text(worst.waits) + ", time " +
         model::text(worst.time);
}

bool exceeds(const Cost& cost, const planb::WorstCase& worst) {
  return (worst.calls && cost.calls > *worst.calls) || (worst.waits && cost.waits > *worst.waits) ||
         (worst.time && cost.time > *worst.time);
}

// What went beyond the worst case, or an empty text.
std::string beyond(const Setting& setting, const planb::Explanation& told, const Seen& seen) {
  std::string out;
  if (exceeds(seen.all, told.worst)) out += "  in all " + text(seen.all) + "; at worst " + text(told.worst) + "\n";
  // No event tells of a step that is left when it has waited for its gate in vain.
  const bool told_all = !setting.gated && !(setting.late && setting.budget);
  const auto look_at = [&](const std::vector<Cost>& steps) {
    for (std::size_t i = 0; i != steps.size(); ++i) {
      if (!exceeds(steps[i], told.steps[i].worst)) continue;
      out += "  step " + std::to_string(i) + ": " + text(steps[i]) + "; at worst " + text(told.steps[i].worst) + "\n";
    }
  };
  if (told_all) look_at(seen.steps);
  look_at(seen.reported);
  if (!out.empty()) out += planb::to_string(told);
  return out;
}

bool is_call(const Setting& setting) { return setting.form == Form::call || setting.form == Form::call_as_value; }

// Whether the slow script comes to the worst: nothing cuts it short, and nothing is left to chance or to the clock.
// For all that explain() knows of a gate, there may be no failure yet behind it.
bool reached_by_slow(const Setting& setting) {
  if (setting.late && setting.entry == planb::StepEntry::scheduled) return false;
  return setting.plain && setting.steadfast && !setting.budget;
}

// What falls short of the worst case where it should not.
std::string short_of(const planb::WorstCase& worst, const Cost& cost, bool with_time) {
  const bool calls = !worst.calls || cost.calls >= (std::min)(*worst.calls, static_cast<long long>(enough));
  const bool waits = !worst.waits || cost.waits >= *worst.waits;
  const bool time = !worst.time || cost.time >= *worst.time || !with_time;
  if (cost.calls >= enough || (calls && waits && time)) return {};
  return "only " + text(cost) + "; at worst " + text(worst) + "\n";
}

template <class Look>
void for_each_case(const Look& look) {
  const int count = number_from("PLANB_RANDOM_CASES", 400);
  std::vector<int> seeds{1, 2, 3};
  if (const int seed = number_from("PLANB_RANDOM_SEED", 0); seed != 0) seeds.push_back(seed);
  for (const int seed : seeds) {
    for (int number = 0; number != count; ++number) {
      Maker maker((static_cast<std::uint64_t>(seed) << 32U) + static_cast<std::uint64_t>(number));
      const Setting setting = maker.make();
      const std::string wrong = look(setting, maker.dice);
      if (!wrong.empty()) FAIL("PLANB_RANDOM_SEED=" << seed << ", case " << number << "\n" << wrong);
    }
  }
}

}  // namespace

TEST_CASE("no run exceeds the worst case that explain() gives", "[random]") {
  int runs = 0;
  for_each_case([&](const Setting& setting, Dice& dice) -> std::string {
    const planb::Explanation told = explanation_of(setting);
    for (const Script script : {Script::slow, Script::quick, Script::random, Script::random, Script::random}) {
      const Seen seen = Player(setting, script, dice).play();
      if (std::string wrong = beyond(setting, told, seen); !wrong.empty()) return wrong;
      ++runs;
    }
    return {};
  });
  CHECK(runs > 1000);
}

TEST_CASE("the worst script reaches the worst case where neither chance nor the clock has a say", "[random]") {
  int slow = 0;
  int quick = 0;
  for_each_case([&](const Setting& setting, Dice& dice) -> std::string {
    const planb::Explanation told = explanation_of(setting);
    if (reached_by_slow(setting)) {
      const Seen seen = Player(setting, Script::slow, dice).play();
      std::string wrong = short_of(told.worst, seen.all, is_call(setting));
      for (std::size_t i = 0; i != seen.steps.size() && seen.all.calls < enough; ++i) {
        wrong += short_of(told.steps[i].worst, seen.steps[i], is_call(setting));
      }
      if (!wrong.empty()) return wrong + planb::to_string(told);
      ++slow;
    }
    if (setting.plain && setting.steadfast && setting.budget &&
        !setting.late) {  // the first step has all the time that it may have
      const Seen seen = Player(setting, Script::quick, dice).play();
      if (seen.first_tried < 0) return {};
      const auto first = static_cast<std::size_t>(seen.first_tried);
      const std::optional<long long> calls = told.steps[first].worst.calls;
      if (calls && seen.steps[first].calls < (std::min)(*calls, static_cast<long long>(enough))) {
        return text(seen.steps[first]) + "\n" + planb::to_string(told);
      }
      ++quick;
    }
    return {};
  });
  CHECK(slow > 100);
  CHECK(quick > 100);
}

TEST_CASE("a step gets an attempt in some run unless explain() says never", "[random]") {
  int never = 0;
  for_each_case([&](const Setting& setting, Dice& dice) -> std::string {
    if (!setting.plain || !setting.steadfast || setting.entry == planb::StepEntry::scheduled) return {};
    if (setting.late && setting.budget) return {};
    const planb::Explanation told = explanation_of(setting);
    Setting hasty = setting;  // the same plan, where nothing waits
    for (planb::Step<int>& step : hasty.steps) step.retry_while = [](const Cause&) { return false; };
    const Seen seen = Player(hasty, Script::quick, dice).play();
    for (std::size_t i = 0; i != seen.steps.size(); ++i) {
      if (!told.steps[i].reachable) ++never;
      if (told.steps[i].reachable != (seen.steps[i].calls != 0)) return text(seen.steps[i]) + planb::to_string(told);
    }
    return {};
  });
  CHECK(never > 50);
}
