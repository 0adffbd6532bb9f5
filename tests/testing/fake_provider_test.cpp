// A provider that is defined by what it does, call by call.
#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#if PLANB_HAS_STOP_TOKEN
#include <stop_token>
#endif

namespace {

using namespace std::chrono_literals;
using planb::Duration;
using planb::ProviderError;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;
using Strings = std::vector<std::string>;

// What one call gives, in short.
std::string outcome(const FakeProvider& provider) {
  try {
    return provider.complete();
  } catch (const ProviderError& error) {
    return std::to_string(error.status) + " " + error.message;
  }
}

}  // namespace

TEST_CASE("a fake provider without behaviours answers with its name", "[fake_provider]") {
  const FakeProvider provider("alpha");
  CHECK(provider.name() == "alpha");
  CHECK(provider.complete() == "alpha");
  CHECK(provider.complete("again") == "alpha");
  CHECK(provider("as a function") == "alpha");
  CHECK(provider.calls() == 3);
}

TEST_CASE("a value is answered", "[fake_provider]") {
  CHECK(FakeProvider("alpha", {Behaviour::value("an answer")}).complete() == "an answer");
  CHECK(FakeProvider("alpha", {Behaviour::value("")}).complete().empty());
}

TEST_CASE("a status is thrown, with its usual phrase or the given one", "[fake_provider]") {
  struct Row {
    Behaviour behaviour;
    int status;
    const char* message;
  };
  const Row rows[] = {
      {Behaviour::status(400), 400, "bad request"},
      {Behaviour::status(401), 401, "unauthorized"},
      {Behaviour::status(403), 403, "forbidden"},
      {Behaviour::status(404), 404, "not found"},
      {Behaviour::status(408), 408, "request timeout"},
      {Behaviour::status(429), 429, "too many requests"},
      {Behaviour::status(500), 500, "internal server error"},
      {Behaviour::status(502), 502, "bad gateway"},
      {Behaviour::status(503), 503, "service unavailable"},
      {Behaviour::status(504), 504, "gateway timeout"},
      {Behaviour::status(529), 529, "overloaded"},
      {Behaviour::status(418), 418, ""},
      {Behaviour::status(503, "down for the night"), 503, "down for the night"},
  };
  for (const Row& row : rows) {
    INFO(row.status);
    try {
      FakeProvider("alpha", {row.behaviour}).complete();
      FAIL("nothing was thrown");
    } catch (const ProviderError& error) {
      CHECK(error.status == row.status);
      CHECK(error.message == row.message);
      CHECK(error.code.empty());
      CHECK_FALSE(error.retry_after.has_value());
    }
  }
}

TEST_CASE("a status may come with a code and a wait hint", "[fake_provider]") {
  const Behaviour behaviour = Behaviour::status(429).code("insufficient_quota").retry_after(3s);
  try {
    FakeProvider("alpha", {behaviour}).complete();
    FAIL("nothing was thrown");
  } catch (const ProviderError& error) {
    CHECK(error.status == 429);
    CHECK(error.code == "insufficient_quota");
    CHECK(error.retry_after == std::optional<Duration>(3s));
    CHECK(error.message == "too many requests");
  }
}

TEST_CASE("anything may be thrown, each time afresh", "[fake_provider]") {
  const FakeProvider number("alpha", {Behaviour::throws(42)});
  CHECK_THROWS_AS(number.complete(), int);
  CHECK_THROWS_AS(number.complete(), int);

  const FakeProvider own("alpha", {Behaviour::throws(std::out_of_range("too far"))});
  CHECK_THROWS_AS(own.complete(), std::out_of_range);
  CHECK_THROWS_WITH(own.complete(), "too far");

  const FakeProvider bug("alpha", {Behaviour::throws(planb::Defect("a bug"))});
  CHECK_THROWS_AS(bug.complete(), planb::Defect);

  const FakeProvider unreachable("alpha", {Behaviour::throws(ProviderError("connection refused"))});
  CHECK(outcome(unreachable) == "0 connection refused");
}

TEST_CASE("behaviours are followed in order, and the last one repeats", "[fake_provider]") {
  const FakeProvider provider("alpha", {Behaviour::status(503), Behaviour::status(429), Behaviour::value("well")});
  CHECK(outcome(provider) == "503 service unavailable");
  CHECK(outcome(provider) == "429 too many requests");
  CHECK(outcome(provider) == "well");
  CHECK(outcome(provider) == "well");

  const FakeProvider worse("beta", {Behaviour::value("well"), Behaviour::status(503)});
  CHECK(outcome(worse) == "well");
  CHECK(outcome(worse) == "503 service unavailable");
  CHECK(outcome(worse) == "503 service unavailable");
}

TEST_CASE("every call is recorded with its prompt, whatever it does", "[fake_provider]") {
  const FakeProvider provider("alpha", {Behaviour::status(503), Behaviour::throws(42), Behaviour::value("well")});
  CHECK(provider.calls() == 0);
  CHECK(provider.prompts().empty());
  CHECK_THROWS(provider.complete("one"));
  CHECK_THROWS(provider.complete("two"));
  provider.complete("three");
  static_cast<void>(provider.reply("four"));
  provider.complete();
  CHECK(provider.calls() == 5);
  CHECK(provider.prompts() == Strings{"one", "two", "three", "four", ""});
}

TEST_CASE("copies are the same provider; another of the same name is not", "[fake_provider]") {
  const FakeProvider provider("alpha", {Behaviour::status(503), Behaviour::value("well")});
  const FakeProvider copy = provider;  // NOLINT(performance-unnecessary-copy-initialization)
  const FakeProvider other("alpha", {Behaviour::status(503), Behaviour::value("well")});
  CHECK(outcome(copy) == "503 service unavailable");
  CHECK(outcome(provider) == "well");
  CHECK(copy.calls() == 2);
  CHECK(other.calls() == 0);
  CHECK(outcome(other) == "503 service unavailable");
}

TEST_CASE("reset forgets the calls and begins again", "[fake_provider]") {
  const FakeProvider provider("alpha", {Behaviour::status(503), Behaviour::value("well")});
  CHECK(outcome(provider) == "503 service unavailable");
  CHECK(outcome(provider) == "well");
  provider.reset();
  CHECK(provider.calls() == 0);
  CHECK(outcome(provider) == "503 service unavailable");
  CHECK(provider.calls() == 1);
}

TEST_CASE("a delay is waited on the provider's clock before the outcome", "[fake_provider]") {
  VirtualClock clock;
  const FakeProvider provider("alpha",
                              {Behaviour::status(503).after(2s), Behaviour::value("well").after(1h),
                               Behaviour::throws(42).after(1ms), Behaviour::value("at once")},
                              &clock);
  CHECK(outcome(provider) == "503 service unavailable");
  CHECK(clock.elapsed() == 2s);
  CHECK(outcome(provider) == "well");
  CHECK(clock.elapsed() == 1h + 2s);
  CHECK_THROWS_AS(provider.complete(), int);
  CHECK(clock.elapsed() == 1h + 2s + 1ms);
  CHECK(outcome(provider) == "at once");
  CHECK(clock.elapsed() == 1h + 2s + 1ms);
  CHECK(clock.waits() == 3);
}

TEST_CASE("a behaviour is a value: what is made from it leaves it as it was", "[fake_provider]") {
  VirtualClock clock;
  const Behaviour plain = Behaviour::status(429);
  const Behaviour slow = plain.after(1s).code("rate_limit").retry_after(5s);
  CHECK(outcome(FakeProvider("alpha", {plain}, &clock)) == "429 too many requests");
  CHECK(clock.elapsed() == 0s);
  CHECK(outcome(FakeProvider("alpha", {slow}, &clock)) == "429 too many requests");
  CHECK(clock.elapsed() == 1s);
}

TEST_CASE("a streamed call gives its elements, and ends where nobody takes more", "[fake_provider]") {
  VirtualClock clock;
  const FakeProvider provider("alpha", {Behaviour::status(503).emits({"one", "two", "three"}).after(1h)}, &clock);
  Strings taken;
  CHECK_NOTHROW(provider.stream([&taken](const std::string& element) {
    taken.push_back(element);
    return taken.size() != 2;
  }));
  CHECK(taken == Strings{"one", "two"});
  CHECK(clock.elapsed() == 0s);
  CHECK_THROWS_AS(provider.stream([](const std::string&) { return true; }), ProviderError);
  CHECK(clock.elapsed() == 1h);
  CHECK(provider.calls() == 2);
}

TEST_CASE("reply throws what is no status, too", "[fake_provider]") {
  const FakeProvider provider("alpha", {Behaviour::throws(std::runtime_error("out of order"))});
  CHECK_THROWS_WITH(provider.reply(), "out of order");
}

TEST_CASE("reply gives the same as a value", "[fake_provider]") {
  VirtualClock clock;
  const FakeProvider provider("alpha", {Behaviour::status(503), Behaviour::value("well").after(1s)}, &clock);
  const FakeProvider::Reply failed = provider.reply("one");
  CHECK_FALSE(failed.value.has_value());
  CHECK(failed.status == 503);
  CHECK(failed.message == "service unavailable");
  const FakeProvider::Reply well = provider.reply("two");
  CHECK(well.value == std::optional<std::string>("well"));
  CHECK(well.status == 0);
  CHECK(clock.elapsed() == 1s);
  CHECK(provider.prompts() == Strings{"one", "two"});
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("a stop ends a call's delay, and the call fails without a status", "[fake_provider]") {
  VirtualClock clock;
  std::stop_source source;
  const planb::Timer stop = clock.call_at(planb::TimePoint{10ms}, [&] { source.request_stop(); });
  const FakeProvider provider("alpha", {Behaviour::value("too late").after(1h)}, &clock);
  try {
    provider.complete("hello", source.get_token());
    FAIL("nothing was thrown");
  } catch (const ProviderError& error) {
    CHECK(error.status == 0);
    CHECK(error.message == "stopped");
  }
  CHECK(clock.elapsed() == 10ms);
  CHECK(provider.prompts() == Strings{"hello"});
  CHECK_FALSE(provider.reply("again", source.get_token()).value.has_value());
  CHECK(clock.elapsed() == 10ms);
}

TEST_CASE("without a clock a delay waits on the steady one, and for no stop that has come", "[fake_provider]") {
  std::stop_source source;
  source.request_stop();
  const FakeProvider provider("alpha", {Behaviour::value("too late").after(24h)});
  CHECK_THROWS_WITH(provider.complete("hello", source.get_token()), "stopped");
}

TEST_CASE("a call's delay ends at the deadline of the attempt whose stop token it was given", "[fake_provider]") {
  VirtualClock clock;
  const planb::ExecutionPlan<FakeProvider> plan{
      {.name = "alpha",
       .provide = FakeProvider("alpha", {Behaviour::value("late").after(1h)}, &clock),
       .timeout = 30ms},
      {.name = "beta", .provide = FakeProvider("beta", {Behaviour::value("in time").after(20ms)}, &clock)}};
  const auto ask = [](const FakeProvider& provider, const planb::Attempt& attempt) {
    return provider.complete("hello", attempt.stop_token());
  };
  CHECK(planb::run_with_plan(plan, ask, {.clock = &clock}) == "in time");
  CHECK(clock.elapsed() == 50ms);
}
#endif

TEST_CASE("a fake provider is a context: as a ready value, from a factory, by reference", "[fake_provider]") {
  const FakeProvider down("down", {Behaviour::status(503)});
  FakeProvider well("well");

  const planb::ExecutionPlan<FakeProvider> by_value{{.name = "down", .provide = down},
                                                    {.name = "well", .provide = [&] { return well; }}};
  CHECK(planb::run_with_plan(by_value, [](FakeProvider& provider) { return provider.complete(); }) == "well");

  FakeProvider down_too = down;
  const planb::ExecutionPlan<FakeProvider&> by_reference{{.name = "down", .provide = down_too},
                                                         {.name = "well", .provide = std::ref(well)}};
  CHECK(planb::run_with_plan(by_reference, [](FakeProvider& provider) { return provider.complete(); }) == "well");

  CHECK(down.calls() == 2);
  CHECK(well.calls() == 2);
}
