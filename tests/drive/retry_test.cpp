// retry(): the engine for one resource.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "results.hpp"

#if __has_include(<tl/expected.hpp>)
#include <tl/expected.hpp>
#endif

using namespace std::chrono_literals;
using planb::Attempt;
using planb::Cause;
using planb::FailureStyle;
using planb::retry;
using results::Fault;

namespace {

// A callable that fails `failures` times with Fault{1}, Fault{2}, ... and then gives the number of its calls.
struct Flaky {
  int failures;
  int calls = 0;

  int operator()() {
    if (++calls <= failures) throw Fault{calls};
    return calls;
  }
};

}  // namespace

TEST_CASE("retry() calls until it succeeds", "[retry]") {
  const auto failures = GENERATE(0, 1, 2);
  Flaky flaky{failures};
  CHECK(retry({.attempts = 3}, flaky) == failures + 1);
  CHECK(flaky.calls == failures + 1);
}

TEST_CASE("retry() makes exactly as many attempts as it is told, in every style", "[retry][field-1]") {
  const auto attempts = GENERATE(1, 2, 4);
  SECTION("by default the last error comes back as itself") {
    Flaky flaky{100};
    try {
      retry({.attempts = attempts}, flaky);
      FAIL("nothing was thrown");
    } catch (const Fault& fault) {
      CHECK(fault.id == attempts);
    }
    CHECK(flaky.calls == attempts);
  }
  SECTION("original style") {
    Flaky flaky{100};
    CHECK_THROWS_AS(retry({.attempts = attempts}, flaky, {.failure = FailureStyle::original}), Fault);
    CHECK(flaky.calls == attempts);
  }
  SECTION("aggregate style") {
    Flaky flaky{100};
    CHECK_THROWS_AS(retry({.attempts = attempts}, flaky, {.failure = FailureStyle::aggregate}), planb::PlanExhausted);
    CHECK(flaky.calls == attempts);
  }
  SECTION("a returned error") {
    int calls = 0;
    const auto result = retry({.attempts = attempts}, [&]() -> results::Outcome<int, Fault> { return Fault{++calls}; });
    CHECK(result.error().id == attempts);
    CHECK(calls == attempts);
  }
}

TEST_CASE("without rules retry() makes one attempt", "[retry]") {
  Flaky flaky{100};
  CHECK_THROWS_AS(retry({}, flaky), Fault);
  CHECK(flaky.calls == 1);
}

TEST_CASE("retry() waits as its schedule says, and not after the last attempt", "[retry][field-4][field-5]") {
  planb::testing::VirtualClock clock;
  std::vector<planb::Duration> starts;
  const auto fn = [&] {
    starts.push_back(clock.elapsed());
    throw std::runtime_error("down");
  };
  CHECK_THROWS_AS(retry({.attempts = 4, .schedule = planb::exponential(100ms, 3)}, fn, {.clock = &clock}),
                  std::runtime_error);
  CHECK(starts == std::vector<planb::Duration>{0ms, 100ms, 400ms, 1300ms});
  CHECK(clock.waits() == 3);
  CHECK(clock.elapsed() == 1300ms);
}

TEST_CASE("retry() follows its schedule to its end where no attempts are given", "[retry]") {
  planb::testing::VirtualClock clock;
  Flaky flaky{100};
  CHECK_THROWS_AS(retry({.schedule = planb::recurs(4)}, flaky, {.clock = &clock}), Fault);
  CHECK(flaky.calls == 5);
}

TEST_CASE("retry() hands the attempt to a callable that takes it", "[retry]") {
  std::vector<std::string> seen;
  const auto fn = [&](const Attempt& a) {
    seen.push_back(std::to_string(a.attempt) + " " + std::to_string(a.step_attempt) + " " +
                   std::to_string(a.step_index) + " [" + std::string(a.step_name) + "] " +
                   (a.previous() != nullptr ? a.previous()->message() : "nothing"));
    if (a.attempt < 3) throw std::runtime_error("failure " + std::to_string(a.attempt));
    return a.attempt;
  };
  const std::vector<std::string> expected{"1 1 0 [] nothing", "2 2 0 [] failure 1", "3 3 0 [] failure 2"};
  SECTION("without options") { CHECK(retry({.attempts = 3}, fn) == 3); }
  SECTION("with options") { CHECK(retry({.attempts = 3}, fn, {.seed = 1}) == 3); }
  CHECK(seen == expected);
}

TEST_CASE("retry() takes what run_with_plan takes", "[retry]") {
  struct Functor {
    const char* operator()() & { return "lvalue"; }
    const char* operator()() && { return "rvalue"; }
  };
  CHECK(retry({}, Functor()) == std::string("lvalue"));
  CHECK(retry({}, std::function<int()>([] { return 1; })) == 1);
  CHECK(*retry({}, [] { return std::make_unique<int>(2); }) == 2);
  int outside = 0;
  CHECK(&retry({}, [&]() -> int& { return outside; }) == &outside);
  retry({}, [&] { ++outside; });
  CHECK(outside == 1);
  STATIC_REQUIRE(std::is_void_v<decltype(retry({}, [] {}))>);
  Flaky flaky{1};
  CHECK(retry({.attempts = 2}, std::ref(flaky)) == 2);
  CHECK(flaky.calls == 2);
  CHECK(retry({.attempts = 3}, planb::accepting([&] { return ++outside; }, [](int n) { return n == 3; })) == 3);
  CHECK_THROWS_AS(retry({.attempts = 3}, planb::accepting([&] { return ++outside; }, [](int) { return false; })),
                  planb::RejectedValue);
  CHECK(outside == 6);
}

TEST_CASE("retry() asks its predicate and its classifier with each error, in order", "[retry][field-26]") {
  std::vector<std::string> asked;
  planb::RetryPolicy policy{.attempts = 5,
                            .retry_while =
                                [&](const Fault& fault) {
                                  asked.push_back("retry " + std::to_string(fault.id));
                                  return fault.id < 3;
                                },
                            .classify =
                                [&](const Cause& cause) {
                                  asked.push_back("classify " + std::to_string(cause.get_if<Fault>()->id));
                                  return planb::Verdict();
                                }};
  Flaky flaky{100};
  CHECK_THROWS_AS(retry(policy, flaky), Fault);
  CHECK(flaky.calls == 3);
  CHECK(asked == std::vector<std::string>{"classify 1", "retry 1", "classify 2", "retry 2", "classify 3", "retry 3"});
}

TEST_CASE("retry() reads the thrown types that its rules name", "[retry]") {
  struct Busy {
    int status = 503;
  };
  struct Gone {
    int status = 410;
  };
  struct Other {};
  struct Judge {  // as a ready-made classifier over several types would do it
    static planb::detail::NamedErrors named_errors() { return {planb::detail::error_ops_of<Busy, Gone>, 2}; }
    planb::Verdict operator()(const Cause& cause) const {
      statuses->push_back(cause.status().value_or(0));
      return {};
    }
    std::vector<int>* statuses;
  };
  std::vector<int> statuses;
  int calls = 0;
  const auto fn = [&] {
    switch (++calls) {
      case 1: throw Busy();
      case 2: throw Gone();
      default: return calls;
    }
  };
  SECTION("in a classifier alone") {
    CHECK(retry({.attempts = 3, .classify = Judge{&statuses}}, fn) == 3);
    CHECK(statuses == std::vector<int>{503, 410});
  }
  SECTION("in a predicate and a classifier") {
    CHECK_THROWS_AS(
        retry({.attempts = 3, .retry_while = [](const Other&) { return true; }, .classify = Judge{&statuses}}, fn),
        Busy);
    CHECK(statuses == std::vector<int>{503});
  }
}

TEST_CASE("retry() ends as a plan does", "[retry]") {
  planb::testing::VirtualClock clock;
  const auto slow = [&] {
    clock.advance(1s);
    throw Fault{1};
  };
  CHECK_THROWS_AS(retry({.attempts = planb::unlimited}, slow, {.budget = 3500ms, .clock = &clock}),
                  planb::DeadlineExceeded);
  CHECK(clock.elapsed() == 4s);
#if PLANB_HAS_STOP_TOKEN
  std::stop_source stop;
  stop.request_stop();
  Flaky flaky{0};
  CHECK_THROWS_AS(retry({}, flaky, {.stop = stop.get_token()}), planb::PlanInterrupted);
  CHECK(flaky.calls == 0);
#endif
  int calls = 0;
  CHECK_THROWS_AS(retry({.attempts = 5},
                        [&] {
                          ++calls;
                          throw planb::Defect("a bug");
                        }),
                  planb::Defect);
  CHECK(calls == 1);
}

TEST_CASE("retry() honours max_wait and timeout", "[retry]") {
  planb::testing::VirtualClock clock;
  Flaky flaky{100};
  CHECK_THROWS_AS(
      retry({.attempts = 3, .schedule = planb::delays({1s, 10s}), .max_wait = 5s}, flaky, {.clock = &clock}), Fault);
  CHECK(flaky.calls == 2);

  std::vector<planb::Duration> timeouts;
  const auto fn = [&](const Attempt& a) {
    timeouts.push_back(a.timeout().value());
    clock.advance(300ms);
    timeouts.push_back(a.timeout().value());
    if (a.attempt < 2) throw Fault{1};
  };
  SECTION("without options the real clock counts") {
    std::optional<planb::Duration> left;
    retry({.timeout = 1h}, [&](const Attempt& a) { left = a.timeout(); });
    REQUIRE(left.has_value());
    CHECK(*left <= 1h);
    CHECK(*left > 59min);
  }
  SECTION("each attempt anew") {
    retry({.attempts = 2, .timeout = 1s}, fn, {.clock = &clock});
    CHECK(timeouts == std::vector<planb::Duration>{1s, 700ms, 1s, 700ms});
  }
}

TEST_CASE("retry() sets the metadata and tells its events", "[retry]") {
  const planb::testing::AttemptLog log;
  std::vector<planb::Metadata> seen;
  const int answer = retry({.attempts = 2},
                           [&] {
                             seen.push_back(planb::CurrentMetadata::get());
                             if (seen.size() == 1) throw planb::ProviderError(503, "busy");
                             return 5;
                           },
                           {.on_event = log});
  CHECK(answer == 5);
  CHECK(seen == std::vector<planb::Metadata>{{1, 0}, {2, 0}});
  CHECK(log.lines() == std::vector<std::string>{"AttemptStart #1 step=0", "AttemptFailure #1 step=0 503 busy, retry",
                                                "AttemptStart #2 step=0", "AttemptSuccess #2 step=0"});
}

TEST_CASE("retry() refuses the rules that a plan refuses, before any call", "[retry]") {
  Flaky flaky{0};
  const auto message = [&](const planb::RetryPolicy& policy) -> std::string {
    try {
      retry(policy, flaky);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "not refused";
  };
  CHECK(message({.attempts = 0}).find("planb: retry: `attempts` is 0") == 0);
  CHECK(message({.attempts = -1}).find("planb: retry: `attempts` is -1") == 0);
  CHECK(message({.schedule = planb::spaced(1s)}).find("planb: retry: the schedule never ends") == 0);
  CHECK(message({.max_wait = -1s}).find("planb: retry: `max_wait`") == 0);
  CHECK(message({.timeout = 0s}).find("planb: retry: `timeout`") == 0);
  CHECK_THROWS_AS(retry({.attempts = 0}, flaky, {.seed = 1}), std::invalid_argument);
  CHECK(flaky.calls == 0);
  CHECK(message({.attempts = planb::unlimited, .schedule = planb::spaced(1s)}) == "not refused");
}

TEST_CASE("a policy is used as often as wanted, and kept as a value", "[retry]") {
  const planb::RetryPolicy policy{.attempts = 3, .schedule = planb::spaced(10ms)};
  planb::testing::VirtualClock clock;
  for (int i = 0; i < 3; ++i) {
    Flaky flaky{2};
    CHECK(retry(policy, flaky, {.clock = &clock}) == 3);
  }
  CHECK(clock.elapsed() == 60ms);
}

TEST_CASE("retry() inside retry() multiplies, and restores the metadata", "[retry][field-2]") {
  int calls = 0;
  std::vector<planb::Metadata> seen;
  const auto outer = [&] {
    seen.push_back(planb::CurrentMetadata::get());
    try {
      retry({.attempts = 3}, [&] {
        ++calls;
        seen.push_back(planb::CurrentMetadata::get());
        throw Fault{calls};
      });
    } catch (const Fault&) {
      seen.push_back(planb::CurrentMetadata::get());
      throw;
    }
  };
  CHECK_THROWS_AS(retry({.attempts = 2}, outer), Fault);
  CHECK(calls == 6);
  CHECK(seen ==
        std::vector<planb::Metadata>{{1, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 0}, {2, 0}, {1, 0}, {2, 0}, {3, 0}, {2, 0}});
  CHECK(planb::CurrentMetadata::get() == planb::Metadata{});
}

#if __has_include(<tl/expected.hpp>)
TEST_CASE("retry() gives expected-likes back in their own type", "[retry]") {
  using R = tl::expected<int, Fault>;
  int calls = 0;
  const auto fn = [&]() -> R {
    if (++calls < 3) return tl::unexpected(Fault{calls});
    return calls;
  };
  CHECK(*retry({.attempts = 3}, fn) == 3);
  calls = 0;
  CHECK(retry({.attempts = 2}, fn).error().id == 2);

  // In its own default style, the original one, a thrown error comes back as itself.
  CHECK_THROWS_AS(retry({.attempts = 2}, []() -> R { throw std::runtime_error("down"); }), std::runtime_error);
}
#endif
