#include <planb/gate/limits.hpp>

#include "catch.hpp"

#include <planb/error/cause.hpp>
#include <planb/error/provider_error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using planb::Admission;
using planb::Cause;
using planb::ConcurrencyLimit;
using planb::Duration;
using planb::Gate;
using planb::GateReason;
using planb::GateRequest;
using planb::Permit;
using planb::RateLimit;
using planb::RetryBudget;
using planb::TimePoint;

constexpr TimePoint at(Duration since_start) { return TimePoint{since_start}; }
constexpr TimePoint never = (TimePoint::max)();

// One attempt, which has begun and succeeds at once. False: it was refused.
bool passes(Gate& gate, const GateRequest& request) {
  Admission admission = gate.admit(request);
  if (admission.permit) admission.permit->succeeded(request.now);
  return admission.permit.has_value();
}
int how_many_pass(Gate& gate, TimePoint now) {
  int passed = 0;
  while (passed != 10'000 && passes(gate, now)) ++passed;
  return passed;
}
GateRequest retry_at(TimePoint now) { return {now, 2, 2}; }

std::string refused(auto make) {
  try {
    make();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

}  // namespace

// --- Rate

TEST_CASE("a rate limit lets its burst pass at once, and then one at a time") {
  struct Case {
    planb::RateLimitOptions options;
    Duration time;
    int passed;  // of all that can be tried from 0 s to then
  };
  const Case cases[] = {
      {{.permits = 3, .period = 3s}, 0s, 3},
      {{.permits = 3, .period = 3s}, 1s - 1ns, 3},
      {{.permits = 3, .period = 3s}, 1s, 4},
      {{.permits = 3, .period = 3s}, 3s - 1ns, 5},
      {{.permits = 3, .period = 3s}, 3s, 6},
      {{.permits = 3, .period = 1s}, 333'333'333ns, 3},  // a third of a second is not a whole number of nanoseconds
      {{.permits = 3, .period = 1s}, 333'333'334ns, 4},
      {{.permits = 3, .period = 1s}, 666'666'667ns, 5},
      {{.permits = 3, .period = 1s}, 1s, 6},
      {{.permits = 10, .period = 1min, .burst = 1}, 0s, 1},
      {{.permits = 10, .period = 1min, .burst = 1}, 6s, 2},
      {{.permits = 10, .period = 1min, .burst = 1}, 1min, 11},
      {{.permits = 1, .period = 10s, .burst = 5}, 0s, 5},
      {{.permits = 1, .period = 10s, .burst = 5}, 10s, 6},
      {{.permits = 1'000'000, .period = 1s, .burst = 7}, 1us, 8},
  };
  for (const Case& c : cases) {
    CAPTURE(c.options.permits, c.options.period.count(), c.time.count());
    RateLimit limit(c.options);
    int passed = 0;
    TimePoint now = at(0s);
    while (now <= at(c.time)) {
      passed += how_many_pass(limit, now);
      const TimePoint opens = limit.opens_at(now);
      REQUIRE(opens > now);
      now = opens;
    }
    CHECK(passed == c.passed);
  }
}

TEST_CASE("a rate limit says exactly when it opens, and why it is shut") {
  RateLimit limit({.permits = 3, .period = 1s, .name = "alpha", .patience = 2s});
  CHECK(limit.opens_at(at(5s)) == at(5s));
  REQUIRE(how_many_pass(limit, at(0s)) == 3);
  const Admission refusal = limit.admit(at(0s));
  REQUIRE(refusal.refusal);
  CHECK(refusal.refusal->opens_at == at(333'333'334ns));
  CHECK(refusal.refusal->reason == GateReason::rate_limited);
  CHECK(limit.opens_at(at(0s)) == at(333'333'334ns));
  CHECK(limit.refusal(at(0s)).reason == GateReason::rate_limited);
  CHECK_FALSE(passes(limit, at(333'333'333ns)));
  CHECK(passes(limit, at(333'333'334ns)));
  CHECK(limit.name() == "alpha");
  CHECK(limit.patience() == 2s);
}

TEST_CASE("no window of one period sees more than permits and burst, whenever attempts come") {
  unsigned random = 12345;
  const auto draw = [&](unsigned below) {
    random = random * 1664525U + 1013904223U;
    return (random >> 8U) % below;
  };
  for (int history = 0; history != 300; ++history) {
    const int permits = 1 + static_cast<int>(draw(7));
    const int burst = 1 + static_cast<int>(draw(9));
    const Duration period(50 + draw(100));
    RateLimit limit({.permits = permits, .period = period, .burst = burst});
    std::vector<TimePoint> passed;
    TimePoint now{};
    for (int i = 0; i != 400; ++i) {
      now += Duration(draw(4) == 0 ? draw(200) : draw(6));
      const TimePoint opens = limit.opens_at(now);
      Admission admission = limit.admit(now);
      REQUIRE(admission.permit.has_value() == (opens == now));
      if (!admission.permit) {
        REQUIRE(admission.refusal->opens_at == opens);
        continue;
      }
      if (draw(5) == 0) continue;  // never began: given back
      admission.permit->use();
      passed.push_back(now);
    }
    for (std::size_t first = 0; first != passed.size(); ++first) {
      std::size_t last = first;
      while (last != passed.size() && passed[last] < passed[first] + period) ++last;
      REQUIRE(last - first <= static_cast<std::size_t>(permits + burst));
    }
  }
}

TEST_CASE("a bucket that is asked as soon as it opens gives exactly its rate in the long run") {
  RateLimit limit({.permits = 7, .period = 1s, .burst = 2});
  TimePoint now{};
  int passed = 0;
  while (now < at(1000s)) {
    passed += passes(limit, now) ? 1 : 0;
    now = (std::max)(limit.opens_at(now), now);
  }
  CHECK(passed == 7'000 + 1);  // and its burst, of which one permit is the first of the 7,000
}

TEST_CASE("a rate limit takes back a permit whose attempt never began, and no other") {
  RateLimit limit({.permits = 2, .period = 10s});
  { const Admission unused = limit.admit(at(0s)); }
  CHECK(how_many_pass(limit, at(0s)) == 2);
  RateLimit spent({.permits = 2, .period = 10s});
  {
    Admission used = spent.admit(at(0s));
    used.permit->use();
  }
  CHECK(how_many_pass(spent, at(0s)) == 1);
  RateLimit failing({.permits = 2, .period = 10s});
  failing.admit(at(0s)).permit->failed(Cause::timed_out(), at(0s));
  CHECK(how_many_pass(failing, at(0s)) == 1);

  RateLimit full({.permits = 2, .period = 10s});
  Admission late = full.admit(at(0s));
  Admission again = full.admit(at(1min));  // full meanwhile
  late.permit.reset();
  again.permit.reset();
  CHECK(how_many_pass(full, at(1min)) == 2);
}

TEST_CASE("a rate limit works at the ends of time, and is as new after a reset") {
  for (const TimePoint now : {(TimePoint::min)() + 1ns, at(-1s), at(0s), never}) {
    RateLimit limit({.permits = 2, .period = 1h});
    CHECK(passes(limit, now));
    CHECK(passes(limit, now));
    if (now == never) continue;  // there is no later time
    CHECK_FALSE(passes(limit, now));
    limit.reset();
    CHECK(how_many_pass(limit, now) == 2);
  }
  RateLimit reset({.permits = 1, .period = 1s});
  Admission out = reset.admit(at(0s));
  reset.reset();
  out.permit.reset();  // gives nothing to a full bucket
  CHECK(how_many_pass(reset, at(0s)) == 1);
}

TEST_CASE("threads never get more than permits and burst out of a period") {
  constexpr int threads = 8;
  RateLimit limit({.permits = 100, .period = 1ms, .burst = 50});
  std::atomic<std::int64_t> clock{0};
  std::vector<std::vector<TimePoint>> passed(threads);
  std::vector<std::thread> pool;
  for (std::size_t thread = 0; thread != threads; ++thread) {
    pool.emplace_back([&, thread] {
      for (int i = 0; i != 5'000; ++i) {
        const TimePoint now{Duration(clock += 997)};
        Admission admission = limit.admit(now);
        if (!admission.permit || i % 7 == 0) continue;
        admission.permit->use();
        passed[thread].push_back(now);
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  std::vector<TimePoint> all;
  for (const auto& some : passed) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  std::size_t most = 0;
  for (std::size_t first = 0, last = 0; first != all.size(); ++first) {
    while (last != all.size() && all[last] < all[first] + 1ms) ++last;
    most = (std::max)(most, last - first);
  }
  CHECK(most <= 150);
  CHECK(all.size() >= 3'000);  // some 40 ms
}

// --- Concurrency

TEST_CASE("a concurrency limit frees a place however an attempt ends") {
  ConcurrencyLimit limit({.limit = 2, .name = "alpha"});
  std::optional<Permit> first = std::move(limit.admit(at(0s)).permit);
  std::optional<Permit> second = std::move(limit.admit(at(0s)).permit);
  REQUIRE((first && second));
  const Admission refusal = limit.admit(at(0s));
  REQUIRE(refusal.refusal);
  CHECK(refusal.refusal->opens_at == never);
  CHECK(refusal.refusal->reason == GateReason::concurrency_limited);
  CHECK(limit.opens_at(at(0s)) == never);
  CHECK(limit.running() == 2);
  limit.reset();
  CHECK(limit.running() == 2);  // who is in is in
  SECTION("by success") { first->succeeded(at(1s)); }
  SECTION("by failure") { first->failed(Cause::timed_out(), at(1s)); }
  SECTION("dropped before it began") { first.reset(); }
  SECTION("dropped after that") {
    first->use();
    first.reset();
  }
  CHECK(limit.running() == 1);
  CHECK(limit.opens_at(at(1s)) == at(1s));
  first.reset();
  second.reset();
  CHECK(limit.running() == 0);
}

TEST_CASE("a full concurrency limit says why it refuses, and that nobody knows when there is a place") {
  ConcurrencyLimit places({.limit = 1});
  CHECK(places.refusal(at(5s)).opens_at == at(5s));
  Admission in = places.admit(at(5s));
  REQUIRE(in.permit);
  CHECK(places.refusal(at(5s)).reason == GateReason::concurrency_limited);
  CHECK(places.refusal(at(5s)).opens_at == never);
  CHECK(places.opens_at(at(5s)) == never);
}

TEST_CASE("threads never hold more places than there are, and leave none taken") {
  constexpr int threads = 8;
  ConcurrencyLimit limit({.limit = 3});
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> passed{0};
  std::vector<std::thread> pool;
  for (int thread = 0; thread != threads; ++thread) {
    pool.emplace_back([&, thread] {
      for (int i = 0; i != 4'000; ++i) {
        Admission admission = limit.admit(at(0s));
        if (!admission.permit) continue;
        ++passed;
        const int now_inside = ++inside;
        int seen = most;
        while (seen < now_inside && !most.compare_exchange_weak(seen, now_inside)) {
        }
        if (i % 64 == 0) std::this_thread::yield();
        --inside;
        if ((i + thread) % 3 == 0) admission.permit->succeeded(at(0s));
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  CHECK(most <= 3);
  CHECK(passed > 0);
  CHECK(limit.running() == 0);
}

// --- Retries

TEST_CASE("a retry budget begins full; retries take from it, successes add to it, first attempts are free") {
  RetryBudget budget({.ratio = 0.2, .burst = 3, .name = "alpha"});
  for (int i = 0; i != 3; ++i) budget.admit(retry_at(at(0s))).permit->use();  // began, and ended neutral: spent
  const auto fails = [&](const GateRequest& request) {
    Admission admission = budget.admit(request);
    if (admission.permit) admission.permit->failed(Cause::timed_out(), request.now);
    return admission.permit.has_value();
  };
  CHECK_FALSE(fails(retry_at(at(0s))));
  const Admission refusal = budget.admit(retry_at(at(0s)));
  REQUIRE(refusal.refusal);
  CHECK(refusal.refusal->opens_at == never);
  CHECK(refusal.refusal->reason == GateReason::retry_budget_spent);
  CHECK(budget.opens_at(retry_at(at(0s))) == never);
  CHECK(budget.opens_at(at(0s)) == at(0s));
  CHECK(fails(at(0s)));
  CHECK(fails({at(0s), 5, 1}));  // a fallback step's first attempt
  for (int i = 0; i != 4; ++i) CHECK(passes(budget, at(1s)));
  CHECK_FALSE(fails(retry_at(at(1s))));
  CHECK(passes(budget, at(1s)));  // the fifth success makes it one
  CHECK(fails(retry_at(at(1s))));
  CHECK_FALSE(fails(retry_at(at(1s))));
  for (int i = 0; i != 1'000; ++i) passes(budget, at(2s));
  for (int i = 0; i != 3; ++i) CHECK(fails(retry_at(at(3s))));
  CHECK_FALSE(fails(retry_at(at(3s))));  // never above its burst
  budget.reset();
  CHECK(budget.snapshot().available == 3);
}

TEST_CASE("what a success would add above a retry budget's burst is lost") {
  RetryBudget budget({.ratio = 0.4, .burst = 1});
  budget.admit(retry_at(at(0s))).permit->use();
  for (int i = 0; i != 3; ++i) CHECK(passes(budget, at(1s)));  // 0.4, 0.8, 1
  budget.admit(retry_at(at(1s))).permit->use();
  for (int i = 0; i != 2; ++i) CHECK(passes(budget, at(1s)));  // 0.4, 0.8
  CHECK(budget.admit(retry_at(at(1s))).refusal);
}

TEST_CASE("a retry budget takes back a permit whose attempt never began, and no other") {
  RetryBudget budget({.burst = 1});
  { const Admission unused = budget.admit(retry_at(at(0s))); }
  CHECK(budget.snapshot().available == 1);
  { const Admission unused = budget.admit(at(0s)); }
  CHECK(budget.snapshot().available == 1);
  budget.admit(retry_at(at(0s))).permit->use();
  CHECK(budget.snapshot().available == 0);
  { const Admission unused = budget.admit(at(0s)); }
  CHECK(budget.snapshot().available == 0);  // a free one gives nothing back
}

TEST_CASE("threads neither lose nor double a retry") {
  constexpr int threads = 8;
  constexpr int burst = 1'000;
  RetryBudget budget({.ratio = 0, .burst = burst});
  std::atomic<int> spent{0};
  std::vector<std::thread> pool;
  for (int thread = 0; thread != threads; ++thread) {
    pool.emplace_back([&, thread] {
      for (int i = 0; i != 2'000; ++i) {
        Admission admission = budget.admit(retry_at(at(0s)));
        if (!admission.permit || (i + thread) % 2 == 0) continue;
        admission.permit->failed(Cause::timed_out(), at(0s));
        ++spent;
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  CHECK(budget.snapshot().available == burst - spent);
  CHECK(spent == burst);  // there were enough that wanted one
}

// --- Options and snapshots

TEST_CASE("limits that make no sense are refused, by name and with a remedy") {
  CHECK_THAT(refused([] { RateLimit({.permits = 0, .period = 1s}); }), ContainsSubstring("rate limit: `permits` is 0"));
  CHECK_THAT(refused([] { RateLimit({.permits = 1}); }), ContainsSubstring("`period` must be above zero"));
  CHECK_THAT(refused([] { RateLimit({.permits = 1, .period = 1s, .burst = 0}); }), ContainsSubstring("`burst` is 0"));
  CHECK_THAT(refused([] { RateLimit({.permits = 1, .period = std::chrono::hours::max(), .burst = 3}); }),
             ContainsSubstring("`burst` would take centuries"));
  CHECK_THAT(refused([] { RateLimit({.permits = 1, .period = 1s, .patience = -1s}); }),
             ContainsSubstring("`patience` is negative"));
  CHECK_THAT(refused([] { ConcurrencyLimit({}); }), ContainsSubstring("concurrency limit: `limit` is 0"));
  CHECK_THAT(refused([] { RetryBudget({.ratio = -0.1}); }), ContainsSubstring("retry budget: `ratio` is -0.1"));
  CHECK_THAT(refused([] { RetryBudget({.burst = 0}); }), ContainsSubstring("`burst` is 0"));
}

TEST_CASE("every reason of a gate has words") {
  struct Row {
    GateReason reason;
    std::string words;
  };
  const Row rows[] = {
      {GateReason::circuit_open, "circuit open"},
      {GateReason::probe_running, "probe running"},
      {GateReason::rate_limited, "rate limited"},
      {GateReason::concurrency_limited, "concurrency limited"},
      {GateReason::retry_budget_spent, "retry budget spent"},
      {GateReason::other, "gate closed"},
      {static_cast<GateReason>(99), "unknown"},
  };
  for (const Row& row : rows) CHECK(to_string(row.reason) == row.words);
}

TEST_CASE("limits show what they have left") {
  const auto rate = planb::rate_limit({.permits = 10, .period = 10s, .name = "r"});
  CHECK(rate->snapshot().available == 10);
  for (int i = 0; i != 4; ++i) passes(*rate, at(0s));
  CHECK(rate->snapshot().kind == "rate_limit");
  CHECK(rate->snapshot().name == "r");
  CHECK(rate->snapshot().available == 6);
  CHECK(rate->snapshot().limit == 10);
  const auto places = planb::concurrency_limit({.limit = 2});
  const Admission in = places->admit(at(0s));
  CHECK(places->snapshot().kind == "concurrency_limit");
  CHECK(places->snapshot().available == 1);
  CHECK(planb::retry_budget()->snapshot().available == 10);
  CHECK(planb::retry_budget()->snapshot().kind == "retry_budget");
}

TEST_CASE("after a reset a rate limit shows what it has by the times that come then", "[rate_limit]") {
  const std::optional<TimePoint> reset_at = GENERATE(std::optional<TimePoint>(), std::optional<TimePoint>(at(0s)));
  RateLimit limit({.permits = 10, .period = 10s});
  CHECK(passes(limit, at(1h)));
  limit.reset(reset_at);  // another clock, say that of the next test
  CHECK(limit.snapshot().available == 10);
  for (int i = 0; i != 4; ++i) CHECK(passes(limit, at(1s)));
  CHECK(limit.snapshot().available == 6);
}
