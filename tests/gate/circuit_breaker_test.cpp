#include <planb/gate/circuit_breaker.hpp>
#include <planb/gate/detail/outcome_window.hpp>

#include "catch.hpp"

#include <planb/error/cause.hpp>
#include <planb/error/error_traits.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#endif

namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using planb::Admission;
using planb::Cause;
using planb::CauseKind;
using planb::CircuitBreaker;
using planb::CircuitBreakerOptions;
using planb::CircuitState;
using planb::Duration;
using planb::Permit;
using planb::ProviderError;
using planb::TimePoint;

constexpr TimePoint at(Duration since_start) { return TimePoint{since_start}; }
constexpr TimePoint never = (TimePoint::max)();

Cause failure(int status = 503) { return Cause::of(ProviderError(status, "unavailable")); }

// Small, so that causes hold it in place and copy it.
struct NoCopy {
  NoCopy() = default;
  NoCopy(NoCopy&&) noexcept = default;
  NoCopy(const NoCopy&) { throw std::runtime_error("no copy"); }
};

// Calls something while it is asked for its wait hint.
struct Calling {
  std::function<void()>* call;
  [[nodiscard]] Duration retry_after() const {
    (*call)();
    return 1min;
  }
};

Cause of_kind(CauseKind kind) {
  Cause cause = failure();
  planb::detail::CauseAccess::set_kind(cause, kind);
  return cause;
}

// One call through the breaker, at one moment. False: it was refused.
bool fails(CircuitBreaker& breaker, TimePoint now, const Cause& cause = failure()) {
  Admission admission = breaker.admit(now);
  if (admission.permit) admission.permit->failed(cause, now);
  return admission.permit.has_value();
}
bool succeeds(CircuitBreaker& breaker, TimePoint now) {
  Admission admission = breaker.admit(now);
  if (admission.permit) admission.permit->succeeded(now);
  return admission.permit.has_value();
}
bool is_dropped(CircuitBreaker& breaker, TimePoint now) { return breaker.admit(now).permit.has_value(); }

// A permit, where there must be one.
Permit taken(CircuitBreaker& breaker, TimePoint now) {
  Admission admission = breaker.admit(now);
  REQUIRE(admission.permit);
  return std::move(*admission.permit);
}

// When a refusal says that it opens; nothing where a permit was given (and dropped).
std::optional<TimePoint> refusal(CircuitBreaker& breaker, TimePoint now) {
  const Admission admission = breaker.admit(now);
  if (admission.permit) return std::nullopt;
  return admission.refusal->opens_at;
}

using Changes = std::vector<std::string>;

std::string change(CircuitState from, CircuitState to, TimePoint when) {
  return std::string(to_string(from)) + " to " + to_string(to) + " at " + std::to_string(when.time_since_epoch() / 1s) +
         " s";
}

}  // namespace

static_assert(TimePoint::clock::is_steady, "a change of the wall clock changes nothing");
static_assert(!std::is_copy_constructible_v<CircuitBreaker> && !std::is_move_constructible_v<CircuitBreaker>);
static_assert(noexcept(std::declval<const CircuitBreaker&>().state()));

TEST_CASE("a breaker opens after so many failures in a row") {
  CircuitBreaker breaker({.failure_threshold = 3, .open_for = 10s});
  CHECK(breaker.state() == CircuitState::closed);
  CHECK(fails(breaker, at(1s)));
  CHECK(fails(breaker, at(2s)));
  CHECK(breaker.state() == CircuitState::closed);
  CHECK(fails(breaker, at(3s)));
  CHECK(breaker.state() == CircuitState::open);
}

TEST_CASE("without options, five failures in a row open it for thirty seconds, and one probe decides") {
  CircuitBreaker breaker;
  for (int i = 0; i != 4; ++i) REQUIRE(fails(breaker, at(0s)));
  CHECK(breaker.state() == CircuitState::closed);
  CHECK(fails(breaker, at(0s)));
  CHECK(breaker.state() == CircuitState::open);
  CHECK(refusal(breaker, at(30s) - 1ns) == at(30s));
  CHECK(succeeds(breaker, at(30s)));
  CHECK(breaker.state() == CircuitState::closed);
}

TEST_CASE("a success ends a row of failures") {
  CircuitBreaker breaker({.failure_threshold = 2});
  for (int i = 0; i != 10; ++i) {
    REQUIRE(fails(breaker, at(i * 2s)));
    REQUIRE(succeeds(breaker, at(i * 2s + 1s)));
  }
  CHECK(breaker.state() == CircuitState::closed);
  CHECK(fails(breaker, at(30s)));
  CHECK(fails(breaker, at(31s)));
  CHECK(breaker.state() == CircuitState::open);
}

TEST_CASE("an open breaker refuses at once, and says when it may be tried again") {
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s});
  CHECK(breaker.opens_at(at(3s)) == at(3s));
  REQUIRE(fails(breaker, at(5s)));
  CHECK(refusal(breaker, at(5s)) == at(15s));
  CHECK(refusal(breaker, at(14s)) == at(15s));
  CHECK(breaker.opens_at(at(6s)) == at(15s));
  CHECK(breaker.opens_at(at(20s)) == at(20s));
}

TEST_CASE("asking for the state or the opening time changes nothing") {
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s});
  REQUIRE(fails(breaker, at(0s)));
  CHECK(breaker.state(at(9s)) == CircuitState::open);
  CHECK(breaker.state(at(10s)) == CircuitState::half_open);
  CHECK(breaker.opens_at(at(10s)) == at(10s));
  CHECK(breaker.state() == CircuitState::open);  // until somebody asks for a permit
  const Permit probe = taken(breaker, at(10s));
  CHECK(breaker.state() == CircuitState::half_open);
  CHECK(breaker.state(at(10s)) == CircuitState::half_open);
}

// --- Ratio over a window
// ----------------------------------------------------------------------------------------------

TEST_CASE("a ratio opens nothing below its minimum volume", "[field-42]") {
  CircuitBreaker breaker({.failure_ratio = 0.5, .minimum_calls = 4});
  CHECK(fails(breaker, at(1s)));  // one out of one
  CHECK(fails(breaker, at(2s)));
  CHECK(fails(breaker, at(3s)));
  CHECK(breaker.state() == CircuitState::closed);
  CHECK(fails(breaker, at(4s)));
  CHECK(breaker.state() == CircuitState::open);
}

TEST_CASE("a ratio is reached exactly, not nearly", "[field-42]") {
  struct Case {
    double ratio;
    int successes;
    int failures;  // the last of which opens it
  };
  const Case cases[] = {{0.5, 5, 5}, {0.07, 93, 7}, {0.1, 9, 1}, {0.7, 3, 7}, {1.0 / 3, 20, 10}, {0.29, 71, 29}};
  for (const Case& c : cases) {
    CAPTURE(c.ratio, c.successes, c.failures);
    CircuitBreaker breaker({.failure_ratio = c.ratio, .minimum_calls = c.successes + c.failures});
    for (int i = 0; i != c.successes; ++i) REQUIRE(succeeds(breaker, at(1s)));
    for (int i = 1; i != c.failures; ++i) REQUIRE(fails(breaker, at(1s)));
    CHECK(breaker.state() == CircuitState::closed);
    CHECK(fails(breaker, at(1s)));
    CHECK(breaker.state() == CircuitState::open);
  }
}

TEST_CASE("a ratio of one is reached where nothing succeeds, and not where one call does") {
  CircuitBreaker breaker({.failure_ratio = 1.0, .minimum_calls = 3});
  CHECK(succeeds(breaker, at(0s)));
  for (int i = 0; i != 100; ++i) REQUIRE(fails(breaker, at(1s)));
  CHECK(breaker.state() == CircuitState::closed);
}

TEST_CASE("a ratio looks back over its window and no further") {
  CircuitBreaker breaker({.failure_ratio = 0.5, .minimum_calls = 4, .window = 10s});

  SECTION("failures that are older do not count") {
    for (int i = 0; i != 3; ++i) REQUIRE(fails(breaker, at(0s)));
    CHECK(fails(breaker, at(10s)));
    CHECK(breaker.state() == CircuitState::closed);
    for (int i = 0; i != 2; ++i) REQUIRE(fails(breaker, at(11s)));
    CHECK(breaker.state() == CircuitState::closed);
    CHECK(fails(breaker, at(12s)));
    CHECK(breaker.state() == CircuitState::open);
  }
  SECTION("those within nine tenths of it do") {
    for (int i = 0; i != 3; ++i) REQUIRE(fails(breaker, at(0s)));
    CHECK(fails(breaker, at(9s)));
    CHECK(breaker.state() == CircuitState::open);
  }
  SECTION("successes that are older do not count either") {
    for (int i = 0; i != 100; ++i) REQUIRE(succeeds(breaker, at(0s)));
    for (int i = 0; i != 3; ++i) REQUIRE(fails(breaker, at(9s)));
    CHECK(breaker.state() == CircuitState::closed);
    CHECK(fails(breaker, at(10s)));
    CHECK(breaker.state() == CircuitState::open);
  }
  SECTION("nor does what was there whole windows ago") {
    for (int i = 0; i != 3; ++i) REQUIRE(fails(breaker, at(0s)));
    CHECK(fails(breaker, at(100s)));
    CHECK(fails(breaker, at(1'000'000s)));
    CHECK(breaker.state() == CircuitState::closed);
  }
}

TEST_CASE("a steady mixture below the ratio never opens the breaker, one above it does") {
  CircuitBreaker breaker({.failure_ratio = 0.5, .minimum_calls = 10, .window = 10s});
  TimePoint now = at(-1h);  // also before the clock's epoch
  for (int i = 0; i != 1'000; ++i, now += 100ms) {
    REQUIRE(succeeds(breaker, now));
    REQUIRE((i % 2 == 0 ? fails(breaker, now) : succeeds(breaker, now)));  // one in four
  }
  CHECK(breaker.state() == CircuitState::closed);
  int passed = 0;
  for (; passed != 200 && breaker.state() == CircuitState::closed; ++passed, now += 100ms) {
    REQUIRE(fails(breaker, now));
  }
  CHECK(passed > 20);   // what had succeeded was not forgotten
  CHECK(passed < 100);  // nor remembered for ever
}

TEST_CASE("a failure that comes late, with an earlier time, counts where the window still reaches it") {
  CircuitBreaker breaker({.failure_ratio = 1.0, .minimum_calls = 3, .window = 10s});
  CHECK(fails(breaker, at(20s)));
  CHECK(fails(breaker, at(5s)));  // out of the window: not counted
  CHECK(fails(breaker, at(18s)));
  CHECK(breaker.state() == CircuitState::closed);
  CHECK(fails(breaker, at(20s)));
  CHECK(breaker.state() == CircuitState::open);
}

TEST_CASE("a row of failures and a ratio may be given together: whichever comes first") {
  const CircuitBreakerOptions options{.failure_threshold = 5, .failure_ratio = 0.5, .minimum_calls = 8};
  CircuitBreaker by_row(options);
  for (int i = 0; i != 3; ++i) REQUIRE(fails(by_row, at(1s)));
  CHECK(by_row.state() == CircuitState::closed);
  for (int i = 0; i != 2; ++i) REQUIRE(fails(by_row, at(1s)));
  CHECK(by_row.state() == CircuitState::open);

  CircuitBreaker by_ratio(options);
  for (int i = 0; i != 4; ++i) {
    REQUIRE(succeeds(by_ratio, at(1s)));
    REQUIRE(fails(by_ratio, at(1s)));
  }
  CHECK(by_ratio.state() == CircuitState::open);
}

TEST_CASE("with a ratio alone, no row of failures opens it") {
  CircuitBreaker breaker({.failure_ratio = 0.9, .minimum_calls = 100});
  for (int i = 0; i != 50; ++i) REQUIRE(fails(breaker, at(1s)));
  CHECK(breaker.state() == CircuitState::closed);
}

TEST_CASE("a window begins afresh when the breaker has closed") {
  CircuitBreaker breaker({.failure_ratio = 0.5, .minimum_calls = 4, .window = 1h, .open_for = 1s});
  for (int i = 0; i != 4; ++i) REQUIRE(fails(breaker, at(0s)));
  REQUIRE(breaker.state() == CircuitState::open);
  CHECK(succeeds(breaker, at(1s)));
  for (int i = 0; i != 3; ++i) REQUIRE(fails(breaker, at(2s)));
  CHECK(breaker.state() == CircuitState::closed);
}

// --- Half-open
// --------------------------------------------------------------------------------------------------------

TEST_CASE("half-open, exactly so many calls pass at once", "[field-41]") {
  const int probes = GENERATE(1, 2, 5);
  CAPTURE(probes);
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s, .half_open_probes = probes});
  REQUIRE(fails(breaker, at(0s)));
  std::vector<Permit> out;
  for (int i = 0; i != 20; ++i) {
    Admission admission = breaker.admit(at(10s));
    if (admission.permit) out.push_back(std::move(*admission.permit));
  }
  CHECK(out.size() == static_cast<std::size_t>(probes));
  CHECK(refusal(breaker, at(11s)) == at(20s));  // when the first of them has lasted as long as the open period
  CHECK(breaker.opens_at(at(11s)) == at(20s));
  out.pop_back();
  CHECK(breaker.opens_at(at(11s)) == at(11s));
  CHECK_FALSE(refusal(breaker, at(11s)));
}

TEST_CASE("a breaker that admits nothing now never says now, in any state") {
  const TimePoint now = GENERATE(at(-1h), at(0s), at(1h), never - 1ns, never);
  CAPTURE(now.time_since_epoch().count());
  const auto agree = [now](CircuitBreaker& breaker) {
    const TimePoint opens = breaker.opens_at(now);
    const std::optional<TimePoint> refused = refusal(breaker, now);
    CHECK(refused.has_value() == (opens > now || now == never));
    if (refused) CHECK(*refused == opens);
    return refused.has_value();
  };
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s, .half_open_probes = 2});
  if (now != never) CHECK_FALSE(agree(breaker));
  breaker.force_open();
  CHECK(agree(breaker));
  CHECK(breaker.state(now) == CircuitState::open);
  breaker.reset();
  if (now == never) return;
  breaker.force_open(now + 1ns);
  CHECK(agree(breaker));
  breaker.reset();
  breaker.force_open(now);
  CHECK_FALSE(agree(breaker));
  std::optional<Permit> first = taken(breaker, now);
  CHECK_FALSE(agree(breaker));
  Permit second = taken(breaker, now);
  CHECK(agree(breaker));
  first.reset();
  CHECK_FALSE(agree(breaker));
  second.succeeded(now);
  CHECK_FALSE(agree(breaker));
  first.emplace(taken(breaker, now));
  CHECK(agree(breaker));
  first->failed(failure(), now);
  CHECK(breaker.state() == CircuitState::open);
  CHECK(agree(breaker));
}

TEST_CASE("half-open, it closes when all probes have succeeded, and lets no more through until then", "[field-41]") {
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s, .half_open_probes = 3});
  REQUIRE(fails(breaker, at(0s)));
  Permit first = taken(breaker, at(10s));
  Permit second = taken(breaker, at(10s));
  first.succeeded(at(11s));
  second.succeeded(at(11s));
  CHECK(breaker.state() == CircuitState::half_open);
  Permit third = taken(breaker, at(12s));
  CHECK(refusal(breaker, at(12s)));  // three in all: two that have succeeded, and one that is out
  third.succeeded(at(13s));
  CHECK(breaker.state() == CircuitState::closed);
  CHECK_FALSE(refusal(breaker, at(13s)));
}

TEST_CASE("half-open, one counted failure opens it again for the next period") {
  std::vector<int> asked;
  CircuitBreaker breaker({.failure_threshold = 1,
                          .open_for =
                              [&asked](int openings) {
                                asked.push_back(openings);
                                return openings * 10s;
                              },
                          .half_open_probes = 2});
  REQUIRE(fails(breaker, at(0s)));
  CHECK(breaker.opens_at(at(0s)) == at(10s));
  Permit good = taken(breaker, at(10s));
  Permit bad = taken(breaker, at(10s));
  good.succeeded(at(11s));
  bad.failed(failure(), at(12s));
  CHECK(breaker.state() == CircuitState::open);
  CHECK(breaker.opens_at(at(12s)) == at(32s));
  CHECK(fails(breaker, at(32s)));
  CHECK(breaker.opens_at(at(32s)) == at(62s));
  CHECK(asked == std::vector{1, 2, 3});

  SECTION("the count begins again once it has closed") {
    CHECK(succeeds(breaker, at(62s)));
    CHECK(succeeds(breaker, at(62s)));
    REQUIRE(breaker.state() == CircuitState::closed);
    CHECK(fails(breaker, at(100s)));
    CHECK(breaker.opens_at(at(100s)) == at(110s));
  }
}

TEST_CASE("an open period may be a duration of any unit, or come from a function; a negative one is none") {
  using Minutes = std::chrono::duration<double, std::ratio<60>>;
  CircuitBreaker fraction({.failure_threshold = 1, .open_for = Minutes(0.5)});
  REQUIRE(fails(fraction, at(0s)));
  CHECK(fraction.opens_at(at(0s)) == at(30s));

  CircuitBreaker endless({.failure_threshold = 1, .open_for = Minutes(std::numeric_limits<double>::infinity())});
  REQUIRE(fails(endless, at(5s)));
  CHECK(endless.opens_at(at(5s)) == never);

  CircuitBreaker negative({.failure_threshold = 1, .open_for = [](int) { return -5s; }});
  REQUIRE(fails(negative, at(5s)));
  CHECK(negative.opens_at(at(5s)) == at(5s));
  CHECK(negative.state(at(5s)) == CircuitState::half_open);
}

TEST_CASE("an open period's function that throws leaves the breaker as it was") {
  bool broken = true;
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = [&broken](int) {
                            if (broken) throw std::runtime_error("no period");
                            return 10s;
                          }});
  CHECK_THROWS_AS(fails(breaker, at(0s)), std::runtime_error);
  CHECK(breaker.state() == CircuitState::closed);
  broken = false;
  CHECK(fails(breaker, at(0s)));
  CHECK(breaker.state() == CircuitState::open);
  broken = true;
  CHECK_THROWS_AS(fails(breaker, at(10s)), std::runtime_error);
  CHECK(breaker.state() == CircuitState::half_open);
  broken = false;
  CHECK(succeeds(breaker, at(11s)));  // the probe's slot was given back
  CHECK(breaker.state() == CircuitState::closed);
}

// --- A stream's first output
// ------------------------------------------------------------------------------------------

TEST_CASE("a probe's first output is its success, and its end is neither") {
  enum class End { success, failure, neutral, dropped };
  const End end = GENERATE(End::success, End::failure, End::neutral, End::dropped);
  const auto tell = [end](Permit permit, TimePoint now) {
    if (end == End::success) permit.succeeded(now);
    if (end == End::failure) permit.failed(failure(), now);
    if (end == End::neutral) permit.failed(of_kind(CauseKind::interrupted), now);
  };
  CAPTURE(static_cast<int>(end));
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s, .half_open_probes = 3});
  REQUIRE(fails(breaker, at(0s)));

  SECTION("while others are missing") {
    Permit stream = taken(breaker, at(10s));
    stream.first_output(at(11s));
    stream.first_output(at(11s));  // once
    CHECK(breaker.state() == CircuitState::half_open);
    tell(std::move(stream), at(12s));
    CHECK(breaker.state() == CircuitState::half_open);
    CHECK(succeeds(breaker, at(13s)));
    CHECK(breaker.state() == CircuitState::half_open);
    Permit last = taken(breaker, at(13s));
    CHECK(refusal(breaker, at(13s)) == at(23s));  // no slot was given back
    last.first_output(at(14s));
    CHECK(breaker.state() == CircuitState::closed);
  }
  SECTION("where it closes the breaker, what comes of the stream is of an earlier generation") {
    Permit stream = taken(breaker, at(10s));
    CHECK(succeeds(breaker, at(10s)));
    CHECK(succeeds(breaker, at(10s)));
    stream.first_output(at(11s));
    CHECK(breaker.state() == CircuitState::closed);
    tell(std::move(stream), at(12s));
    CHECK(breaker.state() == CircuitState::closed);
  }
  SECTION("after another probe has failed it is none") {
    Permit stream = taken(breaker, at(10s));
    REQUIRE(fails(breaker, at(11s)));
    stream.first_output(at(12s));
    CHECK(breaker.opens_at(at(12s)) == at(21s));
    Permit next = taken(breaker, at(21s));
    Permit other = taken(breaker, at(21s));
    stream.first_output(at(21s));  // the next generation's slots are not its own
    tell(std::move(stream), at(22s));
    CHECK_FALSE(refusal(breaker, at(22s)));
    next.succeeded(at(22s));
    other.succeeded(at(22s));
    CHECK(breaker.state() == CircuitState::half_open);
  }
}

TEST_CASE("for a closed breaker first output is nothing: the stream's end counts") {
  CircuitBreaker breaker({.failure_threshold = 2});
  REQUIRE(fails(breaker, at(0s)));
  Permit stream = taken(breaker, at(1s));
  stream.first_output(at(2s));
  stream.failed(failure(), at(3s));
  CHECK(breaker.state() == CircuitState::open);  // it did not end the row

  CircuitBreaker ratio({.failure_ratio = 0.5, .minimum_calls = 4});
  for (int i = 0; i != 4; ++i) {
    Permit permit = taken(ratio, at(0s));
    permit.first_output(at(0s));
    if (i < 2) permit.succeeded(at(0s));
  }
  REQUIRE(fails(ratio, at(0s)));
  CHECK(ratio.state() == CircuitState::closed);
  CHECK(fails(ratio, at(0s)));  // two of four
  CHECK(ratio.state() == CircuitState::open);
}

// --- What counts
// ------------------------------------------------------------------------------------------------------

TEST_CASE("errors, timeouts and refused values count; interruptions and defects do not", "[field-12]") {
  struct Case {
    CauseKind kind;
    bool counts;
  };
  const Case cases[] = {{CauseKind::error, true},
                        {CauseKind::timeout, true},
                        {CauseKind::rejected, true},
                        {CauseKind::interrupted, false},
                        {CauseKind::defect, false}};
  const bool with_predicate = GENERATE(false, true);
  for (const Case& c : cases) {
    CAPTURE(static_cast<int>(c.kind), with_predicate);
    CircuitBreakerOptions options{.failure_threshold = 1};
    if (with_predicate) options.counts_as_failure = [](const Cause&) { return true; };
    CircuitBreaker breaker(options);
    CHECK(fails(breaker, at(0s), of_kind(c.kind)));
    CHECK((breaker.state() == CircuitState::open) == c.counts);
  }
}

TEST_CASE("which failures count is a predicate, in every form that a plan takes") {
  const auto opened_by = [](planb::detail::ErrorPredicate counts, const Cause& cause) {
    CircuitBreaker breaker({.failure_threshold = 1, .counts_as_failure = std::move(counts)});
    REQUIRE(fails(breaker, at(0s), cause));
    return breaker.state() == CircuitState::open;
  };
  struct Local {
    bool outage;
  };
  const auto by_cause = [](const Cause& cause) { return cause.status().value_or(0) >= 500; };
  const auto by_type = [](const ProviderError& error) { return error.status >= 500; };
  CHECK(opened_by(by_cause, failure(503)));
  CHECK_FALSE(opened_by(by_cause, failure(400)));
  CHECK(opened_by(by_type, failure(503)));
  CHECK_FALSE(opened_by(by_type, failure(400)));
  CHECK_FALSE(opened_by(by_type, Cause::of(Local{true})));
  CHECK(opened_by(&Local::outage, Cause::of(Local{true})));
  CHECK_FALSE(opened_by(&Local::outage, Cause::of(Local{false})));
}

TEST_CASE("a failure that does not count is neutral: it neither ends a row nor adds to a ratio") {
  const auto outages = [](const Cause& cause) { return cause.status().value_or(0) >= 500; };
  CircuitBreaker row({.failure_threshold = 2, .counts_as_failure = outages});
  CHECK(fails(row, at(0s), failure(503)));
  CHECK(fails(row, at(0s), failure(400)));
  CHECK(fails(row, at(0s), failure(503)));
  CHECK(row.state() == CircuitState::open);

  CircuitBreaker ratio({.failure_ratio = 1.0, .minimum_calls = 2, .counts_as_failure = outages});
  CHECK(fails(ratio, at(0s), failure(503)));
  for (int i = 0; i != 10; ++i) REQUIRE(fails(ratio, at(0s), failure(400)));
  CHECK(ratio.state() == CircuitState::closed);
  CHECK(fails(ratio, at(0s), failure(503)));
  CHECK(ratio.state() == CircuitState::open);
}

TEST_CASE("a probe that ends neutral gives its slot back, and decides nothing", "[field-12]") {
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s, .counts_as_failure = [](const Cause& cause) {
                            return cause.status().value_or(0) >= 500;
                          }});
  REQUIRE(fails(breaker, at(0s)));
  for (int i = 0; i != 3; ++i) {
    CHECK(is_dropped(breaker, at(10s)));
    CHECK(breaker.state() == CircuitState::half_open);
    CHECK(fails(breaker, at(10s), failure(400)));
    CHECK(fails(breaker, at(10s), of_kind(CauseKind::interrupted)));
    CHECK(fails(breaker, at(10s), of_kind(CauseKind::defect)));
    CHECK(breaker.state() == CircuitState::half_open);
  }
  CHECK(succeeds(breaker, at(10s)));
  CHECK(breaker.state() == CircuitState::closed);
}

TEST_CASE("a predicate that throws: the exception goes on, and the probe's slot is given back") {
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s, .counts_as_failure = [](const ProviderError& error) {
                            if (error.status == 418) throw std::logic_error("no idea");
                            return true;
                          }});
  CHECK_THROWS_AS(fails(breaker, at(0s), failure(418)), std::logic_error);
  CHECK(breaker.state() == CircuitState::closed);
  REQUIRE(fails(breaker, at(0s)));
  for (int i = 0; i != 3; ++i) CHECK_THROWS_AS(fails(breaker, at(10s), failure(418)), std::logic_error);
  CHECK(breaker.state() == CircuitState::half_open);
  CHECK(succeeds(breaker, at(10s)));
  CHECK(breaker.state() == CircuitState::closed);
}

TEST_CASE("a predicate may use the breaker") {
  CircuitBreaker* self = nullptr;
  CircuitBreaker breaker({.failure_threshold = 1, .counts_as_failure = [&self](const Cause&) {
                            return self->state(at(0s)) == CircuitState::closed;
                          }});
  self = &breaker;
  CHECK(fails(breaker, at(0s)));
  CHECK(breaker.state() == CircuitState::open);
}

// --- Generations
// ------------------------------------------------------------------------------------------------------

TEST_CASE("a result of an earlier generation changes nothing", "[field-45]") {
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s});

  SECTION("a failure of a call from before it opened") {
    Permit late = taken(breaker, at(0s));
    Permit later = taken(breaker, at(0s));
    REQUIRE(fails(breaker, at(1s)));
    late.failed(failure(), at(5s));
    CHECK(breaker.opens_at(at(5s)) == at(11s));  // not longer
    Permit probe = taken(breaker, at(11s));
    later.failed(failure(), at(12s));
    CHECK(breaker.state() == CircuitState::half_open);
    probe.succeeded(at(13s));
    CHECK(breaker.state() == CircuitState::closed);
  }
  SECTION("a success of a call from before it opened") {
    Permit late = taken(breaker, at(0s));
    Permit later = taken(breaker, at(0s));
    REQUIRE(fails(breaker, at(1s)));
    late.succeeded(at(2s));
    CHECK(breaker.state() == CircuitState::open);
    const Permit probe = taken(breaker, at(11s));
    later.succeeded(at(12s));
    CHECK(breaker.state() == CircuitState::half_open);
  }
  SECTION("a permit that is dropped does not make room for another probe") {
    std::optional<Permit> late = taken(breaker, at(0s));
    REQUIRE(fails(breaker, at(1s)));
    const Permit probe = taken(breaker, at(11s));
    late.reset();
    CHECK(refusal(breaker, at(11s)));
  }
  SECTION("a call from before it closed again ends no row and adds to none") {
    CircuitBreaker two({.failure_threshold = 2, .open_for = 10s});
    Permit failing = taken(two, at(0s));
    Permit good = taken(two, at(0s));
    REQUIRE(fails(two, at(0s)));
    REQUIRE(fails(two, at(0s)));
    REQUIRE(succeeds(two, at(10s)));
    REQUIRE(two.state() == CircuitState::closed);
    failing.failed(failure(), at(11s));
    CHECK(fails(two, at(12s)));
    CHECK(two.state() == CircuitState::closed);
    good.succeeded(at(13s));
    CHECK(fails(two, at(14s)));
    CHECK(two.state() == CircuitState::open);
  }
  SECTION("a call from before it closed again adds to no ratio") {
    CircuitBreaker ratio({.failure_ratio = 1.0, .minimum_calls = 2, .window = 1h, .open_for = 10s});
    Permit good = taken(ratio, at(0s));
    REQUIRE(fails(ratio, at(0s)));
    REQUIRE(fails(ratio, at(0s)));
    REQUIRE(succeeds(ratio, at(10s)));
    good.succeeded(at(11s));
    CHECK(fails(ratio, at(12s)));
    CHECK(fails(ratio, at(12s)));
    CHECK(ratio.state() == CircuitState::open);
  }
}

TEST_CASE("a probe of an earlier half-open changes nothing in a later one", "[field-45]") {
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s, .half_open_probes = 3});
  REQUIRE(fails(breaker, at(0s)));
  Permit bad = taken(breaker, at(10s));
  Permit slow_good = taken(breaker, at(10s));
  Permit slow_bad = taken(breaker, at(10s));
  bad.failed(failure(), at(11s));
  REQUIRE(breaker.opens_at(at(11s)) == at(21s));
  Permit first = taken(breaker, at(21s));
  slow_good.succeeded(at(21s));
  slow_bad.failed(failure(), at(21s));
  CHECK(breaker.state() == CircuitState::half_open);
  Permit second = taken(breaker, at(21s));
  Permit third = taken(breaker, at(21s));
  CHECK(refusal(breaker, at(21s)));
  first.succeeded(at(22s));
  second.succeeded(at(22s));
  CHECK(breaker.state() == CircuitState::half_open);
  third.succeeded(at(22s));
  CHECK(breaker.state() == CircuitState::closed);
}

TEST_CASE("a call from before a reset, or before it was forced open, changes nothing", "[field-45]") {
  CircuitBreaker breaker({.failure_threshold = 1});
  Permit before_reset = taken(breaker, at(0s));
  breaker.reset();
  before_reset.failed(failure(), at(1s));
  CHECK(breaker.state() == CircuitState::closed);
  Permit before_force = taken(breaker, at(2s));
  breaker.force_open(at(10s));
  const Permit probe = taken(breaker, at(10s));
  before_force.failed(failure(), at(11s));
  CHECK(breaker.state() == CircuitState::half_open);
}

// --- Time
// -------------------------------------------------------------------------------------------------------------

TEST_CASE("a breaker knows only the times that it is handed", "[field-46]") {
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 1ns});
  REQUIRE(fails(breaker, at(5s)));
  for (int i = 0; i != 1'000; ++i) REQUIRE(refusal(breaker, at(5s)) == at(5s) + 1ns);  // real time has passed since
  CHECK(refusal(breaker, at(1s)) == at(5s) + 1ns);  // threads do not come in the order in which they read the clock
  CHECK_FALSE(refusal(breaker, at(5s) + 1ns));
}

TEST_CASE("a later, longer open period is not cut short by an earlier expiry", "[field-48]") {
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s});
  REQUIRE(fails(breaker, at(0s)));

  SECTION("forced open beyond it") {
    breaker.force_open(at(60s));
    CHECK(refusal(breaker, at(10s)) == at(60s));
    CHECK(refusal(breaker, at(59s)) == at(60s));
    CHECK_FALSE(refusal(breaker, at(60s)));
  }
  SECTION("a shorter one does not shorten it") {
    breaker.force_open(at(60s));
    breaker.force_open(at(20s));
    CHECK(refusal(breaker, at(20s)) == at(60s));
    breaker.force_open();
    breaker.force_open(at(20s));
    CHECK(refusal(breaker, at(1h)) == never);
  }
  SECTION("opened again after a reset: the first expiry means nothing") {
    breaker.reset();
    REQUIRE(fails(breaker, at(8s)));
    CHECK(refusal(breaker, at(10s)) == at(18s));
    CHECK(refusal(breaker, at(17s)) == at(18s));
  }
  SECTION("a period that was forced ends with a reset: the next one is as long as it should be") {
    breaker.force_open(at(1h));
    breaker.reset();
    REQUIRE(fails(breaker, at(20s)));
    CHECK(refusal(breaker, at(20s)) == at(30s));
    breaker.reset();
    breaker.force_open(at(25s));
    CHECK(refusal(breaker, at(20s)) == at(25s));
  }
}

TEST_CASE("a provider's wait hint makes the open period longer, never shorter") {
  const auto opens_at = [](CircuitBreakerOptions options, std::optional<Duration> hint) {
    options.failure_threshold = 1;
    options.open_for = 10s;
    CircuitBreaker breaker(options);
    REQUIRE(fails(breaker, at(0s), Cause::of(ProviderError(429, "slow down", "", hint))));
    return breaker.opens_at(at(0s));
  };
  CHECK(opens_at({}, std::nullopt) == at(10s));
  CHECK(opens_at({}, 3s) == at(10s));
  CHECK(opens_at({}, 90s) == at(90s));
  CHECK(opens_at({}, 24h) == at(1h));  // a provider that talks nonsense is not lost for good
  CHECK(opens_at({.longest_hint = 48h}, 24h) == at(24h));
  CHECK(opens_at({.longest_hint = 0s}, 24h) == at(10s));
  CHECK(opens_at({.honour_retry_after = false}, 90s) == at(10s));
  CHECK(opens_at({.longest_hint = (Duration::max)()}, (Duration::max)()) == never);
}

TEST_CASE("the hint that counts is that of the failure which opens it") {
  CircuitBreaker breaker({.failure_threshold = 2, .open_for = 10s});
  REQUIRE(fails(breaker, at(0s), Cause::of(ProviderError(429, "", "", 50s))));
  REQUIRE(fails(breaker, at(1s), failure(503)));
  CHECK(breaker.opens_at(at(1s)) == at(11s));
  REQUIRE(fails(breaker, at(11s), Cause::of(ProviderError(429, "", "", 50s))));
  CHECK(breaker.opens_at(at(11s)) == at(61s));
}

TEST_CASE("a later and longer wait hint of a call that was in flight extends the open period, and none shortens it") {
  const auto slow_down = [](std::optional<Duration> hint) { return Cause::of(ProviderError(429, "", "", hint)); };
  struct Case {
    std::string name;
    Cause cause;
    CircuitBreakerOptions options;
    TimePoint opens_at;
  };
  Cause cancelled = slow_down(1min);
  planb::detail::CauseAccess::set_kind(cancelled, CauseKind::interrupted);
  const auto outages = [](const Cause& cause) { return cause.status() != 429; };
  const Case cases[] = {
      {"longer", slow_down(1min), {}, at(65s)},
      {"to the same time", slow_down(5s), {}, at(10s)},
      {"shorter", slow_down(4s), {}, at(10s)},
      {"none", failure(), {}, at(10s)},
      {"at most the longest", slow_down(24h), {.longest_hint = 20s}, at(25s)},
      {"the longest of all", slow_down((Duration::max)()), {.longest_hint = (Duration::max)()}, never},
      {"not honoured", slow_down(1min), {.honour_retry_after = false}, at(10s)},
      {"does not count", slow_down(1min), {.counts_as_failure = outages}, at(10s)},
      {"was cancelled", cancelled, {}, at(10s)},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    int changes = 0;
    CircuitBreakerOptions options = c.options;
    options.failure_threshold = 1;
    options.open_for = 10s;
    options.on_change = [&changes](const planb::CircuitChange&) { ++changes; };
    CircuitBreaker breaker(options);
    Permit in_flight = taken(breaker, at(0s));
    Permit later = taken(breaker, at(0s));
    REQUIRE(fails(breaker, at(0s)));
    in_flight.failed(c.cause, at(5s));
    CHECK(breaker.state() == CircuitState::open);
    CHECK(breaker.opens_at(at(5s)) == c.opens_at);
    CHECK(refusal(breaker, at(6s)) == c.opens_at);
    later.failed(slow_down(1s), at(7s));
    CHECK(breaker.opens_at(at(7s)) == c.opens_at);
    CHECK(changes == 1);  // the state is the same
  }
}

TEST_CASE("a late wait hint extends no period but that of an open breaker") {
  const Cause slow_down = Cause::of(ProviderError(429, "", "", Duration(1min)));
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s});
  Permit first = taken(breaker, at(0s));
  Permit second = taken(breaker, at(0s));
  Permit third = taken(breaker, at(0s));
  REQUIRE(fails(breaker, at(0s)));
  Permit probe = taken(breaker, at(10s));
  first.failed(slow_down, at(10s));
  CHECK(breaker.state() == CircuitState::half_open);
  probe.succeeded(at(11s));
  second.failed(slow_down, at(11s));
  CHECK(breaker.state() == CircuitState::closed);
  CHECK(breaker.opens_at(at(11s)) == at(11s));
  REQUIRE(fails(breaker, at(20s)));
  third.failed(slow_down, at(25s));  // of whatever earlier generation
  CHECK(breaker.opens_at(at(25s)) == at(85s));

  SECTION("a probe that another probe has overtaken") {
    CircuitBreaker two({.failure_threshold = 1, .open_for = 10s, .half_open_probes = 2});
    two.force_open(at(1s));
    Permit slow = taken(two, at(1s));
    REQUIRE(fails(two, at(1s)));
    slow.failed(slow_down, at(2s));
    CHECK(two.opens_at(at(2s)) == at(62s));
  }
  SECTION("one that was forced open, for a time or for good") {
    CircuitBreaker forced;
    Permit in_flight = taken(forced, at(0s));
    Permit other = taken(forced, at(0s));
    forced.force_open(at(10s));
    in_flight.failed(slow_down, at(5s));
    CHECK(forced.opens_at(at(5s)) == at(65s));
    forced.force_open();
    other.failed(slow_down, at(5s));
    CHECK(forced.opens_at(at(5s)) == never);
  }
}

TEST_CASE("a breaker that is reset while an error is asked for its hint stays as new") {
  std::function<void()> call = [] {};
  const Cause calling = Cause::of(Calling{&call});
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s});
  Permit in_flight = taken(breaker, at(0s));
  REQUIRE(fails(breaker, at(0s)));
  call = [&breaker] { breaker.reset(); };
  in_flight.failed(calling, at(5s));
  CHECK(breaker.state() == CircuitState::closed);
  call = [] {};
  REQUIRE(fails(breaker, at(20s)));
  CHECK(breaker.opens_at(at(20s)) == at(30s));  // nothing of the hint is left
}

TEST_CASE("two failures that open it at once: the longer hint stands, whichever comes first") {
  const bool longer_first = GENERATE(false, true);
  CircuitBreaker* self = nullptr;
  std::optional<Permit> other;
  const auto hinting = [](Duration hint) { return Cause::of(ProviderError(429, "", "", hint)); };
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = [&](int) {
                            if (other) {  // while the one asks how long, outside the lock, the other opens it
                              Permit permit = std::move(*other);
                              other.reset();
                              permit.failed(hinting(longer_first ? 30s : 60s), at(0s));
                            }
                            return 10s;
                          }});
  self = &breaker;
  other.emplace(taken(*self, at(0s)));
  CHECK(fails(breaker, at(0s), hinting(longer_first ? 60s : 30s)));
  CHECK(breaker.opens_at(at(0s)) == at(60s));
}

// --- By hand
// ----------------------------------------------------------------------------------------------------------

TEST_CASE("a breaker can be forced open until a time, or until it is reset") {
  CircuitBreaker breaker({.failure_threshold = 3});
  breaker.force_open(at(60s));
  CHECK(breaker.state() == CircuitState::open);
  CHECK(refusal(breaker, at(0s)) == at(60s));
  CHECK(succeeds(breaker, at(60s)));
  CHECK(breaker.state() == CircuitState::closed);

  breaker.force_open();
  CHECK(breaker.opens_at(at(1h)) == never);
  CHECK(breaker.state(at(24h * 365)) == CircuitState::open);
  breaker.reset();
  CHECK(breaker.state() == CircuitState::closed);
  CHECK(succeeds(breaker, at(1h)));
}

TEST_CASE("reset makes a breaker as if new, from every state") {
  CircuitBreaker breaker({.failure_threshold = 2, .open_for = [](int openings) { return openings * 10s; }});
  REQUIRE(fails(breaker, at(0s)));
  breaker.reset();
  CHECK(fails(breaker, at(0s)));  // the row began again
  CHECK(breaker.state() == CircuitState::closed);
  REQUIRE(fails(breaker, at(0s)));
  REQUIRE(fails(breaker, at(10s)));
  REQUIRE(breaker.opens_at(at(10s)) == at(30s));
  const Permit probe = taken(breaker, at(30s));
  breaker.reset();
  CHECK(breaker.state() == CircuitState::closed);
  REQUIRE(fails(breaker, at(40s)));
  REQUIRE(fails(breaker, at(40s)));
  CHECK(breaker.opens_at(at(40s)) == at(50s));  // the first opening again
}

// --- The hook
// ---------------------------------------------------------------------------------------------------------

TEST_CASE("a hook is told of each change of state, in order", "[field-47]") {
  Changes changes;
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s, .on_change = [&](const planb::CircuitChange& c) {
                            changes.push_back(change(c.from, c.to, c.at));
                          }});
  succeeds(breaker, at(1s));
  fails(breaker, at(2s));
  refusal(breaker, at(3s));
  fails(breaker, at(12s));
  succeeds(breaker, at(22s));
  breaker.force_open(std::nullopt, at(30s));
  breaker.force_open(std::nullopt, at(31s));
  breaker.reset(at(40s));
  breaker.reset(at(50s));
  breaker.force_open();
  CHECK(changes == Changes{"closed to open at 2 s", "open to half-open at 12 s", "half-open to open at 12 s",
                           "open to half-open at 22 s", "half-open to closed at 22 s", "closed to open at 30 s",
                           "open to closed at 40 s", "closed to open at 50 s"});
}

TEST_CASE("a hook is told the times that the breaker was told, also before the clock's epoch", "[field-47]") {
  Changes changes;
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s, .on_change = [&](const planb::CircuitChange& c) {
                            changes.push_back(change(c.from, c.to, c.at));
                          }});
  fails(breaker, at(-100s));
  succeeds(breaker, at(-90s));
  breaker.force_open();
  breaker.reset(at(-80s));
  breaker.force_open(std::nullopt, at(-85s));  // a thread that comes late
  CHECK(changes == Changes{"closed to open at -100 s", "open to half-open at -90 s", "half-open to closed at -90 s",
                           "closed to open at -90 s", "open to closed at -80 s", "closed to open at -80 s"});
}

TEST_CASE("a hook may use the breaker, and what it causes is told after what it was called for", "[field-47]") {
  Changes changes;
  CircuitBreaker* self = nullptr;
  bool meddle = true;
  CircuitBreaker breaker({.failure_threshold = 1, .on_change = [&](const planb::CircuitChange& c) {
                            if (std::exchange(meddle, false)) {
                              CHECK(self->state() == CircuitState::open);
                              CHECK(refusal(*self, c.at) == c.at + 30s);
                              self->reset(c.at + 1s);
                              CHECK(succeeds(*self, c.at + 1s));
                              CHECK(fails(*self, c.at + 2s));
                            }
                            changes.push_back(change(c.from, c.to, c.at));
                          }});
  self = &breaker;
  fails(breaker, at(1s));
  CHECK(changes == Changes{"closed to open at 1 s", "open to closed at 2 s", "closed to open at 3 s"});
}

TEST_CASE("what a hook throws is dropped, and the next change is told", "[field-47]") {
  int calls = 0;
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s, .on_change = [&](const planb::CircuitChange&) {
                            if (++calls == 1) throw std::runtime_error("hook");
                            throw 42;
                          }});
  CHECK_NOTHROW(fails(breaker, at(0s)));
  CHECK(breaker.state() == CircuitState::open);
  CHECK_NOTHROW(succeeds(breaker, at(10s)));
  CHECK(breaker.state() == CircuitState::closed);
  CHECK_NOTHROW(breaker.force_open());
  CHECK(calls == 4);
}

#if defined(__GLIBC__) && defined(__GLIBCXX__)  // the unwinder that glibc uses is that of libstdc++
TEST_CASE("a thread that goes away inside a hook leaves the breaker to the others", "[field-47]") {
  struct Scene {
    Changes changes;
    CircuitBreaker* breaker = nullptr;
    bool leave = true;
  } scene;
  CircuitBreaker breaker(
      {.failure_threshold = 1, .open_for = 10s, .on_change = [&scene](const planb::CircuitChange& c) {
         scene.changes.push_back(change(c.from, c.to, c.at));
         if (std::exchange(scene.leave, false)) {
           scene.breaker->reset(c.at + 1s);  // a change that this thread will not tell
           pthread_exit(nullptr);
         }
       }});
  scene.breaker = &breaker;
  pthread_t thread{};
  const auto body = [](void* p) -> void* {
    fails(*static_cast<Scene*>(p)->breaker, at(1s));
    return p;
  };
  REQUIRE(pthread_create(&thread, nullptr, body, &scene) == 0);
  void* result = &scene;
  REQUIRE(pthread_join(thread, &result) == 0);
  CHECK(result == nullptr);  // it did not come back
  CHECK(breaker.state() == CircuitState::closed);
  CHECK(fails(breaker, at(3s)));
  CHECK(scene.changes == Changes{"closed to open at 1 s", "open to closed at 2 s", "closed to open at 3 s"});
}
#endif

TEST_CASE("a hook may be a mutable lambda, or be referred to") {
  struct Counter {
    int calls = 0;
    void operator()(const planb::CircuitChange&) { ++calls; }
  } counter;
  CircuitBreaker referring({.on_change = std::ref(counter)});
  referring.force_open();
  referring.reset();
  CHECK(counter.calls == 2);

  int last = 0;
  CircuitBreaker counting({.on_change = [&last, calls = 0](const planb::CircuitChange&) mutable { last = ++calls; }});
  counting.force_open();
  counting.reset();
  counting.force_open();
  CHECK(last == 3);
}

TEST_CASE("a change says whose it is, why, what was counted, until when, and whether it was forced") {
  std::vector<planb::CircuitChange> changes;
  CircuitBreaker breaker({.failure_threshold = 2,
                          .failure_ratio = 1.0,
                          .open_for = 10s,
                          .name = "openai",
                          .on_change = [&](const planb::CircuitChange& c) { changes.push_back(c); }});
  CHECK(breaker.name() == "openai");
  REQUIRE(succeeds(breaker, at(0s)));
  REQUIRE(fails(breaker, at(1s)));
  REQUIRE(fails(breaker, at(2s), failure(502)));
  REQUIRE(succeeds(breaker, at(12s)));
  breaker.force_open(at(1min), at(20s));
  breaker.force_open(at(2min), at(21s));
  breaker.reset(at(30s));
  breaker.force_open();
  REQUIRE(changes.size() == 6);
  CHECK(changes[0].name == "openai");
  CHECK(changes[0].to == CircuitState::open);
  REQUIRE(changes[0].cause);
  CHECK(changes[0].cause->status() == 502);
  CHECK(changes[0].counts == planb::CircuitCounts{.consecutive_failures = 2, .calls = 3, .failures = 2, .slow = 0});
  CHECK(changes[0].open_until == at(12s));
  CHECK_FALSE(changes[0].forced);
  CHECK(changes[1].to == CircuitState::half_open);
  CHECK_FALSE((changes[1].cause || changes[1].open_until || changes[1].forced));
  CHECK(changes[2].to == CircuitState::closed);
  CHECK(changes[3].forced);
  CHECK_FALSE(changes[3].cause);
  CHECK(changes[3].open_until == at(1min));
  CHECK(changes[4].forced);
  CHECK_FALSE(changes[4].open_until);
  CHECK(changes[5].open_until == never);
  const planb::CircuitSnapshot seen = breaker.snapshot();
  CHECK(seen.name == "openai");
  CHECK(seen.state == CircuitState::open);
  CHECK(seen.open_until == never);
  CHECK(seen.forced);
  CHECK(seen.changed_at == at(30s));
}

TEST_CASE("a failure that cannot be copied opens a breaker all the same; the hook is told without it") {
  std::vector<planb::CircuitChange> changes;
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s, .on_change = [&](const planb::CircuitChange& c) {
                            changes.push_back(c);
                          }});
  REQUIRE(fails(breaker, at(1s), Cause::of(NoCopy{})));
  CHECK(breaker.opens_at(at(1s)) == at(11s));
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].to == CircuitState::open);
  CHECK_FALSE(changes[0].cause);
}

TEST_CASE("slow successes open a breaker; a stream's slowness is its time to first output") {
  const CircuitBreakerOptions options{.minimum_calls = 2, .slow_call = 2s, .slow_ratio = 1.0};
  struct Case {
    Duration took;
    std::optional<Duration> first_output;
    bool slow;
  };
  for (const Case& c :
       {Case{2s - 1ns, {}, false}, Case{2s, {}, true}, Case{1h, {}, true}, Case{1h, 1s, false}, Case{1h, 2s, true}}) {
    CAPTURE(c.took.count());
    CircuitBreaker breaker(options);
    for (int i = 0; i != 2; ++i) {
      CHECK(breaker.state() == CircuitState::closed);
      Permit call = taken(breaker, at(0s));
      if (c.first_output) call.first_output(at(*c.first_output));
      call.succeeded(at(c.took));
    }
    CHECK(breaker.state() == (c.slow ? CircuitState::open : CircuitState::closed));
  }
}

TEST_CASE("a probe that lasts too long gives its slot to another, and counts for nothing") {
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s, .probe_timeout = 3s});
  REQUIRE(fails(breaker, at(0s)));
  Permit late = taken(breaker, at(10s));
  CHECK(refusal(breaker, at(11s)) == at(13s));
  CHECK(breaker.admit(at(11s)).refusal->reason == planb::GateReason::probe_running);
  Permit next = taken(breaker, at(13s));
  const bool fails_late = GENERATE(false, true);
  if (fails_late) {
    late.failed(failure(), at(14s));
  } else {
    late.succeeded(at(14s));
  }
  CHECK(breaker.state() == CircuitState::half_open);
  CHECK(refusal(breaker, at(14s)) == at(16s));  // the other one still has the slot
  next.succeeded(at(15s));
  CHECK(breaker.state() == CircuitState::closed);
}

TEST_CASE("consecutive failures that are too old do not count") {
  CircuitBreaker breaker({.failure_threshold = 3, .failure_memory = 10s});
  REQUIRE(fails(breaker, at(0s)));
  REQUIRE(fails(breaker, at(6s)));
  REQUIRE(fails(breaker, at(11s)));  // the first is 11 s old
  CHECK(breaker.snapshot().counts.consecutive_failures == 2);
  CHECK(breaker.state() == CircuitState::closed);
  REQUIRE(fails(breaker, at(16s)));  // the second is just 10 s old
  CHECK(breaker.state() == CircuitState::open);
}

TEST_CASE("of failures that could not open it, a breaker remembers no more than it needs") {
  bool broken = true;
  CircuitBreaker breaker({.failure_threshold = 2,
                          .open_for =
                              [&broken](int) {
                                if (broken) throw std::runtime_error("no period");
                                return 10s;
                              },
                          .failure_memory = 10s});
  REQUIRE(fails(breaker, at(0s)));
  for (int i = 0; i != 3; ++i) CHECK_THROWS_AS(fails(breaker, at(1s)), std::runtime_error);
  CHECK(breaker.snapshot().counts.consecutive_failures == 2);
  broken = false;
  CHECK(fails(breaker, at(11s + 1ns)));  // all of them are too old
  CHECK(breaker.snapshot().counts.consecutive_failures == 1);
  CHECK(breaker.state() == CircuitState::closed);
}

TEST_CASE("a probe without an end keeps its slot until the end of time") {
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s, .probe_timeout = Duration::max()});
  REQUIRE(fails(breaker, at(0s)));
  Permit probe = taken(breaker, at(10s));
  CHECK(refusal(breaker, never) == never);
  probe.succeeded(never);
  CHECK(breaker.state() == CircuitState::closed);
}

TEST_CASE("a permit that is spent, or moved from, tells its gate nothing and asks for no time") {
  CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s});
  REQUIRE(fails(breaker, at(0s)));
  Permit probe = taken(breaker, at(10s));
  Permit moved = std::move(probe);
  int asked = 0;
  auto now = [&asked] {
    ++asked;
    return at(11s);
  };
  const auto tell = [&](Permit& permit) {
    permit.first_output(at(11s));
    permit.first_output(now);
    permit.succeeded(now);
    permit.failed(failure(), at(11s));
  };
  tell(probe);  // NOLINT(bugprone-use-after-move): that is what it is about
  CHECK(breaker.state() == CircuitState::half_open);
  moved.succeeded(at(11s));
  CHECK(breaker.state() == CircuitState::closed);
  tell(moved);
  CHECK(breaker.state() == CircuitState::closed);
  CHECK(asked == 0);
}

TEST_CASE("states have names") {
  CHECK(std::string(to_string(CircuitState::closed)) == "closed");
  CHECK(std::string(to_string(CircuitState::open)) == "open");
  CHECK(std::string(to_string(CircuitState::half_open)) == "half-open");
  CHECK(std::string(to_string(static_cast<CircuitState>(3))) == "unknown");
}

// --- Options
// ----------------------------------------------------------------------------------------------------------

TEST_CASE("options that make no sense are refused, by name and with a remedy") {
  struct Case {
    CircuitBreakerOptions options;
    std::vector<std::string> says;
  };
  const Case cases[] = {
      {{.failure_threshold = 0}, {"`failure_threshold` is 0", "1 or more"}},
      {{.failure_threshold = -3}, {"`failure_threshold` is -3"}},
      {{.failure_ratio = 0.0}, {"`failure_ratio`", "above 0 and at most 1"}},
      {{.failure_ratio = -0.5}, {"`failure_ratio`"}},
      {{.failure_ratio = 1.5}, {"`failure_ratio`"}},
      {{.failure_ratio = 50}, {"`failure_ratio`"}},
      {{.failure_ratio = std::numeric_limits<double>::quiet_NaN()}, {"`failure_ratio`"}},
      {{.failure_ratio = 0.5, .window = 0s}, {"`window`", "above zero"}},
      {{.failure_ratio = 0.5, .window = -1s}, {"`window`"}},
      {{.failure_ratio = 0.5, .minimum_calls = 0}, {"`minimum_calls` is 0", "1 or more"}},
      {{.open_for = 0s}, {"`open_for`", "above zero"}},
      {{.open_for = -1s}, {"`open_for`"}},
      {{.open_for = std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN())}, {"`open_for`"}},
      {{.half_open_probes = 0}, {"`half_open_probes` is 0", "1 or more"}},
      {{.longest_hint = -1s}, {"`longest_hint`", "honour_retry_after"}},
      {{.slow_call = 0s}, {"`slow_call`", "above zero"}},
      {{.slow_call = -1s}, {"`slow_call`"}},
      {{.slow_call = 1s, .slow_ratio = 0}, {"`slow_ratio` is 0.0", "above 0 and at most 1"}},
      {{.slow_call = 1s, .slow_ratio = 1.5}, {"`slow_ratio` is 1.5"}},
      {{.slow_call = 1s, .slow_ratio = std::numeric_limits<double>::quiet_NaN()}, {"`slow_ratio`"}},
      {{.probe_timeout = 0s}, {"`probe_timeout`", "above zero"}},
      {{.failure_memory = -1s}, {"`failure_memory` is negative"}},
      {{.patience = -1s}, {"`patience` is negative"}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.says.front());
    try {
      const CircuitBreaker breaker(c.options);
      FAIL_CHECK("accepted");
    } catch (const std::invalid_argument& refused) {
      CHECK_THAT(refused.what(), ContainsSubstring("circuit breaker"));
      for (const std::string& text : c.says) CHECK_THAT(refused.what(), ContainsSubstring(text));
    }
  }
  CHECK_THROWS_AS(planb::circuit_breaker({.half_open_probes = 0}), std::invalid_argument);
}

TEST_CASE("the narrowest window works") {
  CircuitBreaker breaker({.failure_ratio = 1.0, .minimum_calls = 2, .window = 1ns});
  CHECK(fails(breaker, at(1s)));
  CHECK(fails(breaker, at(1s) + 1ns));  // the first is as old as the window is wide
  CHECK(breaker.state() == CircuitState::closed);
  CHECK(fails(breaker, at(1s) + 1ns));
  CHECK(breaker.state() == CircuitState::open);
}

TEST_CASE("after whatever idle time, what is older than the window never counts, and what is in it does") {
  for (int days = 0; days != 400; ++days) {
    CAPTURE(days);
    CircuitBreaker breaker({.failure_ratio = 0.5, .minimum_calls = 4, .window = 10ms});
    TimePoint now = at(1h);
    for (int i = 0; i != 10; ++i, now += 1ms) REQUIRE(succeeds(breaker, now));
    now += 24h * days + 20ms;
    for (int i = 0; i != 20; ++i) REQUIRE(succeeds(breaker, now));
    for (int i = 0; i != 19; ++i) REQUIRE(fails(breaker, now));
    REQUIRE(breaker.state() == CircuitState::closed);
    REQUIRE(fails(breaker, now));
    REQUIRE(breaker.state() == CircuitState::open);
  }
}

namespace {

// A window that remembers everything: what it may say at least, and at most. Between nine tenths of it and the whole an
// outcome may count or not.
struct SimpleWindow {
  struct Outcome {
    TimePoint at;
    bool good;
  };

  std::uint64_t width;
  std::vector<Outcome> outcomes;

  static std::uint64_t age(TimePoint when, TimePoint last) {
    return static_cast<std::uint64_t>(last.time_since_epoch().count()) -
           static_cast<std::uint64_t>(when.time_since_epoch().count());
  }
  [[nodiscard]] TimePoint last() const {
    TimePoint latest = (TimePoint::min)();
    for (const Outcome& outcome : outcomes) latest = (std::max)(latest, outcome.at);
    return latest;
  }
  [[nodiscard]] std::uint64_t count(std::uint64_t reach, bool failures_only) const {
    std::uint64_t all = 0;
    for (const Outcome& outcome : outcomes) {
      if (age(outcome.at, last()) < reach && !(failures_only && outcome.good)) ++all;
    }
    return all;
  }
  [[nodiscard]] std::uint64_t surely() const { return width - width / 10; }
};

}  // namespace

TEST_CASE("a window tells what a list of all outcomes does, over any times and widths") {
  using planb::detail::OutcomeWindow;
  const Duration widths[] = {Duration(1),   Duration(2),   Duration(7),         Duration(19),     Duration(20),
                             Duration(21),  Duration(39),  Duration(61),        Duration(109),    Duration(1'001),
                             Duration(1ms), Duration(10s), Duration(24h * 365), (Duration::max)()};
  const TimePoint starts[] = {(TimePoint::min)(), at(-1h), at(-5ns), at(0s), at(1h), never - 1h, never - 5ns};
  std::uint64_t random = 12345;
  const auto dice = [&random](std::uint64_t sides) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return (random >> 33U) % sides;
  };
  std::uint64_t some = 0;
  for (const Duration width : widths) {
    for (const TimePoint start : starts) {
      CAPTURE(width.count(), start.time_since_epoch().count());
      OutcomeWindow window(width);
      std::uint64_t generation = 1;
      window.restart(generation);
      SimpleWindow model{static_cast<std::uint64_t>(width.count()), {}};
      TimePoint now = start;
      const Duration step = (std::max)(Duration(1), width / 15);
      for (int i = 0; i != 300; ++i) {
        switch (dice(40)) {
          case 0: now = planb::detail::add(now, Duration(24h * static_cast<int>(dice(500)))); break;  // idle
          case 1: now = planb::detail::add(now, -static_cast<int>(dice(30)) * (step / 2)); break;     // late
          case 2: now = planb::detail::add(now, width); break;
          case 3: now = planb::detail::add(now, width - Duration(1)); break;
          case 4:
            generation += dice(2) == 0 ? 1 : 256;
            window.restart(generation);
            model.outcomes.clear();
            break;
          default:
            if (dice(3) == 0) now = planb::detail::add(now, Duration(static_cast<int>(dice(2))) + step / 2);
        }
        if (dice(3) != 0) {
          window.add_success(generation, now);
          window.add_success(generation - 1, now);  // too late
          window.add_success(generation - 256, now);
          window.add_success(generation + (std::uint64_t{1} << 34U), now);
          model.outcomes.push_back({now, true});
          continue;
        }
        model.outcomes.push_back({now, false});
        const OutcomeWindow::Counts counts = window.add_failure(now);
        const std::uint64_t age = SimpleWindow::age(now, model.last());
        if (age >= model.width) {
          REQUIRE(counts.all == 0);
        } else if (counts.all != 0 || age < model.surely()) {
          REQUIRE(counts.failures >= (std::max)(model.count(model.surely(), true), std::uint64_t{1}));
          REQUIRE(counts.failures <= model.count(model.width, true));
          REQUIRE(counts.all >= model.count(model.surely(), false));
          REQUIRE(counts.all <= model.count(model.width, false));
          if (counts.all < model.outcomes.size()) ++some;
        }
      }
    }
  }
  CHECK(some > 1'000);  // the histories were not too short to forget anything
}

TEST_CASE("a window of any length works at any time") {
  for (const TimePoint now : {(TimePoint::min)(), at(-1ns), at(0ns), at(1ns), (TimePoint::max)()}) {
    for (const Duration window : {Duration(1), Duration(9), Duration(1min), (Duration::max)()}) {
      CAPTURE(now.time_since_epoch().count(), window.count());
      CircuitBreaker breaker({.failure_ratio = 0.5, .minimum_calls = 4, .window = window});
      REQUIRE(succeeds(breaker, now));
      REQUIRE(succeeds(breaker, now));
      REQUIRE(fails(breaker, now));
      CHECK(breaker.state() == CircuitState::closed);
      REQUIRE(fails(breaker, now));
      CHECK(breaker.state() == CircuitState::open);
    }
  }
}

// --- Threads
// ----------------------------------------------------------------------------------------------------------

TEST_CASE("the successes of all threads count in the share of failures, also in those of an earlier time") {
  CircuitBreaker breaker({.failure_ratio = 0.5, .minimum_calls = 1, .window = 10s});
  for (int i = 0; i != 30; ++i) {
    std::thread([&, i] {
      for (int call = 0; call != 3; ++call) succeeds(breaker, at(i % 2 == 0 ? 1s : 5s));
    }).join();
  }
  for (int i = 0; i != 89; ++i) REQUIRE(fails(breaker, at(6s)));
  CHECK(breaker.state() == CircuitState::closed);
  CHECK(fails(breaker, at(6s)));  // 90 of 180
  CHECK(breaker.state() == CircuitState::open);

  breaker.reset(at(7s));
  CHECK(fails(breaker, at(7s)));  // a change of state forgets the successes of every thread
  CHECK(breaker.state() == CircuitState::open);

  breaker.reset(at(8s));
  std::thread([&] { succeeds(breaker, at(8s)); }).join();
  std::thread([&] { succeeds(breaker, at(9s)); }).join();
  CHECK(fails(breaker, at(19s)));  // and so does time
  CHECK(breaker.state() == CircuitState::open);
}

TEST_CASE("many threads arrive when it becomes half-open: no more probes than permitted", "[field-41]") {
  constexpr int threads = 8;
  for (int round = 0; round != 50; ++round) {
    CircuitBreaker breaker({.failure_threshold = 1, .open_for = 10s, .half_open_probes = 2});
    REQUIRE(fails(breaker, at(0s)));
    std::atomic<int> ready{0};
    std::atomic<int> probes{0};
    std::vector<std::vector<Permit>> out(threads);
    std::vector<std::thread> pool;
    for (int i = 0; i != threads; ++i) {
      pool.emplace_back([&, i] {
        ++ready;
        while (ready != threads) std::this_thread::yield();
        if (Admission admission = breaker.admit(at(10s)); admission.permit) {
          ++probes;
          out[static_cast<std::size_t>(i)].push_back(std::move(*admission.permit));
        }
      });
    }
    for (std::thread& thread : pool) thread.join();
    REQUIRE(probes == 2);
  }
}

TEST_CASE("threads that share a breaker in every state: probes stay bounded, changes come in order") {
  const bool ratio = GENERATE(false, true);
  constexpr int probes = 2;
  std::atomic<int> now_ms{0};
  std::atomic<int> telling{0};
  std::atomic<bool> overlapped{false};
  std::vector<std::pair<CircuitState, CircuitState>> changes;  // safe, if hooks really come one at a time
  CircuitBreakerOptions options{.open_for = 3ms, .half_open_probes = probes};
  if (ratio) {
    options.failure_ratio = 0.5;
    options.window = 20ms;
    options.minimum_calls = 4;
  } else {
    options.failure_threshold = 2;
  }
  options.on_change = [&](const planb::CircuitChange& c) {
    if (telling++ != 0) overlapped = true;
    changes.emplace_back(c.from, c.to);
    --telling;
  };
  CircuitBreaker breaker(options);
  std::vector<std::thread> pool;
  for (unsigned thread = 0; thread != 4; ++thread) {
    pool.emplace_back([&, thread] {
      unsigned random = thread * 2654435761U + 1;
      for (int i = 0; i != 3'000; ++i) {
        random = random * 1664525U + 1013904223U;
        const TimePoint now = at(std::chrono::milliseconds(now_ms += (random >> 8U) % 4 == 0 ? 1 : 0));
        const unsigned action = (random >> 16U) % 100;
        if (action == 0) {
          breaker.reset(now);
        } else if (action == 1) {
          breaker.force_open(now + 2ms, now);
        } else if (Admission admission = breaker.admit(now); admission.permit) {
          if ((random >> 12U) % 3 == 0) std::this_thread::yield();
          if ((random >> 20U) % 4 == 0) admission.permit->first_output(now);
          if (action < 50) {
            admission.permit->failed(failure(), now);
          } else if (action < 90) {
            admission.permit->succeeded(now);
          }
        }
        static_cast<void>(breaker.opens_at(now));
        static_cast<void>(breaker.state());
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  CHECK_FALSE(overlapped);
  CHECK(changes.size() > 10);
  CircuitState state = CircuitState::closed;
  bool chained = true;
  for (const auto& [from, to] : changes) {
    chained = chained && from == state && to != from;
    state = to;
  }
  CHECK(chained);
  CHECK(state == breaker.state());

  // Whatever happened: no probe's slot was lost.
  breaker.force_open(at(1h));
  for (int i = 0; i != probes; ++i) CHECK(succeeds(breaker, at(1h)));
  CHECK(breaker.state() == CircuitState::closed);
}

TEST_CASE("successes that many threads count at once are all in the ratio") {
  constexpr int threads = 4;
  constexpr int each = 2'000;
  CircuitBreaker breaker({.failure_ratio = 0.5, .minimum_calls = threads * each, .window = 10s});
  std::vector<std::thread> pool;
  for (int i = 0; i != threads; ++i) {
    pool.emplace_back([&] {
      for (int n = 0; n != each; ++n) succeeds(breaker, at(1s));
    });
  }
  for (std::thread& thread : pool) thread.join();
  for (int n = 1; n != threads * each; ++n) REQUIRE(fails(breaker, at(1s)));
  CHECK(breaker.state() == CircuitState::closed);
  CHECK(fails(breaker, at(1s)));
  CHECK(breaker.state() == CircuitState::open);
}
