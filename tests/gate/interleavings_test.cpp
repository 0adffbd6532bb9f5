// All interleavings of two and three threads over the library's own code, with atomics and mutexes that let others go
// on.
#include "interleavings.hpp"

#define PLANB_TEST_ATOMICS interleavings
#include <planb/gates.hpp>

#include "catch.hpp"

#include <planb/error/cause.hpp>
#include <planb/error/provider_error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace {

using namespace std::chrono_literals;
using interleavings::Explorer;
using planb::Admission;
using planb::Cause;
using planb::CircuitBreaker;
using planb::CircuitSnapshot;
using planb::CircuitState;
using planb::Duration;
using planb::TimePoint;

constexpr TimePoint at(Duration since_start) { return TimePoint{since_start}; }

// What holds of a breaker whenever nobody is inside it.
bool consistent(const CircuitBreaker& breaker) {
  const CircuitSnapshot seen = breaker.snapshot();
  const bool clean = seen.state == CircuitState::closed && seen.counts.consecutive_failures == 0;
  return (breaker.pass() != 0) == clean;
}

}  // namespace

TEST_CASE("the explorer finds a lost update, and goes through all interleavings") {
  std::optional<interleavings::Atomic<int>> counter;
  int lost = 0;
  const auto add = [&] { counter->store(counter->load() + 1); };
  const std::size_t all = Explorer().run(
      [&] {
        counter.emplace(0);
        return Explorer::Threads{add, add};
      },
      [&] { lost += counter->load() != 2 ? 1 : 0; });
  CHECK(lost > 0);
  CHECK(all == 4);  // loads in any order: only that of loads and stores matters
}

TEST_CASE("a failure and successes at once: a breaker that one failure opens is open afterwards", "[interleavings]") {
  std::unique_ptr<CircuitBreaker> breaker;
  std::size_t wrong = 0;
  const Cause cause = Cause::timed_out();
  const auto fails = [&] {
    Admission admission = breaker->admit(at(0s));
    if (admission.permit) admission.permit->failed(cause, at(1s));
  };
  const auto succeeds = [&] {
    Admission admission = breaker->admit(at(0s));
    if (admission.permit) admission.permit->succeeded(at(1s));
  };
  const std::size_t all = Explorer().run(
      [&] {
        breaker = std::make_unique<CircuitBreaker>(planb::CircuitBreakerOptions{.failure_threshold = 1});
        return Explorer::Threads{fails, succeeds, succeeds};
      },
      [&] { wrong += breaker->state() == CircuitState::open && consistent(*breaker) ? 0 : 1; });
  CHECK(wrong == 0);
  CHECK(all >= 8);
}

TEST_CASE("failures, a success and a reset at once leave the word and the pass in agreement", "[interleavings]") {
  std::unique_ptr<CircuitBreaker> breaker;
  std::size_t wrong = 0;
  const Cause cause = Cause::timed_out();
  const auto fails = [&] {
    Admission admission = breaker->admit(at(0s));
    if (admission.permit) admission.permit->failed(cause, at(1s));
  };
  const auto succeeds = [&] {
    Admission admission = breaker->admit(at(0s));
    if (admission.permit) admission.permit->succeeded(at(1s));
  };
  const auto resets = [&] { breaker->reset(at(2s)); };
  for (const bool with_reset : {false, true}) {
    const std::size_t all = Explorer().run(
        [&] {
          breaker = std::make_unique<CircuitBreaker>(planb::CircuitBreakerOptions{.failure_threshold = 3});
          return with_reset ? Explorer::Threads{fails, fails, resets} : Explorer::Threads{fails, fails, succeeds};
        },
        [&] {
          const CircuitSnapshot seen = breaker->snapshot();
          const bool possible = seen.state == CircuitState::closed && seen.counts.consecutive_failures <= 2;
          wrong += possible && consistent(*breaker) ? 0 : 1;
        });
    CHECK(all >= 8);
  }
  CHECK(wrong == 0);
}

TEST_CASE("threads that arrive at the end of the open period: probes stay bounded, and no slot is lost",
          "[interleavings]") {
  std::unique_ptr<CircuitBreaker> breaker;
  const Cause cause = Cause::timed_out();
  for (const int probes : {1, 2}) {
    for (const int threads : {2, 3}) {
      std::optional<interleavings::Atomic<int>> out;
      int most = 0;
      std::size_t wrong = 0;
      // The first fails, the second is dropped, the third succeeds.
      const auto arrives = [&](int which) {
        return [&, which] {
          Admission admission = breaker->admit(at(10s));
          if (!admission.permit) return;
          most = (std::max)(most, out->fetch_add(1) + 1);
          out->fetch_sub(1);
          if (which == 0) admission.permit->failed(cause, at(10s));
          if (which == 2) admission.permit->succeeded(at(10s));
        };
      };
      const std::size_t all = Explorer().run(
          [&] {
            breaker = std::make_unique<CircuitBreaker>(
                planb::CircuitBreakerOptions{.failure_threshold = 1, .open_for = 10s, .half_open_probes = probes});
            breaker->force_open(at(10s), at(0s));
            out.emplace(0);
            Explorer::Threads bodies{arrives(0), arrives(1)};
            if (threads == 3) bodies.push_back(arrives(2));
            return bodies;
          },
          [&] {
            const CircuitSnapshot seen = breaker->snapshot();
            wrong += seen.probes_running == 0 && consistent(*breaker) ? 0 : 1;
            // Whatever became of them, the breaker can still close.
            breaker->reset();
            breaker->force_open(at(10s), at(0s));
            for (int i = 0; i != probes; ++i) {
              Admission probe = breaker->admit(at(10s));
              if (probe.permit) probe.permit->succeeded(at(10s));
            }
            wrong += breaker->state() == CircuitState::closed ? 0 : 1;
          });
      CAPTURE(probes, threads, all);
      CHECK(wrong == 0);
      CHECK(all >= 8);
      // A thread that was let through after the breaker had closed is no probe.
      if (threads == 2) CHECK(most == probes);
    }
  }
}

TEST_CASE("a reset among outcomes that a ratio counts: none of an earlier generation is in the window afterwards",
          "[interleavings]") {
  std::unique_ptr<CircuitBreaker> breaker;
  std::optional<planb::Permit> permits[2];
  std::size_t wrong = 0;
  const Cause cause = Cause::timed_out();
  const auto fails = [&] { permits[0]->failed(cause, at(1s)); };
  const auto succeeds = [&] { permits[1]->succeeded(at(1s)); };
  const auto resets = [&] { breaker->reset(at(2s)); };
  for (const bool slow : {false, true}) {
    for (const int minimum : {1, 2}) {
      const std::size_t all = Explorer().run(
          [&] {
            for (auto& permit : permits) permit.reset();
            planb::CircuitBreakerOptions options{.failure_ratio = 0.5, .minimum_calls = minimum};
            if (slow) options.slow_call = 1s;
            breaker = std::make_unique<CircuitBreaker>(options);
            for (auto& permit : permits) permit.emplace(std::move(*breaker->admit(at(0s)).permit));
            return Explorer::Threads{fails, succeeds, resets};
          },
          [&] {
            const CircuitSnapshot seen = breaker->snapshot();
            wrong += seen.state == CircuitState::closed && seen.counts == planb::CircuitCounts{} ? 0 : 1;
            // What comes now is counted as in a new one.
            breaker->admit(at(3s)).permit->succeeded(at(3s));
            wrong += breaker->snapshot().counts.calls == 1 ? 0 : 1;
          });
      CHECK(all >= 8);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a probe's first output, its late failure and threads that arrive: it is closed afterwards",
          "[interleavings]") {
  std::unique_ptr<CircuitBreaker> breaker;
  std::optional<planb::Permit> probe;
  const Cause cause = Cause::timed_out();
  const auto streams = [&] {
    probe->first_output(at(11s));
    probe->failed(cause, at(12s));
  };
  const auto arrives = [&] {
    Admission admission = breaker->admit(at(11s));
    if (admission.permit) admission.permit->succeeded(at(11s));
  };
  for (const bool two_more : {false, true}) {
    std::size_t wrong = 0;
    const std::size_t all = Explorer().run(
        [&] {
          probe.reset();
          breaker =
              std::make_unique<CircuitBreaker>(planb::CircuitBreakerOptions{.failure_threshold = 1, .open_for = 10s});
          breaker->force_open(at(10s), at(0s));
          probe.emplace(std::move(*breaker->admit(at(10s)).permit));
          return two_more ? Explorer::Threads{streams, arrives, arrives} : Explorer::Threads{streams, arrives};
        },
        [&] {
          const CircuitSnapshot seen = breaker->snapshot();
          wrong += seen.state == CircuitState::closed && seen.probes_running == 0 && consistent(*breaker) ? 0 : 1;
        });
    CHECK(wrong == 0);
    CHECK(all >= 3);
  }
}

TEST_CASE("all or none: threads that share a place and a retry take neither without the other", "[interleavings]") {
  std::shared_ptr<planb::ConcurrencyLimit> places;
  std::shared_ptr<planb::RetryBudget> budget;
  std::shared_ptr<planb::AllOf> both;
  const Cause cause = Cause::timed_out();
  for (const int threads : {2, 3}) {
    std::optional<interleavings::Atomic<int>> inside;
    int most = 0;
    int used = 0;
    std::size_t wrong = 0;
    const auto tries = [&](bool begins) {
      return [&, begins] {
        Admission admission = both->admit({at(0s), 2, 2});
        if (!admission.permit) return;
        most = (std::max)(most, inside->fetch_add(1) + 1);
        inside->fetch_sub(1);
        if (!begins) return;
        ++used;
        admission.permit->failed(cause, at(0s));
      };
    };
    const std::size_t all = Explorer().run(
        [&] {
          places = planb::concurrency_limit({.limit = 1});
          budget = planb::retry_budget({.ratio = 0, .burst = 1});
          both = planb::all_of(places, budget);
          inside.emplace(0);
          used = 0;
          Explorer::Threads bodies{tries(true), tries(false)};
          if (threads == 3) bodies.push_back(tries(true));
          return bodies;
        },
        [&] {
          wrong += places->running() == 0 ? 0 : 1;
          wrong += budget->snapshot().available == 1 - used ? 0 : 1;
        });
    CAPTURE(threads, all);
    CHECK(wrong == 0);
    CHECK(most == 1);
    CHECK(all >= 8);
  }
}
