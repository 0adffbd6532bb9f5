// ExecutionPlan<Ctx, Env>: factories that need something which is known only later.
#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::Attempt;
using planb::ExecutionPlan;
using Strings = std::vector<std::string>;

struct Env {
  std::string key;
  int reads = 0;
};

struct ExtendedEnv : Env {
  using Env::Env;
  std::string region = "eu";
};

ExecutionPlan<std::string, Env> key_plan(int attempts = 1) {
  return {{.name = "keyed",
           .provide =
               [](Env& env) {
                 ++env.reads;
                 return env.key;
               },
           .attempts = attempts}};
}

const auto answer = [](std::string& ctx) { return ctx; };

}  // namespace

TEST_CASE("an Env that is kept elsewhere is referred to", "[env]") {
  Env env{"first"};
  const ExecutionPlan<std::string> plan = key_plan().capture_requirements(env);
  CHECK(run_with_plan(plan, answer) == "first");
  env.key = "second";
  CHECK(run_with_plan(plan, answer) == "second");
  CHECK(env.reads == 2);
}

TEST_CASE("an Env that is handed over lives in the plan and its copies", "[env]") {
  struct Tracked : Env {
    explicit Tracked(std::shared_ptr<int> l) : Env{"tracked"}, life(std::move(l)) {}
    std::shared_ptr<int> life;
  };
  const auto life = std::make_shared<int>();
  {
    std::optional<ExecutionPlan<std::string>> copy;
    {
      const ExecutionPlan<std::string> plan = key_plan().capture_requirements(Tracked(life));
      copy.emplace(plan);
    }
    CHECK(life.use_count() == 2);
    CHECK(run_with_plan(*copy, answer) == "tracked");
  }
  CHECK(life.use_count() == 1);
}

TEST_CASE("all steps of a plan, and all its runs, have the same Env", "[env]") {
  const ExecutionPlan<int, Env> plan{{.provide = [](Env& env) { return ++env.reads; }, .attempts = 2},
                                     {.provide = [](Env& env) { return ++env.reads; }}};
  const ExecutionPlan<int> bound = plan.capture_requirements(Env{});
  std::vector<int> seen;
  const auto fail = [&](int& n) {
    seen.push_back(n);
    throw std::runtime_error("failed");
  };
  CHECK_FALSE(try_run_with_plan(bound, fail));
  CHECK_FALSE(try_run_with_plan(bound, fail));
  CHECK(seen == std::vector<int>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("an Env is read for every attempt", "[env]") {
  Env env{"expired"};
  const ExecutionPlan<std::string> plan = key_plan(3).capture_requirements(env);
  Strings seen;
  const std::string result = run_with_plan(plan, [&](std::string& key) {
    seen.push_back(key);
    if (key == "expired") {
      env.key = "renewed";
      throw std::runtime_error("401");
    }
    return key;
  });
  CHECK(result == "renewed");
  CHECK(seen == Strings{"expired", "renewed"});
}

TEST_CASE("a factory may take the Env and the Attempt", "[env]") {
  const auto factory = [](Env& env, const Attempt& a) {
    return env.key + std::to_string(a.attempt) + std::to_string(a.step_attempt) + std::string(a.step_name);
  };
  const ExecutionPlan<std::string, Env> plan{{.name = "a", .provide = factory}, {.name = "b", .provide = factory, .attempts = 2}};
  Strings seen;
  CHECK_FALSE(try_run_with_plan(plan.capture_requirements(Env{"k"}), [&](std::string& ctx) {
    seen.push_back(ctx);
    throw std::runtime_error("failed");
  }));
  CHECK(seen == Strings{"k11a", "k21b", "k32b"});
}

TEST_CASE("a step of a plan with an Env need not use it", "[env]") {
  const ExecutionPlan<std::string, Env> plan{
      {.provide = "ready"},
      {.provide = [] { return "nothing"; }},
      {.provide = [](const Attempt& a) { return "attempt " + std::to_string(a.attempt); }},
      {.provide = [](Env& env) { return env.key; }},
      {.provide = [](const Env& env) { return "const " + env.key; }},
  };
  Strings seen;
  CHECK_FALSE(try_run_with_plan(plan.capture_requirements(Env{"key"}), [&](std::string& ctx) {
    seen.push_back(ctx);
    throw std::runtime_error("failed");
  }));
  CHECK(seen == Strings{"ready", "nothing", "attempt 3", "key", "const key"});
}

TEST_CASE("one plan is bound to many Envs", "[env]") {
  const ExecutionPlan<std::string, Env> plan = key_plan();
  const auto a = plan.capture_requirements(Env{"a"});
  const auto b = plan.capture_requirements(Env{"b"});
  CHECK(run_with_plan(a, answer) == "a");
  CHECK(run_with_plan(b, answer) == "b");
  CHECK(run_with_plan(a, answer) == "a");
  CHECK(plan.size() == 1);
}

TEST_CASE("an Env may be what derives from the plan's", "[env]") {
  ExtendedEnv extended;
  extended.key = "extended";
  CHECK(run_with_plan(key_plan().capture_requirements(extended), answer) == "extended");
  CHECK(extended.reads == 1);
  CHECK(run_with_plan(key_plan().capture_requirements(std::move(extended)), answer) == "extended");
}

TEST_CASE("an Env may be const, and need not be copied", "[env]") {
  struct Settings {
    explicit Settings(std::string k) : key(std::move(k)) {}
    Settings(Settings&&) = default;
    Settings& operator=(Settings&&) = delete;
    ~Settings() = default;
    std::string key;
  };
  const ExecutionPlan<std::string, const Settings> plan{{.provide = [](const Settings& s) { return s.key; }}};
  const Settings settings("const");
  CHECK(run_with_plan(plan.capture_requirements(settings), answer) == "const");
  CHECK(run_with_plan(plan.capture_requirements(Settings("moved")), answer) == "moved");
}

TEST_CASE("the context may be a part of the Env", "[env]") {
  Env env{"part"};
  const ExecutionPlan<std::string&, Env> plan{{.provide = [](Env& e) -> std::string& { return e.key; }}};
  run_with_plan(plan.capture_requirements(env), [](std::string& key) { key += " changed"; });
  CHECK(env.key == "part changed");
}

TEST_CASE("binding an Env changes nothing else of a plan", "[env]") {
  struct OpenGate final : planb::Gate {
    [[nodiscard]] planb::Admission admit(const planb::GateRequest&) override { return planb::Permit(*this, 0); }
    [[nodiscard]] planb::TimePoint opens_at(const planb::GateRequest& request) const override { return request.now; }
    void on_outcome(std::uint64_t, const planb::GateOutcome&) override {}
    void on_dropped(std::uint64_t, bool) noexcept override {}
  };
  const auto gate = std::make_shared<OpenGate>();
  const planb::Verdict verdict{planb::Action::next_step, true};
  const ExecutionPlan<int, Env> plan{
      {.name = "bare", .provide = 1},
      {.name = "full",
       .provide = 2,
       .attempts = 7,
       .schedule = planb::spaced(1s),
       .retry_while = [](int n) { return n == 1; },
       .classify = [=](int n) { return n == 2 ? verdict : planb::Verdict{}; },
       .enter_when = [](int n) { return n == 3; },
       .max_wait = 2s,
       .timeout = 3s,
       .first_timeout = 5s,
       .reserve = 4s,
       .gate = gate},
  };
  const ExecutionPlan<int> bound = plan.capture_requirements(Env{});
  REQUIRE(bound.size() == 2);
  const auto& bare = bound.steps()[0];
  CHECK(bare.name == "bare");
  CHECK(bare.attempts == std::nullopt);
  CHECK_FALSE(bare.schedule);
  CHECK_FALSE(bare.retry_while);
  CHECK_FALSE(bare.classify);
  CHECK_FALSE(bare.enter_when);
  CHECK(bare.max_wait == std::nullopt);
  CHECK(bare.timeout == std::nullopt);
  CHECK(bare.first_timeout == std::nullopt);

  const auto& full = bound.steps()[1];
  CHECK(full.name == "full");
  CHECK(full.attempts == 7);
  CHECK(to_string(full.schedule) == "spaced(1s)");
  CHECK(full.retry_while(planb::Cause::of(1)));
  CHECK(full.classify(planb::Cause::of(2)) == verdict);
  CHECK(full.enter_when(planb::Cause::of(3)));
  CHECK(full.max_wait == planb::Duration(2s));
  CHECK(full.timeout == planb::Duration(3s));
  CHECK(full.first_timeout == planb::Duration(5s));
  CHECK(full.reserve == planb::Duration(4s));
  CHECK(full.gate == gate);
}

TEST_CASE("a plan with an Env is refused as any other", "[env]") {
  using Plan = ExecutionPlan<int, Env>;
  CHECK_THROWS_AS((Plan{{.name = "a", .provide = 1, .attempts = 0}}), std::invalid_argument);
  CHECK_FALSE(Plan::make({}).has_value());
}
