// CurrentMetadata: which attempt is running on this thread.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <cstddef>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "two_steps.hpp"

using two::Client;
using namespace std::chrono_literals;
using planb::CurrentMetadata;
using planb::ExecutionPlan;
using planb::Metadata;
using planb::run_with_plan;

namespace {

ExecutionPlan<Client> two_steps(std::vector<Metadata>* in_factory = nullptr) {
  const auto make = [in_factory](int id) {
    return [in_factory, id] {
      if (in_factory != nullptr) in_factory->push_back(CurrentMetadata::get());
      return Client{id};
    };
  };
  return {{.provide = make(1), .attempts = 2}, {.provide = make(2)}};
}

// Opens a Scope on construction, sees the metadata on destruction.
struct SeenAtTheEnd {
  ~SeenAtTheEnd() { seen->push_back(CurrentMetadata::get()); }
  std::vector<Metadata>* seen;
};

}  // namespace

TEST_CASE("outside any attempt the metadata is {0, 0}", "[metadata]") {
  CHECK(CurrentMetadata::get() == Metadata{0, 0});
  CHECK(CurrentMetadata::get() != Metadata{0, 1});
  CHECK(CurrentMetadata::get() != Metadata{1, 0});
  STATIC_REQUIRE(std::is_trivially_copyable_v<Metadata>);
  STATIC_REQUIRE(sizeof(Metadata) == 8);
  STATIC_REQUIRE(noexcept(CurrentMetadata::get()));
}

TEST_CASE("the metadata holds in the factory, the callable and the handlers", "[metadata]") {
  std::vector<Metadata> in_factory;
  std::vector<Metadata> in_call;
  std::vector<Metadata> in_handler;
  const auto fn = [&](Client& client) {
    in_call.push_back(CurrentMetadata::get());
    if (client.id == 1) throw std::runtime_error("down");
    return client.id;
  };
  const std::vector<Metadata> attempts{{1, 0}, {2, 0}, {3, 1}};
  SECTION("of a run with a handler") {
    run_with_plan(two_steps(&in_factory), fn,
                  {.on_event = [&](const planb::Event&) { in_handler.push_back(CurrentMetadata::get()); }});
    CHECK(in_handler == std::vector<Metadata>{{1, 0}, {1, 0}, {2, 0}, {2, 0}, {3, 1}, {3, 1}, {0, 0}});
  }
  SECTION("of a run without options") { run_with_plan(two_steps(&in_factory), fn); }
  SECTION("of a run that gives a result") { CHECK(planb::try_run_with_plan(two_steps(&in_factory), fn).has_value()); }
  CHECK(in_factory == attempts);
  CHECK(in_call == attempts);
  CHECK(CurrentMetadata::get() == Metadata{});
}

TEST_CASE("the metadata holds while a context is destroyed, and in the acceptance check", "[metadata]") {
  std::vector<Metadata> at_end;
  std::vector<Metadata> in_check;
  const ExecutionPlan<SeenAtTheEnd> plan{{.provide = [&] { return SeenAtTheEnd{&at_end}; }, .attempts = 2}};
  const auto accepts = [&](int) {
    in_check.push_back(CurrentMetadata::get());
    return in_check.size() == 2;
  };
  run_with_plan(plan, planb::accepting([](SeenAtTheEnd&) { return 1; }, accepts));
  CHECK(at_end == std::vector<Metadata>{{1, 0}, {2, 0}});
  CHECK(in_check == std::vector<Metadata>{{1, 0}, {2, 0}});
}

TEST_CASE("between attempts the metadata is what it was outside", "[metadata]") {
  std::vector<Metadata> seen;
  struct WatchingClock final : planb::Clock {
    explicit WatchingClock(std::vector<Metadata>& s) : seen(&s) {}
    [[nodiscard]] planb::TimePoint now() const override { return time; }
    void sleep_until(planb::TimePoint due, planb::StopToken) override {
      seen->push_back(CurrentMetadata::get());
      time = due;
    }
    std::vector<Metadata>* seen;
    planb::TimePoint time{};
  };
  WatchingClock clock(seen);
  const ExecutionPlan<Client> plan{{.provide = Client{}, .attempts = 2, .schedule = planb::spaced(1s)}};
  CHECK_THROWS(run_with_plan(plan, [](Client&) { throw 1; }, {.clock = &clock}));
  CHECK(seen == std::vector<Metadata>{{0, 0}});
}

TEST_CASE("nested runs shadow the outer one, and restore it on every way out", "[metadata][field-2]") {
  std::vector<Metadata> seen;
  const auto look = [&] { seen.push_back(CurrentMetadata::get()); };
  int inner_calls = 0;

  SECTION("each fails: attempts multiply") {
    const auto outer = [&](Client&) {
      look();
      try {
        run_with_plan(two_steps(), [&](Client&) {
          ++inner_calls;
          look();
          throw 1;
        });
      } catch (...) {
        look();
        throw;
      }
    };
    CHECK_THROWS_AS(run_with_plan(two_steps(), outer), planb::PlanExhausted);
    CHECK(inner_calls == 9);
    CHECK(seen == std::vector<Metadata>{{1, 0},
                                        {1, 0},
                                        {2, 0},
                                        {3, 1},
                                        {1, 0},  //
                                        {2, 0},
                                        {1, 0},
                                        {2, 0},
                                        {3, 1},
                                        {2, 0},  //
                                        {3, 1},
                                        {1, 0},
                                        {2, 0},
                                        {3, 1},
                                        {3, 1}});
  }
  SECTION("the inner run succeeds") {
    run_with_plan(two_steps(), [&](Client&) {
      look();
      run_with_plan(two_steps(), [&](Client& client) {
        look();
        if (client.id == 1) throw 1;
      });
      look();
    });
    CHECK(seen == std::vector<Metadata>{{1, 0}, {1, 0}, {2, 0}, {3, 1}, {1, 0}});
  }
  SECTION("a handler runs a plan") {
    bool nested = false;
    run_with_plan(two_steps(), [&](Client&) { look(); }, {.on_event = [&](const planb::AttemptStart&) {
                    if (std::exchange(nested, true)) return;
                    run_with_plan(two_steps(), [&](Client& client) {
                      look();
                      if (client.id == 1) throw 1;
                    });
                    look();
                  }});
    CHECK(seen == std::vector<Metadata>{{1, 0}, {2, 0}, {3, 1}, {1, 0}, {1, 0}});
  }
  SECTION("a Defect leaves all of them") {
    CHECK_THROWS_AS(
        run_with_plan(two_steps(),
                      [&](Client&) { run_with_plan(two_steps(), [](Client&) { throw planb::Defect("a bug"); }); }),
        planb::Defect);
  }
  CHECK(CurrentMetadata::get() == Metadata{});
}

TEST_CASE("a handler of skipped steps sees the metadata of no attempt", "[metadata]") {
  std::vector<Metadata> seen;
  const ExecutionPlan<Client> plan{{.provide = Client{1}, .enter_when = [](const planb::Cause&) { return true; }},
                                   {.provide = Client{2}}};
  const planb::RunOptions options{
      .on_event = [&](const planb::StepSkipped&) { seen.push_back(CurrentMetadata::get()); }};
  run_with_plan(
      plan, [](Client&) {}, options);
  CHECK(seen == std::vector<Metadata>{{0, 0}});
  run_with_plan(two_steps(), [&](Client&) {
    run_with_plan(
        plan, [](Client&) {}, options);
  });
  CHECK(seen == std::vector<Metadata>{{0, 0}, {1, 0}});  // there, the outer run's
}

TEST_CASE("a Scope carries the metadata to another thread, and ends there", "[metadata][field-32]") {
  std::vector<Metadata> seen;
  run_with_plan(two_steps(), [&](Client& client, const planb::Attempt& attempt) {
    const Metadata mine = CurrentMetadata::get();
    std::thread([&] {
      seen.push_back(CurrentMetadata::get());
      {
        const CurrentMetadata::Scope scope(mine);
        seen.push_back(CurrentMetadata::get());
        {
          const CurrentMetadata::Scope inner({7, 7});
          seen.push_back(CurrentMetadata::get());
        }
        seen.push_back(CurrentMetadata::get());
        CHECK(attempt.attempt == mine.attempt);
        CHECK(attempt.step_index == mine.step_index);
      }
      seen.push_back(CurrentMetadata::get());
    }).join();
    CHECK(CurrentMetadata::get() == mine);
    if (client.id == 1) throw std::runtime_error("down");
  });
  REQUIRE(seen.size() == 15);
  for (std::size_t i = 0; i != 3; ++i) {
    const Metadata mine = std::vector<Metadata>{{1, 0}, {2, 0}, {3, 1}}[i];
    CHECK(std::vector<Metadata>(seen.begin() + static_cast<int>(5 * i), seen.begin() + static_cast<int>(5 * i + 5)) ==
          std::vector<Metadata>{{0, 0}, mine, {7, 7}, mine, {0, 0}});
  }
}

TEST_CASE("a Scope ends on a throw too", "[metadata]") {
  try {
    const CurrentMetadata::Scope scope({3, 4});
    CHECK(CurrentMetadata::get() == Metadata{3, 4});
    throw 1;
  } catch (int) {
    CHECK(CurrentMetadata::get() == Metadata{});
  }
}
