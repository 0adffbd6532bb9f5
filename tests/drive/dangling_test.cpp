// What would dangle is copied, or lives as long as it is needed. What cannot be is refused: see compile_fail/.
#include "catch.hpp"

#include <planb/coro.hpp>
#include <planb/planb.hpp>

#include <coroutine>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

using namespace planb;

namespace {

struct Llm {
  std::string vendor = "a name that is too long to be held in place";

  [[nodiscard]] const std::string& name() const { return vendor; }
  std::string& mutable_name() { return vendor; }
  std::string&& taken_name() { return std::move(vendor); }
  const std::string& name_with(const Attempt&) { return vendor; }
  template <class Emit>
  const std::string& stream(Emit&) {
    return vendor;
  }
};

template <class Ctx>
ExecutionPlan<Ctx> plan_of(Provide<Ctx> provide) {
  return ExecutionPlan<Ctx>{{.name = "a step with a name that is too long to be held in place", .provide = provide}};
}

}  // namespace

TEST_CASE("a member function that gives a reference into an attempt's own context gives a copy") {
  const auto plan = plan_of<Llm>([] { return Llm(); });
  STATIC_REQUIRE(std::is_same_v<decltype(run_with_plan(plan, &Llm::name)), std::string>);
  STATIC_REQUIRE(std::is_same_v<decltype(run_with_plan(plan, &Llm::mutable_name)), std::string>);
  STATIC_REQUIRE(std::is_same_v<decltype(run_with_plan(plan, &Llm::taken_name)), std::string>);
  STATIC_REQUIRE(std::is_same_v<decltype(run_with_plan(plan, &Llm::vendor)), std::string>);
  CHECK(run_with_plan(plan, &Llm::name) == Llm().vendor);
  CHECK(run_with_plan(plan, &Llm::mutable_name) == Llm().vendor);
  CHECK(run_with_plan(plan, &Llm::taken_name) == Llm().vendor);
  CHECK(run_with_plan(plan, &Llm::name_with) == Llm().vendor);
  CHECK(run_with_plan(plan, &Llm::name, {.seed = 1}) == Llm().vendor);
  CHECK(*try_run_with_plan(plan, &Llm::name) == Llm().vendor);
  CHECK(run_with_plan(plan, accepting(&Llm::name, [](const std::string& n) { return !n.empty(); })) == Llm().vendor);

  const auto owned = plan_of<std::shared_ptr<Llm>>([] { return std::make_shared<Llm>(); });
  STATIC_REQUIRE(std::is_same_v<decltype(run_with_plan(owned, &Llm::name)), std::string>);
  CHECK(run_with_plan(owned, &Llm::name) == Llm().vendor);
}

TEST_CASE("where the context is elsewhere, the reference is handed on") {
  Llm there;
  const auto by_reference = plan_of<Llm&>(there);
  STATIC_REQUIRE(std::is_same_v<decltype(run_with_plan(by_reference, &Llm::name)), const std::string&>);
  CHECK(&run_with_plan(by_reference, &Llm::name) == &there.vendor);
  CHECK(&*try_run_with_plan(by_reference, &Llm::name) == &there.vendor);
  const auto by_pointer = plan_of<Llm*>(&there);
  CHECK(&run_with_plan(by_pointer, &Llm::name) == &there.vendor);
  const auto by_wrapper = plan_of<std::reference_wrapper<Llm>>(std::ref(there));
  CHECK(&run_with_plan(by_wrapper, &Llm::name) == &there.vendor);

  // A lambda says itself what it refers to.
  const auto plan = plan_of<Llm>([] { return Llm(); });
  CHECK(&run_with_plan(plan, [&](Llm&) -> const std::string& { return there.vendor; }) == &there.vendor);
}

namespace {

struct Immovable {
  int value = 7;
  Immovable() = default;
  Immovable(Immovable&&) = delete;
};
struct Getters {
  int count = 3;
  std::string name = Llm().vendor;
  [[nodiscard]] const Immovable made() const { return {}; }  // NOLINT(readability-const-return-type)
  [[nodiscard]] auto numbers() const { return std::views::iota(0, count); }
  [[nodiscard]] int (*function() const)(int) {
    return [](int n) { return n + 1; };
  }
};
// What looks like a future, and is none.
struct Process {
  int code = 5;
  [[nodiscard]] int get() const { return code; }
  void wait() const {}
  [[nodiscard]] bool valid() const { return true; }
};
// An expected-like that can be awaited in a coroutine of its own.
struct Tried {
  using value_type = int;
  int number = 6;
  [[nodiscard]] static bool has_value() { return true; }
  [[nodiscard]] static int error() { return 0; }
  [[nodiscard]] int operator*() const { return number; }
  [[nodiscard]] static bool await_ready() { return true; }
  static void await_suspend(std::coroutine_handle<>) {}
  [[nodiscard]] int await_resume() const { return number; }
};

}  // namespace

template <>
constexpr bool planb::is_answer<Process> = true;

TEST_CASE("what a member function gives that refers to nothing is given as it is") {
  const auto plan = plan_of<Getters>([] { return Getters(); });
  CHECK(run_with_plan(plan, &Getters::made).value == 7);
  int sum = 0;
  for (const int number : run_with_plan(plan, &Getters::numbers)) sum += number;
  CHECK(sum == 3);
  CHECK(run_with_plan(plan, &Getters::function)(1) == 2);
}

TEST_CASE("std::mem_fn of a member that would refer to an attempt's own context gives a copy") {
  const auto plan = plan_of<Llm>([] { return Llm(); });
  const auto name = std::mem_fn(&Llm::name);
  const auto vendor = std::mem_fn(&Llm::vendor);
  STATIC_REQUIRE(std::is_same_v<decltype(run_with_plan(plan, name)), std::string>);
  STATIC_REQUIRE(std::is_same_v<decltype(run_with_plan(plan, vendor)), std::string>);
  CHECK(run_with_plan(plan, name) == Llm().vendor);
  CHECK(run_with_plan(plan, vendor) == Llm().vendor);
  CHECK(*try_run_with_plan(plan, name) == Llm().vendor);
}

namespace {

struct Asked {
  [[nodiscard]] static int answer(const planb::Attempt& attempt) { return attempt.attempt; }
  [[nodiscard]] int ask(const planb::Attempt& attempt) const { return answer(attempt); }
  [[nodiscard]] std::vector<int> list(const planb::Attempt&) const { return items; }
  void push(const std::function<void(int)>& emit) const { emit(7); }
  [[nodiscard]] Task<int> ask_later(const planb::Attempt& attempt) const { co_return answer(attempt); }

  std::vector<int> items = {1, 2};
};

}  // namespace

TEST_CASE("std::mem_fn is called with what its member takes: the attempt, or emit") {
  const auto plan = plan_of<Asked>([] { return Asked(); });
  CHECK(run_with_plan(plan, std::mem_fn(&Asked::ask)) == 1);
  CHECK(*try_run_with_plan(plan, std::mem_fn(&Asked::ask)) == 1);
  int sum = 0;
  for (const int element : stream_with_plan(plan, std::mem_fn(&Asked::list))) sum += element;
  CHECK(sum == 3);
  push_with_plan(plan, std::mem_fn(&Asked::push), [&](int element) { sum += element; });
  CHECK(sum == 10);
  const auto sleep = [](Duration) -> Task<> { co_return; };
  CHECK(sync_wait(co_run_with_plan<Task<int>>(plan, std::mem_fn(&Asked::ask_later), sleep)) == 1);
}

TEST_CASE("a context that is a reference to a const client") {
  const Llm there;
  const auto plan = plan_of<std::reference_wrapper<const Llm>>(std::cref(there));
  CHECK(&run_with_plan(plan, &Llm::name) == &there.vendor);
  CHECK(run_with_plan(plan, &Llm::vendor) == there.vendor);
}

TEST_CASE("answers that only look like something to be awaited") {
  const auto plan = plan_of<int>(1);
  CHECK(run_with_plan(plan, [](int&) { return Process(); }).get() == 5);
  CHECK(*run_with_plan(plan, [](int&) { return Tried(); }) == 6);
  CHECK(run_with_plan(plan, [](int&) { return std::vector<std::optional<std::string>>(2); }).size() == 2);
  CHECK(run_with_plan(plan, [](int&) { return std::filesystem::path("a/b"); }) == "a/b");
}

TEST_CASE("a view as a context, of what outlives the attempt") {
  const std::string host = "mirror.example";
  const auto size = [](std::string_view& view) { return view.size(); };
  CHECK(run_with_plan(plan_of<std::string_view>([&]() -> const std::string& { return host; }), size) == 14);
  CHECK(run_with_plan(plan_of<std::string_view>([&] { return std::string_view(host); }), size) == 14);
  CHECK(run_with_plan(plan_of<std::string_view>([&] { return host.c_str(); }), size) == 14);
  CHECK(run_with_plan(plan_of<std::string_view>(std::string("kept by the plan, as it is long enough")), size) == 38);
}

TEST_CASE("report(), error(), last_cause() and steps() of a temporary are copies") {
  const auto run = [](bool good) {
    return try_run_with_plan(plan_of<int>(1), [good](int&) -> std::string {
      if (!good) throw ProviderError(503, "a message that is too long to be held in place");
      return "an answer";
    });
  };
  const auto& report = run(true).report();
  CHECK(report.to_string() == "a step with a name that is too long to be held in place: answered");
  const auto& failed = run(false).report();
  CHECK(failed.steps[0].attempts == 1);
  const auto& error = run(false).error();
  CHECK(error.end() == RunEnd::exhausted);
  const auto& of_error = run(false).error().report();
  CHECK(of_error.last_cause()->status() == 503);
  const auto cause = run(false).report().last_cause();
  REQUIRE(cause);
  CHECK(cause->message() == "a message that is too long to be held in place");
  CHECK_FALSE(run(true).report().last_cause());
  int steps = 0;
  for (const StepReport& step : run(false).report().steps) steps += step.attempts;
  CHECK(steps == 1);
  for (const Step<int>& step : plan_of<int>(1).steps()) CHECK(step.name.size() == 55);
  const auto& parsed = parse_schedule("nonsense that is too long to be held in place").error();
  CHECK_FALSE(parsed.message().empty());

  const PlanResult<std::string> kept = run(true);
  CHECK(&kept.report() == &kept.report());
  STATIC_REQUIRE(std::is_same_v<decltype(kept.report()), const RunReport&>);
  STATIC_REQUIRE(std::is_same_v<decltype(std::move(kept).report()), RunReport>);
}

TEST_CASE("the Attempt that PlanRun hands to a factory lives as long as the attempt's context") {
  struct Client {
    const Attempt* attempt;
  };
  const ExecutionPlan<Client> plan{
      {.name = "only", .provide = [](const Attempt& attempt) { return Client{&attempt}; }, .attempts = 2}};
  PlanRun<Client> run(plan);
  for (int i = 1; i <= 2; ++i) {
    ContextSlot<Client> client;
    REQUIRE(run.next() == RunPhase::attempt);
    REQUIRE(run.provide(client));
    CHECK(client->attempt->attempt == i);
    CHECK(client->attempt->step_name == "only");
    CHECK((client->attempt->previous() != nullptr) == (i == 2));
    client.reset();
    run.fail(Cause::of(i));
  }
}

namespace {

struct alignas(64) Lanes {
  float values[16] = {};
};

std::uintptr_t beyond(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 64; }

}  // namespace

TEST_CASE("an over-aligned context is aligned in every driver") {
  const auto plan = plan_of<Lanes>([] { return Lanes(); });
  std::vector<std::uintptr_t> seen;
  const auto look = [&](Lanes& lanes) { seen.push_back(beyond(&lanes)); };
  run_with_plan(plan, look);
  static_cast<void>(try_run_with_plan(plan, look));
  push_with_plan(
      plan, [&](Lanes& lanes, auto&) { look(lanes); }, [](int) {});
  for (const int element : stream_with_plan(plan, [&](Lanes& lanes) { return look(lanes), std::vector<int>{1}; })) {
    CHECK(element == 1);
  }
  const auto sleep = [](Duration) -> Task<> { co_return; };
  std::vector<std::unique_ptr<char[]>> between;  // frames of several places
  std::vector<Task<>> tasks;
  for (int i = 0; i != 8; ++i) {
    between.push_back(std::make_unique<char[]>(i % 2 == 0 ? 24 : 40));
    tasks.push_back(co_run_with_plan<Task<>>(
        plan, [&](Lanes& lanes) -> Task<> { co_return look(lanes); }, sleep));
  }
  for (Task<>& task : tasks) sync_wait(std::move(task));
  PlanRun<Lanes> run(plan);
  const auto slot = std::make_unique<ContextSlot<Lanes>>();
  REQUIRE(run.next() == RunPhase::attempt);
  REQUIRE(run.provide(*slot));
  look(**slot);
  slot->reset();
  run.succeed();
  CHECK(seen == std::vector<std::uintptr_t>(13, 0));

  const Cause cause = Cause::of(Lanes());
  CHECK(beyond(cause.get_if<Lanes>()) == 0);
}

TEST_CASE("an over-aligned value is aligned in a PlanResult and in a pulled stream") {
  const auto plan = plan_of<int>(1);
  const auto result = try_run_with_plan(plan, [](int&) { return Lanes(); });
  CHECK(beyond(&*result) == 0);
  auto stream = stream_with_plan(plan, [](int&) { return std::vector<Lanes>(3); });
  for (const Lanes& lanes : stream) CHECK(beyond(&lanes) == 0);
}
