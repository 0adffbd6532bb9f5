#include <planb/gate/all_of.hpp>

#include "catch.hpp"

#include <planb/engine/plan_run.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/provider_error.hpp>
#include <planb/gates.hpp>
#include <planb/run.hpp>
#include <planb/stream.hpp>
#include <planb/testing.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#if PLANB_HAS_STOP_TOKEN
#include <stop_token>
#endif

namespace {

using namespace std::chrono_literals;
using planb::Admission;
using planb::Cause;
using planb::Duration;
using planb::GateReason;
using planb::GateRequest;
using planb::TimePoint;
using Notes = std::vector<std::string>;

constexpr TimePoint at(Duration since_start) { return TimePoint{since_start}; }
constexpr TimePoint never = (TimePoint::max)();

class NotingGate final : public planb::Gate {
 public:
  NotingGate(std::string name, Notes& notes) : name_(std::move(name)), notes_(&notes) {}
  std::optional<planb::GateRefusal> refuses;
  bool throws_at_admit = false;
  bool throws_at_end = false;

  Admission admit(const GateRequest&) override {
    note("asked");
    if (throws_at_admit) throw std::runtime_error(name_);
    if (refuses) return *refuses;
    return planb::Permit(*this, 5);
  }
  [[nodiscard]] TimePoint opens_at(const GateRequest& request) const override {
    return refuses ? refuses->opens_at : request.now;
  }
  [[nodiscard]] planb::GateRefusal refusal(const GateRequest& request) const override {
    return refuses.value_or(planb::GateRefusal{request.now});
  }
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] Duration patience() const override { return 7s; }

 private:
  void note(const std::string& what) { notes_->push_back(name_ + " " + what); }
  void on_outcome(std::uint64_t ticket, const planb::GateOutcome& outcome) override {
    CHECK(ticket == 5);
    const auto seconds = [](TimePoint t) { return std::to_string(t.time_since_epoch() / 1s); };
    note((outcome.cause == nullptr ? "success " : "failure ") + seconds(outcome.started) + " to " +
         seconds(outcome.now) + (outcome.first_output ? ", output " + seconds(*outcome.first_output) : ""));
    if (throws_at_end) throw std::runtime_error(name_);
  }
  void on_first_output(std::uint64_t, TimePoint) override { note("output"); }
  void on_dropped(std::uint64_t, bool used) noexcept override { note(used ? "dropped used" : "dropped unused"); }

  std::string name_;
  Notes* notes_;
};

struct Three {
  Notes notes;
  std::shared_ptr<NotingGate> a = std::make_shared<NotingGate>("a", notes);
  std::shared_ptr<NotingGate> b = std::make_shared<NotingGate>("b", notes);
  std::shared_ptr<NotingGate> c = std::make_shared<NotingGate>("c", notes);
  std::shared_ptr<planb::AllOf> all = planb::all_of(a, b, c);
};

}  // namespace

TEST_CASE("all gates are asked in order, and each hears of the outcome") {
  Three t;
  Admission admission = t.all->admit(at(1s));
  REQUIRE(admission.permit);
  CHECK(t.notes == Notes{"a asked", "b asked", "c asked"});
  t.notes.clear();
  SECTION("of a success, with its first output") {
    admission.permit->first_output(at(2s));
    admission.permit->succeeded(at(4s));
    CHECK(t.notes == Notes{"a output", "b output", "c output", "a success 1 to 4, output 2",
                           "b success 1 to 4, output 2", "c success 1 to 4, output 2"});
  }
  SECTION("of a failure") {
    admission.permit->failed(Cause::timed_out(), at(4s));
    CHECK(t.notes == Notes{"a failure 1 to 4", "b failure 1 to 4", "c failure 1 to 4"});
  }
  SECTION("dropped before it began, from the last to the first") {
    admission.permit.reset();
    CHECK(t.notes == Notes{"c dropped unused", "b dropped unused", "a dropped unused"});
  }
  SECTION("dropped after that") {
    admission.permit->use();
    admission.permit.reset();
    CHECK(t.notes == Notes{"c dropped used", "b dropped used", "a dropped used"});
  }
  SECTION("one that throws keeps it from no other") {
    t.b->throws_at_end = true;
    CHECK_THROWS_WITH(admission.permit->succeeded(at(4s)), "b");
    CHECK(t.notes == Notes{"a success 1 to 4", "b success 1 to 4", "c success 1 to 4"});
  }
  SECTION("of two that throw, the first one's exception goes on") {
    t.b->throws_at_end = true;
    t.c->throws_at_end = true;
    CHECK_THROWS_WITH(admission.permit->succeeded(at(4s)), "b");
    CHECK(t.notes.size() == 3);
  }
}

TEST_CASE("a list of gates that are all open has no refusal: it opens now") {
  Three t;
  CHECK(t.all->refusal(at(3s)).opens_at == at(3s));
  CHECK(t.all->opens_at(at(3s)) == at(3s));
}

TEST_CASE("of a list in a list, the gate that refuses is named, and not the list") {
  Three t;
  const auto outer = planb::all_of(planb::retry_budget({.name = "retries"}), t.all);
  t.b->refuses = planb::GateRefusal{at(9s), GateReason::rate_limited, "slowly"};
  const Admission admission = outer->admit(at(1s));
  REQUIRE(admission.refusal);
  CHECK(admission.refusal->gate == "b");
  CHECK(admission.refusal->patience == 7s);
  CHECK(outer->refusal(at(1s)).gate == "b");
}

TEST_CASE("where one refuses, those before it get back what they gave, and the refusal is that gate's") {
  Three t;
  t.b->refuses = planb::GateRefusal{at(9s), GateReason::rate_limited, "slowly"};
  const Admission admission = t.all->admit(at(1s));
  REQUIRE(admission.refusal);
  CHECK(t.notes == Notes{"a asked", "b asked", "a dropped unused"});
  CHECK(admission.refusal->opens_at == at(9s));
  CHECK(admission.refusal->reason == GateReason::rate_limited);
  CHECK(admission.refusal->text == "slowly");
  CHECK(admission.refusal->gate == "b");
  CHECK(admission.refusal->patience == 7s);
  CHECK(t.all->refusal(at(1s)).reason == GateReason::rate_limited);
  CHECK(t.all->opens_at(at(1s)) == at(9s));
  t.c->refuses = planb::GateRefusal{at(20s), GateReason::circuit_open};
  CHECK(t.all->admit(at(1s)).refusal->opens_at == at(20s));  // no sooner than the last of them
  CHECK(t.all->admit(at(1s)).refusal->reason == GateReason::rate_limited);
  t.b->refuses->opens_at = at(0s);  // a refusal that says now
  CHECK(t.all->admit(at(1s)).refusal->opens_at == never);
}

TEST_CASE("where one throws when asked, those before it get back what they gave") {
  Three t;
  t.c->throws_at_admit = true;
  CHECK_THROWS_WITH(t.all->admit(at(1s)), "c");
  CHECK(t.notes == Notes{"a asked", "b asked", "c asked", "b dropped unused", "a dropped unused"});
}

TEST_CASE("a limit is not charged for what a breaker behind it refuses") {
  const auto rate = planb::rate_limit({.permits = 1, .period = 1h});
  const auto places = planb::concurrency_limit({.limit = 1});
  const auto breaker = planb::circuit_breaker();
  const auto all = planb::all_of(rate, places, breaker);
  breaker->force_open(at(10s));
  for (int i = 0; i != 5; ++i) {
    const Admission refusal = all->admit(at(0s));
    REQUIRE(refusal.refusal);
    CHECK(refusal.refusal->reason == GateReason::circuit_open);
    CHECK(refusal.refusal->opens_at == at(10s));
  }
  CHECK(places->running() == 0);
  breaker->reset();
  CHECK(all->admit(at(0s)).permit.has_value());
}

TEST_CASE("no gates, and null ones, are refused") {
  CHECK_THROWS_WITH(planb::all_of(std::vector<std::shared_ptr<planb::Gate>>{}),
                    Catch::Matchers::ContainsSubstring("there is no gate in it"));
  CHECK_THROWS_WITH(planb::all_of(planb::retry_budget(), std::shared_ptr<planb::CircuitBreaker>()),
                    Catch::Matchers::ContainsSubstring("one of its gates is null"));
}

TEST_CASE("a run tells the reason, the words and the name of the gate that refused") {
  planb::testing::VirtualClock clock;
  Notes notes;
  const auto closed = std::make_shared<NotingGate>("maintenance window", notes);
  closed->refuses = planb::GateRefusal{at(30s), GateReason::other, "under maintenance"};
  const auto limit = planb::rate_limit({.permits = 1, .period = 10s, .name = "per key"});
  const planb::ExecutionPlan<int> plan{
      {.name = "alpha",
       .provide = 1,
       .attempts = 3,
       .schedule = planb::spaced(1s),
       .gate = planb::all_of(planb::circuit_breaker(), limit)},
      {.name = "beta", .provide = 2, .gate = closed},
  };
  std::vector<planb::StepSkipped> skips;
  std::string failure;
  const auto result = planb::try_run_with_plan(
      plan, [](int&) { throw planb::ProviderError(503, "busy"); },
      {.on_event = planb::overloaded{[&](const planb::StepSkipped& skip) { skips.push_back(skip); },
                                     [&](const planb::AttemptFailure& f) { failure = to_string(f); }},
       .clock = &clock});
  CHECK(failure == "AttemptFailure #1 step=0 alpha 503 busy, next step: rate limited");
  const planb::RunReport& report = result.report();
  CHECK(report.to_string() ==
        "plan exhausted: alpha: 503 busy, rate limited for 10 s; beta: skipped, under maintenance for 30 s");
  REQUIRE(report.steps.size() == 2);
  CHECK(report.steps[0].gate_reason == GateReason::rate_limited);
  CHECK(report.steps[0].gate == "per key");
  CHECK(report.steps[1].gate_reason == GateReason::other);
  CHECK(report.steps[1].gate_text == "under maintenance");
  CHECK(report.steps[1].gate == "maintenance window");
  REQUIRE(skips.size() == 1);
  CHECK(skips[0].gate_reason == GateReason::other);
  CHECK(skips[0].gate_text == "under maintenance");
  CHECK(skips[0].gate == "maintenance window");
}

TEST_CASE("however a run ends inside its attempt, no place is lost, and what began stays paid") {
  planb::testing::VirtualClock clock;
  const auto places = planb::concurrency_limit({.limit = 1});
  const auto rate = planb::rate_limit({.permits = 100, .period = 1h});
  const auto budget = planb::retry_budget({.ratio = 0, .burst = 100});
  // A retry, so that its budget pays too.
  const planb::ExecutionPlan<int> plan{
      {.provide = 1, .attempts = 2, .schedule = planb::spaced(0s), .gate = planb::all_of(places, rate, budget)}};
  const planb::RunOptions options{.clock = &clock};
  const auto fails_first = [](auto what) {
    return [what](int, const planb::Attempt& attempt) {
      if (attempt.attempt == 1) throw planb::ProviderError(503);
      what();
    };
  };
  for (int round = 0; round != 3; ++round) {
    run_with_plan(plan, fails_first([] {}), options);
    CHECK_THROWS(run_with_plan(plan, fails_first([] { throw planb::ProviderError(503); }), options));
    CHECK_THROWS(run_with_plan(plan, fails_first([] { throw planb::Defect("bug"); }), options));
    CHECK_THROWS(run_with_plan(plan, fails_first([] { throw 1; }), options));
    {
      planb::PlanRun<int> abandoned(plan, options);
      REQUIRE(abandoned.next() == planb::RunPhase::attempt);
      abandoned.fail(Cause::timed_out());
      REQUIRE(abandoned.next() == planb::RunPhase::attempt);
      CHECK(places->running() == 1);
    }
    {
      auto stream = planb::stream_with_plan(plan,
                                            [](int, const planb::Attempt& attempt) {
                                              if (attempt.attempt == 1) throw planb::ProviderError(503);
                                              return std::vector<int>{1, 2};
                                            },
                                            {.clock = &clock});
      CHECK(*stream.begin() == 1);
      CHECK(places->running() == 1);
    }
#if PLANB_HAS_STOP_TOKEN
    {
      std::stop_source source;
      planb::RunOptions stopped = options;
      stopped.stop = source.get_token();
      CHECK_THROWS_AS(run_with_plan(plan, fails_first([&] {
                                      source.request_stop();
                                      throw planb::ProviderError("gave up");
                                    }),
                                    stopped),
                      planb::PlanInterrupted);
    }
#else
    CHECK_THROWS(run_with_plan(plan, fails_first([] { throw 2; }), options));
#endif
    CHECK(places->running() == 0);
    CHECK(rate->snapshot().available == 100 - (round + 1) * 14);
    CHECK(budget->snapshot().available == 100 - (round + 1) * 7);
  }
}

TEST_CASE("threads that share a list of gates leave no permit behind") {
  const auto places = planb::concurrency_limit({.limit = 3});
  const auto budget = planb::retry_budget({.ratio = 0, .burst = 500});
  const auto rate = planb::rate_limit({.permits = 700, .period = 1h});
  const auto all = planb::all_of(places, budget, rate);
  std::atomic<int> used{0};
  std::vector<std::thread> pool;
  for (int thread = 0; thread != 8; ++thread) {
    pool.emplace_back([&, thread] {
      for (int i = 0; i != 1'000; ++i) {
        Admission admission = all->admit({at(0s), 2, 2});
        if (!admission.permit || (i + thread) % 3 == 0) continue;
        admission.permit->failed(Cause::timed_out(), at(0s));
        ++used;
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  CHECK(places->running() == 0);
  CHECK(budget->snapshot().available == 500 - used);
  CHECK(rate->snapshot().available == 700 - used);
  CHECK(used > 0);
}
